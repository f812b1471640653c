internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// The plain purchases that the backend accepted, and whose effects did not come while a case
/// waited for them.
///
/// A backend whose queue does not move leaves such purchases behind in every case. They are
/// rechecked after all cases, so that one finding reports the queue.
final class UnprocessedPurchases: Sendable {
    /// One purchase without a visible effect.
    struct Purchase: Sendable {
        let execution: CaseExecution
        let statesBeforePurchase: [ObservedState]
        let expectedObservability: RunRecord.Observability
        /// The time that a case waited for the effects.
        let waitTime: Duration
    }

    /// The numbers of purchases after the recheck.
    struct Counts: Hashable, Sendable {
        /// The purchases whose effects came after the wait for them.
        var late = 0
        /// The purchases without any effect.
        var missing = 0
        /// The longest time that a case waited for the effects.
        var waitTime: Duration = .zero
        /// Whether a purchase had an effect that was sent after another one without an effect.
        var isLaterOneProcessed = false

        /// Whether no purchase had an effect after the first one without an effect.
        var isQueueBlocked: Bool { late == 0 && missing > 0 && !isLaterOneProcessed }
    }

    private struct State {
        var purchases: [Purchase] = []
        var counts = Counts()
        /// The time at which the first purchase was added, as a value of `Heartbeat.usableTime`.
        var firstTime: Duration?
        /// The time at which the latest purchase was added, as a value of `Heartbeat.usableTime`.
        var latestTime: Duration?
        /// The time at which the latest purchase with an effect was sent, as a value of
        /// `Heartbeat.usableTime`.
        var latestProcessedTime: Duration?
    }

    /// The largest number of purchases that are rechecked.
    private static let countMax = 64

    private let state = Locked(State())

    /// The numbers of purchases that were late or missing at the last recheck.
    var counts: Counts { state.withLock { $0.counts } }

    /// Adds a purchase, unless enough of them are known.
    ///
    /// - Parameters:
    ///   - purchase: The purchase.
    ///   - time: The current time, as a value of `Heartbeat.usableTime`.
    func add(_ purchase: Purchase, at time: Duration) {
        state.withLock { state in
            guard state.purchases.count < Self.countMax else { return }
            state.purchases.append(purchase)
            state.firstTime = state.firstTime ?? time
            state.latestTime = time
        }
    }

    /// Records that a purchase had an effect in time.
    ///
    /// - Parameter time: The time at which it was sent, as a value of `Heartbeat.usableTime`.
    func recordProcessed(sentAt time: Duration) {
        state.withLock { $0.latestProcessedTime = max($0.latestProcessedTime ?? time, time) }
    }

    /// Returns whether the purchase in a namespace has had an effect by now; false if no purchase of
    /// this namespace is known.
    func hasEffectByNow(in namespace: String) async -> Bool {
        let purchase = state.withLock { state in
            state.purchases.first { $0.execution.namespace.name == namespace }
        }
        guard let purchase else { return false }
        return await Sentinel(run: purchase.execution.run).hasEffect(purchase)
    }

    /// Reads the effects of all purchases once more, after the last one had its full time.
    ///
    /// - Parameters:
    ///   - settleTimeout: The settle timeout of the profile.
    ///   - executor: The executor of the runs.
    func recheck(after settleTimeout: Duration, _ executor: RunExecutor) async {
        let latest = state.withLock { $0.latestTime }
        let rest = latest.map { $0 + settleTimeout - executor.heartbeat.usableTime } ?? .zero
        if rest > .zero { await executor.settleTimeout(rest).waitUntilOver() }
        var counts = Counts()
        for purchase in state.withLock({ $0.purchases }) {
            if Task.isCancelled { return }
            if !(await Sentinel(run: purchase.execution.run).hasEffect(purchase)) {
                counts.missing += 1
            } else if purchase.waitTime >= settleTimeout {
                counts.late += 1
            } else {
                // The wait was shortened, so the effect may have come in time.
                counts.isLaterOneProcessed = true
                continue
            }
            counts.waitTime = max(counts.waitTime, purchase.waitTime)
        }
        let result = counts
        state.withLock { state in
            state.counts = result
            if let firstTime = state.firstTime, let processedTime = state.latestProcessedTime,
                processedTime > firstTime
            {
                state.counts.isLaterOneProcessed = true
            }
        }
    }
}

extension RunExecutor {
    /// Reads the effects of all purchases without a visible effect once more.
    func recheckUnprocessedPurchases() async {
        await unprocessedPurchases.recheck(after: profile.settleTimeout, self)
        if unprocessedPurchases.counts.late > 0 {
            sharedSettleTimeout.recordLateOutcomes([.state, .message])
        }
    }

    /// Returns the result about purchases that the backend accepted and did not process in time;
    /// empty if there are none.
    ///
    /// If some of them took effect later, the queue moves, and the settle timeout is too short. If
    /// none did, the backend has accepted purchases and does not process them.
    var unprocessedPurchaseResults: [CaseResult] {
        let counts = unprocessedPurchases.counts
        guard counts.late + counts.missing > 0, !Task.isCancelled else { return [] }
        let seconds = (counts.waitTime.milliseconds + 999) / 1000
        let timeoutInSeconds = profile.settleTimeout.milliseconds / 1000
        let isNothingLate = counts.late == 0
        let remedy =
            "Set 'settle-timeout: \(max(timeoutInSeconds * 3, 1))s' in the profile if the backend "
            + "processes events later than that."
        let finding = Finding(
            isNothingLate ? .effectMissing : .settleTimeoutExpired,
            expected: "a purchase that the backend has accepted takes effect within \(seconds) s",
            actual: isNothingLate
                ? (counts.isQueueBlocked ? "the queue does not move: " : "")
                    + "\(counts.missing) accepted purchases had no effect"
                : "\(counts.late) purchases took effect later, and \(counts.missing) had no effect",
            remedy: remedy
        )
        var result = CaseResult(
            contract: RunInvariant.backendProcessesEvents.contract,
            verdict: isNothingLate ? .failed : .inconclusive,
            findings: [finding],
            note: isNothingLate ? nil : finding.actual,
            base: base
        )
        // No single case causes the delay, so no case is listed for a rerun.
        result.replayedCaseIDs = []
        return [result]
    }
}
