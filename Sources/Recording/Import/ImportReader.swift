internal import Replay
internal import Values

/// Collects the exchanges of a file that is being imported.
///
/// An entry of the file that a recording cannot hold is left out with a note. All other entries are
/// imported.
struct ImportReader {
    /// The maximum number of notes about entries that are left out.
    ///
    /// Further entries that are left out are only counted.
    private static let omissionNoteMax = 20
    /// The maximum size in bytes of a request's target and header fields, or of a response's header
    /// fields.
    private static let headBytesMax = 1 << 20
    /// The allowed times of an imported entry.
    ///
    /// The reader of recordings accepts only years of four digits.
    private static let allowedTimes =
        Instant(milliseconds: 0)..<Instant(milliseconds: 253_402_300_800_000)

    let context: Importer.Context
    var exchanges: [Exchange] = []
    var notes: [String] = []
    /// The number of bytes to which the remaining compressed bodies of the file may decompress.
    private var decompressedBytesLeft: Int
    private var omittedEntryCount = 0
    private var firstError: RecordingError?

    /// Creates a reader for one file.
    ///
    /// - Parameters:
    ///   - context: The information that an import needs in addition to the file.
    ///   - byteCount: The size of the file, in bytes.
    init(context: Importer.Context, byteCount: Int) {
        self.context = context
        decompressedBytesLeft = max(
            Importer.decompressedBytesMin,
            byteCount * Importer.decompressionRatioMax
        )
    }

    func makeError(_ line: Int, _ problem: String, _ remedy: String) -> RecordingError {
        RecordingError(line: line, problem: problem, remedy: remedy)
    }

    // MARK: Entries

    /// Reads one entry of the file, or leaves it out with a note that gives the reason.
    ///
    /// - Parameters:
    ///   - index: The index of the entry, from 0.
    ///   - read: Reads the entry and adds its exchange.
    mutating func entry(
        _ index: Int,
        _ read: (inout ImportReader) throws(RecordingError) -> Void
    ) {
        do throws(RecordingError) {
            try read(&self)
        } catch {
            omitEntry(index, error)
        }
    }

    private mutating func omitEntry(_ index: Int, _ error: RecordingError) {
        firstError = firstError ?? error
        omittedEntryCount += 1
        guard omittedEntryCount <= Self.omissionNoteMax else { return }
        let line = error.line > 1 ? " (line \(error.line))" : ""
        notes.append("entry \(index + 1)\(line) is left out: \(error.problem)")
    }

    /// Finishes the import.
    ///
    /// - Throws: The error of the first invalid entry, when no entry could be imported.
    mutating func finish() throws(RecordingError) {
        if exchanges.isEmpty, let firstError { throw firstError }
        let unlistedOmissionCount = omittedEntryCount - Self.omissionNoteMax
        if unlistedOmissionCount > 0 {
            notes.append(
                unlistedOmissionCount == 1
                    ? "1 more entry is left out"
                    : "\(unlistedOmissionCount) more entries are left out"
            )
        }
    }

    /// Adds one exchange to the import.
    ///
    /// The sender of a request to a provider's webhook is that provider; the sender of any other
    /// request is the app.
    ///
    /// - Throws: An error when a recording cannot hold the exchange.
    mutating func add(
        _ request: HTTPMessage.Request,
        _ response: RecordedResponse?,
        at recordedTime: Instant?,
        line number: Int = 1,
        microseconds: Int64 = 1000
    ) throws(RecordingError) {
        let at = recordedTime ?? context.now + .milliseconds(exchanges.count)
        guard recordedTime == nil || Self.allowedTimes.contains(at) else {
            throw makeError(
                number,
                "the time, \(at.milliseconds) ms since 1970, is not between the years 1970 and 9999",
                "Correct the time."
            )
        }
        guard request.target.hasPrefix("/") || request.target == "*" else {
            throw makeError(
                number,
                "the path '\(request.target.prefix(80))' does not begin with /",
                "Correct the path."
            )
        }
        var request = request
        request.fields = try head(request.fields, request.target.utf8.count, number)
        let decodedResponse = try response.map { response throws(RecordingError) in
            HTTPMessage.Response(
                response.status.code,
                fields: try head(response.fields, 0, number),
                body: response.body
            )
        }
        let line = request.method + " " + request.path
        let from = context.webhooks.first { $0.value == line }?.key ?? .app
        let startedMicroseconds = max(0, (at - (exchanges.first?.at ?? at)).milliseconds)
            .multiplyingSaturated(
                1000
            )
        // A duration that a recording cannot hold becomes zero.
        let completed =
            Exchange.time(startedMicroseconds.addingSaturated(max(0, microseconds)))
            ?? startedMicroseconds
        exchanges.append(
            Exchange(
                from: from,
                to: .backend,
                namespace: "",
                purpose: .call,
                at: at,
                request: request,
                sequence: exchanges.count,
                invoked: startedMicroseconds,
                completed: completed,
                outcome: decodedResponse.map(Exchange.Outcome.answered)
                    ?? .failed(
                        .closed,
                        "the file has no response"
                    )
            )
        )
    }

