internal import Conformance
internal import FakeServers
internal import Providers

/// Hands events to the backend: once, repeatedly, or along the ladder of a sender's retries.
struct Deliveries {
    let run: RunExecutor
    /// Longest wait for an answer, in real time.
    let within: Duration

    private var world: FakeWorld { run.world }

    func deliver(_ delivery: Delivery, _ progress: inout RunExecutor.Progress) async {
        progress.now = progress.now + delivery.delay
        let body = Bodies(run: run).body(of: delivery, &progress)
        if delivery.isDropped || progress.trouble != nil { return }
        if case .repeats = delivery.subject {} else { progress.bodies[delivery.name] = body }
        if delivery.isTogether {
            let copies = HeldCopies(run: run)
            await copies.deliver(delivery, body, within: within, &progress)
        } else if delivery.isAlongLadder {
            await deliverAlongLadder(delivery, body, &progress)
        } else {
            for _ in 0..<delivery.times {
                let outcome = await attempt(delivery, body, .none, &progress)
                if await isGone(outcome, &progress) { return }
                if case .answered(let response) = outcome {
                    _ = progress.learn(from: response, delivery.answerPattern)
                }
            }
        }
    }

    // MARK: The ladder

    private func deliverAlongLadder(
        _ delivery: Delivery,
        _ body: [UInt8],
        _ progress: inout RunExecutor.Progress
    ) async {
        let schedule: RetrySchedule =
            delivery.provider == .purchasely ? .purchasely(takes404: false) : .revenueCat
        for number in 1...schedule.attemptCountMax {
            guard let delay = schedule.delay(beforeAttempt: number) else { return }
            progress.now = progress.now + delay
            if number == 1, let crash = delivery.crash {
                let stops = Stops(run: run)
                let isOver = await stops.deliver(delivery, body, crash, within, &progress)
                if isOver || progress.trouble != nil { return }
                continue
            }
            let disturbance = Disturbed(attempt: number, of: delivery)
            let outcome = await attempt(delivery, body, disturbance, &progress)
            if case .answered(let response) = outcome, schedule.isSuccess(response.status) {
                return
            }
            if let killer = progress.killer {
                // The next attempt is minutes away; by then the backend is up again.
                if await killer.joined() == false { return }
            } else if await isGone(outcome, &progress) {
                return
            }
            if Task.isCancelled { return }
            // Minutes lie between two attempts, so whatever the first began is over by then.
            if disturbance != .none { await Settling(run: run).awaitQuiet(progress, nil) }
        }
    }

    /// What befalls one attempt by plan.
    private enum Disturbed {
        case none, requestCut, hangUp, answerLost

        init(attempt number: Int, of delivery: Delivery) {
            switch number {
            case ...delivery.requestsCut: self = .requestCut
            case ...(delivery.requestsCut + delivery.hangUps): self = .hangUp
            case ...delivery.disturbedCount: self = .answerLost
            default: self = .none
            }
        }

        var onTheWay: Disturbance {
            switch self {
            case .requestCut: .cutRequest
            case .hangUp: .hangUp
            case .answerLost, .none: .none
            }
        }
    }

    // MARK: One attempt

    private func attempt(
        _ delivery: Delivery,
        _ body: [UInt8],
        _ disturbed: Disturbed,
        _ progress: inout RunExecutor.Progress
    ) async -> Exchange.Outcome {
        let number = (progress.attemptCounts[delivery.name] ?? 0) + 1
        progress.attemptCounts[delivery.name] = number
        world.setClock(of: progress.namespace.name, to: progress.now)
        let request = run.request(delivery, body, attempt: number)
        let sequence = world.journal.begin(
            run.exchange(
                delivery.provider,
                .delivery(name: delivery.name, attempt: number),
                request,
                progress
            )
        )
        progress.laneCount += 1
        var outcome = await run.backend.client.send(
            request,
            lane: progress.laneCount,
            within: within,
            disturbance: disturbed.onTheWay
        )
        if disturbed == .answerLost, case .answered(let response) = outcome {
            outcome = .answerLost(response)
        }
        world.journal.complete(sequence, outcome)
        return outcome
    }

    private func isGone(
        _ outcome: Exchange.Outcome,
        _ progress: inout RunExecutor.Progress
    ) async -> Bool {
        guard case .failed(.refused, let text) = outcome, !(await run.backend.isReachable())
        else { return false }
        progress.trouble = .backendGone(text)
        return true
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
        let now = world.now - .seconds(max(0, 10 - attempt))
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
