internal import Conformance

/// The page on the control port: what happens, who has what, and a form for everything that can be
/// done, made from the description of the control API.
///
/// It is three files without a secret or a fact of the run; all it shows comes over the API. Its
/// policy lets the browser run and load nothing else, and turn no text into markup.
enum LivePage {
    /// What a browser is given at a path; nil when the path is none of the page's.
    static func response(to request: HTTPMessage.Request) -> HTTPMessage.Response? {
        guard ["GET", "HEAD"].contains(request.method) else { return nil }
        switch request.path {
        case "/" where takesHTML(request):
            return file(PackageResources.live_html, "text/html; charset=utf-8")
        case "/live.css": return file(PackageResources.live_css, "text/css; charset=utf-8")
        case "/live.js": return file(PackageResources.live_js, "text/javascript; charset=utf-8")
        default: return nil
        }
    }

    /// Programs are told in JSON what is here; only a browser names HTML.
    private static func takesHTML(_ request: HTTPMessage.Request) -> Bool {
        request[field: "accept"]?.contains("text/html") == true
    }

    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// The header that keeps a response without a page out of every frame.
    static let unframed = HTTPMessage.Field(
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'"
    )

    private static func file(_ bytes: [UInt8], _ type: String) -> HTTPMessage.Response {
        HTTPMessage.Response(
            200,
            fields: [
                HTTPMessage.Field("content-type", type),
                HTTPMessage.Field("content-security-policy", policy),
                HTTPMessage.Field("x-content-type-options", "nosniff"),
                HTTPMessage.Field("referrer-policy", "no-referrer"),
                HTTPMessage.Field("cross-origin-opener-policy", "same-origin"),
                HTTPMessage.Field("cross-origin-resource-policy", "same-origin"),
                // The page of another version would speak to this one's API.
                HTTPMessage.Field("cache-control", "no-store"),
                HTTPMessage.Field("vary", "accept"),
            ],
            body: bytes
        )
    }
}
