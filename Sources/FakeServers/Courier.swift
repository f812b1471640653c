package import Conformance
internal import Providers

/// Carries a request over a network; the HTTP client lives in another module.
package protocol Messenger: Sendable {
    /// Sends a request to `scheme://host:port`.
    func send(
        _ request: HTTPMessage.Request,
        to base: String,
        within: Duration
    ) async -> Exchange.Outcome
}

/// Hands events to the webhooks when they are due on each namespace's clock, and moves the clocks.
package final class Courier: Sendable {
    /// What moving a clock did.
    package struct Advance: Hashable, Sendable {
        package let now: Instant
        package let attemptCount: Int
        /// Whether nothing waits for a delivery any more.
        package let isSettled: Bool
    }

    private struct State {
        var underway: [String: Int] = [:]
        var waiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// A loop of its own making ends here: so many attempts fit into no real schedule.
    private static let attemptsMax = 100_000

    private let world: FakeWorld
    private let messenger: any Messenger
    private let allowedHosts: Set<String>
    private let state = Locked(State())
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    package init(world: FakeWorld, messenger: any Messenger, allowedHosts: Set<String> = []) {
        self.world = world
        self.messenger = messenger
        self.allowedHosts = allowedHosts
        (bell, ring) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        world.notify { [ring] in ring.yield() }
    }

    // MARK: In real time

    /// Delivers what is due, then waits for the next moment or a change, until cancelled.
    package func run() async {
        // Discarding: a server that runs for weeks must not keep what its tasks left behind.
        await withDiscardingTaskGroup { group in
            var alarm: Task<Void, Never>?
            ring.yield()
            for await _ in bell {
                alarm?.cancel()
                for namespace in world.namespaces {
                    // Quietly, or the bell would never be still.
                    world.edit(namespace, notifies: false) { _, _ in }
                    group.addTask { _ = await self.deliverDue(namespace) }
                }
                if let wait = nextWait() {
                    alarm = Task { [ring] in
                        try? await Task.sleep(for: wait)
                        if !Task.isCancelled { ring.yield() }
                    }
                }
            }
            alarm?.cancel()
            group.cancelAll()
        }
    }

    /// Ends `run`.
    package func stop() {
        ring.finish()
    }

    private func nextWait() -> Duration? {
        world.namespaces.compactMap { namespace in
            world.read(namespace) { services, now in
                guard services.clock.frozen == nil, let next = services.nextMoment else {
                    return nil
                }
                return max(.milliseconds(1), next - now)
            } ?? nil
        }.min()
    }

    // MARK: Delivering

    /// Makes every attempt that is due and waits for their ends.
    ///
    /// - Returns: How many attempts that were.
    package func deliverDue(_ namespace: String) async -> Int {
        // Counted before anything is taken: who waits must not miss what is just being taken.
        state.withLock { $0.underway[namespace, default: 0] += 1 }
        defer { finished(namespace) }
        let due = world.takeDue(namespace)
        // One customer's events leave in order; a retry of one does not hold up the others.
        let lines = Dictionary(grouping: due) { [$0.configuration, $0.group] }
        await withTaskGroup(of: Void.self) { group in
            for line in lines.values {
                group.addTask {
                    for delivery in line { await self.attempt(delivery, namespace) }
                }
            }
        }
        return due.count
    }

    private func finished(_ namespace: String) {
        let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.underway[namespace, default: 0] -= 1
            guard state.underway[namespace] == 0 else { return [] }
            return state.waiters.removeValue(forKey: namespace) ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no attempt is underway, whoever began it.
    private func waitForUnderway(_ namespace: String) async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.underway[namespace, default: 0] == 0 { return true }
                state.waiters[namespace, default: []].append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Delivers once: due on the virtual clock, signed with real time, which is what the backend
    /// holds the signature's age against.
    private func attempt(_ delivery: WebhookDelivery, _ namespace: String) async {
        let wall = world.now
        let prepared = world.read(namespace) { services, now in
            (services.attempt(at: delivery, now: wall), services.schedule(of: delivery), now)
        }
        guard let (target, schedule, now) = prepared else { return }
        guard let target else {
            finish(
                delivery,
                schedule,
                nil,
                "the webhook '\(delivery.configuration)' is gone",
                namespace
            )
            return
        }
        guard let place = WebhookURL(target.url, allowedHosts: allowedHosts) else {
            finish(delivery, schedule, nil, "\(target.url) may not be called", namespace)
            return
        }
        let request = target.request(place.target)
        let sequence = world.journal.begin(
            Exchange(
                from: delivery.provider,
                to: .backend,
                namespace: namespace,
                purpose: .delivery(name: delivery.type, attempt: delivery.attempts.count + 1),
                at: now,
                request: request
            )
        )
        let outcome = await messenger.send(request, to: place.base, within: schedule.answerMax)
        world.journal.complete(sequence, outcome)
        switch outcome {
        case .answered(let response): finish(delivery, schedule, response.status, nil, namespace)
        case .failed(_, let text): finish(delivery, schedule, nil, text, namespace)
        case .pending, .requestCut, .answerLost:
            finish(delivery, schedule, nil, "no answer", namespace)
        }
    }

    private func finish(
        _ delivery: WebhookDelivery,
        _ schedule: RetrySchedule,
        _ status: Int?,
        _ failure: String?,
        _ namespace: String
    ) {
        world.edit(namespace) { services, now in
            services.queue.finish(
                delivery.number,
                status: status,
                failure: failure,
                by: schedule,
                at: now
            )
        }
    }

    // MARK: In virtual time

    /// Makes what is due now until nothing is due.
    package func flush(_ namespace: String) async -> Int {
        var count = 0
        while true {
            await waitForUnderway(namespace)
            world.edit(namespace, notifies: false) { _, _ in }
            let made = await deliverDue(namespace)
            count += made
            // The loop in real time may have taken what was due; it is waited for as well.
            let isIdle = state.withLock { $0.underway[namespace, default: 0] == 0 }
            guard made > 0 || !isIdle, count < Self.attemptsMax else { return count }
        }
    }

    /// Moves the clock from moment to moment up to a time, delivering on the way.
    ///
    /// Without a target it stops as soon as no delivery waits any more.
    package func advance(_ namespace: String, to target: Instant?) async -> Advance {
        let before = attemptCount(namespace)
        _ = await flush(namespace)
        while attemptCount(namespace) - before < Self.attemptsMax, !Task.isCancelled {
            let next: Instant? =
                world.read(namespace) { services, _ in
                    target == nil ? services.queue.nextDue : services.nextMoment
                } ?? nil
            guard let next, target.map({ next <= $0 }) ?? isInReach(namespace, next) else { break }
            move(namespace, to: next)
            _ = await flush(namespace)
        }
        if let target { move(namespace, to: target) }
        _ = await flush(namespace)
        let count = attemptCount(namespace) - before
        return world.read(namespace) { services, now in
            Advance(now: now, attemptCount: count, isSettled: services.queue.isSettled)
        } ?? Advance(now: world.now, attemptCount: count, isSettled: true)
    }

    /// Whether a move until nothing waits may go that far: the bounds of every other move hold.
    ///
    /// A state that was imported can name any time.
    private func isInReach(_ namespace: String, _ time: Instant) -> Bool {
        guard Instant.given.contains(time) else { return false }
        let count = world.read(namespace) { services, _ in services.renewalCount(by: time) } ?? 0
        return count <= Services.renewalsMax
    }

    private func attemptCount(_ namespace: String) -> Int {
        world.read(namespace) { services, _ in services.queue.attemptCount } ?? 0
    }

    /// Moves a clock forward; it never goes back.
    private func move(_ namespace: String, to time: Instant) {
        let wall = world.now
        world.edit(namespace) { services, now in
            if time > now { services.clock.set(to: time, at: wall) }
        }
    }
}

/// A webhook's URL that may be called: loopback, or a host allowed by name.
package struct WebhookURL: Hashable, Sendable {
    package let base: String
    package let target: String

    /// Nil when the text is no such URL.
    package init?(_ text: String, allowedHosts: Set<String>) {
        let scheme =
            text.hasPrefix("http://") ? "http://" : text.hasPrefix("https://") ? "https://" : ""
        guard !scheme.isEmpty else { return nil }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let host: Substring =
            authority.hasPrefix("[")
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        guard LoopbackHost.isLoopback(String(host)) || allowedHosts.contains(String(host)) else {
            return nil
        }
        let behind = authority.hasPrefix("[") ? host.count + 2 : host.count
        let port = authority.dropFirst(behind)
        guard port.isEmpty || port.first == ":" && Self.isPort(port.dropFirst()) else {
            return nil
        }
        base = scheme + authority
        let path = rest.dropFirst(authority.count)
        target = path.isEmpty ? "/" : path.hasPrefix("?") ? "/" + path : String(path)
    }

    /// Whether a text is a port from 1 to 65535; NIO ends the process for others.
    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (48...57).contains($0) } && UInt16(text).map { $0 > 0 } ?? false
    }
}

/// Names of this machine.
package enum LoopbackHost {
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host == "[::1]"
            || (host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." })
    }
}
