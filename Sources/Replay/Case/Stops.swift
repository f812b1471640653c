internal import Contracts
internal import FakeServers
internal import Providers
internal import Values

/// Stops and restarts the backend: between steps, during a delivery, or at one of its calls.
extension CaseExecution {
    /// Starts a task that kills the backend when it makes a certain call, while the steps of the
    /// contract run.
    ///
    /// The calls are counted from now on. Calls that the preparation of the case causes are made
    /// before.
    mutating func startKillTask() {
        for case .killAtCall(let party, let callCount) in plan.steps {
            let calls = BackendCalls(
                party: party,
                namespace: namespace.name,
                first: fakes.journal.read { $0.nextSequence }
            )
            let requests = requests
            killTask = clock.task {
                guard await requests.run.waitForCalls(callCount, of: calls) else { return false }
                requests.run.fakes.endFaults(namespace: calls.namespace)
                return await requests.restartBackend(Restart(signal: .kill)) == nil
            }
        }
    }

    mutating func restart(_ restart: Restart) async {
        let problem = await requests.restartBackend(restart)
        lacksServer = false
        guard let problem else { return }
        if restart.secretChange == nil {
            runProblem = .restartFailed(problem)
        } else {
            // A backend that refuses to start without its secret is correct.
            lacksServer = !(await backend.isReachable())
        }
    }

    /// Sends the first attempt of a delivery, and restarts the backend while the attempt is in
    /// progress.
    ///
    /// Returns whether the sender counts the event as delivered.
    mutating func deliver(
        _ delivery: Delivery,
        _ body: [UInt8],
        _ crash: Crash
    ) async -> Bool {
        deliveries.attemptCounts[delivery.name] = 1
        fakes.setClock(of: namespace.name, to: now)
        let request = run.request(delivery, body)
        let purpose = Exchange.Purpose.delivery(name: delivery.name, attempt: 1)
        let sequence = fakes.journal.begin(
            requests.exchange(delivery.provider, purpose, request)
        )
        let gate = Gate()
        let percent = crash.phase == .halfSent ? 50 : 100
        let (run, within) = (run, within)
        async let pendingOutcome = run.held(request, gate, percent, within: within)
        await gate.reached(1)
        if crash.phase != .halfSent { gate.open() }
        if crash.phase.responseTimeFraction > 0 {
            await clock.pause(latency * crash.phase.responseTimeFraction)
        }
        if crash.phase == .answered { _ = await pendingOutcome }
        await restart(Restart(signal: crash.signal))
        if crash.phase == .halfSent { gate.open(breaking: true) }
        let outcome = await pendingOutcome
        if crash.phase == .halfSent {
            fakes.journal.complete(sequence, .requestCut)
            return false
        }
        guard case .answered(let response) = outcome, response.status == 200 else {
            fakes.journal.complete(sequence, .answerLost(nil))
            return false
        }
        fakes.journal.complete(sequence, outcome)
        return true
    }
}

extension CaseRequests {
    /// Waits until the backend has made the call that gets an injected provider error.
    ///
    /// A restart that follows a provider error must not come before that call. The wait ends after
    /// the settle timeout at the latest.
    func awaitProviderError(of plan: RunPlan) async {
        for case .provider(let providerPlan) in plan.steps
        where run.fakes.providers[providerPlan.provider]?.pushService != nil
            && providerPlan.responses.first != .asUsual
        {
            let calls = BackendCalls(
                party: providerPlan.provider,
                namespace: namespace.name,
                first: firstSequence
            )
            _ = await run.waitForCalls(1, of: calls)
        }
    }

    /// Restarts the backend.
    ///
    /// Returns an error message if that fails; nil on success.
    func restartBackend(_ restart: Restart) async -> String? {
        if let zone = restart.timeZone { run.backend.process?.timeZone = zone }
        run.backend.process?.secretChange = restart.secretChange
        let sequence = run.fakes.journal.begin(
            .restart(restart.signal.rawValue, namespace: namespace.name, at: now)
        )
        do throws(BackendUnderTest.UnreachableError) {
            try await run.backend.restart(restart.signal)
            run.fakes.journal.complete(sequence, .answered(HTTPMessage.Response(200)))
            return nil
        } catch {
            run.fakes.journal.complete(sequence, .failed(.refused, error.description))
            return error.description
        }
    }
}
