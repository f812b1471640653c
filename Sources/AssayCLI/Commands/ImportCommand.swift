internal import ArgumentParser
internal import Contracts
internal import Foundation
internal import Providers
internal import Recording
internal import Redaction
internal import Replay
internal import Reports
internal import Values

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports a recording: HAR, curl, Postman, Pact, …",
        discussion: """
            Formats: har (1.2), curl (command lines), ndjson (one request on each line), events \
            (JSON of \(senders) events, from a dashboard or an export), pact (3 \
            and 4), postman (a collection of format 2.1, with its saved responses), mitmproxy \
            (flows saved by 'mitmdump -w'), openapi (the examples of an API description, version \
            3). Secrets are replaced by placeholders.

            Requests without a response, such as curl commands, are sent to --target, and its \
            responses are recorded.

            Example:  assay import session.har recordings/session/checkout
                      assay import calls.txt recordings/session/calls --target http://127.0.0.1:8080
                      assay import events.json recordings/revenuecat/from-the-log
            """
    )

    private static var senders: String {
        ProviderTable.all.sortedEntries.filter { $0.sender != nil }.map { "\($0.title)'s" }
            .joined(separator: " or ")
    }

    @Argument(help: "The file to import.")
    var file: String

    @Argument(help: "The folder for the new recording.")
    var folder: String

    @Option(
        name: .long,
        help: "har, curl, postman, pact, mitmproxy, openapi, events or ndjson (default: detected)."
    )
    var format: String?

    @Option(name: .long, help: Setting.importProfile.help)
    var profile: String?

    @Option(
        name: .long,
        help: "A host in the file that is the backend (default: the host of most requests)."
    )
    var host: [String] = []

    @Option(name: .long, help: "URL of the backend to which requests without a response are sent.")
    var target: String?

    @Option(name: .long, help: Setting.authority.help)
    var ca: String?

    @Option(name: .long, help: "A host other than loopback that --target may name.")
    var allowHost: [String] = []

    mutating func run() async throws {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandFailure(.usage, "the file '\(file)' does not exist")
        }
        guard data.count <= Recording.fileBytesMax else {
            throw CommandFailure(
                .unparsable,
                "\(file): larger than \(Recording.fileBytesMax >> 30) GiB"
            )
        }
        let bytes = Array(data)
        let chosenFormat = try chosenFormat(for: bytes)
        let profile = try readProfile()
        var webhooks: [Exchange.Party: String] = [:]
        for provider in Services.providers {
            webhooks[provider.party] = provider.sender.flatMap {
                profile.endpoints[$0.webhookEndpoint]
            }
            .map { "\($0.method) \($0.path)" }
        }
        let now = SuiteRun.now()
        let result: (exchanges: [Exchange], notes: [String])
        do throws(RecordingError) {
            result = try Importer.exchanges(
                bytes,
                format: chosenFormat,
                Importer.Context(webhooks: webhooks, now: now, hosts: host) { [file] path in
                    Self.contents(of: path, nextTo: file)
                }
            )
        } catch {
            throw CommandFailure(.unparsable, "\(file): \(error)")
        }
        for note in result.notes { Terminal.error("\(file): \(note)\n") }
        let exchangesWithResponses = try await exchangesWithResponses(result.exchanges)
        guard hasUnansweredRequests else { return try write(exchangesWithResponses, profile, now) }
        try replaceImport(exchangesWithResponses, profile, now)
    }

    /// Returns the format of `--format`, or the format that the content has.
    private func chosenFormat(for bytes: [UInt8]) throws -> Importer.Format {
        let names = Importer.Format.allCases.map(\.rawValue).joined(separator: ", ")
        if let format {
            guard let knownFormat = Importer.Format(rawValue: format) else {
                throw CommandFailure(.usage, "--format '\(format)' is not one of \(names)")
            }
            return knownFormat
        }
        guard let guessedFormat = Importer.format(of: bytes) else {
            throw CommandFailure(
                .unparsable,
                "\(file): line 1: error: the format is not recognized\n"
                    + "Add --format with one of \(names)."
            )
        }
        return guessedFormat
    }

    /// Writes this import in place of an earlier import whose requests have no responses.
    ///
    /// The earlier file is kept until the new one is written.
    private func replaceImport(
        _ exchangesWithResponses: [Exchange],
        _ profile: Profile,
        _ now: Instant
    ) throws {
        let fileManager = FileManager.default
        let (path, backupPath) = (folder + "/recording.ndjson", folder + "/recording.ndjson.old")
        try fileManager.removeIfPresent(backupPath)
        do {
            try fileManager.moveItem(atPath: path, toPath: backupPath)
        } catch {
            throw CommandFailure(.outputFailed, "cannot move '\(path)': \(error.plainReason)")
        }
        do {
            try write(exchangesWithResponses, profile, now)
        } catch {
            // If the new file stays, the move below fails and reports it.
            try? fileManager.removeItem(atPath: path)
            do {
                try fileManager.moveItem(atPath: backupPath, toPath: path)
            } catch let restoreError {
                throw CommandFailure(
                    .outputFailed,
                    "\(error)\nThe earlier import could not be restored: "
                        + "\(restoreError.plainReason). To restore it, rename '\(backupPath)' to "
                        + "'\(path)'."
                )
            }
            throw error
        }
        try fileManager.removeIfPresent(backupPath)
        Terminal.error("\(folder): replaced the earlier import, which had no responses\n")
    }

    /// Whether the folder contains an earlier import with requests that have no responses, which
    /// the backend of `--target` can now give.
    private var hasUnansweredRequests: Bool {
        guard target != nil, FileManager.default.fileExists(atPath: folder + "/recording.ndjson"),
            // If the existing file cannot be read, the write of the new one refuses to replace it.
            let existingRecording = try? RecordingFile.read(folder)
        else { return false }
        return existingRecording.header.target.isEmpty
            && existingRecording.exchanges.contains { $0.response == nil }
    }

    /// Returns the contents of a file that a curl command sends.
    ///
    /// The path in the command is relative to the current folder or to the folder of the imported
    /// file.
    private static func contents(of path: String, nextTo file: String) -> [UInt8]? {
        let folder = PathName(file).folder
        let candidatePaths = [path, PathName(folder).appending(path)]
        return candidatePaths.lazy.compactMap { FileManager.default.contents(atPath: $0) }.first
            .map(
                Array.init
            )
    }

    /// Sends each imported request without a response to the URL of `--target`, and adds the new
    /// responses.
    private func exchangesWithResponses(_ exchanges: [Exchange]) async throws -> [Exchange] {
        let requestsWithoutResponseCount = exchanges.count { $0.response == nil }
        guard requestsWithoutResponseCount > 0 else { return exchanges }
        guard let target else {
            Terminal.error(
                "\(file): \(requestsWithoutResponseCount) request\(requestsWithoutResponseCount == 1 ? " has" : "s have") no response; to send "
                    + "\(requestsWithoutResponseCount == 1 ? "it and record the response" : "them and record the responses")"
                    + ", add --target URL\n"
            )
            return exchanges
        }
        let url = try TargetURL(target, flag: "--target", allowed: allowHost)
        let client = BackendClient(
            base: url.base,
            laneCount: 1,
            authority: try TargetOptions.authority(ca)
        )
        var exchangesWithResponses = exchanges
        for index in exchanges.indices where exchanges[index].response == nil {
            let clock = ContinuousClock()
            let start = clock.now
            let outcome = await client.send(exchanges[index].request, within: .seconds(30))
            if case .failed(.refused, let text) = outcome {
                await client.close()
                throw CommandFailure(.unreachable, "\(target): \(text)")
            }
            exchangesWithResponses[index].outcome = outcome
            exchangesWithResponses[index].completed =
                exchangesWithResponses[index].invoked + (clock.now - start).milliseconds * 1000
        }
        await client.close()
        return exchangesWithResponses
    }

    private func readProfile() throws -> Profile {
        try TargetOptions.profile(profile, Setting.environment)
    }

    private func write(_ exchanges: [Exchange], _ profile: Profile, _ now: Instant) throws {
        var generator = SystemRandomNumberGenerator()
        var header = RecordingHeader(
            version: assayVersion,
            began: exchanges.first?.at ?? now,
            target: ""
        )
        header.redaction = profile.secretNames
        let path = folder + "/recording.ndjson"
        let writer: RecordingWriter
        do throws(RecordingWriter.OpenError) {
            writer = try RecordingWriter(
                path: path,
                header: header,
                redactor: Redactor(
                    key: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) },
                    secrets: Array(SecretDeclaration(profile).values.values),
                    names: profile.allSecretNames
                )
            )
        } catch {
            throw CommandFailure(error.isWriteFailure ? .outputFailed : .usage, error.description)
        }
        for exchange in exchanges {
            writer.began(exchange)
            writer.completed(
                exchange.sequence,
                exchange.outcome,
                exchange.effects,
                namespace: nil,
                at: exchange.completed ?? exchange.invoked
            )
        }
        writer.close()
        if let failure = writer.currentProgress.failure {
            throw CommandFailure(.outputFailed, failure)
        }
        let count = "\(exchanges.count) exchange\(exchanges.count == 1 ? "" : "s")"
        Terminal.output("\(count) written to \(path)\n")
        Terminal.error("Next:  \(Terminal.next(["distill", folder]))\n")
    }
}

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Exports a recording for other tools: HAR 1.2 or curl.",
        discussion: """
            Secrets remain replaced by placeholders.

            Example:  assay export recordings/session/first-purchase --format har > session.har
            """
    )

    @Argument(help: "The folder or the file of the recording.")
    var recording: String

    @Option(name: .long, help: "The format: har or curl.")
    var format = "har"

    @Option(name: .long, help: "The base URL of the requests (default: the recorded backend).")
    var base: String?

    mutating func run() throws {
        guard let format = Exporter.Format(rawValue: format) else {
            let names = Exporter.Format.allCases.map(\.rawValue).joined(separator: " nor ")
            throw CommandFailure(.usage, "--format '\(format)' is neither \(names)")
        }
        let file = try RecordingFile.read(recording)
        let recordedTarget = file.header.target
        let url = base ?? (recordedTarget.isEmpty ? "http://127.0.0.1" : recordedTarget)
        let text = Exporter.text(file, format, base: url)
        Terminal.printDocument(format == .har ? ForeignText.escapedJSON(text) : text)
    }
}
