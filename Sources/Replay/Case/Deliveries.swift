internal import Contracts
internal import FakeServers
internal import Providers
internal import Values

/// Sends deliveries (webhooks) to the backend: once, several times, or along the retry schedule of
/// their sender.
extension CaseExecution {
    mutating func deliver(_ delivery: Delivery) async {
        now = now + delivery.delay
        if await syncBackendClock() == false { return }
        let body = body(of: delivery)
        if delivery.isNeverDelivered || runProblem != nil { return }
        if case .repeats = delivery.subject {} else { deliveries.bodies[delivery.name] = body }
        if delivery.isConcurrentWithNext {
            deliveries.held.append(HeldDelivery(delivery: delivery, body: body))
        } else if delivery.sendsCopiesConcurrently || !deliveries.held.isEmpty {
            await release([HeldDelivery(delivery: delivery, body: body)], alongside: [])
        } else if delivery.followsRetrySchedule {
            await deliverWithRetries(delivery, body)
        } else {
            for _ in 0..<delivery.times {
                let outcome = await attempt(delivery, body, .none)
                if await isBackendGone(outcome) { return }
                if case .answered(let response) = outcome {
                    _ = storeValues(from: response, delivery.responsePattern)
                }
            }
        }
    }

    // MARK: The retry schedule

    /// Repeats a delivery along the retry schedule of its sender, until an attempt succeeds.
    ///
    /// - Parameters:
    ///   - delivery: The delivery.
    ///   - body: The bytes of the body.
    ///   - first: The number of the next attempt, counted from 1.
    mutating func deliverWithRetries(
        _ delivery: Delivery,
        _ body: [UInt8],
        from first: Int = 1
    ) async {
        let schedule = delivery.schedule(among: plan.deliveries)
        for number in first..<(schedule.attemptCountMax + 1) {
            guard let delay = schedule.delay(beforeAttempt: number) else { return }
            now = now + delay
            if await syncBackendClock() == false { return }
            if number == 1, let crash = delivery.crash {
                let isOver = await deliver(delivery, body, crash)
                if isOver || runProblem != nil { return }
                continue
            }
            let fault = DeliveryFault(attempt: number, of: delivery)
            if fault == .databaseFailure, await injectDatabaseFault() == false { return }
            let outcome = await attempt(delivery, body, fault)
            if fault == .databaseFailure {
                // Work that the backend has begun has to meet the database failure too, so the
                // database is not repaired at once.
                await settling.waitForQuietBackend(
                    nil,
                    atLeast: max(.milliseconds(100), latency * 2)
                )
                if await removeDatabaseFault() == false { return }
            }
            if case .answered(let response) = outcome, schedule.isSuccess(response.status) {
                return
            }
            if let killTask {
                // In the virtual time of the contract, the next attempt comes minutes later, when
                // the backend is running again.
                if await killTask.joined() == false { return }
            } else if await isBackendGone(outcome) {
                return
            }
            if Task.isCancelled { return }
            // Real attempts are minutes apart, so the backend finishes its work on one attempt
            // before the next one arrives. The backend does not report how it handled a request
            // that broke off. But its response to a later request shows that it had time to read
            // the end of the broken one.
            if fault != .none {
                _ = await backend.isReachable()
                await settling.waitForQuietBackend(
                    nil,
                    atLeast: max(.milliseconds(100), latency * 2)
                )
            }
        }
    }

    /// The fault that is planned for one attempt of a delivery.
    private enum DeliveryFault {
        case none, truncatedRequest, disconnect, answerLost, databaseFailure

        init(attempt number: Int, of delivery: Delivery) {
            switch number {
            case ...delivery.truncatedRequests: self = .truncatedRequest
            case ...(delivery.truncatedRequests + delivery.disconnects): self = .disconnect
            case ...(delivery.truncatedRequests + delivery.disconnects + delivery.lostResponses):
                self = .answerLost
            case ...delivery.faultyAttemptCount: self = .databaseFailure
            default: self = .none
            }
        }

        var transportFault: AttemptFault {
            switch self {
            case .truncatedRequest: .truncatedRequest
            case .disconnect: .disconnect
            case .answerLost, .databaseFailure, .none: .none
            }
        }
    }

    // MARK: One attempt

    private mutating func attempt(
        _ delivery: Delivery,
        _ body: [UInt8],
        _ deliveryFault: DeliveryFault
    ) async -> Exchange.Outcome {
        let number = (deliveries.attemptCounts[delivery.name] ?? 0) + 1
        deliveries.attemptCounts[delivery.name] = number
        fakes.setClock(of: namespace.name, to: now)
        let request = run.request(delivery, body, attempt: number)
        let sequence = fakes.journal.begin(
            requests.exchange(
                delivery.provider,
                .delivery(name: delivery.name, attempt: number),
                request
            )
        )
        deliveries.laneCount += 1
        var outcome = await backend.client.send(
            request,
            lane: deliveries.laneCount,
            within: deliveries.responseTimeout(within),
            fault: deliveryFault.transportFault
        )
        if case .failed(.timedOut, _) = outcome { deliveries.unansweredRequestCount += 1 }
        if deliveryFault == .answerLost, case .answered(let response) = outcome {
            outcome = .answerLost(response)
        }
        fakes.journal.complete(sequence, outcome)
        return outcome
    }

    mutating func isBackendGone(_ outcome: Exchange.Outcome) async -> Bool {
        guard !lacksServer, case .failed(.refused, let text) = outcome,
            !(await backend.isReachable())
        else { return false }
        runProblem = .backendGone(text)
        return true
    }
}

extension Delivery {
    /// Returns the retry schedule of the delivery's sender, which depends on the type of the event.
    ///
    /// - Parameter deliveries: All deliveries of the run, because this delivery may repeat another
    ///   one.
    /// - Returns: The retry schedule.
    func schedule(among deliveries: [Delivery]) -> RetrySchedule {
        sender?.eventRetrySchedule(eventType(among: deliveries)) ?? .never
    }

    /// Returns the event type of a delivery; nil when the body contains no readable event.
    private func eventType(among deliveries: [Delivery]) -> String? {
        switch subject {
        case .event(let event), .raw(.truncated(let event, percent: _)): event.typeName
        case .body(let body): eventType(of: body)
        case .storeEvent(let type): type
        case .repeats(let name):
            // A delivery can repeat only an earlier one, so the recursion ends.
            deliveries.firstIndex { $0.name == name }.flatMap { index in
                deliveries[index].eventType(among: Array(deliveries[..<index]))
            }
        case .raw(.text): nil
        }
    }
}

extension RunExecutor {
    /// Returns the signed request of one attempt of a delivery.
    ///
    /// Each attempt has another time in its signature, because a real sender signs each attempt
    /// again.
    func request(
        _ delivery: Delivery,
        _ body: [UInt8],
        attempt: Int = 1
    ) -> HTTPMessage.Request {
        // Real attempts are minutes apart. The times of these attempts are a second apart, and none
        // lies in the future.
        let now = backendNow - .seconds(max(0, 10 - attempt))
        guard let sender = delivery.sender else {
            preconditionFailure("the grammar accepts only deliveries of a provider with a sender")
        }
        let endpoint = profile.endpoints[sender.webhookEndpoint]
        return sender.request(
            body,
            (endpoint?.method ?? "POST", endpoint?.path ?? "/"),
            WebhookTarget(of: delivery.provider, at: "", profile),
            SenderProof(authorization: delivery.authorization, signature: delivery.signature),
            now
        )
    }
}
