internal import Values

/// A request of a page that the browser holds until Assay decides its outcome.
struct PageRequest {
    let number: String
    let url: String
    let message: HTTPMessage.Request
    let origin: String?
    /// The status of the response; nil if the browser holds the request itself and not the
    /// response.
    let responseStatus: Int?
    let responseFields: [HTTPMessage.Field]
    let failure: String?
    /// The browser's network ID of the request; nil for a request without one.
    let networkRequestID: String?
    /// Whether a script of the page sent the request.
    ///
    /// Otherwise, the request loads the document or one of its files.
    let isFromScript: Bool

    init?(_ parameters: JSONValue) {
        guard let number = parameters["requestId"]?.string,
            let url = parameters["request"]?["url"]?.string,
            let method = parameters["request"]?["method"]?.string
        else { return nil }
        self.number = number
        self.url = url
        let fields = (parameters["request"]?["headers"]?.object?.members ?? []).map {
            HTTPMessage.Field($0.key, $0.value.string ?? "")
        }
        origin = fields.first { $0.name.lowercased() == "origin" }?.value
        message = HTTPMessage.Request(
            method,
            HTTPMessage.Request.target(of: url),
            fields: fields,
            body: Array((parameters["request"]?["postData"]?.string ?? "").utf8)
        )
        responseStatus = parameters["responseStatusCode"]?.int64.flatMap { Int($0) }
        responseFields = (parameters["responseHeaders"]?.array ?? []).map {
            HTTPMessage.Field($0["name"]?.string ?? "", $0["value"]?.string ?? "")
        }
        failure = parameters["responseErrorReason"]?.string
        networkRequestID = parameters["networkId"]?.string
        isFromScript = ["XHR", "Fetch"].contains(parameters["resourceType"]?.string)
    }

    /// The host of the request's URL; nil for URLs without a host, such as data URLs.
    var host: String? {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") || url.hasPrefix("ws"),
            let schemeSeparator = url.firstRange(of: "://")
        else { return nil }
        let authority = url[schemeSeparator.upperBound...].prefix { !"/?#".contains($0) }
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// The CORS headers that let a page from another origin read a response made by Assay.
    var corsHeaders: [HTTPMessage.Field] {
        guard let origin else { return [] }
        return [
            HTTPMessage.Field("access-control-allow-origin", origin),
            HTTPMessage.Field("access-control-allow-credentials", "true"),
        ]
    }
}
