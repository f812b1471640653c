package import Conformance
internal import Providers

/// A provider's fake on a port of its own.
package final class FakeServer: Sendable {
    package let party: Exchange.Party
    private let listener: HTTPHost

    package var host: String { listener.host }
    package var port: Int { listener.port }
    package var baseURL: String { "http://\(host):\(port)" }

    /// Opens the port; port 0 picks a free one.
    package init(
        _ party: Exchange.Party,
        world: FakeWorld,
        host: String = "127.0.0.1",
        port: Int = 0,
        idleMax: Duration = .seconds(60)
    ) async throws(StartError) {
        self.party = party
        listener = try await HTTPHost(
            name: "the fake \(party)",
            host: host,
            port: port,
            idleMax: idleMax
        ) { request in
            try await Self.answer(request, party, world)
        }
    }

    /// Closes the port; calls that are going on are still answered.
    package func stop() async {
        await listener.stop()
    }

    /// Asks the fake and writes the exchange down before a byte leaves.
    private static func answer(
        _ request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ world: FakeWorld
    ) async throws -> HTTPHost.Answer {
        let invoked = world.journal.elapsed
        let reply = world.respond(party, to: request)
        let outcome: Exchange.Outcome =
            switch reply.manner {
            case .answer, .slow: .answered(reply.response)
            case .reset, .half:
                reply.effects.isEmpty && reply.manner == .reset
                    ? .failed(.closed, "reset by plan") : .answerLost(reply.response)
            case .never: .failed(.timedOut, "never answered, by plan")
            }
        // Firebase's admin calls carry a token and come from a backend, its user calls do not.
        let isApp =
            party == .despia || (party == .firebase && request[field: "authorization"] == nil)
        var exchange = Exchange(
            from: isApp ? .app : .backend,
            to: party,
            namespace: reply.namespace,
            purpose: .call,
            at: world.clock(of: reply.namespace),
            request: request
        )
        exchange.outcome = outcome
        exchange.effects = reply.effects
        world.journal.write(exchange, invoked: invoked)
        switch reply.manner {
        case .answer: return .whole(reply.response)
        case .half: return .half(reply.response)
        case .reset: return .reset
        case .never: return .never
        case .slow(let milliseconds):
            try await Task.sleep(for: .milliseconds(milliseconds))
            return .whole(reply.response)
        }
    }
}
