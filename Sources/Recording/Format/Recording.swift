package import Conformance

/// A session as it was captured: who said what to whom, in one order.
///
/// As a file it is NDJSON, one line for each invocation and one for each completion, and valid up to
/// its last full line, so that whoever kills the recorder loses at most the line being written.
package struct Recording: Hashable, Sendable {
    package var header: RecordingHeader
    /// In the order of their invocations.
    package var exchanges: [Exchange]
    /// The last line, which names how many exchanges there are, was written.
    package var isClosed: Bool

    package init(header: RecordingHeader, exchanges: [Exchange], isClosed: Bool = true) {
        self.header = header
        self.exchanges = exchanges
        self.isClosed = isClosed
    }

    /// Longest file that is read, in bytes.
    package static let sizeMax = 2 << 30

    /// Reads a file's bytes.
    ///
    /// - Returns: The recording, and notes about what is missing from it; an exchange without a
    ///   completion is left out and noted.
    /// - Throws: The first line that is no line of a recording. Only the very last line may be
    ///   unfinished.
    package static func parse(
        _ bytes: [UInt8]
    ) throws(RecordingError) -> (recording: Recording, notes: [String]) {
        var reader = RecordingReader()
        try reader.read(bytes)
        return try reader.finish()
    }

    /// The file's text, as the recorder would have written it.
    package var lines: [String] {
        var lines = [header.json.text]
        func add(_ line: [UInt8]) { lines.append(String(decoding: line, as: UTF8.self)) }
        for exchange in exchanges {
            add(RecordingLine.began(exchange, body: body(exchange.request.body)))
            let response: HTTPMessage.Response? =
                switch exchange.outcome {
                case .answered(let response), .answerLost(let response?): response
                case .pending, .answerLost(nil), .requestCut, .failed: nil
                }
            add(
                RecordingLine.completed(
                    exchange.sequence,
                    exchange.outcome,
                    body: body(response?.body ?? []),
                    effects: exchange.effects,
                    at: exchange.completed ?? exchange.invoked
                )
            )
        }
        lines.append(Self.closing(exchanges.count).text)
        return lines
    }

    static func closing(_ count: Int) -> JSONValue { ["closed": .integer(Int64(count))] }

    private func body(_ bytes: [UInt8]) -> RecordingLine.Body {
        if bytes.isEmpty { return .none }
        guard
            let json = try? JSONValue(
                parsing: bytes,
                options: .init(depthMax: 128, duplicateKeys: .keep)
            )
        else { return .bytes(bytes) }
        return .json(json.bytes, digest: nil)
    }
}
