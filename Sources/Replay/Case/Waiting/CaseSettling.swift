internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// The waits until a case has settled, which means that the backend has finished its work.
///
/// The first wait is for the effect of a later event, the second for a quiet journal, and the third
/// for effects that are still missing.
struct CaseSettling: Sendable {
    let requests: CaseRequests
    let plan: RunPlan

    private var run: RunExecutor { requests.run }

    /// Delivers a purchase by another user, and waits for its effect and for a quiet backend.
    ///
    /// The effect shows that the backend has processed all earlier deliveries.
    ///
    /// - Parameters:
    ///   - observability: The effects and the state of the backend that can be observed.
    ///   - suffix: A suffix of the namespace, which distinguishes several such purchases in one
    ///     run.
    /// - Returns: The evidence that no further effect will follow.
    func settle(
        _ observability: RunRecord.Observability,
        _ suffix: String = "-s"
    ) async -> RunRecord.SettleEvidence {
        var isPurchaseObserved = false
        let skipsSentinel =
            plan.skipsSentinel == true && observability.appliesEventsLater == false
            && !plan.hasFaults
        if !skipsSentinel,
            observability.arePushesObservable || observability.areProbeChangesObservable
        {
            isPurchaseObserved = await observeLaterPurchase(
                in: requests.namespace.name + suffix,
                observability
            )
        }
        let quietDuration = await waitForQuietBackend(observability)
        if skipsSentinel { return .effectsVisibleAtOnce(quietDuration: quietDuration) }
        return isPurchaseObserved ? .sentinel(quietDuration: quietDuration) : .window(quietDuration)
    }

    /// Delivers a purchase by another user, and returns whether its effects came.
    ///
    /// The wait is the settle timeout. If another case has waited that long in vain, or if the
    /// steps of this case may block the backend, the wait follows the slowest effect so far.
    private func observeLaterPurchase(
        in name: String,
        _ observability: RunRecord.Observability
    ) async -> Bool {
        let fullTimeout = run.profile.settleTimeout
        let shortTimeout = min(
            fullTimeout,
            max(run.shortSettleTimeout(observability.latency), fullTimeout / 5)
        )
        let mayBeBlocked = plan.hasFaults || plan.mayBlockBackend
        let timeout =
            mayBeBlocked
            ? shortTimeout
            : run.sharedSettleTimeout.wait(
                for: .laterPurchase,
                fullTimeout: fullTimeout,
                atLeast: shortTimeout
            )?.shortenedTimeout ?? fullTimeout
        let (start, usableStart) = (run.clock.now, run.heartbeat.usableTime)
        let seen = await Sentinel(run: run).observePurchase(
            name,
            wait: timeout,
            observability,
            remembersMissingEffects: !mayBeBlocked
        )
        if seen == nil, !mayBeBlocked, run.clock.now - start >= fullTimeout, !Task.isCancelled {
            run.sharedSettleTimeout.recordFullWait(
                of: .laterPurchase,
                in: name,
                after: fullTimeout
            )
        } else if let seen, !mayBeBlocked {
            run.sharedSettleTimeout.recordArrival(of: .laterPurchase, after: seen.latency)
            run.unprocessedPurchases.recordProcessed(sentAt: usableStart)
        }
        return seen != nil
    }

    /// Waits until the backend has processed the events of the given steps, which prepare the case.
    ///
    /// The later steps require the state that these events cause. A backend that processes events
    /// after its response gets a sentinel. Other backends may still send their pushes after the
    /// response, from a list that a worker reads now and then. A push that is due then depends on
    /// the later steps: the worker drops it if it is no longer true. Their pushes get a quiet time,
    /// except before a restart, which shows whether events survive it that were acknowledged just
    /// before.
    func settleGiven(_ observability: RunRecord.Observability) async {
        let givenStepCount = plan.preparationStepCount ?? 0
        let givenSteps = plan.steps.prefix(givenStepCount)
        let hasEvents = givenSteps.contains { if case .deliver = $0 { true } else { false } }
        guard hasEvents, !Task.isCancelled else { return }
        if observability.appliesEventsLater == true {
            _ = await settle(observability, "-g")
        } else if observability.arePushesObservable,
            plan.steps.dropFirst(givenStepCount).first?.isRestart == false
        {
            await waitForQuietBackend(observability)
        }
    }

    /// Waits until the backend has processed all earlier events, before an app asks it for its
    /// state.
    ///
    /// Contracts do not test the state immediately after an event.
    func settleBeforeStep(_ step: Int, _ observability: RunRecord.Observability) async {
        guard observability.appliesEventsLater == true, !Task.isCancelled else { return }
        _ = await settle(observability, "-\(step)")
    }

