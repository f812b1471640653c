internal import Values

/// Reads a recording file in chunks of bytes, so that a long file is never in memory twice.
package struct RecordingReader {
    private static let lineBytesMax = 64 << 20

    private var header: RecordingHeader?
    private var openExchanges: [Int: Exchange] = [:]
    private var completedExchanges: [Exchange] = []
    /// The numbers of the exchanges whose request body has not been read yet.
    private var exchangesAwaitingBody: Set<Int> = []
    private var notes: [String] = []
    private var isClosed = false
    /// The number of lines of the file that have been read.
    private var lineCount = 0
    /// The bytes of a line whose end has not been read yet.
    private var incompleteLine: [UInt8] = []

    package init() {}

    /// Reads the next bytes of the recording file.
    ///
    /// The bytes may end in the middle of a line.
    ///
    /// - Throws: An error about the first invalid line.
    package mutating func read(_ bytes: [UInt8]) throws(RecordingError) {
        let bytes = incompleteLine.isEmpty ? bytes : incompleteLine + bytes
        var lines: [Range<Int>] = []
        var lineStart = 0
        bytes.withUnsafeBufferPointer { bytes in
            for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
                lines.append(lineStart..<index)
                lineStart = index + 1
            }
        }
        incompleteLine = Array(bytes[lineStart...])
        guard incompleteLine.count <= Self.lineBytesMax else {
            throw lineTooLongError(lineCount + lines.count + 1)
        }
        let previousLineCount = lineCount
        let read = Array(lines.enumerated()).concurrentMapWithProviders { index, line in
            RecordingLine.ParsedLine(
                bytes[line],
                number: previousLineCount + index + 1,
                hasHeader: index + previousLineCount > 0
            )
        }
        for line in read {
            lineCount += 1
            try addLine(line)
        }
    }

    /// Builds the recording after the last bytes of its file have been read.
    ///
    /// - Returns: The recording, and notes about its missing parts.
    /// - Throws: An error when the file has no header.
    package mutating func finish() throws(RecordingError) -> (
        recording: Recording, notes: [String]
    ) {
        if !incompleteLine.isEmpty {
            if header == nil { throw makeError(1, "the header is incomplete") }
            notes.append("line \(lineCount + 1) is incomplete and is left out")
        }
        guard let header else { throw makeError(1, "the file is empty") }
        if !isClosed { notes.append("the recorder did not close the file") }
        if !openExchanges.isEmpty {
            notes.append(
                openExchanges.count == 1
                    ? "1 exchange has no response and is left out"
                    : "\(openExchanges.count) exchanges have no response and are left out"
            )
        }
        let truncatedExchangeCount = completedExchanges.count {
            exchangesAwaitingBody.contains($0.sequence)
        }
        if truncatedExchangeCount > 0 {
            notes.append(
                truncatedExchangeCount == 1
                    ? "1 request got its response before its whole body was sent"
                    : "\(truncatedExchangeCount) requests got their responses before their whole bodies were sent"
            )
        }
        completedExchanges.sort { $0.sequence < $1.sequence }
        return (Recording(header: header, exchanges: completedExchanges, isClosed: isClosed), notes)
    }

    private func makeError(
        _ line: Int,
        _ problem: String,
        _ remedy: String = .restoreRemedy
    ) -> RecordingError {
        RecordingError(line: line, problem: problem, remedy: remedy)
    }

    private func lineTooLongError(_ line: Int) -> RecordingError {
        makeError(line, "the line has more than \(Self.lineBytesMax >> 20) MB")
    }

    private mutating func addLine(_ line: RecordingLine.ParsedLine) throws(RecordingError) {
        let number = lineCount
        if isClosed {
            throw makeError(
                number,
                "there is another line after the line that closes the recording",
                "If the file contains two recordings, put each into a separate folder."
            )
        }
        switch line {
        case .invalid(let error): throw error
        case .header(let header): self.header = header
        case .begin(let exchange, let isBodyDeferred):
            guard openExchanges.updateValue(exchange, forKey: exchange.sequence) == nil else {
                throw makeError(number, "exchange \(exchange.sequence) begins twice")
            }
            if isBodyDeferred { exchangesAwaitingBody.insert(exchange.sequence) }
        case .sent(let sequence, let body, let proof):
            try setDeferredBody(sequence, body, proof, number)
        case .end(let sequence, let completion):
            guard var exchange = openExchanges.removeValue(forKey: sequence) else {
                throw makeError(number, "exchange \(sequence) ends, but it never began")
            }
            exchange.completed = completion.completed
            exchange.outcome = completion.outcome
            exchange.effects = completion.effects
            completedExchanges.append(exchange)
        case .closed(let count):
            isClosed = true
            let readExchangeCount = completedExchanges.count + openExchanges.count
            if count != readExchangeCount {
                notes.append(
                    "the closing line has the exchange count \(count), but the file has \(readExchangeCount)"
                )
            }
        case .note: break
        }
    }

    private mutating func setDeferredBody(
        _ sequence: Int,
        _ body: [UInt8],
        _ proof: SenderProof?,
        _ number: Int
    ) throws(RecordingError) {
        guard exchangesAwaitingBody.remove(sequence) != nil else {
            throw makeError(number, "exchange \(sequence) never began, or already has its body")
        }
        if openExchanges[sequence] != nil {
            openExchanges[sequence]?.request.body = body
            openExchanges[sequence]?.proof = proof
        } else if let index = completedExchanges.lastIndex(where: { $0.sequence == sequence }) {
            completedExchanges[index].request.body = body
            completedExchanges[index].proof = proof
        }
    }
}
