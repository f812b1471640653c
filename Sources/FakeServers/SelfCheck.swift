internal import Conformance

/// The request by which Assay proves that its own fakes respond before it judges a backend.
///
/// It is neither journaled nor counted.
package enum SelfCheck {
    /// A path that no provider serves.
    package static let path = "/.well-known/assay-self-check"
    /// Different in each process, so that another program on the port is not taken for a fake.
    package static let token = String(UInt64.random(in: .min ... .max), radix: 36)

    /// The response to the check; nil for any other request.
    static func response(to request: HTTPMessage.Request) -> HTTPMessage.Response? {
        guard request.method == "GET", request.path == path else { return nil }
        return HTTPMessage.Response(
            200,
            fields: [HTTPMessage.Field("content-type", "text/plain")],
            body: Array(token.utf8)
        )
    }
}