    /// Waits until the journal of this run has had no new entry for some time, and returns that
    /// time.
    ///
    /// The time depends on the latency of the backend. Time in which the machine was busy does not
    /// count, because nothing could happen in it. A pause that took much longer than planned does
    /// not count either.
    @discardableResult
    func waitForQuietBackend(
        _ observability: RunRecord.Observability?,
        atLeast shortest: Duration = .milliseconds(15)
    ) async -> Duration {
        let latency = observability?.latency ?? .zero
        let showsNoPurchase =
            observability.map { !$0.arePushesObservable && !$0.areProbeChangesObservable } ?? false
        let window = min(
            max(latency * 2, showsNoPurchase ? .milliseconds(250) : shortest),
            .seconds(2)
        )
        let settleTimeout = run.settleTimeout(max(window * 20, .seconds(2)))
        var hasSleptTooLong = false
        while !settleTimeout.isOver, !Task.isCancelled {
            let last = run.fakes.journal.read {
                $0.lastActivityTime(in: requests.namespace.name, from: requests.firstSequence)
            }
            let silenceDuration: Duration = .microseconds(
                run.fakes.journal.elapsedMicroseconds - (last ?? 0)
            )
            let lostTime = run.heartbeat.lostTime(since: run.clock.now - silenceDuration)
            let remainingSilence = hasSleptTooLong ? window : window - silenceDuration + lostTime
            guard remainingSilence > .zero else { break }
            let start = run.clock.now
            await settleTimeout.pause(remainingSilence)
            hasSleptTooLong = run.clock.now - start > remainingSilence * 2 + Self.pauseExcessMax
        }
        return window
    }

    /// The largest excess of a pause over its planned length that is tolerated.
    ///
    /// A pause with a larger excess does not count as quiet time. A machine with free capacity
    /// stays below the limit.
    private static let pauseExcessMax: Duration = .milliseconds(10)

    /// The longest wait for effects for a user whose login the backend refuses.
    ///
    /// The login is tried several times in it. A backend that has lost a user does not find the user
    /// again.
    private static let lostUserWait: Duration = .seconds(2)

    /// The interval between two readings of probes by any of the waiting cases.
    ///
    /// The cases take turns, so each of them reads less often when more cases wait.
    private static let probeInterval: Duration = .milliseconds(10)

    /// Waits while a required effect is missing and may still come, and returns the record of the
    /// run after the wait.
    ///
    /// Reads the probes repeatedly during the wait.
    ///
    /// - Parameters:
    ///   - first: The record before the wait.
    ///   - missingEffect: The case and its missing effect, for waits that cases share; nil if the
    ///     wait is not shared.
    ///   - observability: The effects and the state of the backend that can be observed.
    ///   - verdict: Returns whether a longer wait may change the verdict of a record.
    ///   - record: Returns the record of the run up to now.
    /// - Returns: The record after the wait.
    func wait(
        for first: RunRecord,
        _ missingEffect: RunExecutor.MissingEffect?,
        _ observability: RunRecord.Observability,
        verdict: (RunRecord) -> RunExecutor.VerdictStability,
        record: () -> RunRecord
    ) async -> RunRecord {
        let fullTimeout = run.profile.settleTimeout
        func needsLongerWait(_ record: RunRecord) -> Bool {
            verdict(record) == .mayResolveWithLongerWait
                || plan.observesFinalState && record.awaitsRepeatedCall
        }
        guard needsLongerWait(first) else { return first }
        let missingEffectKey = missingEffect?.missingEffectKey(first)
        let (allowedTimeout, shortenedWait) = timeout(
            for: missingEffectKey,
            missingEffect?.waitRule ?? plan.waitRule(isRechecked: true),
            atLeast: run.shortSettleTimeout(observability.latency)
        )
        let timeout = first.hasLostUser ? min(allowedTimeout, Self.lostUserWait) : allowedTimeout
        let settleTimeout = run.settleTimeout(timeout)
        var result = await recordAfterWait(
            first,
            settleTimeout,
            observability,
            needsLongerWait: needsLongerWait,
            record: record
        )
        guard needsLongerWait(result) else {
            if let missingEffectKey {
                run.sharedSettleTimeout.recordArrival(
                    of: missingEffectKey,
                    after: run.clock.now - settleTimeout.start,
                    isDelayedByFault: plan.hasFaults || plan.mayBlockBackend
                )
            }
            return result
        }
        if let shortenedWait {
            result.shortened = .init(
                after: shortenedWait.caseID,
                fullTimeout: shortenedWait.fullTimeout,
                shortenedTimeout: shortenedWait.shortenedTimeout
            )
        } else if let missingEffectKey, let missingEffect, timeout >= fullTimeout,
            !settleTimeout.isCutShort, !Task.isCancelled
        {
            run.sharedSettleTimeout.recordFullWait(
                of: missingEffectKey,
                in: missingEffect.caseID,
                after: fullTimeout
            )
        }
        result = recordOfUnsuccessfulWait(result, settleTimeout)
        if shortenedWait == nil {
            result.settleEvidence = await evidenceAfterFullWait(result, observability)
        }
        return result
    }

