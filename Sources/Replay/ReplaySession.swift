package import Conformance
package import FakeServers
internal import Foundation
package import Phone
internal import Programs
internal import Providers

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Everything a run needs, opened together: the fakes on their ports and the backend.
package final class ReplaySession: Sendable {
    /// Something could not be opened before the first case.
    package struct OpenError: Error, Sendable, CustomStringConvertible {
        package enum Kind: Sendable {
            case configuration, unreachable
            /// A fault of Assay or of this machine.
            case ours
        }

        package let kind: Kind
        package let description: String
        /// Whether the backend that was started has ended by itself.
        package let hasEnded: Bool

        package init(kind: Kind, description: String, hasEnded: Bool = false) {
            self.kind = kind
            self.description = description
            self.hasEnded = hasEnded
        }
    }

    /// Where a fake listens; port 0 picks a free one.
    package struct Address: Hashable, Sendable {
        package let host: String
        package let port: Int
        /// The host by which it is told; nil: the one that it listens on.
        package let told: String?

        package init(host: String, port: Int, told: String? = nil) {
            (self.host, self.port, self.told) = (host, port, told)
        }
    }

    /// The fixed addresses for a backend that is already running (architecture, section 7).
    package static let fixedAddresses = Dictionary(
        uniqueKeysWithValues: Services.providers.map {
            ($0.party, Address(host: "127.0.0.1", port: $0.defaultPort))
        }
    )

    package let world: FakeWorld
    package let servers: [FakeServer]
    package let backend: BackendUnderTest
    package let executor: RunExecutor
    /// What the backend's calls to the services' own names go through; nil where that is not asked.
    package let interception: Interception?

    /// - Parameters:
    ///   - profile: How to reach and start the backend; `start` is carried out when it is there.
    ///   - addresses: Where the fakes listen; those not named get a free port.
    ///   - folder: A folder for the backend's data and its output.
    ///   - base: The moment that contracts' relative times count from.
    ///   - journalBytesMax: The bound of the journal, in bytes.
    ///   - seed: What the fakes' ids are drawn from.
    ///   - others: Fakes to open beside those that a backend calls.
    ///   - appDefects: How the app with accounts deviates from a correct one.
    ///   - clientDefects: How the app on the Despia runtime does.
    ///   - other: The session that it is one more backend for.
    ///   - onRefusal: Told of what an intercepted backend is not let do, once for each kind.
    ///   - onWaiting: Told every few seconds while the backend is not ready.
    /// - Throws: When a port is taken, a template is wrong, or the backend does not get ready.
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
        beside other: ReplaySession? = nil,
        onRefusal: @escaping @Sendable (Refusal) -> Void = { _ in },
        onWaiting: @escaping @Sendable (BackendUnderTest.Waiting) -> Void = { _ in }
    ) async throws(OpenError) {
        let clock = RealClock()
        world = FakeWorld(
            journalBytesMax: journalBytesMax,
            keys: Self.keys(profile),
            seed: seed,
            wallClock: { clock.wall }
        )
        var servers: [FakeServer] = []
        let isIntercepted = profile.start?.isIntercepted == true
        let isSigned = Self.signsTokens(profile)
        if isSigned {
            world.edit("") { services, _ in services.firebase.settings.tokens = .rs256 }
        }
        var parties = [Exchange.Party.revenueCat, .oneSignal]
        if profile.usesFirebase || isIntercepted { parties.append(.firebase) }
        for party in parties + others.filter({ !parties.contains($0) }) {
            let address = addresses[party] ?? Address(host: "127.0.0.1", port: 0)
            do throws(StartError) {
                servers.append(
                    try await FakeServer(
                        party,
                        world: world,
                        host: address.host,
                        port: address.port,
                        told: address.told
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
        self.servers = servers
        do throws(OpenError) {
            interception = try await Self.interception(
                profile,
                servers,
                world,
                folder,
                clock.wall,
                onRefusal
            )
        } catch {
            for server in servers { await server.stop() }
            throw error
        }
        if let failure = await FakeCheck.failure(of: servers, through: interception) {
            await interception?.stop()
            for server in servers { await server.stop() }
            throw OpenError(kind: .ours, description: failure)
        }
        let values = Self.values(profile, servers: servers, folder: folder)
        do {
            let known = NamedValues(texts: values)
            let target = try known.filled(profile.target ?? "http://127.0.0.1:{{port}}")
            var process: BackendProcess?
            if let start = profile.start {
                var environment = Self.standardEnvironment(
                    values,
                    BackendSetup(
                        addresses: Dictionary(
                            uniqueKeysWithValues: servers.map { ($0.party, $0.baseURL) }
                        ),
                        secrets: profile.secrets,
                        project: profile.firebaseProject,
                        isSigned: isSigned
                    )
                )
                for (name, text) in start.environment {
                    environment[name] = try known.filled(start.expanded(text))
                }
                if let interception {
                    let inherited = ProgramCommand.inheritedEnvironment
                        .merging(environment) { $1 }
                    environment.merge(interception.environment(inheriting: inherited)) { $1 }
                }
                process = BackendProcess(
                    command: try known.filled(start.command),
                    folder: start.folder,
                    environment: environment,
                    outputPath: folder + "/backend.log",
                    stopping: start.stop ?? Profile.Stop(),
                    port: Self.loopbackPort(of: target)
                )
            }
            backend = BackendUnderTest(
                client: BackendClient(base: target, authority: profile.authorityPath),
                process: process,
                clock: clock,
                ready: profile.start?.ready,
                startMax: profile.start?.timeout ?? Profile.Start.usualTimeout,
                stopMax: profile.start?.stop?.within ?? .seconds(3),
                onWaiting: onWaiting
            )
        } catch {
            await interception?.stop()
            for server in servers { await server.stop() }
            throw OpenError(kind: .configuration, description: "\(error)")
        }
        executor = RunExecutor(
            backend: backend,
            world: world,
            profile: profile,
            base: base,
            clock: clock,
            appDefects: appDefects,
            clientDefects: clientDefects,
            beside: other?.executor
        )
        do throws(BackendUnderTest.UnreachableError) {
            try await backend.start()
        } catch {
            await close()
            // What it was not let do is often why.
            let refused = interception?.refusals.lines ?? []
            throw OpenError(
                kind: .unreachable,
                // The backend's own lines are in it.
                description: ([error.description] + refused).joined(separator: "\n")
                    .redacted(SecretDeclaration(profile)).value,
                hasEnded: error.hasEnded
            )
        }
    }

    /// The port of a URL on this machine; nil for another host.
    static func loopbackPort(of url: String) -> UInt16? {
        guard let parts = URLComponents(string: url), let port = parts.port,
            ["127.0.0.1", "localhost", "[::1]", "::1"].contains(parts.host ?? "")
        else { return nil }
        return UInt16(exactly: port)
    }

    package func close() async {
        await executor.drain()
        await backend.stop()
        await executor.origins.close()
        await interception?.stop()
        for server in servers { await server.stop() }
    }

    /// The intercepting proxy of a profile that asks for one.
    private static func interception(
        _ profile: Profile,
        _ servers: [FakeServer],
        _ world: FakeWorld,
        _ folder: String,
        _ now: Instant,
        _ onRefusal: @escaping @Sendable (Refusal) -> Void
    ) async throws(OpenError) -> Interception? {
        guard let start = profile.start, start.isIntercepted else { return nil }
        return try await Interception(
            before: servers,
            world: world,
            allowing: start.intercept?.allowed ?? [],
            folder: folder + "/intercept",
            now: now,
            onRefusal: onRefusal
        )
    }

    /// Kills what was started, at once; for the second Ctrl-C.
    package func abandon() {
        backend.process?.killNow()
        backend.process?.sweep()
    }

    /// What `{{…}}` stands for in a profile.
    private static func values(
        _ profile: Profile,
        servers: [FakeServer],
        folder: String
    ) -> [String: String] {
        var values: [String: String] = [
            "port": String(freePort()),
            "data": folder + "/data",
        ]
        for server in servers { values["fake.\(server.party)"] = server.baseURL }
        for name in Profile.SecretName.allCases {
            values["secret.\(name.rawValue)"] = profile.secrets[name]?.exposed ?? ""
        }
        return values
    }

    /// What callers of the fakes have to show, by the profile.
    private static func keys(_ profile: Profile) -> [Exchange.Party: Secret] {
        var keys: [Exchange.Party: Secret] = [:]
        for provider in Services.providers {
            keys[provider.party] = provider.party.secret("key").flatMap(profile.demandedKey)
        }
        return keys
    }

    /// Whether the fakes sign the tokens that a backend is shown, as in production.
    private static func signsTokens(_ profile: Profile) -> Bool {
        // Under its own name no service hands out tokens that nobody signed.
        let isMet = profile.usesFirebase || profile.start?.isIntercepted == true
        return isMet && !profile.unsupported.contains(.signedTokens)
    }

    /// Names of variables that a backend is given even when its profile names none.
    static func standardNames(_ profile: Profile) -> Set<String> {
        let addresses = Services.providers.map { ($0.party, "http://127.0.0.1:0") }
        let setup = BackendSetup(
            addresses: Dictionary(uniqueKeysWithValues: addresses),
            secrets: profile.secrets,
            project: profile.firebaseProject,
            isSigned: signsTokens(profile)
        )
        return Set(standardEnvironment(["port": "0", "data": ""], setup).keys)
    }

    /// The usual names, offered even when a profile names none.
    private static func standardEnvironment(
        _ values: [String: String],
        _ setup: BackendSetup
    ) -> [String: String] {
        var environment: [String: String] = [:]
        environment["PORT"] = values["port"]
        environment["DATA_DIR"] = values["data"]
        for provider in Services.providers {
            environment.merge(provider.environment(setup)) { first, _ in first }
        }
        return environment
    }

    /// Below what systems hand out by themselves: a port from there may be somebody's again before
    /// the backend has taken it.
    private static let usualPorts: Range<UInt16> = 15_000..<32_000

    /// A port that was free a moment ago.
    private static func freePort() -> Int {
        for _ in 0..<100 {
            if let port = bound(to: .random(in: usualPorts)) { return port }
        }
        return bound(to: 0) ?? 0
    }

    /// The port, when it could be taken; 0 stands for any.
    private static func bound(to port: UInt16) -> Int? {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        defer { Darwin.close(descriptor) }
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        return isBound ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }
}
