internal import Conformance
internal import FakeServers
internal import Providers

/// Held copies: requests that wait before their last byte, so that they race, or hang half-way.
extension Play {
    /// All copies are sent but for their last byte; then the last bytes go out together.
    mutating func deliverTogether(_ delivery: Delivery, _ body: [UInt8]) async {
        await backend.client.warm(lanes: delivery.times, path: backend.readyPath)
        let first = (attemptCounts[delivery.name] ?? 0) + 1
        attemptCounts[delivery.name] = first + delivery.times - 1
        world.setClock(of: namespace.name, to: now)
        let gate = Gate()
        let request = run.request(delivery, body)
        let sequences = Locked<[Int]>([])
        let play = self
        let answersNobody = await withTaskGroup(of: Void.self) { group in
            for index in 0..<delivery.times {
                group.addTask {
                    let outcome = await play.run.held(
                        request,
                        gate,
                        100,
                        lane: index,
                        within: play.within
                    )
                    await gate.opened()
                    let sequence = sequences.withLock { $0[index] }
                    play.world.journal.complete(sequence, outcome)
                }
            }
            await gate.reached(delivery.times)
            let answersNobody = !(await play.run.answersOthers(lane: delivery.times))
            sequences.withLock { sequences in
                sequences = (0..<delivery.times).map { index in
                    let purpose = Exchange.Purpose.delivery(
                        name: delivery.name,
                        attempt: first + index
                    )
                    return play.world.journal.begin(
                        play.exchange(delivery.provider, purpose, request)
                    )
                }
            }
            gate.open()
            await group.waitForAll()
            return answersNobody
        }
        isSerialised = isSerialised || answersNobody
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
