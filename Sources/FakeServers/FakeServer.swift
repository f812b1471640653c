package import Conformance
package import Providers

/// The fake of one provider, served on its own port.
package final class FakeServer: Sendable {
    package let party: Exchange.Party
    package let host: String
    package let port: Int
    /// The host in the URL that callers get; nil means the host that the server listens on.
    private let advertisedHost: String?
    private let world: FakeRegistry
    private let idleTimeout: Duration
    private let options: [ConnectionOption]
    /// The maximum time to wait until the operating system frees the closed port of a fake.
    ///
    /// A port that is in use for longer probably belongs to another program.
    private static let reopenTimeout = Duration.seconds(30)
    /// The server on the open port; nil while connections are refused.
    private let listener: Locked<HTTPHost?>

    package var baseURL: String { AdvertisedAddress.url(host: advertisedHost ?? host, port: port) }

    /// Starts the fake of a provider on a port; port 0 picks a free one.
    package init(
        _ party: Exchange.Party,
        world: FakeRegistry,
        host: String = "127.0.0.1",
        port: Int = 0,
        advertisedHost: String? = nil,
        idleTimeout: Duration = .seconds(60),
        options: [ConnectionOption] = [.noDelay, .halfClosure]
    ) async throws(StartError) {
        self.party = party
        self.options = options
        self.world = world
        self.idleTimeout = idleTimeout
        self.advertisedHost = advertisedHost
        let openedListener = try await Self.open(party, world, host, port, idleTimeout, options)
        self.host = openedListener.host
        self.port = openedListener.port
        listener = Locked(openedListener)
    }

    private static func open(
        _ party: Exchange.Party,
        _ world: FakeRegistry,
        _ host: String,
        _ port: Int,
        _ idleTimeout: Duration,
        _ options: [ConnectionOption]
    ) async throws(StartError) -> HTTPHost {
        try await HTTPHost(
            name: "the fake \(party)",
            host: host,
            port: port,
            idleTimeout: idleTimeout,
            now: { world.now },
            options: options,
            report: { world.journal.note($0.description) },
            shortages: world.shortages
        ) { request in
            Self.answer(request, party, world)
        }
    }

    /// Closes the port of the fake.
    ///
    /// Calls in progress still get their responses.
    package func stop() async {
        await takeListener()?.stop()
    }

    private func takeListener() -> HTTPHost? {
        listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
    }

    package var isRefusing: Bool { listener.withLock { $0 == nil } }

    /// Starts or stops refusing connections on the port of the fake.
    package func setRefusing(_ isRefusing: Bool) async throws(StartError) {
        if isRefusing {
            await takeListener()?.close()
        } else if self.isRefusing {
            let openedListener = try await reopen()
            listener.withLock { $0 = openedListener }
        }
    }

    /// Opens the port of the fake again as soon as the port is free.
    ///
    /// A program that Assay has just started keeps a copy of every open socket until its own code
    /// runs. Until then the port is in use, although this process has closed it.
    private func reopen() async throws(StartError) -> HTTPHost {
        let clock = ContinuousClock()
        let deadline = clock.now + Self.reopenTimeout
        var pause = Duration.milliseconds(1)
        while true {
            do throws(StartError) {
                return try await Self.open(party, world, host, port, idleTimeout, options)
            } catch {
                guard error.isAddressInUse, clock.now < deadline, !Task.isCancelled else {
                    throw error
                }
            }
            try? await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    /// Returns the fake's response to a request.
    ///
    /// The exchange is written to the journal before the response is sent.
    static func answer(
        _ request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ world: FakeRegistry
    ) -> HTTPHost.HostResponse {
        if let response = SelfCheck.response(to: request) { return .whole(response) }
        if party == .despia, let script = DespiaShim.response(to: request, world) {
            return .whole(script)
        }
        let reply = Self.reply(to: request, party, world)
        switch reply.sendMode {
        case .answer: return .whole(reply.response)
        case .half: return .half(reply.response)
        case .reset: return .reset
        case .never:
            return .held {
                await world.waitUntilReleased(reply.namespace)
            }
        case .hang(let milliseconds):
            return .deferred {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .reset
            }
        case .slow(let milliseconds):
            return .deferred {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .whole(reply.response)
            }
        }
    }

    /// Processes a request in the fake of a provider, and writes the exchange to the journal.
    ///
    /// The caller must send the reply.
    package static func reply(
        to request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ world: FakeRegistry
    ) -> Reply {
        let invoked = world.journal.elapsed
        var request = request
        request.readBody()
        let reply = world.respond(party, to: request)
        let outcome: Exchange.Outcome =
            switch reply.sendMode {
            case .answer, .slow: .answered(reply.response)
            case .reset, .half:
                reply.effects.isEmpty && reply.sendMode == .reset
                    ? .failed(.closed, "connection reset (planned fault)")
                    : .answerLost(reply.response)
            case .hang: .failed(.closed, "connection reset after a wait (planned fault)")
            case .never: .failed(.timedOut, "no response (planned fault)")
            }
        var exchange = Exchange(
            from: world.providers[party]?.caller(request) ?? .backend,
            to: party,
            namespace: reply.namespace,
            purpose: .call,
            at: reply.at,
            request: request
        )
        exchange.outcome = outcome
        exchange.effects = reply.effects
        world.journal.write(exchange, invoked: invoked)
        return reply
    }
}