    /// Returns the header fields without HTTP/2 pseudo-headers such as `:path`, which belong to the
    /// request line.
    private func head(
        _ fields: [HTTPMessage.Field],
        _ targetCount: Int,
        _ line: Int
    ) throws(RecordingError) -> [HTTPMessage.Field] {
        let keptFields = fields.filter { !$0.name.hasPrefix(":") }
        let count = keptFields.reduce(targetCount) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard count <= Self.headBytesMax else {
            throw makeError(
                line,
                "the path and headers have \(count) bytes, more than \(Self.headBytesMax)",
                "Shorten the path or the headers."
            )
        }
        return keptFields
    }

    // MARK: Values

    /// Converts a status code in an imported file.
    ///
    /// - Throws: An error when a recording cannot hold the number.
    func status(
        _ value: JSONValue,
        _ location: String,
        line: Int = 1
    ) throws(RecordingError) -> RecordedStatus {
        guard let number = value.int64, let status = RecordedStatus(number) else {
            throw makeError(
                line,
                "\(location) is \(value.text.prefix(40)), not a status between "
                    + "\(RecordedStatus.allowedCodes.lowerBound) and \(RecordedStatus.allowedCodes.upperBound)",
                "Correct the status."
            )
        }
        return status
    }

    /// Decompresses a body, within the size limits for one body and for the whole file.
    mutating func decompressed(
        _ bytes: [UInt8],
        encoding: String?,
        _ location: String
    ) throws(RecordingError) -> [UInt8] {
        let name = encoding ?? ""
        do throws(BodyDecoding.Failure) {
            let decodedByteCountMax = min(Importer.bodyBytesMax, decompressedBytesLeft)
            let decoded = try BodyDecoding.decoded(
                bytes,
                encoding: encoding,
                max: decodedByteCountMax
            )
            if decoded.wasCompressed { decompressedBytesLeft -= decoded.bytes.count }
            return decoded.bytes
        } catch .decodedBodyTooLarge {
            let problem =
                decompressedBytesLeft < Importer.bodyBytesMax
                ? "with the body of \(location), the decompressed file would be too large"
                : "\(location) has a body of more than \(Importer.bodyBytesMax >> 20) MiB when decompressed"
            // A body that is too large counts as much as the largest allowed body.
            decompressedBytesLeft -= min(Importer.bodyBytesMax, decompressedBytesLeft)
            throw makeError(1, problem, "Save fewer flows in one file.")
        } catch {
            throw makeError(
                1,
                "\(location) has a body with encoding '\(name.prefix(40))' that cannot be decoded",
                "Save the flows with --anticomp."
            )
        }
    }

    /// Returns the path and query of a URL; nil when the string is not a URL.
    static func target(_ url: String) -> String? {
        if url.hasPrefix("/") { return url }
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let urlAfterScheme = url[scheme.upperBound...]
        guard let pathStart = urlAfterScheme.firstIndex(where: { "/?#".contains($0) }) else {
            return urlAfterScheme.isEmpty ? nil : "/"
        }
        let target = urlAfterScheme[pathStart...].prefix { $0 != "#" }
        return target.hasPrefix("/") ? String(target) : "/" + target
    }

    static func isMethod(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { (65...90).contains($0) }
    }
}
