internal import Conformance
internal import FakeServers
internal import Providers

/// Deliveries: events are handed to the backend once, repeatedly, or along the ladder of a sender's
/// retries.
extension Play {
    mutating func deliver(_ delivery: Delivery) async {
        now = now + delivery.delay
        if await keepClock() == false { return }
        let body = body(of: delivery)
        if delivery.isDropped || trouble != nil { return }
        if case .repeats = delivery.subject {} else { bodies[delivery.name] = body }
        if delivery.isWithNext {
            held.append(Held(delivery: delivery, body: body))
        } else if delivery.isTogether || !held.isEmpty {
            await release([Held(delivery: delivery, body: body)], beside: [])
        } else if delivery.isAlongLadder {
            await deliverAlongLadder(delivery, body)
        } else {
            for _ in 0..<delivery.times {
                let outcome = await attempt(delivery, body, .none)
                if await isGone(outcome) { return }
                if case .answered(let response) = outcome {
                    _ = learn(from: response, delivery.answerPattern)
                }
            }
        }
    }

    // MARK: The ladder

    /// - Parameters:
    ///   - delivery: What is delivered.
    ///   - body: Its bytes.
    ///   - first: The attempt that comes next, from 1.
    mutating func deliverAlongLadder(
        _ delivery: Delivery,
        _ body: [UInt8],
        from first: Int = 1
    ) async {
        let schedule = delivery.schedule(among: plan.deliveries)
        for number in first..<(schedule.attemptCountMax + 1) {
            guard let delay = schedule.delay(beforeAttempt: number) else { return }
            now = now + delay
            if await keepClock() == false { return }
            if number == 1, let crash = delivery.crash {
                let isOver = await deliver(delivery, body, crash)
                if isOver || trouble != nil { return }
                continue
            }
            let disturbance = Disturbed(attempt: number, of: delivery)
            if disturbance == .storeFailure, await breakStore() == false { return }
            let outcome = await attempt(delivery, body, disturbance)
            if disturbance == .storeFailure {
                // What was begun has to meet the failure too.
                await awaitQuiet(nil, atLeast: max(.milliseconds(100), latency * 2))
                if await healStore() == false { return }
            }
            if case .answered(let response) = outcome, schedule.isSuccess(response.status) {
                return
            }
            if let killer {
                // The next attempt is minutes away; by then the backend is up again.
                if await killer.joined() == false { return }
            } else if await isGone(outcome) {
                return
            }
            if Task.isCancelled { return }
            // Minutes lie between two attempts, so whatever the first began is over by then. What a
            // backend does about a request that broke off, nobody is told; but whoever answers
            // another one after it has had time to read its end.
            if disturbance != .none {
                _ = await backend.isReachable()
                await awaitQuiet(nil, atLeast: max(.milliseconds(100), latency * 2))
            }
        }
    }

    /// What befalls one attempt by plan.
    private enum Disturbed {
        case none, requestCut, hangUp, answerLost, storeFailure

        init(attempt number: Int, of delivery: Delivery) {
            switch number {
            case ...delivery.requestsCut: self = .requestCut
            case ...(delivery.requestsCut + delivery.hangUps): self = .hangUp
            case ...(delivery.requestsCut + delivery.hangUps + delivery.answersLost):
                self = .answerLost
            case ...delivery.disturbedCount: self = .storeFailure
            default: self = .none
            }
        }

        var onTheWay: Disturbance {
            switch self {
            case .requestCut: .cutRequest
            case .hangUp: .hangUp
            case .answerLost, .storeFailure, .none: .none
            }
        }
    }

    // MARK: One attempt

    private mutating func attempt(
        _ delivery: Delivery,
        _ body: [UInt8],
        _ disturbed: Disturbed
    ) async -> Exchange.Outcome {
        let number = (attemptCounts[delivery.name] ?? 0) + 1
        attemptCounts[delivery.name] = number
        world.setClock(of: namespace.name, to: now)
        let request = run.request(delivery, body, attempt: number)
        let sequence = world.journal.begin(
            exchange(
                delivery.provider,
                .delivery(name: delivery.name, attempt: number),
                request
            )
        )
        laneCount += 1
        var outcome = await backend.client.send(
            request,
            lane: laneCount,
            within: answerLimit,
            disturbance: disturbed.onTheWay
        )
        if case .failed(.timedOut, _) = outcome { unansweredCount += 1 }
        if disturbed == .answerLost, case .answered(let response) = outcome {
            outcome = .answerLost(response)
        }
        world.journal.complete(sequence, outcome)
        return outcome
    }

    mutating func isGone(_ outcome: Exchange.Outcome) async -> Bool {
        guard case .failed(.refused, let text) = outcome, !(await backend.isReachable())
        else { return false }
        trouble = .backendGone(text)
        return true
    }
}

extension Delivery {
    /// The retry schedule of its sender, which depends on the type of the event.
    ///
    /// - Parameter deliveries: All deliveries of the run, among them the one that this one repeats.
    /// - Returns: The schedule.
    func schedule(among deliveries: [Delivery]) -> RetrySchedule {
        provider == .purchasely
            ? .purchasely(takes404: false)
            : .revenueCat(eventType: eventType(among: deliveries))
    }

    /// The type of the event that it carries; nil where no event can be read from it.
    private func eventType(among deliveries: [Delivery]) -> String? {
        switch subject {
        case .event(let event), .raw(.truncated(let event, percent: _)): event.type
        case .body(let body): body["event"]?["type"]?.string
        case .told(let type): type
        case .repeats(let name):
            // Only earlier deliveries can be repeated, so that this ends.
            deliveries.firstIndex { $0.name == name }.flatMap { index in
                deliveries[index].eventType(among: Array(deliveries[..<index]))
            }
        case .purchasely, .raw(.text): nil
        }
    }
}

extension RunExecutor {
    /// Signed as the sender signs: anew for each attempt, so no two attempts carry one time.
    func request(
        _ delivery: Delivery,
        _ body: [UInt8],
        attempt: Int = 1
    ) -> HTTPMessage.Request {
        // Real attempts are minutes apart; these are seconds apart, and none is in the future.
        let now = backendNow - .seconds(max(0, 10 - attempt))
        if delivery.provider == .purchasely {
            return purchaselySender.request(
                body: body,
                at: now,
                signature: delivery.signature
            )
        }
        return sender.request(
            method: webhookMethod,
            body: body,
            at: now,
            authorization: delivery.authorization,
            signature: delivery.signature
        )
    }
}
