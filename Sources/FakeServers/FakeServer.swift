package import Conformance
package import Providers

/// A provider's fake on a port of its own.
package final class FakeServer: Sendable {
    package let party: Exchange.Party
    package let host: String
    package let port: Int
    /// The host by which others reach it; nil: the one that it listens on.
    private let told: String?
    private let world: FakeWorld
    private let idleMax: Duration
    private let options: [ConnectionOption]
    /// How long a port of ours that was closed is waited for; longer, and it is somebody else's.
    private static let reopenMax = Duration.seconds(30)
    /// None while connections are refused.
    private let listener: Locked<HTTPHost?>

    package var baseURL: String { ToldAddress.url(host: told ?? host, port: port) }

    /// Opens the port; port 0 picks a free one.
    package init(
        _ party: Exchange.Party,
        world: FakeWorld,
        host: String = "127.0.0.1",
        port: Int = 0,
        told: String? = nil,
        idleMax: Duration = .seconds(60),
        options: [ConnectionOption] = [.noDelay, .halfClosure]
    ) async throws(StartError) {
        self.party = party
        self.options = options
        self.world = world
        self.idleMax = idleMax
        self.told = told
        let opened = try await Self.open(party, world, host, port, idleMax, options)
        self.host = opened.host
        self.port = opened.port
        listener = Locked(opened)
    }

    private static func open(
        _ party: Exchange.Party,
        _ world: FakeWorld,
        _ host: String,
        _ port: Int,
        _ idleMax: Duration,
        _ options: [ConnectionOption]
    ) async throws(StartError) -> HTTPHost {
        try await HTTPHost(
            name: "the fake \(party)",
            host: host,
            port: port,
            idleMax: idleMax,
            now: { world.now },
            options: options,
            report: { world.journal.note($0.description) },
            shortages: world.shortages
        ) { request in
            Self.answer(request, party, world)
        }
    }

    /// Closes the port; calls that are going on are still answered.
    package func stop() async {
        await take()?.stop()
    }

    private func take() -> HTTPHost? {
        listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
    }

    package var isRefusing: Bool { listener.withLock { $0 == nil } }

    /// Connections are refused from now on, or taken again, on the same port.
    package func refuse(_ isRefusing: Bool) async throws(StartError) {
        if isRefusing {
            await take()?.close()
        } else if self.isRefusing {
            let opened = try await reopened()
            listener.withLock { $0 = opened }
        }
    }

    /// The port again, as soon as nobody has it any more.
    ///
    /// A program that was started meanwhile has a copy of every open socket until it has become
    /// itself; so long the port is taken, though we have closed it.
    private func reopened() async throws(StartError) -> HTTPHost {
        let clock = ContinuousClock()
        let giveUp = clock.now + Self.reopenMax
        var pause = Duration.milliseconds(1)
        while true {
            do throws(StartError) {
                return try await Self.open(party, world, host, port, idleMax, options)
            } catch {
                guard error.isTaken, clock.now < giveUp, !Task.isCancelled else { throw error }
            }
            try? await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    /// Asks the fake and writes the exchange down before a byte leaves.
    static func answer(
        _ request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ world: FakeWorld
    ) -> HTTPHost.Answer {
        if let response = SelfCheck.response(to: request) { return .whole(response) }
        if party == .despia, let script = DespiaShim.response(to: request, world) {
            return .whole(script)
        }
        let reply = Self.reply(to: request, party, world)
        switch reply.manner {
        case .answer: return .whole(reply.response)
        case .half: return .half(reply.response)
        case .reset: return .reset
        case .never:
            return .held {
                await world.untilReleased(reply.namespace)
            }
        case .hang(let milliseconds):
            return .later {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .reset
            }
        case .slow(let milliseconds):
            return .later {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .whole(reply.response)
            }
        }
    }

    /// What the fake does with a request, written down; how it reaches the caller is the caller's.
    package static func reply(
        to request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ world: FakeWorld
    ) -> Reply {
        let invoked = world.journal.elapsed
        var request = request
        request.readBody()
        let reply = world.respond(party, to: request)
        let outcome: Exchange.Outcome =
            switch reply.manner {
            case .answer, .slow: .answered(reply.response)
            case .reset, .half:
                reply.effects.isEmpty && reply.manner == .reset
                    ? .failed(.closed, "reset by plan") : .answerLost(reply.response)
            case .hang: .failed(.closed, "reset after hanging, by plan")
            case .never: .failed(.timedOut, "never answered, by plan")
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
