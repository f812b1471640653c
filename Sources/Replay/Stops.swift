internal import Conformance
internal import FakeServers
internal import Providers

/// Stops the backend and starts it again: between steps, during a delivery, or at one of its calls.
struct Stops {
    let run: RunExecutor

    private var world: FakeWorld { run.world }
    private var backend: BackendUnderTest { run.backend }

    /// A restart after a provider has failed comes after it has failed: waits until the backend has
    /// made the call, or patience is over.
    func awaitDisturbance(_ plan: RunPlan, _ progress: RunExecutor.Progress) async {
        for case .provider(let failing) in plan.steps
        where failing.provider == .oneSignal && failing.answers.first != .asUsual {
            let calls = BackendCalls(
                party: failing.provider,
                namespace: progress.namespace.name,
                first: progress.firstSequence
            )
            _ = await run.hasMade(1, of: calls)
        }
    }

    /// Waits beside the steps for the call at which the backend is to die.
    func startKiller(_ plan: RunPlan, _ progress: inout RunExecutor.Progress) {
        for case .killAtCall(let party, let position) in plan.steps {
            let calls = BackendCalls(
                party: party,
                namespace: progress.namespace.name,
                first: progress.firstSequence
            )
            let snapshot = progress
            progress.killer = run.clock.task {
                guard await run.hasMade(position, of: calls) else { return false }
                world.heal(namespace: calls.namespace)
                var progress = snapshot
                await restart(Restart(signal: .kill), &progress)
                return progress.trouble == nil
            }
        }
    }

    func restart(_ restart: Restart, _ progress: inout RunExecutor.Progress) async {
        if let zone = restart.timeZone { backend.process?.timeZone = zone }
        let sequence = world.journal.begin(
            .restart(restart.signal, namespace: progress.namespace.name, at: progress.now)
        )
        do throws(BackendUnderTest.UnreachableError) {
            try await backend.restart(restart.signal)
            world.journal.complete(sequence, .answered(HTTPMessage.Response(200)))
        } catch {
            world.journal.complete(sequence, .failed(.refused, error.description))
            progress.trouble = .restartFailed(error.description)
        }
    }

    /// The first attempt, during which the backend is stopped and started again; whether the
    /// sender takes the event for delivered.
    func deliver(
        _ delivery: Delivery,
        _ body: [UInt8],
        _ crash: Crash,
        _ within: Duration,
        _ progress: inout RunExecutor.Progress
    ) async -> Bool {
        progress.attemptCounts[delivery.name] = 1
        world.setClock(of: progress.namespace.name, to: progress.now)
        let request = run.request(delivery, body)
        let purpose = Exchange.Purpose.delivery(name: delivery.name, attempt: 1)
        let sequence = world.journal.begin(
            run.exchange(delivery.provider, purpose, request, progress)
        )
        let gate = Gate()
        let percent = crash.moment == .halfSent ? 50 : 100
        async let sending = HeldCopies(run: run).held(request, gate, percent, within: within)
        await gate.reached(1)
        if crash.moment != .halfSent { gate.open() }
        if crash.moment == .working { await run.clock.pause(progress.latency / 2) }
        if crash.moment == .answered { _ = await sending }
        await restart(Restart(signal: crash.signal), &progress)
        if crash.moment == .halfSent { gate.open(breaking: true) }
        let outcome = await sending
        if crash.moment == .halfSent {
            world.journal.complete(sequence, .requestCut)
            return false
        }
        guard case .answered(let response) = outcome, response.status == 200 else {
            world.journal.complete(sequence, .answerLost(nil))
            return false
        }
        world.journal.complete(sequence, outcome)
        return true
    }
}
