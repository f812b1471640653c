package import Values

/// A recorded session: the HTTP exchanges between the app, the backend and the providers, in the
/// order in which they began.
///
/// The file format is NDJSON: one line for the request of each exchange (its invocation) and one
/// for the response (its completion). A file is valid up to its last complete line, so killing the
/// recorder loses at most the line being written.
package struct Recording: Hashable, Sendable {
    package var header: RecordingHeader
    /// The exchanges in the order in which their requests began.
    package var exchanges: [Exchange]
    /// Whether the recording file has its closing line, which contains the number of exchanges.
    package var isClosed: Bool

    package init(header: RecordingHeader, exchanges: [Exchange], isClosed: Bool = true) {
        self.header = header
        self.exchanges = exchanges
        self.isClosed = isClosed
    }

    /// The maximum size in bytes of a recording file.
    package static let fileBytesMax = 2 << 30

    /// Parses the bytes of a recording file.
    ///
    /// - Returns: The recording, and notes about its missing parts. An exchange whose completion
    ///   line is missing is left out, and a note reports it.
    /// - Throws: An error about the first invalid line. Only the last line of the file may be
    ///   incomplete.
    package static func parse(
        _ bytes: [UInt8]
    ) throws(RecordingError) -> (recording: Recording, notes: [String]) {
        var reader = RecordingReader()
        try reader.read(bytes)
        return try reader.finish()
    }

    /// The lines of the recording file, as the recorder would have written them.
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
        lines.append(Self.closingLine(exchanges.count).text)
        return lines
    }

    static func closingLine(_ count: Int) -> JSONValue { ["closed": .integer(Int64(count))] }

    private func body(_ bytes: [UInt8]) -> RecordingLine.Body {
        if bytes.isEmpty { return .none }
        guard
            let json = JSONValue(
                ifValid: bytes,
                options: .init(depthMax: 128, duplicateKeys: .keep)
            )
        else { return .bytes(bytes) }
        return .json(json.bytes, digest: nil)
    }
}
