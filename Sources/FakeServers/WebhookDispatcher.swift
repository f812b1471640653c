internal import Providers
package import Values

/// Sends HTTP requests to a backend.
///
/// The implementation is in another module.
package protocol WebhookTransport: Sendable {
    /// Sends a request to `scheme://host:port`, and waits for the response for a limited time.
    func send(
        _ request: HTTPMessage.Request,
        to base: String,
        within: Duration
    ) async -> Exchange.Outcome
}

/// The webhook dispatcher: sends events to the webhooks of the backend when they are due on the
/// clock of their namespace.
///
/// It also moves these clocks.
package final class WebhookDispatcher: Sendable {
    /// The result of moving the clock of a namespace.
    package struct AdvanceResult: Hashable, Sendable {
        package let now: Instant
        package let attemptCount: Int
        /// Whether no webhook delivery is waiting any more.
        package let isSettled: Bool
    }

    private struct State {
        var runningAttemptCounts: [String: Int] = [:]
        var idleWaiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// The maximum number of delivery attempts in one call of `flush` or `advance`.
    ///
    /// No real retry schedule has that many attempts, so more of them mean an endless loop.
    private static let attemptsMax = 100_000

    private let fakes: FakeRegistry
    private let webhookTransport: any WebhookTransport
    private let allowedHosts: Set<String>
    private let state = Locked(State())
    private let wakeupEvents: AsyncStream<Void>
    private let wakeupContinuation: AsyncStream<Void>.Continuation

    package init(
        fakes: FakeRegistry,
        webhookTransport: any WebhookTransport,
        allowedHosts: Set<String> = []
    ) {
        self.fakes = fakes
        self.webhookTransport = webhookTransport
        self.allowedHosts = allowedHosts
        (wakeupEvents, wakeupContinuation) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        fakes.setChangeListener { [wakeupContinuation] in wakeupContinuation.yield() }
    }

    // MARK: In real time

    /// Delivers the events that are due, then waits for the next due time or a change, until the
    /// task is cancelled or `stop` is called.
    package func run() async {
        // The group discards results, because a server that runs for weeks must not keep them.
        await withDiscardingTaskGroup { group in
            var wakeupTask: Task<Void, Never>?
            wakeupContinuation.yield()
            for await _ in wakeupEvents {
                wakeupTask?.cancel()
                for namespace in fakes.namespaces {
                    // The dispatcher is not notified, because a notification would start this loop
                    // again at once.
                    fakes.edit(namespace, notifies: false) { _, _ in }
                    group.addTask { _ = await self.attemptDueDeliveries(namespace) }
                }
                if let wait = timeUntilNextDelivery() {
                    wakeupTask = Task { [wakeupContinuation] in
                        // The check below handles a cancellation.
                        try? await Task.sleep(for: wait)
                        if !Task.isCancelled { wakeupContinuation.yield() }
                    }
                }
            }
            wakeupTask?.cancel()
            group.cancelAll()
        }
    }

    /// Ends `run`, which delivers events in real time.
    package func stop() {
        wakeupContinuation.finish()
    }

    private func timeUntilNextDelivery() -> Duration? {
        fakes.namespaces.compactMap { namespace in
            fakes.read(namespace) { services, now in
                guard services.clock.frozen == nil, let nextClockTime = services.nextChangeTime
                else {
                    return nil
                }
                return max(.milliseconds(1), nextClockTime - now)
            } ?? nil
        }.min()
    }

    // MARK: Delivering

    /// Makes every delivery attempt that is due in a namespace, and waits until all of them end.
    ///
    /// - Returns: The number of attempts.
    package func attemptDueDeliveries(_ namespace: String) async -> Int {
        // The attempt is counted before the deliveries are taken, so that `waitForRunningAttempts` does
        // not miss them.
        state.withLock { $0.runningAttemptCounts[namespace, default: 0] += 1 }
        defer { recordAttemptEnd(namespace) }
        let dueDeliveries = fakes.takeDueDeliveries(namespace)
        // The events of one customer are sent in order. A retry for one customer does not delay the
        // others.
        let deliveryQueues = Dictionary(grouping: dueDeliveries) { [$0.configuration, $0.group] }
        await withTaskGroup(of: Void.self) { group in
            for queuedDeliveries in deliveryQueues.values {
                group.addTask {
                    for delivery in queuedDeliveries { await self.attempt(delivery, namespace) }
                }
            }
        }
        return dueDeliveries.count
    }

    private func recordAttemptEnd(_ namespace: String) {
        let idleWaiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.runningAttemptCounts[namespace, default: 0] -= 1
            guard state.runningAttemptCounts[namespace] == 0 else { return [] }
            return state.idleWaiters.removeValue(forKey: namespace) ?? []
        }
        for waiter in idleWaiters { waiter.resume() }
    }

    /// Waits until no delivery attempt is in progress in a namespace, including attempts that other
    /// calls started.
    private func waitForRunningAttempts(_ namespace: String) async {
        await withCheckedContinuation { continuation in
            let hasNoRunningAttempt = state.withLock { state in
                if state.runningAttemptCounts[namespace, default: 0] == 0 { return true }
                state.idleWaiters[namespace, default: []].append(continuation)
                return false
            }
            if hasNoRunningAttempt { continuation.resume() }
        }
    }

    /// Makes one attempt to deliver an event to a webhook.
    ///
    /// The attempt is due on the virtual clock, but its signature contains the real time. The
    /// backend compares the age of a signature with its own clock, which is real.
    private func attempt(_ delivery: WebhookDelivery, _ namespace: String) async {
        let wallTime = fakes.now
        let attemptParameters = fakes.read(namespace) { services, now in
            (
                services.attempt(at: delivery, now: wallTime), services.retrySchedule(of: delivery),
                now
            )
        }
        guard let (target, retrySchedule, now) = attemptParameters else { return }
        guard let target else {
            finish(
                delivery,
                retrySchedule,
                nil,
                "the webhook '\(delivery.configuration)' no longer exists",
                namespace
            )
            return
        }
        guard let webhookURL = WebhookURL(target.url, allowedHosts: allowedHosts) else {
            finish(
                delivery,
                retrySchedule,
                nil,
                "\(target.url) is not an allowed URL; --allow-host HOST allows other hosts",
                namespace
            )
            return
        }
        let request = target.request(webhookURL.target)
        let sequence = fakes.journal.begin(
            Exchange(
                from: delivery.provider,
                to: .backend,
                namespace: namespace,
                purpose: .delivery(name: delivery.type, attempt: delivery.attempts.count + 1),
                at: now,
                request: request
            )
        )
        let outcome = await webhookTransport.send(
            request,
            to: webhookURL.base,
            within: retrySchedule.responseTimeout
        )
        fakes.journal.complete(sequence, outcome)
        switch outcome {
        case .answered(let response):
            finish(delivery, retrySchedule, response.status, nil, namespace)
        case .failed(_, let text): finish(delivery, retrySchedule, nil, text, namespace)
        case .pending, .requestCut, .answerLost:
            finish(delivery, retrySchedule, nil, "no response", namespace)
        }
    }

    private func finish(
        _ delivery: WebhookDelivery,
        _ retrySchedule: RetrySchedule,
        _ status: Int?,
        _ failure: String?,
        _ namespace: String
    ) {
        fakes.edit(namespace) { services, now in
            services.queue.finish(
                delivery.number,
                status: status,
                failure: failure,
                by: retrySchedule,
                at: now
            )
        }
    }

    // MARK: In virtual time

    /// Makes all delivery attempts that are due in a namespace, including those that become due
    /// meanwhile, and returns their number.
    package func flush(_ namespace: String) async -> Int {
        var count = 0
        while true {
            await waitForRunningAttempts(namespace)
            fakes.edit(namespace, notifies: false) { _, _ in }
            let newAttemptCount = await attemptDueDeliveries(namespace)
            count += newAttemptCount
            // `run` may have taken some of the deliveries, so this loop also waits for the running
            // attempts.
            let hasNoRunningAttempt = state.withLock {
                $0.runningAttemptCounts[namespace, default: 0] == 0
            }
            guard newAttemptCount > 0 || !hasNoRunningAttempt, count < Self.attemptsMax else {
                return count
            }
        }
    }

    /// Moves the clock of a namespace forward to a time, and makes each delivery on the way when it
    /// is due.
    ///
    /// Without a target time, the clock moves until no delivery is waiting any more.
    package func advance(_ namespace: String, to target: Instant?) async -> AdvanceResult {
        let attemptCountBefore = attemptCount(namespace)
        _ = await flush(namespace)
        while attemptCount(namespace) - attemptCountBefore < Self.attemptsMax, !Task.isCancelled {
            let nextClockTime: Instant? =
                fakes.read(namespace) { services, _ in
                    target == nil ? services.queue.nextDueTime : services.nextChangeTime
                } ?? nil
            guard let nextClockTime,
                target.map({ nextClockTime <= $0 })
                    ?? isWithinRenewalLimit(namespace, nextClockTime)
            else { break }
            moveClock(namespace, to: nextClockTime)
            _ = await flush(namespace)
        }
        if let target { moveClock(namespace, to: target) }
        _ = await flush(namespace)
        let count = attemptCount(namespace) - attemptCountBefore
        return fakes.read(namespace) { services, now in
            AdvanceResult(now: now, attemptCount: count, isSettled: services.queue.isSettled)
        } ?? AdvanceResult(now: fakes.now, attemptCount: count, isSettled: true)
    }

    /// Returns whether `advance` may move the clock of a namespace to a time when the caller sets
    /// no target time.
    ///
    /// The time must be in the accepted range and must not cause too many renewals. A target time
    /// has the same limits. This check is needed because an imported state may contain deliveries
    /// at any time.
    private func isWithinRenewalLimit(_ namespace: String, _ time: Instant) -> Bool {
        guard Instant.acceptedRange.contains(time) else { return false }
        let count = fakes.read(namespace) { services, _ in services.renewalCount(by: time) } ?? 0
        return count <= Services.renewalsMax
    }

    private func attemptCount(_ namespace: String) -> Int {
        fakes.read(namespace) { services, _ in services.queue.attemptCount } ?? 0
    }

    /// Moves the clock of a namespace forward to a time.
    ///
    /// A time before the current time of the clock is ignored.
    private func moveClock(_ namespace: String, to time: Instant) {
        let wallTime = fakes.now
        fakes.edit(namespace) { services, now in
            if time > now { services.clock.set(to: time, at: wallTime) }
        }
    }
}

