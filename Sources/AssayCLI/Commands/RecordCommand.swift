internal import ArgumentParser
internal import Contracts
internal import FakeServers
internal import Foundation
internal import Programs
internal import Providers
internal import Recording
internal import Redaction
internal import Replay
internal import Reports
internal import Values

struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Records a session of an app, a backend and the fakes.",
        discussion: """
            Starts a proxy in front of the backend and fakes behind it. Writes the requests of \
            the app and the providers to the backend (through the proxy), and the calls of the \
            backend to the fakes, to FOLDER/recording.ndjson. Every exchange is one line, without \
            secrets. Ctrl-C ends the session; a kill loses at most the line being written. Then \
            run 'assay distill FOLDER', or add --distill.

            The proxy listens on 127.0.0.1:8081, and the control API, which simulates purchases \
            and time, on port 9300. --listen HOST:PORT and --listen control=HOST:PORT change \
            that.

            Example:  assay record --start 'node server.js' --distill recordings/shop/purchase
                      assay record --target http://127.0.0.1:8080 --listen 127.0.0.1:8081
                      assay record --check recordings/shop/purchase    # before a commit
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: Setting.bodyMax.help)
    var bodyMax: Int?

    @Option(name: .long, help: "The seed of the IDs that the fakes generate.")
    var seed: UInt64 = 0

    @Flag(
        name: .long,
        help: "After the session, distill it and test it on the backend, as 'assay distill' does."
    )
    var distill = false

    @Flag(
        name: .long,
        help: "Record nothing; search a recording for secrets, and exit 1 if one is found."
    )
    var check = false

    @Argument(help: "The new folder: recordings/PROVIDER/SCENARIO (default: named after the time).")
    var folder: String?

    mutating func run() async throws {
        if check { return try checkRecording() }
        let environment = ProcessInfo.processInfo.environment
        let listen = try extractListenAddresses()
        let profile = try target.resolvedProfile()
        let bodyMaxInKibibytes = try Setting.bodyMax.number(
            bodyMax,
            or: 1024,
            in: 1...65_536,
            environment
        )
        let began = SuiteRun.now()
        let name = folder ?? "recordings/session/" + Self.timestampText(began)
        let path = name + "/recording.ndjson"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(
                .usage,
                "'\(name)' already has a recording; name another folder, or remove the recording"
            )
        }
        let addresses = try target.addresses(for: profile)
        let interruption = Interruption()
        let workFolder = try WorkFolder.made()
        defer { workFolder.remove() }
        let dataFolder = workFolder.path
        try FileManager.default.createDirectory(
            atPath: dataFolder + "/data",
            withIntermediateDirectories: true
        )
        let session = try await openSession(profile, addresses, folder: dataFolder, began)
        interruption.onSecondSignal { session.killBackend() }
        do {
            try await record(
                session,
                profile,
                listen,
                path: path,
                began: began,
                bodyMax: bodyMaxInKibibytes << 10,
                interruption
            )
        } catch {
            await session.close()
            throw error
        }
        await session.close()
        guard distill else { return }
        // `assay distill` starts the recorded backend again, which reveals the values that change
        // from run to run.
        var command = try DistillCommand.parse([name] + distillArguments)
        try await command.run()
    }

    private func openSession(
        _ profile: Profile,
        _ addresses: [Exchange.Party: ReplaySession.Address],
        folder: String,
        _ began: Instant
    ) async throws -> ReplaySession {
        do throws(ReplaySession.OpenError) {
            return try await ReplaySession(
                profile: profile,
                addresses: addresses,
                folder: folder,
                base: began,
                // The recording file has all exchanges; this journal is only for the control API.
                journalBytesMax: 16 << 20,
                seed: seed,
                others: ProviderTable.all.sortedEntries.map(\.party),
                onRefusal: Terminal.reportRefusal,
                onBuild: Terminal.reportBuilding,
                onStartupWait: Terminal.reportWaiting
            )
        } catch {
            throw CommandFailure(ExitStatus(error.kind), error.description)
        }
    }

    private func record(
        _ session: ReplaySession,
        _ profile: Profile,
        _ listen: (proxy: ListenAddress, control: ListenAddress),
        path: String,
        began: Instant,
        bodyMax: Int,
        _ interruption: Interruption
    ) async throws {
        let made = Self.missingFolders(of: path)
        let writer = try writer(session, profile, path, began, bodyMax)
        var isListening = false
        defer { if !isListening { Self.discard(writer, made) } }
        let fakes = session.fakes
        fakes.journal.tap(writer)
        let paths = Self.partiesByWebhookPath(profile)
        let control = try await SessionControl(
            session,
            profile,
            at: listen.control,
            allowedHosts: Set(target.hosts)
        )
        var backendTarget = try Self.proxyTarget(session.backend.target)
        backendTarget.authority = profile.certificateAuthorityPath
        let proxy: CapturingProxy
        do throws(CapturingProxy.StartError) {
            proxy = try await CapturingProxy(
                host: listen.proxy.host,
                port: listen.proxy.port,
                context: CapturingProxy.Context(
                    target: backendTarget,
                    journal: fakes.journal,
                    bodyMax: bodyMax,
                    now: { fakes.clock(of: "") },
                    party: { request in paths[request.path] ?? .app }
                )
            )
        } catch {
            await control.close()
            throw CommandFailure(
                .unreachable,
                error.description + "; choose another port with --listen"
            )
        }
        try printAddresses(session, proxy, control.server, path)
        isListening = true
        control.setWebhookTarget(profile)
        let progress = Task { await Self.printProgress(writer) }
        let exitMessage = try await control.run(interruption)
        progress.cancel()
        await proxy.stop()
        await control.close()
        writer.close()
        for note in fakes.journal.notes { Terminal.error("assay: \(note)\n") }
        try finish(writer)
        guard let text = exitMessage else { return }
        let last = session.backend.process?.output(since: 0, lineCountMax: 5) ?? ""
        let lastOutputText = last.isEmpty ? "" : "; its last output:\n" + last
        throw CommandFailure(.unreachable, "the backend ended by itself: \(text)\(lastOutputText)")
    }

    /// Returns the folders that do not exist yet and that a recording at this path creates, the
    /// innermost first.
    private static func missingFolders(of path: String) -> [String] {
        var folders: [String] = []
        var folder = PathName(path).folder
        while !folder.isEmpty, folder != "/", !FileManager.default.fileExists(atPath: folder) {
            folders.append(folder)
            folder = PathName(folder).folder
        }
        return folders
    }

    /// Removes the file of a recording that could not start, and the folders that were created for
    /// it.
    private static func discard(_ writer: RecordingWriter, _ made: [String]) {
        writer.close()
        // The error of the start is reported. If the file stays, the next recording there reports
        // it.
        try? FileManager.default.removeItem(atPath: writer.path)
        // `rmdir` removes only empty folders, so that files of other programs stay.
        for folder in made { rmdir(folder) }
    }

    // MARK: Check

    /// Prints the locations of values in a recording that look like secrets, without the values.
    private func checkRecording() throws {
        guard let folder else {
            throw CommandFailure(.usage, "--check needs the recording: assay record --check FOLDER")
        }
        let recording = try RecordingFile.read(folder)
        let profile = try TargetOptions.profile(target.profile, Setting.environment)
        let findings = RecordingCheck.findings(in: recording, names: profile.allSecretNames)
        for finding in findings {
            let request = finding.request.prefix(60)
            Terminal.output(
                "#\(finding.sequence) \(request)\n    \(finding.kind) in \(finding.location)\n"
            )
        }
        guard findings.isEmpty else {
            throw CommandFailure(
                .failures,
                "values that look like secrets: \(findings.count); record or import the session "
                    + "again; if a field name is not recognized, add it to 'redact' in the profile"
            )
        }
        let count = recording.exchanges.count
        let exchanges = "\(count) exchange\(count == 1 ? "" : "s")"
        Terminal.output("no value looks like a secret in \(exchanges)\n")
    }

    // MARK: Parts

    /// Removes the addresses of the proxy and of the control API from `--listen`, and returns them.
    private mutating func extractListenAddresses() throws -> (
        proxy: ListenAddress, control: ListenAddress
    ) {
        let bare = target.listen.filter { !$0.contains("=") }
        target.listen.removeAll { bare.contains($0) }
        return (
            try ListenAddress(bare: bare.last ?? "127.0.0.1:8081"),
            try target.extractControlAddress()
        )
    }

    private func writer(
        _ session: ReplaySession,
        _ profile: Profile,
        _ path: String,
        _ began: Instant,
        _ bodyMax: Int
    ) throws -> RecordingWriter {
        let redactionKeyText = Setting.redactionKey.text(nil)
        var generator = SystemRandomNumberGenerator()
        let key =
            redactionKeyText.map { Array($0.utf8) }
            ?? (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        var header = RecordingHeader(
            version: assayVersion,
            began: began,
            target: session.backend.target,
            seed: String(seed),
            bodyMax: bodyMax
        )
        header.redaction = profile.secretNames
        for (name, endpoint) in profile.endpoints {
            header.endpoints[name] = "\(endpoint.method) \(endpoint.path)"
        }
        do throws(RecordingWriter.OpenError) {
            return try RecordingWriter(
                path: path,
                header: header,
                redactor: Redactor(
                    key: key,
                    secrets: Array(SecretDeclaration(profile).values.values),
                    names: profile.allSecretNames
                ),
                proof: { [providers = ProviderTable.all] exchange in
                    let party = exchange.from
                    guard exchange.to == .backend, let sender = providers[party]?.sender
                    else { return nil }
                    let target = WebhookTarget(of: party, at: "", profile)
                    return sender.proof(exchange.request, target, SuiteRun.now())
                }
            )
        } catch {
            throw CommandFailure(error.isWriteFailure ? .outputFailed : .usage, error.description)
        }
    }

    /// Returns the webhook paths of the backend, each with the provider that sends to the path.
    private static func partiesByWebhookPath(_ profile: Profile) -> [String: Exchange.Party] {
        var paths: [String: Exchange.Party] = [:]
        for provider in Services.providers {
            if let path = provider.sender.flatMap({ profile.endpoints[$0.webhookEndpoint]?.path }) {
                paths[path] = provider.party
            }
        }
        return paths
    }

    private static func proxyTarget(_ text: String) throws -> CapturingProxy.Target {
        guard let url = URLComponents(string: text), let host = url.host else {
            throw CommandFailure(.usage, "'\(text)' is not a URL such as http://127.0.0.1:8080")
        }
        if let port = url.port, !(1...65_535).contains(port) {
            throw CommandFailure(
                .usage,
                "'\(text)' has port \(port); ports go from 1 to 65535"
            )
        }
        let isSecure = url.scheme == "https"
        return CapturingProxy.Target(
            host: host,
            port: url.port ?? (isSecure ? 443 : 80),
            isSecure: isSecure,
            hostField: HostName.isLoopback(host) && !isSecure
                ? nil : host + (url.port.map { ":\($0)" } ?? ""),
            basePath: url.percentEncodedPath
        )
    }

    private func printAddresses(
        _ session: ReplaySession,
        _ proxy: CapturingProxy,
        _ control: ControlServer,
        _ path: String
    ) throws {
        let style = Terminal.style()
        var text =
            "proxy       \(style.bold(proxy.baseURL))  in front of \(session.backend.target)\n"
        for server in session.servers {
            text += server.party.description.padding(toLength: 12, withPad: " ", startingAt: 0)
            text += style.bold(server.baseURL) + "\n"
        }
        text += "control     " + style.bold(control.baseURL + "/assay/v1") + "\n"
        text += "recording   \(path)\n"
        text += SessionControl.line(control, style)
        Terminal.output(text)
        try StandardOutput.check()
        Terminal.error("ready; send the app's requests to the proxy; press Ctrl-C to end\n")
    }

    /// The flag `--profile assay.yaml` if the current folder has that file; else empty.
    ///
    /// `assay distill` starts a backend only when a flag names the backend or its profile.
    private var defaultProfile: [String] {
        FileManager.default.fileExists(atPath: "assay.yaml") ? ["--profile", "assay.yaml"] : []
    }

    // MARK: Progress

    private static func printProgress(_ writer: RecordingWriter) async {
        let isTerminalInteractive = Terminal.isInteractive(2)
        let clock = ContinuousClock()
        var shownProgress = writer.currentProgress
        while !Task.isCancelled {
            // Cancellation ends the wait early.
            try? await clock.sleep(for: isTerminalInteractive ? .milliseconds(200) : .seconds(10))
            let currentProgress = writer.currentProgress
            if let failure = currentProgress.failure {
                Terminal.error((isTerminalInteractive ? "\n" : "") + "assay: \(failure)\n")
                return
            }
            guard currentProgress != shownProgress, !Task.isCancelled else { continue }
            shownProgress = currentProgress
            Terminal.error(
                (isTerminalInteractive ? "\r\u{1b}[K" : "") + text(currentProgress)
                    + (isTerminalInteractive ? "" : "\n")
            )
        }
    }

    private static func text(_ currentProgress: RecordingWriter.Progress) -> String {
        let parties = ProviderTable.all.parties.compactMap { party in
            currentProgress.countByParty[party].map { "\(party) \($0)" }
        }.joined(separator: ", ")
        let kilobytes = (currentProgress.byteCount + 1023) / 1024
        let exchanges =
            "\(currentProgress.exchangeCount) exchange\(currentProgress.exchangeCount == 1 ? "" : "s")"
        return "\(exchanges), \(kilobytes) KiB"
            + (parties.isEmpty ? "" : "  (\(parties))")
    }

    private func finish(_ writer: RecordingWriter) throws {
        let currentProgress = writer.currentProgress
        let isTerminalInteractive = Terminal.isInteractive(2)
        Terminal.error(
            (isTerminalInteractive ? "\r\u{1b}[K" : "") + Self.text(currentProgress) + "\n"
        )
        if let failure = currentProgress.failure { throw CommandFailure(.outputFailed, failure) }
        let folder = PathName(writer.path).folder
        if !distill {
            Terminal.error("Next:  \(Terminal.next(["distill", folder] + distillArguments))\n")
        }
    }

    /// The flags by which `assay distill` starts or reaches the recorded backend.
    private var distillArguments: [String] {
        target.replayArguments.isEmpty ? defaultProfile : target.replayArguments
    }

    /// Returns a time as the name of a folder, such as `2026-11-21-101502`.
    private static func timestampText(_ instant: Instant) -> String {
        instant.description.replacingOccurrences(of: "T", with: "-").filter {
            $0 != ":" && $0 != "Z"
        }
    }
}
