package import Providers
package import Values

/// The fake of one provider, served on its own port.
package final class FakeServer: Sendable {
    package let party: Exchange.Party
    package let host: String
    package let port: Int
    /// The host in the URL that callers get; nil means the host that the server listens on.
    private let advertisedHost: String?
    private let fakes: FakeRegistry
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
        fakes: FakeRegistry,
        host: String = "127.0.0.1",
        port: Int = 0,
        advertisedHost: String? = nil,
        idleTimeout: Duration = .seconds(60),
        options: [ConnectionOption] = [.noDelay, .halfClosure]
    ) async throws(StartError) {
        self.party = party
        self.options = options
        self.fakes = fakes
        self.idleTimeout = idleTimeout
        self.advertisedHost = advertisedHost
        let openedListener = try await Self.open(party, fakes, host, port, idleTimeout, options)
        self.host = openedListener.host
        self.port = openedListener.port
        listener = Locked(openedListener)
    }

    private static func open(
        _ party: Exchange.Party,
        _ fakes: FakeRegistry,
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
            now: { fakes.now },
            options: options,
            report: { fakes.journal.note($0.description) },
            shortages: fakes.shortages
        ) { request in
            Self.answer(request, party, fakes)
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
    /// A new child process of Assay keeps a copy of every open socket until it executes its
    /// program. Until then the port is in use, although this process has closed it.
    private func reopen() async throws(StartError) -> HTTPHost {
        let clock = ContinuousClock()
        let reopenDeadline = clock.now + Self.reopenTimeout
        var reopenPause = Duration.milliseconds(1)
        while true {
            do throws(StartError) {
                return try await Self.open(party, fakes, host, port, idleTimeout, options)
            } catch {
                guard error.isAddressInUse, clock.now < reopenDeadline, !Task.isCancelled else {
                    throw error
                }
            }
            // Cancellation ends the wait early. The next failed attempt then throws its error.
            try? await clock.sleep(for: reopenPause)
            reopenPause = min(reopenPause * 2, .milliseconds(100))
        }
    }

    /// Returns the fake's response to a request.
    ///
    /// The exchange is written to the journal before the response is sent.
    static func answer(
        _ request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ fakes: FakeRegistry
    ) -> HTTPHost.HostResponse {
        if let response = SelfCheck.response(to: request) { return .completeResponse(response) }
        if let server = fakes.providers[party]?.scriptServer,
            let namespace = server.scriptNamespace(of: request)
        {
            let response = fakes.edit(namespace, notifies: false) { services, now in
                server.scriptResponse(to: request, &services, at: now)
            }
            return .completeResponse(response ?? HTTPMessage.Response(404))
        }
        let exchange = exchange(of: request, party, fakes)
        let reply = exchange.reply
        switch reply.sendMode {
        case .answer: return .completeResponse(reply.response)
        case .truncatedResponse: return .truncatedResponse(reply.response)
        case .reset: return .reset
        case .never:
            return .held {
                await fakes.waitUntilReleased(reply.namespace)
                fakes.journal.complete(exchange.number, noResponse)
            }
        case .hangThenReset(let milliseconds):
            return .deferred {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .reset
            }
        case .slow(let milliseconds):
            return .deferred {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .completeResponse(reply.response)
            }
        }
    }

    /// Processes a request in the fake of a provider, and writes the exchange to the journal.
    ///
    /// The caller must send the reply.
    package static func reply(
        to request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ fakes: FakeRegistry
    ) -> Reply {
        exchange(of: request, party, fakes).reply
    }

    /// The outcome of a request that gets no response because of a planned fault.
    private static let noResponse = Exchange.Outcome.failed(
        .timedOut,
        "no response (planned fault)"
    )

    /// Processes a request, and returns the reply and the number of the exchange in the journal.
    ///
    /// The exchange of a request without a response stays open in the journal.
    private static func exchange(
        of request: HTTPMessage.Request,
        _ party: Exchange.Party,
        _ fakes: FakeRegistry
    ) -> (reply: Reply, number: Int) {
        let invoked = fakes.journal.elapsedMicroseconds
        var request = request
        request.readBody()
        let reply = fakes.respond(party, to: request)
        let outcome: Exchange.Outcome =
            switch reply.sendMode {
            case .answer, .slow: .answered(reply.response)
            case .reset, .truncatedResponse:
                reply.effects.isEmpty && reply.sendMode == .reset
                    ? .failed(.closed, "connection reset (planned fault)")
                    : .answerLost(reply.response)
            case .hangThenReset: .failed(.closed, "connection reset after a wait (planned fault)")
            case .never: noResponse
            }
        var exchange = Exchange(
            from: fakes.providers[party]?.caller(request) ?? .backend,
            to: party,
            namespace: reply.namespace,
            purpose: .call,
            at: reply.at,
            request: request
        )
        exchange.outcome = outcome
        exchange.effects = reply.effects
        let number = fakes.journal.write(
            exchange,
            invoked: invoked,
            staysOpen: reply.sendMode == .never
        )
        return (reply, number)
    }
}