/// The URL of a webhook that may be called: on this machine, or on a host that is allowed by name.
package struct WebhookURL: Hashable, Sendable {
    package let base: String
    package let target: String

    /// Parses the URL of a webhook; nil when the URL is invalid or its host is not allowed.
    package init?(_ text: String, allowedHosts: Set<String>) {
        let scheme =
            text.hasPrefix("http://") ? "http://" : text.hasPrefix("https://") ? "https://" : ""
        guard !scheme.isEmpty else { return nil }
        let textAfterScheme = text.dropFirst(scheme.count)
        let authority = textAfterScheme.prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let host: Substring =
            authority.hasPrefix("[")
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        guard HostName.isLoopback(String(host)) || allowedHosts.contains(String(host)) else {
            return nil
        }
        let hostEnd = authority.hasPrefix("[") ? host.count + 2 : host.count
        let port = authority.dropFirst(hostEnd)
        guard port.isEmpty || port.first == ":" && Self.isPortSuffix(port.dropFirst()) else {
            return nil
        }
        base = scheme + authority
        let path = textAfterScheme.dropFirst(authority.count)
        target = path.isEmpty ? "/" : path.hasPrefix("?") ? "/" + path : String(path)
    }

    /// Returns whether a string is a port from 1 to 65535.
    ///
    /// NIO, the network library, would end the process for an invalid port.
    private static func isPortSuffix(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (48...57).contains($0) } && UInt16(text).map { $0 > 0 } ?? false
    }
}
