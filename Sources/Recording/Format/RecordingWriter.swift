package import FakeServers
internal import Foundation
internal import Programs
internal import Providers
internal import Redaction
internal import Replay
package import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Appends the HTTP exchanges of a session to a recording file.
///
/// Each line is written with one system call, so that killing the process loses at most the line
/// being written.
package final class RecordingWriter: JournalObserver {
    /// The number of exchanges and bytes that the writer has written so far.
    package struct Progress: Hashable, Sendable {
        package var exchangeCount = 0
        package var byteCount = 0
        package var countByParty: [Exchange.Party: Int] = [:]
        /// The error that made the writer stop; nil when there was none.
        ///
        /// Even after an error, all lines in the file are complete.
        package var failure: String?
    }

    package struct OpenError: Error, Sendable, CustomStringConvertible {
        package let description: String
        /// Whether the recording file was created but could not be written, for example on a full
        /// disk.
        package var isWriteFailure = false
    }

    package let path: String
    private let fileDescriptor: Int32
    private let redactor: Redactor
    private let bodyMax: Int
    private let progress = Locked(Progress())
    /// Exchanges whose request body is not complete yet, by exchange number.
    private let exchangesAwaitingBody = Locked<[Int: Exchange]>([:])
    /// Returns whether an exchange belongs in the recording.
    private let isWanted: @Sendable (Exchange) -> Bool
    /// Checks the credentials of a request's sender, such as a signature, before the secrets are
    /// redacted.
    private let senderProof: @Sendable (Exchange) -> SenderProof?

    /// Creates a recording file and writes its header.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which must not exist yet. Only the owner can access the file
    ///     and the folders created for it.
    ///   - header: The first line of the file.
    ///   - redactor: Replaces the secrets in every line.
    ///   - isWanted: Returns whether an exchange belongs in the recording.
    ///   - proof: Checks the credentials of the sender of a complete request; nil when they cannot
    ///     be checked.
    /// - Throws: An error when the file exists or cannot be written.
    package init(
        path: String,
        header: RecordingHeader,
        redactor: Redactor,
        isWanted: @escaping @Sendable (Exchange) -> Bool = { _ in true },
        proof: @escaping @Sendable (Exchange) -> SenderProof? = { _ in nil }
    ) throws(OpenError) {
        self.path = path
        self.redactor = redactor
        self.isWanted = isWanted
        senderProof = proof
        bodyMax = header.bodyMax
        do throws(OutputFile.WriteError) {
            try OutputFile.makeFolder(PathName(path).folder, .ownerOnly)
        } catch {
            let reason = "cannot create the folder '\(error.path)': \(error.reason)"
            throw OpenError(description: "cannot write the recording '\(path)': \(reason)")
        }
        fileDescriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600)
        guard fileDescriptor >= 0 else {
            let reason =
                errno == EEXIST
                ? "the file already exists; name another folder or remove the file"
                : String(cString: strerror(errno))
            throw OpenError(description: "cannot write the recording '\(path)': \(reason)")
        }
        write(redactor.line(header.json))
        if let failure = progress.withLock({ $0.failure }) {
            _ = SystemCalls.close(fileDescriptor)
            unlink(path)
            throw OpenError(description: failure, isWriteFailure: true)
        }
    }

    package var currentProgress: Progress { progress.withLock { $0 } }

    // MARK: Lines

    package func began(_ exchange: Exchange) {
        guard isWanted(exchange) else { return }
        var redactedExchange = exchange
        redactedExchange.request.target = redactor.target(exchange.request.target)
        redactedExchange.request.fields = fields(exchange.request.fields)
        let body = self.body(exchange.request.body, exchange.request.fields)
        if case .deferred = body {
            exchangesAwaitingBody.withLock { $0[exchange.sequence] = exchange }
        } else {
            redactedExchange.proof = proof(of: exchange)
        }
        let line = redactor.line(bytes: RecordingLine.began(redactedExchange, body: body))
        progress.withLock { $0.countByParty[exchange.from, default: 0] += 1 }
        write(line)
    }

    package func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8]) {
        guard var exchange = exchangesAwaitingBody.withLock({ $0.removeValue(forKey: sequence) })
        else { return }
        (exchange.request.fields, exchange.request.body) = (fields, body)
        let line = RecordingLine.sent(
            sequence,
            body: self.body(body, fields),
            proof: proof(of: exchange)
        )
        write(redactor.line(bytes: line))
    }

    package func completed(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        _ effects: [Effect],
        namespace: String?,
        at microseconds: Int64
    ) {
        var redacted = outcome
        var body = RecordingLine.Body.none
        switch outcome {
        case .answered(var response):
            body = self.body(response.body, response.fields)
            response.fields = fields(response.fields)
            redacted = .answered(response)
        case .answerLost(var response?):
            body = self.body(response.body, response.fields)
            response.fields = fields(response.fields)
            redacted = .answerLost(response)
        case .failed(let failure, let text): redacted = .failed(failure, redactor.text(text))
        case .pending, .answerLost(nil), .requestCut: break
        }
        let line = RecordingLine.completed(
            sequence,
            redacted,
            body: body,
            effects: effects.map(redactor.effect),
            at: microseconds
        )
        progress.withLock { $0.exchangeCount += 1 }
        write(redactor.line(bytes: line))
    }

    package func recordWebSocketMessage(_ message: WebSocketMessage, at microseconds: Int64) {
        write(
            redactor.line(
                bytes: RecordingLine.message(
                    message.sequence,
                    from: message.from,
                    body: body(message.body, message.fields),
                    at: microseconds
                )
            )
        )
    }

    /// Writes a line with a note for the person who reads the recording.
    package func note(_ text: String) {
        write(redactor.line(["note": .string(redactor.text(text))]))
    }

    private func proof(of exchange: Exchange) -> SenderProof? {
        guard var proof = senderProof(exchange) else { return nil }
        // A signature cannot be checked if the body that it signs was not kept.
        let isBodyKept = exchange.request[field: CapturedBody.omittedField] == nil
        if !isBodyKept, proof.signature != .missing { proof.signature = nil }
        return proof.isEmpty ? nil : proof
    }

    private func fields(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
        let internalFieldNames = [CapturedBody.omittedField, CapturedBody.deferredBodyField.name]
        return redactor.fields(fields.filter { !internalFieldNames.contains($0.name) })
    }

    private func body(_ bytes: [UInt8], _ fields: [HTTPMessage.Field]) -> RecordingLine.Body {
        if fields.contains(CapturedBody.deferredBodyField) { return .deferred }
        guard !bytes.isEmpty else { return .none }
        // The capture marks a body that was too long to keep.
        if let omitted = fields.value(of: CapturedBody.omittedField) {
            let byteCountAndDigest = omitted.split(separator: " ").map(String.init)
            return .omitted(
                count: Int(byteCountAndDigest.first ?? "") ?? 0,
                digest: byteCountAndDigest.last ?? ""
            )
        }
        let encoding = fields.value(of: "content-encoding")
        guard bytes.count <= bodyMax,
            let decodedBytes = BodyDecoding.decodedBody(bytes, encoding: encoding, max: 4 * bodyMax)
        else { return .omitted(count: bytes.count, digest: Digest.sha256(bytes)) }
        switch redactor.redacted(decodedBytes, contentType: fields.value(of: "content-type")) {
        case .unchangedJSON where !decodedBytes.contains(where: { $0 == 10 || $0 == 13 }):
            return .json(decodedBytes, digest: nil)
        case .unchangedJSON(let value):
            return .json(value.bytes, digest: Digest.sha256(decodedBytes))
        case .json(let value): return .json(value.bytes, digest: nil)
        case .text(let text): return .bytes(Array(text.utf8))
        case .bytes where !redactor.isSecret(decodedBytes) && !containsHiddenSecrets(decodedBytes):
            return .bytes(decodedBytes)
        case .bytes, .hidden:
            return .omitted(count: bytes.count, digest: Digest.sha256(bytes))
        }
    }

    /// Returns whether the bytes are gzip data that contains secrets or cannot be decompressed.
    private func containsHiddenSecrets(_ bytes: [UInt8]) -> Bool {
        guard bytes.starts(with: [0x1f, 0x8b]) else { return false }
        guard let decodedBytes = BodyDecoding.decodedBody(bytes, encoding: "gzip", max: 4 * bodyMax)
        else {
            return true
        }
        switch redactor.redacted(decodedBytes, contentType: nil) {
        case .unchangedJSON, .bytes: return redactor.isSecret(decodedBytes)
        case .text(let text): return Array(text.utf8) != decodedBytes
        case .json, .hidden: return true
        }
    }

    /// Writes a line to the recording file with one system call.
    ///
    /// A line that is truncated by a full disk is removed again, and nothing is written after it.
    private func write(_ line: [UInt8]) {
        let bytes = line + [UInt8(ascii: "\n")]
        progress.withLock { progress in
            guard progress.failure == nil else { return }
            var unwrittenBytes = bytes[...]
            while !unwrittenBytes.isEmpty {
                let count = unwrittenBytes.withUnsafeBytes { SystemCalls.write(fileDescriptor, $0) }
                if count > 0 {
                    unwrittenBytes = unwrittenBytes.dropFirst(count)
                } else if errno != EINTR {
                    progress.failure =
                        "cannot continue writing '\(path)': \(String(cString: strerror(errno))); "
                        + "all lines before it are complete"
                    ftruncate(fileDescriptor, off_t(progress.byteCount))
                    return
                }
            }
            progress.byteCount += bytes.count
        }
    }

    /// Writes the last line, which contains the number of exchanges, and closes the recording file.
    package func close() {
        write(redactor.line(Recording.closingLine(progress.withLock { $0.exchangeCount })))
        guard SystemCalls.close(fileDescriptor) != 0 else { return }
        let reason = String(cString: strerror(errno))
        progress.withLock { progress in
            progress.failure = progress.failure ?? "cannot finish writing '\(path)': \(reason)"
        }
    }
}

/// Functions of the C library whose names collide with methods of `RecordingWriter`.
private enum SystemCalls {
    static func write(_ fileDescriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
        Glibc.write(fileDescriptor, bytes.baseAddress, bytes.count)
        #else
        Darwin.write(fileDescriptor, bytes.baseAddress, bytes.count)
        #endif
    }

    static func close(_ fileDescriptor: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.close(fileDescriptor)
        #else
        Darwin.close(fileDescriptor)
        #endif
    }
}