    /// Returns the length of the wait for a missing effect, and the reason if another case has
    /// waited in full for it.
    private func timeout(
        for missingEffectKey: SharedSettleTimeout.MissingEffectKey?,
        _ rule: SharedSettleTimeout.WaitRule,
        atLeast shortTimeout: Duration
    ) -> (timeout: Duration, shortenedWait: SharedSettleTimeout.ShortenedWait?) {
        let fullTimeout = run.profile.settleTimeout
        switch rule {
        case .fullWait: return (fullTimeout, nil)
        case .fullWaitOfOneCase:
            let shortenedWait = missingEffectKey.flatMap {
                run.sharedSettleTimeout.wait(
                    for: $0,
                    fullTimeout: fullTimeout,
                    atLeast: shortTimeout
                )
            }
            return (shortenedWait?.shortenedTimeout ?? fullTimeout, shortenedWait)
        case .recheckAfterAllCases:
            let timeout = run.sharedSettleTimeout.timeoutBeforeRecheck(
                for: missingEffectKey,
                fullTimeout: fullTimeout,
                atLeast: shortTimeout
            )
            return (timeout, nil)
        }
    }

    /// Returns the evidence that the backend has processed the events of a run, after a full wait
    /// for an effect that did not come.
    ///
    /// The later purchase may have taken effect meanwhile.
    private func evidenceAfterFullWait(
        _ record: RunRecord,
        _ observability: RunRecord.Observability
    ) async -> RunRecord.SettleEvidence {
        guard case .window(let quietDuration) = record.settleEvidence,
            !observability.showsNoPurchase, plan.observesFinalState, !Task.isCancelled
        else { return record.settleEvidence }
        return await run.unprocessedPurchases.hasEffectByNow(in: requests.namespace.name + "-s")
            ? .sentinel(quietDuration: quietDuration) : record.settleEvidence
    }

    /// Returns a record with the facts about a wait that ended before the verdict was settled.
    private func recordOfUnsuccessfulWait(
        _ record: RunRecord,
        _ settleTimeout: SettleTimeout
    ) -> RunRecord {
        var record = record
        if settleTimeout.isCutShort {
            record.starvation = run.heartbeat.starvation(
                since: settleTimeout.start,
                isCutShort: true
            )
        }
        if plan.observesFinalState { record.openRetryPause = record.pauseOfFailedRetry }
        record.unsuccessfulWaitTime = run.clock.now - settleTimeout.start
        return record
    }

    /// Reads the probes repeatedly until no longer wait is needed or the timeout is over, and
    /// returns the latest record.
    private func recordAfterWait(
        _ first: RunRecord,
        _ settleTimeout: SettleTimeout,
        _ observability: RunRecord.Observability,
        needsLongerWait: (RunRecord) -> Bool,
        record: () -> RunRecord
    ) async -> RunRecord {
        var result = first
        await JobSlot.releaseSlot {
            var pause: Duration = .milliseconds(5)
            while needsLongerWait(result), !settleTimeout.isOver, !Task.isCancelled {
                await settleTimeout.pause(pause)
                // In a long wait, or with many waiting cases, the probes are read less often.
                let pauseMax = max(
                    .milliseconds(100),
                    (run.clock.now - settleTimeout.start) / 10,
                    Self.probeInterval * JobSlot.waitingCount
                )
                pause = min(pause * 2, pauseMax)
                await requests.probe(plan.users)
                result = record()
                if !needsLongerWait(result) {
                    // A late effect may come twice, so the wait continues until the backend is
                    // quiet again.
                    await waitForQuietBackend(observability)
                    await requests.probe(plan.users)
                    result = record()
                }
            }
        }
        return result
    }
}

extension Step {
    fileprivate var isRestart: Bool { if case .restart = self { true } else { false } }
}

extension RunPlan {
    /// Returns the reason for which the wait for a missing effect may be shorter than the settle
    /// timeout.
    ///
    /// - Parameter isRechecked: Whether missing effects are rechecked after all cases.
    /// - Returns: The reason.
    func waitRule(isRechecked: Bool) -> SharedSettleTimeout.WaitRule {
        // After these cases, a correct backend may serve other cases badly for a while, so they are
        // not rechecked.
        if degradesBackend || affectsAllUsers { return .fullWait }
        // After a fault, the backend's own timers decide when it tries again.
        return hasFaults || !isRechecked || !observesFinalState
            ? .fullWaitOfOneCase : .recheckAfterAllCases
    }
}

extension RunRecord {
    /// Whether the backend's last writing call failed because of an injected fault, so that the
    /// backend should repeat it.
    ///
    /// Until the backend repeats the call, a missing effect proves nothing.
    fileprivate var awaitsRepeatedCall: Bool {
        let calls = exchanges.filter { $0.from == .backend && $0.request.method != "GET" }
        guard let last = calls.last else { return false }
        guard case .answered(let response) = last.outcome else { return true }
        return response.status >= 500 || response.status == 429
    }
}
