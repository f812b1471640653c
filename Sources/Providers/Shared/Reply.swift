package import Values

/// The result of one request to a fake: the response, the manner in which it is sent, and the
/// effects of the request.
package struct Reply: Hashable, Sendable {
    /// The manner in which a fake sends the response, or fails to send it.
    package enum SendMode: Hashable, Sendable {
        case answer
        /// The fake resets the connection before it sends a byte of the response.
        case reset
        /// The fake holds the connection open and sends nothing.
        case never
        /// The fake cuts the connection in the middle of the response's body.
        case truncatedResponse
        /// The fake sends the response after this many milliseconds.
        case slow(Int64)
        /// The fake resets the connection after this many milliseconds, without a response.
        case hangThenReset(Int64)
    }

    /// The evidence for a fake's behavior: documentation, a captured response of the service, or
    /// inference.
    ///
    /// It is sent in the header `x-assay-fake`.
    package enum Confidence: String, Hashable, Sendable {
        case documented, captured, inferred
    }

    package var response: HTTPMessage.Response
    package var sendMode: SendMode
    package var effects: [Effect]
    /// The namespace of the test run whose IDs the request contains; empty when the request
    /// contains no such ID.
    package var namespace: String
    /// The time of the reply on the clock of the test run to which the request belongs.
    package var at = Instant(milliseconds: 0)

    package init(
        _ response: HTTPMessage.Response,
        _ confidence: Confidence,
        of fake: String,
        sendMode: SendMode = .answer,
        effects: [Effect] = [],
        namespace: String = ""
    ) {
        self.response = response
        self.response.fields.append(
            HTTPMessage.Field("x-assay-fake", "\(fake); \(confidence.rawValue)")
        )
        self.sendMode = sendMode
        self.effects = effects
        self.namespace = namespace
    }
}

extension HTTPMessage.Request {
    /// The segments of the path.
    ///
    /// The path is split first and then percent-decoded, because IDs contain `/`, `:` and `$`. Nil
    /// when a segment is not valid UTF-8.
    package var pathSegments: [String]? {
        var segments: [String] = []
        for part in path.split(separator: "/") {
            let bytes = FormText.bytes(part, decodesPlusAsSpace: false)
            guard let segment = String(validating: bytes, as: UTF8.self) else { return nil }
            segments.append(segment)
        }
        return segments
    }
}
