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
        var header: RecordingHeader?
        var open: [Int: Exchange] = [:]
        var done: [Exchange] = []
        var notes: [String] = []
        var isClosed = false
        var start = 0
        var number = 0
        while start < bytes.count {
            number += 1
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n"))
            let line = bytes[start..<(end ?? bytes.count)]
            start = (end ?? bytes.count) + 1
            guard end != nil else {
                if header == nil {
                    throw RecordingError(
                        line: 1,
                        problem: "the header is not complete",
                        remedy: .restore
                    )
                }
                notes.append("line \(number) was not finished and is left out")
                break
            }
            guard line.count <= lineMax else {
                throw RecordingError(
                    line: number,
                    problem: "the line has more than \(lineMax >> 20) MB",
                    remedy: .restore
                )
            }
            let value: JSONValue
            do throws(JSONError) {
                value = try JSONValue(
                    parsing: Array(line),
                    options: .init(depthMax: 160, duplicateKeys: .keep)
                )
            } catch {
                throw RecordingError(
                    line: number,
                    problem: "this is not JSON: \(error)",
                    remedy: .restore
                )
            }
            guard header != nil else {
                header = try RecordingHeader(value, line: number)
                continue
            }
            guard !isClosed else {
                throw RecordingError(
                    line: number,
                    problem: "something follows the line that closes the recording",
                    remedy: "Two recordings in one file? Keep each in a folder of its own."
                )
            }
            if let sequence = value["begin"]?.int64 {
                let exchange = try RecordingLine.exchange(
                    value,
                    sequence: Int(clamping: sequence),
                    line: number
                )
                guard open.updateValue(exchange, forKey: exchange.sequence) == nil else {
                    throw RecordingError(
                        line: number,
                        problem: "exchange \(sequence) begins twice",
                        remedy: .restore
                    )
                }
            } else if let sequence = value["end"]?.int64 {
                guard var exchange = open.removeValue(forKey: Int(clamping: sequence)) else {
                    throw RecordingError(
                        line: number,
                        problem: "exchange \(sequence) ends and never began",
                        remedy: .restore
                    )
                }
                try RecordingLine.complete(&exchange, with: value, line: number)
                done.append(exchange)
            } else if let count = value["closed"]?.int64 {
                isClosed = true
                if Int(clamping: count) != done.count + open.count {
                    notes.append(
                        "it says that it has \(count) exchanges, and \(done.count + open.count) are there"
                    )
                }
            } else if value["note"]?.string != nil {
                continue
            } else {
                throw RecordingError(
                    line: number,
                    problem: "the line is neither begin, end, note nor closed",
                    remedy: .restore
                )
            }
        }
        guard let header else {
            throw RecordingError(line: 1, problem: "the file is empty", remedy: .restore)
        }
        if !isClosed { notes.append("the recorder did not close it") }
        if !open.isEmpty {
            notes.append("\(open.count) exchanges have no answer and are left out")
        }
        done.sort { $0.sequence < $1.sequence }
        return (Recording(header: header, exchanges: done, isClosed: isClosed), notes)
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
                default: nil
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
