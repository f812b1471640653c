internal import Contracts
internal import FakeServers
internal import Providers
internal import Values

/// Holds back the last byte of several requests, so that they arrive at the same time or stay
/// incomplete.
extension CaseExecution {
    /// Sends several deliveries and calls so that they arrive at the backend at the same time.
    ///
    /// The deliveries are those held back by earlier steps, and the given ones. All of them are
    /// sent except for their last bytes. Then all last bytes and the calls of the app are sent at
    /// once.
    ///
    /// Deliveries that did not succeed then follow the retry schedules of their senders, one after
    /// the other.
    mutating func release(_ additionalDeliveries: [HeldDelivery], alongside calls: [PreparedCall])
        async
    {
        let released = deliveries.held + additionalDeliveries
        deliveries.held = []
        let copies = released.flatMap { requests(of: $0) }
        let laneCount = copies.count + calls.count
        await backend.client.openConnections(lanes: laneCount, path: backend.readyPath)
        fakes.setClock(of: namespace.name, to: now)
        let gates = copies.map { _ in Gate() }
        let callsGate = Gate()
        let sequences = Locked<[Int]>([])
        let outcomes = Locked<[Exchange.Outcome?]>(Array(repeating: nil, count: copies.count))
        let execution = self
        let respondsToNoRequest = await withTaskGroup(of: Void.self) { group in
            for (index, copy) in copies.enumerated() {
                group.addTask {
                    let outcome = await execution.run.held(
                        copy.request,
                        gates[index],
                        100,
                        lane: index,
                        within: execution.within
                    )
                    await gates[index].waitUntilOpen()
                    let sequence = sequences.withLock { $0[index] }
                    execution.fakes.journal.complete(sequence, outcome)
                    outcomes.withLock { $0[index] = outcome }
                }
            }
            if !calls.isEmpty {
                group.addTask {
                    await callsGate.waitUntilOpen()
                    await execution.requests.send(calls, firstLaneIndex: copies.count)
                }
            }
            for gate in gates { await gate.reached(1) }
            let respondsToRequest = await execution.run.respondsToOtherRequests(lane: laneCount)
            sequences.withLock { sequences in
                sequences = copies.map { copy in
                    let purpose = Exchange.Purpose.delivery(
                        name: copy.delivery.name,
                        attempt: copy.attempt
                    )
                    return execution.fakes.journal.begin(
                        execution.requests.exchange(copy.delivery.provider, purpose, copy.request)
                    )
                }
            }
            let timing = plan.concurrentTiming ?? .allAtOnce
            await timing.open(gates + (calls.isEmpty ? [] : [callsGate]), on: execution.clock)
            await group.waitForAll()
            return !respondsToRequest
        }
        // A server with several workers may also have none left while all copies are incomplete.
        if respondsToNoRequest { servesOneRequestAtATime = await run.servesOneRequestAtATime() }
        await continueRetries(
            released,
            after: zip(copies, outcomes.withLock { $0 }).map { ($0, $1) }
        )
    }

    private mutating func requests(of held: HeldDelivery) -> [RequestCopy] {
        let (delivery, request) = (held.delivery, run.request(held.delivery, held.body))
        let firstAttemptNumber = (deliveries.attemptCounts[delivery.name] ?? 0) + 1
        deliveries.attemptCounts[delivery.name] = firstAttemptNumber + delivery.times - 1
        return (firstAttemptNumber..<(firstAttemptNumber + delivery.times)).map {
            RequestCopy(delivery: delivery, attempt: $0, request: request)
        }
    }

    private mutating func continueRetries(
        _ released: [HeldDelivery],
        after sentCopies: [(copy: RequestCopy, outcome: Exchange.Outcome?)]
    ) async {
        for held in released {
            let delivery = held.delivery
            var isDeliveryAccepted = true
            for (copy, outcome) in sentCopies where copy.delivery.name == delivery.name {
                if let outcome, await isBackendGone(outcome) { return }
                guard case .answered(let response) = outcome else {
                    isDeliveryAccepted = false
                    continue
                }
                _ = storeValues(from: response, delivery.responsePattern)
                if !delivery.schedule(among: plan.deliveries).isSuccess(response.status) {
                    isDeliveryAccepted = false
                }
            }
            guard delivery.followsRetrySchedule, !isDeliveryAccepted else { continue }
            await deliverWithRetries(delivery, held.body, from: delivery.times + 1)
            if runProblem != nil || Task.isCancelled { return }
        }
    }
}

/// A delivery that is held back until it is released together with other requests.
struct HeldDelivery: Sendable {
    let delivery: Delivery
    let body: [UInt8]
}

/// One request for a held delivery.
///
/// A delivery that arrives several times has several such requests.
private struct RequestCopy: Sendable {
    let delivery: Delivery
    let attempt: Int
    let request: HTTPMessage.Request
}

extension Step {
    /// Whether the step releases the deliveries that earlier steps have held back.
    var releasesHeldDeliveries: Bool {
        switch self {
        case .deliver, .call: true
        case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account, .phone,
            .killAtCall, .probe, .waitForEnd, .restart:
            false
        }
    }
}

extension RunExecutor {
    /// Sends a request, but holds back the part of its body after the given percentage until the
    /// gate opens.
    ///
    /// A response that comes before the gate opens counts as the response to this request.
    func held(
        _ request: HTTPMessage.Request,
        _ gate: Gate,
        _ percent: Int,
        lane: Int = 1,
        within: Duration
    ) async -> Exchange.Outcome {
        let outcome = await backend.client.send(
            request,
            lane: lane,
            within: within,
            fault: .held(gate, percent: percent)
        )
        gate.countArrival(lane: lane)
        return outcome
    }

    /// Returns whether the backend handles only one request at a time.
    ///
    /// Such a backend does not respond to a second request while it waits for the rest of a
    /// webhook. The webhook of this check breaks off afterwards, so that it has no effect.
    func servesOneRequestAtATime() async -> Bool {
        let request = requestWithoutEvent
        let gate = Gate()
        async let pendingOutcome = held(request, gate, 50, within: .seconds(10))
        await gate.reached(1)
        let servesOneRequestAtATime = !(await respondsToOtherRequests(lane: 2))
        gate.open(breaking: true)
        _ = await pendingOutcome
        return servesOneRequestAtATime
    }

    /// A correctly signed request without an event, which has no effect on the backend.
    private var requestWithoutEvent: HTTPMessage.Request {
        purchaseWebhook.request(Array("{\"event\": null}".utf8), at: backendNow)
    }

    /// Returns whether the webhook route responds within 10 s.
    ///
    /// Every sender waits at least this long.
    func respondsToEvents() async -> Bool {
        let outcome = await backend.client.send(requestWithoutEvent, within: .seconds(10))
        if case .failed(.timedOut, _) = outcome { return false }
        return true
    }

    /// Returns whether the backend responds to another request while it waits for the rest of
    /// incomplete requests.
    fileprivate func respondsToOtherRequests(lane: Int) async -> Bool {
        let outcome = await backend.client.send(
            HTTPMessage.Request("GET", backend.readyPath),
            lane: lane,
            within: .seconds(2)
        )
        if case .answered = outcome { return true }
        return false
    }
}

extension ConcurrentTiming {
    /// Opens the gates of concurrent requests in this order and at these offsets.
    fileprivate func open(_ gates: [Gate], on clock: any RunClock) async {
        let ordered = isReversed ? gates.reversed() : gates
        for (index, gate) in ordered.enumerated() {
            if index > 0, offset > .zero { await clock.pause(offset) }
            gate.open()
        }
    }
}
