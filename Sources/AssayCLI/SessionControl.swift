internal import Conformance
internal import FakeServers
internal import Foundation
internal import Providers
internal import Replay
internal import Reports

/// The control API and its page over the fakes of a session with a backend.
struct SessionControl {
    /// Where it is opened unless `--listen control=…` says otherwise (architecture, section 7).
    static let address = "127.0.0.1:9300"

    let server: ControlServer
    private let session: ReplaySession
    private let courier: Courier
    private let messenger: WebhookMessenger

    /// Opens the port.
    ///
    /// - Throws: A failure that says who else has the port.
    init(
        _ session: ReplaySession,
        _ profile: Profile,
        at address: ListenAddress,
        allowed: Set<String>
    ) async throws {
        self.session = session
        messenger = WebhookMessenger(authority: profile.authorityPath)
        courier = Courier(world: session.world, messenger: messenger, allowedHosts: allowed)
        do throws(StartError) {
            server = try await ControlServer(host: address.host, port: address.port)
        } catch {
            await messenger.close()
            throw Failure(
                .unreachable,
                error.description + "; choose another with --listen control=127.0.0.1:0"
            )
        }
        server.open(
            ControlAPI(
                world: session.world,
                courier: courier,
                version: assayVersion,
                servers: session.servers,
                allowedHosts: allowed,
                process: SuiteRun.nonce(),
                token: Setting.controlToken.secret,
                declared: SecretDeclaration(profile)
            )
        )
    }

    /// The backend's address.
    var target: String { session.backend.target }

    /// Lets the fakes send their events to the backend; the journal has them from the courier.
    func connect(_ profile: Profile) {
        let base = session.backend.target
        session.world.edit("") { services, _ in
            for provider in services.table.entries {
                let place = provider.webhookEndpoint.flatMap { profile.endpoints[$0] }
                guard let place else { continue }
                let target = WebhookTarget(
                    of: provider.party,
                    at: base + place.path,
                    profile
                )
                provider.connect(&services, target)
            }
            // An app that has an API key only signs in to the project that the backend trusts.
            services.firebase.settings.project = profile.firebaseProject
        }
    }

    /// Delivers what is due until cancelled, or until the backend that we started ends by itself.
    ///
    /// - Returns: How it ended, when it was the backend that did.
    func run(_ interruption: Interruption) async throws -> String? {
        let process = session.backend.process
        let death = Locked<String?>(nil)
        let courier = courier
        // It ends with the session at the latest, when the backend is stopped.
        Task {
            guard let text = await process?.ended() else { return }
            death.withLock { $0 = text }
            courier.stop()
        }
        do {
            try await interruption.run { await courier.run() }
        } catch is CancellationError {}
        return interruption.isRaised ? nil : death.withLock { $0 }
    }

    func close() async {
        session.world.journal.endFollowing()
        await server.stop()
        await messenger.close()
    }

    /// The line that says where the page is.
    static func line(_ server: ControlServer, _ style: TerminalStyle) -> String {
        "page        " + style.bold(server.baseURL + "/") + "  what happens, live\n"
    }
}

/// Lets a session stand after its run, with the control API open from its beginning.
final class SessionKeeper: Sendable {
    private let profile: Profile
    private let address: ListenAddress
    private let allowed: Set<String>
    private let control = Locked<SessionControl?>(nil)

    init(_ profile: Profile, at address: ListenAddress, allowed: [String]) {
        self.profile = profile
        self.address = address
        self.allowed = Set(allowed)
    }

    /// Where the page is, once it is open.
    var pageURL: String? { control.withLock { $0.map { $0.server.baseURL + "/" } } }

    /// - Throws: A failure that says who else has the port.
    func open(_ session: ReplaySession) async throws {
        let opened = try await SessionControl(session, profile, at: address, allowed: allowed)
        control.withLock { $0 = opened }
    }

    /// Until Ctrl-C, or until the backend ends by itself, which is told.
    func keep(_ interruption: Interruption) async throws {
        guard let control = control.withLock({ $0 }) else { return }
        // From now on the fakes' own events are the backend's, and nobody's case.
        control.connect(profile)
        Terminal.error(
            "\nkept: \(control.server.baseURL)/ shows what happens; "
                + "the backend is \(control.target); Ctrl-C ends it\n"
        )
        if let text = try await control.run(interruption) {
            Terminal.message("the backend ended by itself: \(text)")
        }
    }

    func close() async {
        await control.withLock { $0 }?.close()
    }
}

extension WebhookTarget {
    /// A provider's webhook, with the secrets that the profile has for it.
    init(of party: Exchange.Party, at url: String, _ profile: Profile) {
        func secret(_ role: String) -> Secret? {
            party.secret(role).flatMap { profile.secrets[$0] }
        }
        self.init(url: url, authorization: secret("authorization"), signing: secret("signing"))
    }
}
