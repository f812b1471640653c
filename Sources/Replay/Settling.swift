internal import Conformance
internal import FakeServers
internal import Providers

/// Settling is waiting for evidence: a later event's effect, then a quiet journal, then what has to
/// come.
extension Play {
    /// Delivers a harmless purchase of somebody else and waits until it has taken effect, so that
    /// what was delivered before has had its turn.
    ///
    /// - Parameters:
    ///   - sight: How well the backend is seen.
    ///   - suffix: Tells the purchases of one run apart.
    /// - Returns: How it came to believe that nothing more would follow.
    func settle(
        _ sight: RunRecord.Sight,
        _ suffix: String = "-s"
    ) async -> RunRecord.Settling {
        var isSeen = false
        let isBrief = plan.isBrief == true && sight.worksLater == false && !plan.isDisturbed
        if !isBrief, sight.seesEffects || sight.seesState {
            isSeen =
                await Sentinel(run: run).see(
                    namespace.name + suffix,
                    wait: max(.seconds(1), sight.latency * 20, profile.patience / 5),
                    sight
                ) != nil
        }
        let quiet = await awaitQuiet(sight)
        if isBrief { return .atOnce(quiet: quiet) }
        return isSeen ? .sentinel(quiet: quiet) : .window(quiet)
    }

    /// Lets a backend that works after its answers come to an end with what is only given, so that
    /// the steps find what they speak of.
    func settleGiven(_ sight: RunRecord.Sight) async {
        let given = plan.steps.prefix(plan.givenCount ?? 0)
        let hasEvents = given.contains { if case .deliver = $0 { true } else { false } }
        guard sight.worksLater == true, hasEvents, trouble == nil, !Task.isCancelled else { return }
        _ = await settle(sight, "-g")
    }

    /// The same before an app asks the backend what it knows: what a person sees at once is not
    /// what a contract is about.
    mutating func settleBefore(_ step: Int, _ sight: RunRecord.Sight) async {
        hasUnsettledEvents = false
        guard sight.worksLater == true, trouble == nil, !Task.isCancelled else { return }
        _ = await settle(sight, "-\(step)")
    }

    /// Waits until nothing of this run has happened for a while that the backend's own latency
    /// suggests; returns that while.
    ///
    /// While nobody had time, nothing could happen: what the machine took is no quiet, and neither
    /// is a nap that was much longer than it was meant to be.
    @discardableResult
    func awaitQuiet(
        _ sight: RunRecord.Sight?,
        atLeast shortest: Duration = .milliseconds(15)
    ) async -> Duration {
        let latency = sight?.latency ?? .zero
        let isBlind = sight.map { !$0.seesEffects && !$0.seesState } ?? false
        let window = min(max(latency * 2, isBlind ? .milliseconds(250) : shortest), .seconds(2))
        let patience = run.patience(max(window * 20, .seconds(2)))
        var hasOverslept = false
        while !patience.isOver, !Task.isCancelled {
            let last = world.journal.read {
                $0.lastActivity(in: namespace.name, from: firstSequence)
            }
            let silence: Duration = .microseconds(world.journal.elapsed - (last ?? 0))
            let lost = run.heartbeat.lost(since: clock.now - silence)
            let rest = hasOverslept ? window : window - silence + lost
            guard rest > .zero else { break }
            let start = clock.now
            await patience.pause(rest)
            hasOverslept = clock.now - start > rest * 2 + Self.oversleepMax
        }
        return window
    }

    /// A nap may be so much longer than meant; on a machine with time it never is.
    private static let oversleepMax: Duration = .milliseconds(10)

    /// All who wait together look once in so long, each in turn.
    private static let lookInterval: Duration = .milliseconds(10)

    /// Looks again and again while something that has to come is missing and may still come.
    func wait(
        for first: RunRecord,
        _ sight: RunRecord.Sight,
        verdict: @Sendable (RunRecord) -> RunExecutor.Prospect
    ) async -> RunRecord {
        // After a failure the backend's own timers decide, so the profile's patience counts; else
        // a later event has been seen to take effect, and stragglers have little time left.
        let short = run.shortPatience(sight.latency)
        let full = plan.isDisturbed ? profile.patience : short
        var result = first
        func isOpen(_ record: RunRecord) -> Bool {
            verdict(record) == .mayImprove || plan.observes && record.isTryingAgain
        }
        guard isOpen(result) else { return result }
        let cause = missing?.cause(result)
        let before = cause.flatMap { run.shared.wait(for: $0, full: full, atLeast: short) }
        let patience = run.patience(before?.enough ?? full)
        await JobPlace.givenAway {
            var pause: Duration = .milliseconds(5)
            while isOpen(result), !patience.isOver, !Task.isCancelled {
                await patience.pause(pause)
                // Whoever has waited long need not look as often, and many not as often as one.
                let slowest = max(
                    .milliseconds(100),
                    (clock.now - patience.start) / 10,
                    Self.lookInterval * JobPlace.waitingCount
                )
                pause = min(pause * 2, slowest)
                await probe(plan.users)
                result = record(first.settling)
                if !isOpen(result) {
                    // What came late may come twice: stay until it is quiet again.
                    await awaitQuiet(sight)
                    await probe(plan.users)
                    result = record(first.settling)
                }
            }
        }
        if let before, isOpen(result) {
            result.shortened = .init(
                after: before.caseID,
                full: before.full,
                enough: before.enough
            )
        } else if let cause, let missing, isOpen(result), !patience.isCut, !Task.isCancelled {
            run.shared.noteEnd(of: cause, in: missing.caseID, after: full)
        } else if let cause, !isOpen(result) {
            run.shared.noteArrival(of: cause, after: clock.now - patience.start)
        }
        if isOpen(result) {
            if patience.isCut {
                result.starvation = run.heartbeat.starvation(since: patience.start, isCut: true)
            }
            if plan.observes { result.openRetry = result.pauseOfFailedRetry }
            result.waited = clock.now - patience.start
        }
        return result
    }
}

extension RunRecord {
    /// Whether the backend's last call failed, by plan, so that it has reason to call once more;
    /// until it has, nobody can say that it does not.
    fileprivate var isTryingAgain: Bool {
        let calls = exchanges.filter { $0.from == .backend && $0.request.method != "GET" }
        guard let last = calls.last else { return false }
        guard case .answered(let response) = last.outcome else { return true }
        return response.status >= 500 || response.status == 429
    }
}
