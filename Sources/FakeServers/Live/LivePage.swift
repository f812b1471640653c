internal import Values

/// The live page on the control port: shows the exchanges and the subscribers, and has a form for
/// every operation of the control API, generated from its OpenAPI document.
///
/// The page is three static files without secrets or data of the run; all its data comes from the
/// control API. Its content security policy forbids other scripts and resources and the conversion
/// of strings to HTML.
enum LivePage {
    /// Returns the file of the live page that a request asks for; nil for any other request.
    static func response(to request: HTTPMessage.Request) -> HTTPMessage.Response? {
        guard ["GET", "HEAD"].contains(request.method) else { return nil }
        switch request.path {
        case "/" where acceptsHTML(request):
            return file(PackageResources.live_html, "text/html; charset=utf-8")
        case "/live.css": return file(PackageResources.live_css, "text/css; charset=utf-8")
        case "/live.js": return file(PackageResources.live_js, "text/javascript; charset=utf-8")
        default: return nil
        }
    }

    /// Returns whether the client of a request accepts HTML.
    ///
    /// Only a browser accepts HTML; other programs get JSON.
    private static func acceptsHTML(_ request: HTTPMessage.Request) -> Bool {
        request[field: "accept"]?.contains("text/html") == true
    }

    private static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// The header that prevents a response from being shown in a frame.
    static let frameOptionsField = HTTPMessage.Field(
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'"
    )

    private static func file(_ bytes: [UInt8], _ type: String) -> HTTPMessage.Response {
        HTTPMessage.Response(
            200,
            fields: [
                HTTPMessage.Field("content-type", type),
                HTTPMessage.Field("content-security-policy", contentSecurityPolicy),
                HTTPMessage.Field("x-content-type-options", "nosniff"),
                HTTPMessage.Field("referrer-policy", "no-referrer"),
                HTTPMessage.Field("cross-origin-opener-policy", "same-origin"),
                HTTPMessage.Field("cross-origin-resource-policy", "same-origin"),
                // A cached page of another version would not match this API.
                HTTPMessage.Field("cache-control", "no-store"),
                HTTPMessage.Field("vary", "accept"),
            ],
            body: bytes
        )
    }
}
