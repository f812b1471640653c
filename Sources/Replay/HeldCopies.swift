internal import Conformance
internal import FakeServers
internal import Providers

/// Held copies: requests that wait before their last byte, so that they race, or hang half-way.
extension Play {
    /// A delivery that is released with others.
    struct Held: Sendable {
        let delivery: Delivery
        let body: [UInt8]
    }

    /// One request of them.
    private struct Copy: Sendable {
        let delivery: Delivery
        let attempt: Int
        let request: HTTPMessage.Request
    }

    /// Everything held and these are sent but for their last bytes; then the last bytes go out
    /// together, and the app's calls with them.
    ///
    /// Whatever is not taken then goes on along its sender's ladder, one after the other.
    mutating func release(_ more: [Held], beside calls: [PreparedCall]) async {
        let deliveries = held + more
        held = []
        let copies = deliveries.flatMap { requests(of: $0) }
        let laneCount = copies.count + calls.count
        await backend.client.warm(lanes: laneCount, path: backend.readyPath)
        world.setClock(of: namespace.name, to: now)
        let gate = Gate()
        let sequences = Locked<[Int]>([])
        let outcomes = Locked<[Exchange.Outcome?]>(Array(repeating: nil, count: copies.count))
        let play = self
        let answersNobody = await withTaskGroup(of: Void.self) { group in
            for (index, copy) in copies.enumerated() {
                group.addTask {
                    let outcome = await play.run.held(
                        copy.request,
                        gate,
                        100,
                        lane: index,
                        within: play.within
                    )
                    await gate.opened()
                    let sequence = sequences.withLock { $0[index] }
                    play.world.journal.complete(sequence, outcome)
                    outcomes.withLock { $0[index] = outcome }
                }
            }
            if !calls.isEmpty {
                group.addTask {
                    await gate.opened()
                    await play.send(calls, firstLane: copies.count)
                }
            }
            await gate.reached(copies.count)
            let answersNobody = !(await play.run.answersOthers(lane: laneCount))
            sequences.withLock { sequences in
                sequences = copies.map { copy in
                    let purpose = Exchange.Purpose.delivery(
                        name: copy.delivery.name,
                        attempt: copy.attempt
                    )
                    return play.world.journal.begin(
                        play.exchange(copy.delivery.provider, purpose, copy.request)
                    )
                }
            }
            gate.open()
            await group.waitForAll()
            return answersNobody
        }
        isSerialised = isSerialised || answersNobody
        await goOn(deliveries, after: zip(copies, outcomes.withLock { $0 }).map { ($0, $1) })
    }

    private mutating func requests(of held: Held) -> [Copy] {
        let (delivery, request) = (held.delivery, run.request(held.delivery, held.body))
        let first = (attemptCounts[delivery.name] ?? 0) + 1
        attemptCounts[delivery.name] = first + delivery.times - 1
        return (first..<(first + delivery.times)).map {
            Copy(delivery: delivery, attempt: $0, request: request)
        }
    }

    private mutating func goOn(
        _ deliveries: [Held],
        after sent: [(copy: Copy, outcome: Exchange.Outcome?)]
    ) async {
        for held in deliveries {
            let delivery = held.delivery
            var isTaken = true
            for (copy, outcome) in sent where copy.delivery.name == delivery.name {
                if let outcome, await isGone(outcome) { return }
                guard case .answered(let response) = outcome else {
                    isTaken = false
                    continue
                }
                _ = learn(from: response, delivery.answerPattern)
                if !delivery.schedule(among: plan.deliveries).isSuccess(response.status) {
                    isTaken = false
                }
            }
            guard delivery.isAlongLadder, !isTaken else { continue }
            await deliverAlongLadder(delivery, held.body, from: delivery.times + 1)
            if trouble != nil || Task.isCancelled { return }
        }
    }
}

extension Step {
    /// Whether what is held goes out with it.
    var releases: Bool {
        switch self {
        case .deliver, .call: true
        case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account, .phone,
            .killAtCall, .look, .pass, .restart:
            false
        }
    }
}

extension RunExecutor {
    /// Sends a request as far as the gate lets it; an answer before the gate opened belongs to the
    /// attempt all the same.
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
            disturbance: .held(gate, percent: percent)
        )
        gate.arrive(lane: lane)
        return outcome
    }

    /// Whether the backend takes one request at a time: it answers nobody while it waits for the
    /// rest of a webhook, which then breaks off, so that nothing takes effect.
    func isSerialised() async -> Bool {
        let request = emptyEvent
        let gate = Gate()
        async let sending = held(request, gate, 50, within: .seconds(10))
        await gate.reached(1)
        let isSerialised = !(await answersOthers(lane: 2))
        gate.open(breaking: true)
        _ = await sending
        return isSerialised
    }

    /// What is no event, signed as one: nothing takes effect by it.
    private var emptyEvent: HTTPMessage.Request {
        sender.request(
            method: webhookMethod,
            body: Array("{\"event\": null}".utf8),
            at: backendNow,
            authorization: .configured,
            signature: .configured
        )
    }

    /// Whether the webhook says anything at all, within a time in which every sender has an answer.
    func answersEvents() async -> Bool {
        let outcome = await backend.client.send(emptyEvent, within: .seconds(10))
        if case .failed(.timedOut, _) = outcome { return false }
        return true
    }

    /// Whether the backend answers somebody else while it waits for the rest of other requests.
    fileprivate func answersOthers(lane: Int) async -> Bool {
        let outcome = await backend.client.send(
            HTTPMessage.Request("GET", backend.readyPath),
            lane: lane,
            within: .seconds(2)
        )
        if case .answered = outcome { return true }
        return false
    }
}
