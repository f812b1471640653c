package import Conformance
package import FakeServers
internal import Foundation
internal import Programs
internal import Providers
internal import Replay

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Appends what happens to a file, a line at a time and each with one system call, so that a kill
/// loses at most the line being written.
package final class RecordingWriter: JournalTap {
    /// What has been written so far.
    package struct Progress: Hashable, Sendable {
        package var exchangeCount = 0
        package var byteCount = 0
        package var countByParty: [Exchange.Party: Int] = [:]
        /// Why nothing more is written; what stands in the file is whole.
        package var failure: String?
    }

    package struct OpenError: Error, Sendable, CustomStringConvertible {
        package let description: String
        /// Whether the file was made and could not be written, as on a full disk.
        package var isWriteFailure = false
    }

    package let path: String
    private let descriptor: Int32
    private let redactor: Redactor
    private let bodyMax: Int
    private let progress = Locked(Progress())
    /// Exchanges whose request's body is told later.
    private let unsent = Locked<[Int: Exchange]>([:])
    /// Whether an exchange belongs into the recording.
    private let isWanted: @Sendable (Exchange) -> Bool
    /// Tells what proved the sender of a request, from the request as it was sent.
    private let prove: @Sendable (Exchange) -> SenderProof?

    /// - Parameters:
    ///   - path: A file that does not exist yet. It and the folders that are made for it are the
    ///     owner's alone.
    ///   - header: The first line.
    ///   - redactor: Takes the secrets out of every line.
    ///   - isWanted: Whether an exchange belongs into the recording.
    ///   - proof: What proved the sender of a complete request; nil when nobody can tell.
    /// - Throws: When it exists, or cannot be written.
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
        prove = proof
        bodyMax = header.bodyMax
        do throws(OutputFile.WriteError) {
            try OutputFile.makeFolder(PathName(path).folder, .ownerOnly)
        } catch {
            let reason = "cannot make the folder '\(error.path)': \(error.reason)"
            throw OpenError(description: "cannot write the recording '\(path)': \(reason)")
        }
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600)
        guard descriptor >= 0 else {
            let reason =
                errno == EEXIST
                ? "it exists already; name another folder, or remove it"
                : String(cString: strerror(errno))
            throw OpenError(description: "cannot write the recording '\(path)': \(reason)")
        }
        write(redactor.line(header.json))
        if let failure = progress.withLock({ $0.failure }) {
            _ = system.close(descriptor)
            unlink(path)
            throw OpenError(description: failure, isWriteFailure: true)
        }
    }

    package var state: Progress { progress.withLock { $0 } }

    // MARK: Lines

    package func began(_ exchange: Exchange) {
        guard isWanted(exchange) else { return }
        var copy = exchange
        copy.request.target = redactor.target(exchange.request.target)
        copy.request.fields = fields(exchange.request.fields)
        let body = self.body(exchange.request.body, exchange.request.fields)
        if case .later = body {
            unsent.withLock { $0[exchange.sequence] = exchange }
        } else {
            copy.proof = proof(of: exchange)
        }
        let line = redactor.line(bytes: RecordingLine.began(copy, body: body))
        progress.withLock { $0.countByParty[exchange.from, default: 0] += 1 }
        write(line)
    }

    package func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8]) {
        guard var exchange = unsent.withLock({ $0.removeValue(forKey: sequence) }) else { return }
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

    package func said(_ message: SocketMessage, at microseconds: Int64) {
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

    /// Something that a reader should know; it is no exchange.
    package func note(_ text: String) {
        write(redactor.line(["note": .string(redactor.text(text))]))
    }

    private func proof(of exchange: Exchange) -> SenderProof? {
        guard var proof = prove(exchange) else { return nil }
        // What was not kept cannot be looked into.
        let isKept = exchange.request[field: CapturedBody.omittedField] == nil
        if !isKept, proof.signature != .missing { proof.signature = nil }
        return proof.isEmpty ? nil : proof
    }

    private func fields(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
        let own = [CapturedBody.omittedField, CapturedBody.laterField.name]
        return redactor.fields(fields.filter { !own.contains($0.name) })
    }

    private func body(_ bytes: [UInt8], _ fields: [HTTPMessage.Field]) -> RecordingLine.Body {
        if fields.contains(CapturedBody.laterField) { return .later }
        guard !bytes.isEmpty else { return .none }
        // The capture says so itself when a body was longer than it keeps.
        if let omitted = fields.value(of: CapturedBody.omittedField) {
            let words = omitted.split(separator: " ").map(String.init)
            return .omitted(count: Int(words.first ?? "") ?? 0, digest: words.last ?? "")
        }
        let encoding = fields.value(of: "content-encoding")
        guard bytes.count <= bodyMax,
            let plain = BodyDecoding.plain(bytes, encoding: encoding, max: 4 * bodyMax)
        else { return .omitted(count: bytes.count, digest: Digest.sha256(bytes)) }
        switch redactor.redacted(plain, contentType: fields.value(of: "content-type")) {
        case .unchangedJSON where !plain.contains(where: { $0 == 10 || $0 == 13 }):
            return .json(plain, digest: nil)
        case .unchangedJSON(let value): return .json(value.bytes, digest: Digest.sha256(plain))
        case .json(let value): return .json(value.bytes, digest: nil)
        case .text(let text): return .bytes(Array(text.utf8))
        case .bytes where !redactor.isSecret(plain) && !hidesSecrets(plain):
            return .bytes(plain)
        case .bytes, .hidden:
            return .omitted(count: bytes.count, digest: Digest.sha256(bytes))
        }
    }

    /// Whether a packed file holds secrets, or cannot be looked into.
    private func hidesSecrets(_ bytes: [UInt8]) -> Bool {
        guard bytes.starts(with: [0x1f, 0x8b]) else { return false }
        guard let plain = BodyDecoding.plain(bytes, encoding: "gzip", max: 4 * bodyMax) else {
            return true
        }
        switch redactor.redacted(plain, contentType: nil) {
        case .unchangedJSON, .bytes: return redactor.isSecret(plain)
        case .text(let text): return Array(text.utf8) != plain
        case .json, .hidden: return true
        }
    }

    /// One call for one line; what a full disk cuts is taken back, and nothing is written after it.
    private func write(_ line: [UInt8]) {
        let bytes = line + [UInt8(ascii: "\n")]
        progress.withLock { progress in
            guard progress.failure == nil else { return }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { system.write(descriptor, $0) }
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    progress.failure =
                        "cannot go on writing '\(path)': \(String(cString: strerror(errno))); "
                        + "what stands there is whole"
                    ftruncate(descriptor, off_t(progress.byteCount))
                    return
                }
            }
            progress.byteCount += bytes.count
        }
    }

    /// Writes the last line, which says how many exchanges there are, and closes the file.
    package func close() {
        write(redactor.line(Recording.closing(progress.withLock { $0.exchangeCount })))
        guard system.close(descriptor) != 0 else { return }
        let reason = String(cString: strerror(errno))
        progress.withLock { progress in
            progress.failure = progress.failure ?? "cannot finish writing '\(path)': \(reason)"
        }
    }
}

/// The C library's calls whose names collide with our own.
private enum system {
    static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
        Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #else
        Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }

    static func close(_ descriptor: Int32) -> Int32 {
        #if canImport(Glibc)
        Glibc.close(descriptor)
        #else
        Darwin.close(descriptor)
        #endif
    }
}
