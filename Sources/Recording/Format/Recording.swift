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
    private static let lineMax = 64 << 20

    /// Reads a file's bytes.
    ///
    /// - Returns: The recording, and notes about what is missing from it; an exchange without a
    ///   completion is left out and noted.
    /// - Throws: The first line that is no line of a recording. Only the very last line may be
    ///   unfinished.
    package static func parse(
        _ bytes: [UInt8]
    ) throws(RecordingError) -> (recording: Recording, notes: [String]) {
        var reader = Reader()
        var start = 0
        var number = 0
        while start < bytes.count {
            number += 1
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n"))
            let line = bytes[start..<(end ?? bytes.count)]
            start = (end ?? bytes.count) + 1
            guard end != nil else {
                try reader.takeUnfinished(number)
                break
            }
            try reader.take(line, number)
        }
        return try reader.recording()
    }

    /// What has been read of a file so far.
    private struct Reader {
        private var header: RecordingHeader?
        private var open: [Int: Exchange] = [:]
        private var done: [Exchange] = []
        /// Exchanges whose body has not been told yet.
        private var unsent: Set<Int> = []
        private var notes: [String] = []
        private var isClosed = false

        private func fail(_ line: Int, _ problem: String, _ remedy: String = .restore)
            -> RecordingError
        {
            RecordingError(line: line, problem: problem, remedy: remedy)
        }

        /// A last line without its end.
        mutating func takeUnfinished(_ number: Int) throws(RecordingError) {
            if header == nil { throw fail(1, "the header is not complete") }
            notes.append("line \(number) was not finished and is left out")
        }

        mutating func take(_ line: ArraySlice<UInt8>, _ number: Int) throws(RecordingError) {
            guard line.count <= lineMax else {
                throw fail(number, "the line has more than \(lineMax >> 20) MB")
            }
            let value: JSONValue
            do throws(JSONError) {
                value = try JSONValue(
                    parsing: Array(line),
                    options: .init(depthMax: 160, duplicateKeys: .keep)
                )
            } catch {
                throw fail(number, "this is not JSON: \(error)")
            }
            guard header != nil else {
                header = try RecordingHeader(value, line: number)
                return
            }
            guard !isClosed else {
                throw fail(
                    number,
                    "something follows the line that closes the recording",
                    "Two recordings in one file? Keep each in a folder of its own."
                )
            }
            if let sequence = value["begin"]?.int64 {
                try begin(sequence, value, number)
            } else if let sequence = value["sent"]?.int64 {
                try send(Int(clamping: sequence), value, number)
            } else if let sequence = value["end"]?.int64 {
                try end(sequence, value, number)
            } else if let count = value["closed"]?.int64 {
                close(count)
            } else if value["note"]?.string == nil {
                throw fail(number, "the line is neither begin, sent, end, note nor closed")
            }
        }

        private mutating func begin(
            _ sequence: Int64,
            _ value: JSONValue,
            _ number: Int
        ) throws(RecordingError) {
            let exchange = try RecordingLine.exchange(
                value,
                sequence: Int(clamping: sequence),
                line: number
            )
            guard open.updateValue(exchange, forKey: exchange.sequence) == nil else {
                throw fail(number, "exchange \(sequence) begins twice")
            }
            if RecordingLine.isLater(value["request"]?["body"]) { unsent.insert(exchange.sequence) }
        }

        private mutating func send(
            _ sequence: Int,
            _ value: JSONValue,
            _ number: Int
        ) throws(RecordingError) {
            guard unsent.remove(sequence) != nil else {
                throw fail(number, "exchange \(sequence) has sent its body already, or never began")
            }
            let body = try RecordingLine.bytes(value["body"], number)
            let proof = try RecordingLine.proof(value, number)
            if open[sequence] != nil {
                open[sequence]?.request.body = body
                open[sequence]?.proof = proof
            } else if let index = done.lastIndex(where: { $0.sequence == sequence }) {
                done[index].request.body = body
                done[index].proof = proof
            }
        }

        private mutating func end(
            _ sequence: Int64,
            _ value: JSONValue,
            _ number: Int
        ) throws(RecordingError) {
            guard var exchange = open.removeValue(forKey: Int(clamping: sequence)) else {
                throw fail(number, "exchange \(sequence) ends and never began")
            }
            try RecordingLine.complete(&exchange, with: value, line: number)
            done.append(exchange)
        }

        private mutating func close(_ count: Int64) {
            isClosed = true
            let found = done.count + open.count
            if Int(clamping: count) != found {
                notes.append("it says that it has \(count) exchanges, and \(found) are there")
            }
        }

        /// What the file held, when all of it was read.
        func recording() throws(RecordingError) -> (recording: Recording, notes: [String]) {
            guard let header else { throw fail(1, "the file is empty") }
            var notes = notes
            if !isClosed { notes.append("the recorder did not close it") }
            if !open.isEmpty {
                notes.append("\(open.count) exchanges have no answer and are left out")
            }
            let cut = done.count { unsent.contains($0.sequence) }
            if cut > 0 {
                notes.append(
                    cut == 1
                        ? "1 request was answered before all of its body was sent"
                        : "\(cut) requests were answered before all of their bodies was sent"
                )
            }
            let exchanges = done.sorted { $0.sequence < $1.sequence }
            let recording = Recording(header: header, exchanges: exchanges, isClosed: isClosed)
            return (recording, notes)
        }
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
