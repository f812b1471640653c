internal import Conformance
internal import ContractFiles

/// Reads a recording piece by piece, so that a long one is never held twice.
package struct RecordingReader {
    private static let lineMax = 64 << 20

    private var header: RecordingHeader?
    private var open: [Int: Exchange] = [:]
    private var done: [Exchange] = []
    /// Exchanges whose body has not been told yet.
    private var unsent: Set<Int> = []
    private var notes: [String] = []
    private var isClosed = false
    /// How many lines have been read.
    private var lineCount = 0
    /// The beginning of a line whose end has not come yet.
    private var rest: [UInt8] = []

    package init() {}

    /// Takes the next bytes of the file, however they are cut.
    ///
    /// - Throws: The first line that is no line of a recording.
    package mutating func read(_ bytes: [UInt8]) throws(RecordingError) {
        let bytes = rest.isEmpty ? bytes : rest + bytes
        var lines: [Range<Int>] = []
        var start = 0
        bytes.withUnsafeBufferPointer { bytes in
            for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
                lines.append(start..<index)
                start = index + 1
            }
        }
        rest = Array(bytes[start...])
        guard rest.count <= Self.lineMax else { throw tooLong(lineCount + lines.count + 1) }
        let first = lineCount
        let read = Array(lines.enumerated()).concurrentMap { index, line in
            RecordingLine.Read(bytes[line], number: first + index + 1, hasHeader: index + first > 0)
        }
        for line in read {
            lineCount += 1
            try take(line)
        }
    }

    /// - Returns: The recording, and notes about what is missing from it.
    /// - Throws: When the file has no header.
    package mutating func finish() throws(RecordingError) -> (
        recording: Recording, notes: [String]
    ) {
        if !rest.isEmpty {
            if header == nil { throw fail(1, "the header is not complete") }
            notes.append("line \(lineCount + 1) was not finished and is left out")
        }
        guard let header else { throw fail(1, "the file is empty") }
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
        done.sort { $0.sequence < $1.sequence }
        return (Recording(header: header, exchanges: done, isClosed: isClosed), notes)
    }

    private func fail(
        _ line: Int,
        _ problem: String,
        _ remedy: String = .restore
    ) -> RecordingError {
        RecordingError(line: line, problem: problem, remedy: remedy)
    }

    private func tooLong(_ line: Int) -> RecordingError {
        fail(line, "the line has more than \(Self.lineMax >> 20) MB")
    }

    private mutating func take(_ line: RecordingLine.Read) throws(RecordingError) {
        let number = lineCount
        if isClosed {
            throw fail(
                number,
                "something follows the line that closes the recording",
                "Two recordings in one file? Keep each in a folder of its own."
            )
        }
        switch line {
        case .wrong(let error): throw error
        case .header(let header): self.header = header
        case .begin(let exchange, let isLater):
            guard open.updateValue(exchange, forKey: exchange.sequence) == nil else {
                throw fail(number, "exchange \(exchange.sequence) begins twice")
            }
            if isLater { unsent.insert(exchange.sequence) }
        case .sent(let sequence, let body, let proof): try send(sequence, body, proof, number)
        case .end(let sequence, let completion):
            guard var exchange = open.removeValue(forKey: sequence) else {
                throw fail(number, "exchange \(sequence) ends and never began")
            }
            exchange.completed = completion.completed
            exchange.outcome = completion.outcome
            exchange.effects = completion.effects
            done.append(exchange)
        case .closed(let count):
            isClosed = true
            let found = done.count + open.count
            if count != found {
                notes.append("it says that it has \(count) exchanges, and \(found) are there")
            }
        case .note: break
        }
    }

    private mutating func send(
        _ sequence: Int,
        _ body: [UInt8],
        _ proof: SenderProof?,
        _ number: Int
    ) throws(RecordingError) {
        guard unsent.remove(sequence) != nil else {
            throw fail(number, "exchange \(sequence) has sent its body already, or never began")
        }
        if open[sequence] != nil {
            open[sequence]?.request.body = body
            open[sequence]?.proof = proof
        } else if let index = done.lastIndex(where: { $0.sequence == sequence }) {
            done[index].request.body = body
            done[index].proof = proof
        }
    }
}
