internal import Contracts
internal import FakeServers
internal import Foundation
internal import Providers
internal import Redaction
internal import Replay
internal import Reports
internal import Values

/// The control API and its web page for the fakes of a session with a backend.
struct SessionControl {
    /// The default address of the control API, which `--listen control=…` changes (section 7 of the
    /// architecture page).
    static let address = "127.0.0.1:9300"

    let server: ControlServer
    private let session: ReplaySession
    private let dispatcher: WebhookDispatcher
    private let webhookTransport: WebhookMessenger

    /// Opens the port of the control API.
    ///
    /// - Throws: A failure when another program uses the port.
    init(
        _ session: ReplaySession,
        _ profile: Profile,
        at address: ListenAddress,
        allowedHosts: Set<String>
    ) async throws {
        self.session = session
        webhookTransport = WebhookMessenger(authority: profile.certificateAuthorityPath)
        dispatcher = WebhookDispatcher(
            fakes: session.fakes,
            webhookTransport: webhookTransport,
            allowedHosts: allowedHosts
        )
        do throws(StartError) {
            server = try await ControlServer(host: address.host, port: address.port)
        } catch {
            await webhookTransport.close()
            throw CommandFailure(
                .unreachable,
                error.description + "; choose another port with --listen control=127.0.0.1:0"
            )
        }
        server.open(
            ControlAPI(
                fakes: session.fakes,
                dispatcher: dispatcher,
                version: assayVersion,
                servers: session.servers,
                allowedHosts: allowedHosts,
                process: SuiteRun.nonce(),
                token: Setting.controlToken.secret,
                declared: SecretDeclaration(profile)
            )
        )
    }

    /// The address of the backend.
    var target: String { session.backend.target }

    /// Sets the backend as the target of the fakes' webhooks.
    ///
    /// The fakes then send their events to the backend, and the journal of the fakes records them.
    func setWebhookTarget(_ profile: Profile) {
        let base = session.backend.target
        session.fakes.edit("") { services, _ in
            for provider in services.providerTable.entries {
                guard let sender = provider.sender,
                    let endpoint = profile.endpoints[sender.webhookEndpoint]
                else { continue }
                let target = WebhookTarget(
                    of: provider.party,
                    at: base + endpoint.path,
                    profile
                )
                sender.setWebhookTarget(&services, target)
            }
        }
    }

    /// Sends the webhook events that are due, until the task is canceled or a backend that Assay
    /// started ends.
    ///
    /// - Returns: A description of how the backend ended; nil when it is still running.
    func run(_ interruption: Interruption) async throws -> String? {
        let process = session.backend.process
        let exitMessage = Locked<String?>(nil)
        let dispatcher = dispatcher
        // This task ends at the latest when the session ends, because the session stops the
        // backend.
        Task {
            guard let text = await process?.ended() else { return }
            exitMessage.withLock { $0 = text }
            dispatcher.stop()
        }
        do {
            try await interruption.run { await dispatcher.run() }
        } catch is CancellationError {}
        return interruption.hasReceivedSignal ? nil : exitMessage.withLock { $0 }
    }

    func close() async {
        session.fakes.journal.endFollowing()
        await server.stop()
        await webhookTransport.close()
    }

    /// Returns the line of the output that contains the address of the web page.
    static func line(_ server: ControlServer, _ style: TerminalStyle) -> String {
        "page        " + style.bold(server.baseURL + "/") + "  shows all requests live\n"
    }
}

/// Keeps the backend and the fakes running after the last case (`--keep`).
///
/// The control API is open from the start of the run.
final class SessionKeeper: Sendable {
    private let profile: Profile
    private let address: ListenAddress
    private let allowedHosts: Set<String>
    private let control = Locked<SessionControl?>(nil)

    init(_ profile: Profile, at address: ListenAddress, allowedHosts: [String]) {
        self.profile = profile
        self.address = address
        self.allowedHosts = Set(allowedHosts)
    }

    /// The address of the web page; nil before the control API is open.
    var pageURL: String? { control.withLock { $0.map { $0.server.baseURL + "/" } } }

    /// Opens the control API for the fakes of a session.
    ///
    /// - Throws: A failure when another program uses the port.
    func open(_ session: ReplaySession) async throws {
        let openedControl = try await SessionControl(
            session,
            profile,
            at: address,
            allowedHosts: allowedHosts
        )
        control.withLock { $0 = openedControl }
    }

    /// Waits until Ctrl-C or the end of the backend, for which it prints a message.
    func keep(_ interruption: Interruption) async throws {
        guard let control = control.withLock({ $0 }) else { return }
        // From now on, the events of the fakes go to the backend and belong to no case.
        control.setWebhookTarget(profile)
        Terminal.error(
            "\nkept running: the backend at \(control.target), and a page with all requests at "
                + "\(control.server.baseURL)/; press Ctrl-C to end\n"
        )
        if let text = try await control.run(interruption) {
            Terminal.message("the backend ended by itself: \(text)")
        }
    }

    func close() async {
        await control.withLock { $0 }?.close()
    }
}
