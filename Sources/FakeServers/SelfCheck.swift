internal import Values

/// The request with which Assay checks that its own fakes respond, before it judges a backend.
///
/// The request is neither written to the journal nor counted.
package enum SelfCheck {
    /// The path of the self-check request, which no provider uses.
    package static let path = "/.well-known/assay-self-check"
    /// The body of the response to the self-check.
    ///
    /// The body differs in each process, so that another program on the port is not taken for a
    /// fake.
    package static let token = String(UInt64.random(in: .min ... .max), radix: 36)

    /// Returns the response to the self-check request; nil for any other request.
    static func response(to request: HTTPMessage.Request) -> HTTPMessage.Response? {
        guard request.method == "GET", request.path == path else { return nil }
        return HTTPMessage.Response(
            200,
            fields: [HTTPMessage.Field("content-type", "text/plain")],
            body: Array(token.utf8)
        )
    }
}
