package import Contracts
package import FakeServers
internal import Foundation
internal import Grammar
package import Phone
internal import Programs
internal import Providers
internal import Redaction
package import Values

/// The servers and processes of one run: the fakes on their ports, and the backend.
package final class ReplaySession: Sendable {
    /// The error of a session (the fakes and the backend) that could not be opened.
    package struct OpenError: Error, Sendable, CustomStringConvertible {
        package enum Kind: Sendable {
            case configuration, unreachable
            /// Assay or this machine is at fault, not the backend or its profile.
            case internalError
        }

        package let kind: Kind
        package let description: String
        /// Whether the backend process that Assay started has exited by itself.
        package let hasEnded: Bool
        /// The ports on which the backend process listens, if the expected one is not among them.
        package let otherPorts: [Int]

        package init(
            kind: Kind,
            description: String,
            hasEnded: Bool = false,
            otherPorts: [Int] = []
        ) {
            self.kind = kind
            self.description = description
            self.hasEnded = hasEnded
            self.otherPorts = otherPorts
        }
    }

    /// The address on which a fake listens; port 0 picks a free port.
    package struct Address: Hashable, Sendable {
        package let host: String
        package let port: Int
        /// The host that the backend gets in the URL of the fake; nil to use `host`.
        package let advertisedHost: String?

        package init(host: String, port: Int, advertisedHost: String? = nil) {
            (self.host, self.port, self.advertisedHost) = (host, port, advertisedHost)
        }
    }

    /// The addresses of the fakes for a backend that is already running: the default port of each
    /// provider.
    ///
    /// Such a backend cannot be given other addresses at its start.
    package static var fixedAddresses: [Exchange.Party: Address] {
        Dictionary(
            uniqueKeysWithValues: Services.providers.map {
                ($0.party, Address(host: "127.0.0.1", port: $0.defaultPort))
            }
        )
    }

    package let fakes: FakeRegistry
    package let servers: [FakeServer]
    package let backend: BackendUnderTest
    package let executor: RunExecutor
    /// The proxy that sends the backend's calls to real hosts to the fakes; nil without
    /// interception.
    package let interception: Interception?

    /// Opens the fakes, and opens or starts the backend.
    ///
    /// - Parameters:
    ///   - profile: The profile of the backend. If it has a `start` command, Assay starts the
    ///     backend with it.
    ///   - addresses: The addresses of the fakes; a fake without an address gets a free port.
    ///   - folder: A folder for the backend's data and its output.
    ///   - base: The time that relative times in contracts count from.
    ///   - journalBytesMax: The size limit of the journal, in bytes.
    ///   - seed: The seed for the IDs that the fakes generate.
    ///   - others: Fakes to open in addition to those that the profile requires.
    ///   - appDefects: The deliberate defects of Assay's app with accounts.
    ///   - clientDefects: The deliberate defects of Assay's app in the Despia runtime.
    ///   - other: The session of the first instance of the backend, if this session is for an
    ///     additional instance.
    ///   - onRefusal: Receives the first refused call of each kind, if calls are intercepted.
    ///   - onBuild: Receives the build command before it runs.
    ///   - onStartupWait: Receives a report every few seconds while the backend is not ready.
    /// - Throws: `OpenError` when a port is taken, a template is wrong, the build fails, or the backend
    ///   does not become ready.
    package init(
        profile: Profile,
        addresses: [Exchange.Party: Address],
        folder: String,
        base: Instant,
        journalBytesMax: Int = 256 << 20,
        seed: UInt64 = 0,
        others: [Exchange.Party] = [],
        appDefects: Set<AccountApp.Defect> = [],
        clientDefects: Set<ClientDefect> = [],
        alongside other: ReplaySession? = nil,
        onRefusal: @escaping @Sendable (InterceptionRefusal) -> Void = { _ in },
        onBuild: @Sendable (_ command: String) -> Void = { _ in },
        onStartupWait: @escaping @Sendable (BackendUnderTest.StartupWait) -> Void = { _ in }
    ) async throws(OpenError) {
        // The first instance has built the backend for all instances.
        if other == nil { try await Self.build(profile, folder, onBuild) }
        let clock = RealClock()
        fakes = FakeRegistry(
            journalBytesMax: journalBytesMax,
            keys: Self.keys(profile),
            seed: seed,
            tokenProject: profile.tokenProject,
            wallClock: { clock.wallTime }
        )
        Self.prepare(fakes, for: profile, base)
        servers = try await Self.openServers(profile, addresses, others: others, fakes)
        interception = try await Self.openInterception(
            profile,
            servers,
            fakes,
            folder,
            clock.wallTime,
            onRefusal
        )
        do {
            backend = try Self.backend(
                profile,
                servers,
                interception,
                folder: folder,
                clock,
                onStartupWait
            )
        } catch {
            await interception?.stop()
            for server in servers { await server.stop() }
            throw OpenError(kind: .configuration, description: "\(error)")
        }
        executor = RunExecutor(
            backend: backend,
            fakes: fakes,
            profile: profile,
            base: base,
            clock: clock,
            appDefects: appDefects,
            clientDefects: clientDefects,
            alongside: other?.executor
        )
        try await startBackend(profile)
    }

    /// Builds the backend if the profile says how.
    private static func build(
        _ profile: Profile,
        _ folder: String,
        _ onBuild: (_ command: String) -> Void
    ) async throws(OpenError) {
        guard let start = profile.start, let command = start.build else { return }
        onBuild(command)
        do throws(OpenError) {
            try await BackendBuild(
                command: command,
                folder: start.folder,
                outputPath: folder + "/build.log"
            ).run()
        } catch {
            throw OpenError(
                kind: error.kind,
                // The output may contain secrets.
                description: error.description.redacted(SecretDeclaration(profile)).value,
                hasEnded: error.hasEnded
            )
        }
    }

    /// Starts the backend, and closes the session if that fails.
    private func startBackend(_ profile: Profile) async throws(OpenError) {
        do throws(BackendUnderTest.UnreachableError) {
            try await backend.start()
        } catch {
            await close()
            // A call that the proxy refused is often the reason for a failed start.
            let refusalLines = interception?.refusals.lines ?? []
            throw OpenError(
                kind: .unreachable,
                // The description contains output of the backend, in which secrets may occur.
                description: ([error.description] + refusalLines).joined(separator: "\n")
                    .redacted(SecretDeclaration(profile)).value,
                hasEnded: error.hasEnded,
                otherPorts: error.otherPorts
            )
        }
    }

    /// Opens the fakes that the profile requires, and the given others.
    private static func openServers(
        _ profile: Profile,
        _ addresses: [Exchange.Party: Address],
        others: [Exchange.Party],
        _ fakes: FakeRegistry
    ) async throws(OpenError) -> [FakeServer] {
        var servers: [FakeServer] = []
        let backend = BackendTraits(receivesIDTokens: receivesIDTokens(profile))
        let parties = fakes.providers.sortedEntries.filter { $0.isCalled(backend) }.map(\.party)
        for party in parties + others.filter({ !parties.contains($0) }) {
            let address = addresses[party] ?? Address(host: "127.0.0.1", port: 0)
            do throws(StartError) {
                servers.append(
                    try await FakeServer(
                        party,
                        fakes: fakes,
                        host: address.host,
                        port: address.port,
                        advertisedHost: address.advertisedHost
                    )
                )
            } catch {
                for server in servers { await server.stop() }
                throw OpenError(
                    kind: .unreachable,
                    description: error.description
                        + "; choose another with --listen \(party)=127.0.0.1:0"
                )
            }
        }
        return servers
    }

    /// Returns the backend of the profile, before its start.
    private static func backend(
        _ profile: Profile,
        _ servers: [FakeServer],
        _ interception: Interception?,
        folder: String,
        _ clock: RealClock,
        _ onStartupWait: @escaping @Sendable (BackendUnderTest.StartupWait) -> Void
    ) throws -> BackendUnderTest {
        let placeholderValues = placeholderValues(profile, servers: servers, folder: folder)
        let templateValues = NamedValues(texts: placeholderValues)
        let target = try templateValues.filled(profile.target ?? "http://127.0.0.1:{{port}}")
        var process: BackendProcess?
        if let start = profile.start {
            let setup = BackendSetup(
                addresses: Dictionary(uniqueKeysWithValues: servers.map { ($0.party, $0.baseURL) }),
                secrets: profile.secrets,
                project: profile.tokenProject,
                isSigned: signsTokens(profile)
            )
            var plan = BackendLaunchPlan(start, placeholderValues, setup)
            plan.interception = interception
            let launch = try plan.launch()
            process = BackendProcess(
                command: launch.command,
                folder: start.folder,
                environment: launch.environment,
                outputPath: folder + "/backend.log",
                stopSettings: start.stop ?? Profile.StopSettings(),
                port: loopbackPort(of: target),
                // The templates were filled successfully before.
                launchWithSecrets: { [plan] in (try? plan.launch($0)) ?? launch }
            )
        }
        return BackendUnderTest(
            client: BackendClient(base: target, authority: profile.certificateAuthorityPath),
            process: process,
            instanceValues: profile.start == nil
                ? [:]
                : placeholderValues.filter {
                    TemplateScope.ProfileSlot.instanceNames.contains($0.key)
                },
            clock: clock,
            ready: profile.start?.ready,
            startTimeMax: profile.start?.timeout ?? Profile.StartSettings.defaultTimeout,
            stopTimeMax: profile.start?.stop?.within ?? .seconds(3),
            onStartupWait: onStartupWait
        )
    }

    /// Returns the port in a URL of this machine; nil if the URL has another host or no port.
    static func loopbackPort(of url: String) -> UInt16? {
        guard let parts = URLComponents(string: url), let port = parts.port,
            ["127.0.0.1", "localhost", "[::1]", "::1"].contains(parts.host ?? "")
        else { return nil }
        return UInt16(exactly: port)
    }

    package func close() async {
        await executor.waitForRepeatedCalls()
        await backend.stop()
        await executor.originClients.close()
        await interception?.stop()
        for server in servers { await server.stop() }
    }

    /// Opens the intercepting proxy if the profile turns interception on, and checks that the fakes
    /// respond.
    ///
    /// If that fails, the fakes are closed.
    private static func openInterception(
        _ profile: Profile,
        _ servers: [FakeServer],
        _ fakes: FakeRegistry,
        _ folder: String,
        _ now: Instant,
        _ onRefusal: @escaping @Sendable (InterceptionRefusal) -> Void
    ) async throws(OpenError) -> Interception? {
        let interception: Interception?
        do throws(OpenError) {
            interception = try await self.interception(
                profile,
                servers,
                fakes,
                folder,
                now,
                onRefusal
            )
        } catch {
            for server in servers { await server.stop() }
            throw error
        }
        guard let error = await FakeServerCheck.failure(of: servers, through: interception) else {
            return interception
        }
        await interception?.stop()
        for server in servers { await server.stop() }
        throw error
    }

    /// Opens the intercepting proxy if the profile turns interception on; otherwise returns nil.
    private static func interception(
        _ profile: Profile,
        _ servers: [FakeServer],
        _ fakes: FakeRegistry,
        _ folder: String,
        _ now: Instant,
        _ onRefusal: @escaping @Sendable (InterceptionRefusal) -> Void
    ) async throws(OpenError) -> Interception? {
        guard let start = profile.start, start.isIntercepted else { return nil }
        return try await Interception(
            before: servers,
            fakes: fakes,
            allowing: start.intercept?.allowed ?? [],
            folder: folder + "/intercept",
            now: now,
            onRefusal: onRefusal
        )
    }

    /// Kills the backend that Assay started, without waiting for its end.
    ///
    /// The second Ctrl-C has this effect.
    package func killBackend() {
        backend.process?.killNow()
        backend.process?.killLeftoverProcesses()
    }

    /// Returns the values for the `{{…}}` templates in a profile, such as `{{port}}`.
    private static func placeholderValues(
        _ profile: Profile,
        servers: [FakeServer],
        folder: String
    ) -> [String: String] {
        var placeholderValues: [String: String] = [
            "port": String(LoopbackPort.findFree()),
            "data": folder + "/data",
        ]
        for server in servers {
            let name = "fake.\(server.party)"
            placeholderValues[name] = server.baseURL
            placeholderValues[name + TemplateScope.ProfileSlot.hostSuffix] = server.baseURL
                .split(separator: "/").last.map(String.init)
        }
        for name in ProviderTable.all.profileSecrets.map(\.name) {
            placeholderValues["secret.\(name.rawValue)"] = profile.secrets[name]?.exposed ?? ""
        }
        return placeholderValues
    }

    /// Returns the API key that each fake requires from its callers, according to the profile.
    private static func keys(_ profile: Profile) -> [Exchange.Party: Secret] {
        var keys: [Exchange.Party: Secret] = [:]
        for provider in Services.providers {
            keys[provider.party] = provider.party.secret("key").flatMap(profile.requiredAPIKey)
        }
        return keys
    }

    /// Returns whether the backend may receive ID tokens.
    ///
    /// An intercepted backend may call every service, also the one that issues tokens.
    private static func receivesIDTokens(_ profile: Profile) -> Bool {
        profile.requests.useIDTokens || profile.start?.isIntercepted == true
    }

    /// Lets the fakes sign ID tokens if the backend needs signed ones, and makes the product and the
    /// entitlement of the profile known to them before the first event, as resources of the project.
    private static func prepare(
        _ fakes: FakeRegistry,
        for profile: Profile,
        _ base: Instant
    ) {
        if signsTokens(profile) {
            let issuer = fakes.providers.tokenIssuer
            fakes.edit("") { services, _ in issuer?.signTokens(&services) }
        }
        let context = EventContext(
            namespace: Namespace(name: "sample", idForm: profile.idForm),
            base: base,
            products: profile.products,
            entitlement: profile.entitlement
        )
        for entry in fakes.providers.entries {
            guard let fake = entry.eventDrivenFake, let sender = entry.purchaseSender else {
                continue
            }
            let event = sender.purchaseEvent(of: "sample", name: "sample", in: context)
            fakes.edit("") { services, _ in services.recordResources(of: event, in: fake) }
        }
    }

    /// Returns whether the ID tokens for this backend are signed, as in production.
    private static func signsTokens(_ profile: Profile) -> Bool {
        // With interception, the backend reaches the fake under the real host name of the service,
        // which issues only signed tokens.
        receivesIDTokens(profile) && !profile.unsupportedFeatures.contains(.signedTokens)
    }

    /// Returns the names of the environment variables that every backend gets, even if its profile
    /// lists none.
    static func standardNames(_ profile: Profile) -> Set<String> {
        let addresses = Services.providers.map { ($0.party, "http://127.0.0.1:0") }
        let setup = BackendSetup(
            addresses: Dictionary(uniqueKeysWithValues: addresses),
            secrets: profile.secrets,
            project: profile.tokenProject,
            isSigned: signsTokens(profile)
        )
        return Set(
            BackendLaunchPlan.standardEnvironment(["port": "0", "data": ""], setup).keys
        )
    }
}
