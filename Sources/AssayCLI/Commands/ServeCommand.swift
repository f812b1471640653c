internal import ArgumentParser
internal import FakeServers
internal import Foundation
internal import Programs
internal import Providers
internal import Redaction
internal import Replay
internal import Reports
internal import Values

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs all fakes for development.",
        discussion: """
            Default ports on 127.0.0.1: \(defaultAddresses), control API \(controlPort). Clients \
            and SDKs can use the fakes like the real services. The control API simulates \
            purchases, changes the clock, causes faults and operates devices.

            Example:  assay serve --webhook http://127.0.0.1:8080/api/webhooks/revenuecat
                      curl -d '{"user": "ada"}' http://127.0.0.1:9300/assay/v1/store/purchase
                      assay serve --set firebase.tokens=rs256 --export-on-exit state.json
            """
    )

    private static let controlPort = 9300

    private static var defaultAddresses: String {
        ProviderTable.all.sortedEntries.map { "\($0.title) \($0.defaultPort)" }.joined(
            separator: ", "
        )
    }

    @Option(name: .long, help: Setting.serveListen.help)
    var listen: [String] = []

    @Option(name: .long, help: Setting.advertise.help)
    var advertise: String?

    @Option(
        name: .long,
        help: "URL for RevenueCat's events; PROVIDER=URL for another provider; repeatable."
    )
    var webhook: [String] = []

    @Option(
        name: .long,
        help: "The Authorization header of RevenueCat's events (REVENUECAT_WEBHOOK_AUTH)."
    )
    var authorization: String?

    @Option(name: .long, help: "RevenueCat's signing secret (REVENUECAT_WEBHOOK_SECRET).")
    var signingSecret: String?

    @Option(name: .long, help: "URL for Purchasely's events.")
    var purchaselyWebhook: String?

    @Option(name: .long, help: "Purchasely's shared secret (PURCHASELY_WEBHOOK_SECRET).")
    var purchaselySecret: String?

    @Option(name: .long, help: "The key that RevenueCat's API requires (REVENUECAT_API_KEY).")
    var revenuecatKey: String?

    @Option(name: .long, help: "The key that OneSignal's API requires (ONESIGNAL_API_KEY).")
    var onesignalKey: String?

    @Option(
        name: .long,
        help: "The Firebase project of requests with only an API key (default: demo-project)."
    )
    var firebaseProject: String?

    @Flag(name: .long, help: "Run Firebase as in production: signed tokens, expiry and limits.")
    var firebaseProduction = false

    @Option(
        name: .long,
        help: "Set a switch of a fake, for example firebase.tokens=rs256; repeatable."
    )
    var set: [String] = []

    @Option(name: .long, help: "The file of the initial state, written by --export-on-exit.")
    var `import`: String?

    @Option(name: .long, help: "The file to which the state is written at the end.")
    var exportOnExit: String?

    @Option(name: .long, help: "The seed of the generated IDs.")
    var seed: UInt64 = 0

    @Option(name: .long, help: "The largest size of the journal (the log of HTTP calls) in MiB.")
    var journalMax = 256

    @Option(
        name: .long,
        help:
            "A host other than loopback that webhooks may go to, or an intercepted backend may call."
    )
    var allowHost: [String] = []

    @Option(name: .long, help: Setting.authority.help)
    var ca: String?

    @Flag(
        name: .long,
        help: "Run a proxy that redirects calls to the hosts of the services to the fakes."
    )
    var intercept = false

    @Option(
        name: .long,
        help: "The folder for the CA of --intercept and for env.sh, which configures a shell."
    )
    var interceptFolder = ".assay/intercept"

    @Flag(name: .long, help: "Print no line for each exchange.")
    var quiet = false

    /// The flags `--coverage` and `--json` of an earlier version.
    ///
    /// Their use is an error that names the new command.
    @Flag(name: .long, help: .hidden)
    var coverage = false

    @Flag(name: .long, help: .hidden)
    var json = false

    mutating func validate() throws {
        guard !coverage, !json else {
            let flag = coverage ? "--coverage" : "--json"
            let command = json ? "assay coverage --json" : "assay coverage"
            throw ValidationError(
                "'serve' has no \(flag): to list the operations, run '\(command)'"
            )
        }
    }

    mutating func run() async throws {
        let fakes = try makeRegistry()
        try checkExport()
        let webhookTransport = WebhookMessenger(authority: try TargetOptions.authority(ca))
        let dispatcher = WebhookDispatcher(
            fakes: fakes,
            webhookTransport: webhookTransport,
            allowedHosts: Set(allowHost)
        )
        let open = try await openServers(fakes)
        let interception = try await openInterception(open, fakes)
        let control = ControlAPI(
            fakes: fakes,
            dispatcher: dispatcher,
            version: assayVersion,
            servers: open.servers,
            allowedHosts: Set(allowHost),
            hostNames: Set([try TargetOptions.advertisedHost(advertise)].compactMap(\.self)),
            process: SuiteRun.nonce(),
            token: Setting.controlToken.secret
        )
        open.control.open(control)
        // Signals are handled from here on, because a caller may send one when it reads the line
        // `ready`.
        let interruption = Interruption()
        try printAddresses(open, interception)
        let logTask = quiet ? nil : Task { await Self.follow(fakes) }
        do {
            try await interruption.run { await dispatcher.run() }
        } catch is CancellationError {}
        logTask?.cancel()
        fakes.journal.endFollowing()
        await interception?.stop()
        for server in open.servers { await server.stop() }
        await open.control.stop()
        await webhookTransport.close()
        try export(fakes)
    }

    // MARK: State

    private func makeRegistry() throws -> FakeRegistry {
        guard (1...65_536).contains(journalMax) else {
            throw CommandFailure(.usage, "--journal-max takes 1 to 65536 MiB")
        }
        let project = firebaseProject
        if let project, project.isEmpty || project.contains("/") {
            throw CommandFailure(.usage, "--firebase-project '\(project)' is not a project ID")
        }
        let fakes = FakeRegistry(
            journalBytesMax: journalMax << 20,
            keys: keys,
            seed: seed,
            tokenProject: project,
            wallClock: { SuiteRun.now() }
        )
        if let path = self.import { try load(path, into: fakes) }
        let isProduction = firebaseProduction
        let isIntercepted = intercept
        let webhookTargets = try webhooks()
        let issuer = fakes.providers.tokenIssuer
        fakes.edit("") { services, _ in
            if isProduction { services.firebase.settings = .production }
            // Under the real host names, the tokens must be signed as the real service signs them.
            if isIntercepted { issuer?.signTokens(&services) }
            // An imported state and the settings of production have a project of their own.
            if let project { issuer?.setProject(project, &services) }
            for (sender, target) in webhookTargets {
                sender.setWebhookTarget(&services, target)
            }
        }
        try applySwitches(to: fakes)
        return fakes
    }

    private func applySwitches(to fakes: FakeRegistry) throws {
        for text in set {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            let path = parts[0].split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2, path.count == 2 else {
                throw CommandFailure(.usage, "--set '\(text)' is not PROVIDER.SWITCH=VALUE")
            }
            // `true`, `5` and `[…]` are JSON values; any other value is a string.
            let value = JSONValue(ifValid: parts[1]) ?? .string(parts[1])
            if let problem = ControlAPI.changeSwitch(
                of: path[0],
                path[1],
                to: value,
                in: fakes
            ) {
                throw CommandFailure(.usage, "--set '\(text)': \(problem)")
            }
        }
    }

    private func load(_ path: String, into fakes: FakeRegistry) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.usage, "cannot read the --import file '\(path)'")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: Array(data))
        } catch {
            throw CommandFailure(.unparsable, "\(path): \(error)")
        }
        do throws(FakeRegistry.StateLoadError) {
            try fakes.load(value)
        } catch {
            throw CommandFailure(.unparsable, "\(path): \(error)")
        }
    }

    /// Checks at the start that the state of the fakes can be written to the file at the end.
    private func checkExport() throws {
        guard let path = exportOnExit else { return }
        do throws(OutputFile.WriteError) {
            try OutputFile(path, .ownerOnly).check()
        } catch {
            throw CommandFailure(.usage, "cannot write --export-on-exit '\(path)': \(error.reason)")
        }
    }

    private func export(_ fakes: FakeRegistry) throws {
        guard let path = exportOnExit else { return }
        try OutputFile(path, .ownerOnly).write(try fakes.save().prettyText + "\n")
        Terminal.error("state written to \(path)\n")
    }

    // MARK: Ports

    private struct OpenServers {
        let servers: [FakeServer]
        let control: ControlServer
    }

    private func openServers(_ fakes: FakeRegistry) async throws -> OpenServers {
        let providers = ProviderTable.all.sortedEntries
        let listenAddresses = try listenAddresses()
        let advertisedHost = try TargetOptions.advertisedHost(advertise)
        func listenAddress(_ name: String) -> (host: String, port: Int) {
            listenAddresses[name] ?? ("127.0.0.1", 0)
        }
        var servers: [FakeServer] = []
        do throws(StartError) {
            for party in providers.map(\.party) {
                let (host, port) = listenAddress(party.description)
                servers.append(
                    try await FakeServer(
                        party,
                        fakes: fakes,
                        host: host,
                        port: port,
                        advertisedHost: advertisedHost
                    )
                )
            }
            let (host, port) = listenAddress("control")
            return OpenServers(
                servers: servers,
                control: try await ControlServer(
                    host: host,
                    port: port,
                    advertisedHost: host == "127.0.0.1" ? nil : advertisedHost
                )
            )
        } catch {
            for server in servers { await server.stop() }
            throw CommandFailure(
                .usage,
                "\(error.description); choose another port with --listen NAME=127.0.0.1:0"
            )
        }
    }

    /// Returns the addresses on which the servers listen, by the name of the fake, `control` or
    /// `intercept`.
    private func listenAddresses() throws -> [String: (host: String, port: Int)] {
        var listenAddresses = [
            "control": (host: "127.0.0.1", port: Self.controlPort),
            Self.interceptName: (host: "127.0.0.1", port: Self.interceptPort),
        ]
        let isAdvertised = try TargetOptions.advertisedHost(advertise) != nil
        // The control API can change the fakes, so other machines may reach it only with its token.
        if isAdvertised, Setting.controlToken.secret != nil {
            listenAddresses["control"] = ("0.0.0.0", Self.controlPort)
        }
        if isAdvertised, intercept {
            throw CommandFailure(
                .usage,
                "--advertise and --intercept cannot be combined: the proxy is only for programs on "
                    + "this machine"
            )
        }
        for provider in ProviderTable.all.sortedEntries {
            let host = isAdvertised ? "0.0.0.0" : "127.0.0.1"
            listenAddresses[provider.party.description] = (host, provider.defaultPort)
        }
        for address in try ListenAddress.all(listen, names: Array(listenAddresses.keys)) {
            listenAddresses[address.name] = (address.host, address.port)
        }
        return listenAddresses
    }

    private static let interceptName = "intercept"
    private static let interceptPort = 9330

    private func openInterception(
        _ open: OpenServers,
        _ fakes: FakeRegistry
    ) async throws -> Interception? {
        guard intercept else { return nil }
        try GeneratedFolder.make(containing: interceptFolder)
        let folder = URL(fileURLWithPath: interceptFolder).standardizedFileURL.path
        let (host, port) = try listenAddresses()[Self.interceptName] ?? ("127.0.0.1", 0)
        do throws(ReplaySession.OpenError) {
            return try await Interception(
                before: open.servers,
                fakes: fakes,
                allowing: allowHost,
                folder: folder,
                now: SuiteRun.now(),
                address: ReplaySession.Address(host: host, port: port),
                onRefusal: Terminal.reportRefusal
            )
        } catch {
            for server in open.servers { await server.stop() }
            await open.control.stop()
            throw CommandFailure(.usage, error.description)
        }
    }

    private func printAddresses(_ open: OpenServers, _ interception: Interception?) throws {
        let style = Terminal.style()
        var text = ""
        for server in open.servers {
            let name = server.party.description
            text +=
                name.padding(toLength: 12, withPad: " ", startingAt: 0)
                + style.bold(server.baseURL) + "\n"
        }
        text += "control     " + style.bold(open.control.baseURL + "/assay/v1") + "\n"
        if let interception {
            text += "intercept   " + style.bold(interception.proxy.baseURL)
            let script = ShellCommand([".", interceptFolder + "/env.sh"])
            text += "  run in the backend's shell:  \(script)\n"
        }
        text += SessionControl.line(open.control, style)
        Terminal.output(text)
        try StandardOutput.check()
        Terminal.error("ready; press Ctrl-C to end\n")
    }

    // MARK: A line for each exchange

    private static func follow(_ fakes: FakeRegistry) async {
        let style = Terminal.style(for: STDERR_FILENO)
        for await number in fakes.journal.follow() {
            guard let exchange = fakes.journal.read({ $0.exchange(number) }) else { continue }
            let redaction = Redaction.forReports(fakes.declared)
            // The date is shown only if it is not the current date, for example after a change of
            // the clock.
            let text = exchange.at.preciseText.dropLast()
            let isToday = text.prefix(10) == SuiteRun.now().preciseText.prefix(10)
            let time = isToday ? text.dropFirst(11) : text.dropFirst(5)
            let outcome: String =
                switch exchange.outcome {
                case .answered(let response):
                    response.status < 400
                        ? String(response.status) : style.red(String(response.status))
                case .failed(_, let text): style.red(redaction.text(text))
                default: style.red("no response")
                }
            let requestText: String =
                if case .delivery(let name, let attempt) = exchange.purpose {
                    name + (attempt > 1 ? " (attempt \(attempt))" : "")
                } else {
                    exchange.request.method + " " + redaction.target(exchange.request.path)
                }
            let effects = exchange.effects.map(\.kind).joined(separator: ", ")
            Terminal.error(
                "\(time)  \(exchange.from) → \(exchange.to)  \(requestText.prefix(60))  \(outcome)"
                    + (effects.isEmpty ? "" : "  " + style.dim(effects)) + "\n"
            )
        }
    }
}
