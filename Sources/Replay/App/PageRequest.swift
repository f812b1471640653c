internal import Conformance

/// A request of a page that the browser holds until somebody says what becomes of it.
struct PageRequest {
    let number: String
    let url: String
    let message: HTTPMessage.Request
    let origin: String?
    /// The status of the answer, when it is the answer that is held.
    let answeredStatus: Int?
    let answeredFields: [HTTPMessage.Field]
    let failure: String?
    /// The browser's name for the call on the network; nil: it has none.
    let networkNumber: String?
    /// A script of the page makes it, as opposed to what a document consists of.
    let isScripted: Bool

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
        answeredStatus = parameters["responseStatusCode"]?.int64.flatMap { Int($0) }
        answeredFields = (parameters["responseHeaders"]?.array ?? []).map {
            HTTPMessage.Field($0["name"]?.string ?? "", $0["value"]?.string ?? "")
        }
        failure = parameters["responseErrorReason"]?.string
        networkNumber = parameters["networkId"]?.string
        isScripted = ["XHR", "Fetch"].contains(parameters["resourceType"]?.string)
    }

    /// The host that it goes to; nil for pictures in the page and the like.
    var host: String? {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") || url.hasPrefix("ws"),
            let scheme = url.firstRange(of: "://")
        else { return nil }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// Headers that let a page of another origin read an answer that we made.
    var openHeaders: [HTTPMessage.Field] {
        guard let origin else { return [] }
        return [
            HTTPMessage.Field("access-control-allow-origin", origin),
            HTTPMessage.Field("access-control-allow-credentials", "true"),
        ]
    }
}
