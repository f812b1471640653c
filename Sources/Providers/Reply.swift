package import Conformance

/// What a fake does with one request: the answer, how it leaves, and what it changed.
package struct Reply: Hashable, Sendable {
    /// How the answer reaches, or fails to reach, the caller.
    package enum Manner: Hashable, Sendable {
        case answer
        /// The connection is reset; the caller sees no byte.
        case reset
        /// The connection is held open and nothing is sent.
        case never
        /// The connection is cut in the middle of the body.
        case half
        /// The answer leaves after this many milliseconds.
        case slow(Int64)
        /// The connection is reset after this many milliseconds.
        case hang(Int64)
    }

    /// Where a fake's behaviour is known from; sent along as `x-assay-fake`.
    package enum Confidence: String, Hashable, Sendable {
        case documented, captured, inferred
    }

    package var response: HTTPMessage.Response
    package var manner: Manner
    package var effects: [Effect]
    /// The run whose ids the request named; empty when it named none.
    package var namespace: String
    /// When, on that run's clock.
    package var at = Instant(milliseconds: 0)

    package init(
        _ response: HTTPMessage.Response,
        _ confidence: Confidence,
        of fake: String,
        manner: Manner = .answer,
        effects: [Effect] = [],
        namespace: String = ""
    ) {
        self.response = response
        self.response.fields.append(
            HTTPMessage.Field("x-assay-fake", "\(fake); \(confidence.rawValue)")
        )
        self.manner = manner
        self.effects = effects
        self.namespace = namespace
    }
}

extension HTTPMessage.Request {
    /// The path's segments, split first and percent-decoded afterwards, since ids contain `/`, `:`
    /// and `$`; nil when a segment is not valid UTF-8.
    package var pathSegments: [String]? {
        var segments: [String] = []
        for part in path.split(separator: "/") {
            let bytes = FormText.bytes(part, plusIsBlank: false)
            guard let segment = String(validating: bytes, as: UTF8.self) else { return nil }
            segments.append(segment)
        }
        return segments
    }
}
