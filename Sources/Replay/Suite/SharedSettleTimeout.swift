internal import Judging
internal import Values

/// The lengths of the waits for missing effects.
///
/// The full wait is the settle timeout of the profile. Before it is over, no effect is missing. A
/// case waits in full only if no recheck gives it the rest of the time after all cases. Every other
/// wait follows the slowest effect of any case so far.
final class SharedSettleTimeout: Sendable {
    /// Identifies a missing effect before the wait for it.
    ///
    /// Cases with the same clause and the same findings lack the same effect.
    struct MissingEffectKey: Hashable {
        let clause: String
        /// The codes of the findings while the effect is missing.
        ///
        /// Empty if the case waits for the backend to repeat a failed call.
        let codes: Set<FindingCode>

        /// The effect of a later purchase, which shows that the backend has processed all events.
        static let laterPurchase = MissingEffectKey(clause: "", codes: [.settleTimeoutExpired])
    }

    /// The reason for which a wait may be shorter than the settle timeout.
    enum WaitRule: Hashable {
        /// No reason: no recheck follows, and no other case waits for the same effect.
        case fullWait
        /// Another case has waited in full for the same effect.
        ///
        /// The first case that lacks the effect waits in full. The results of later cases mention
        /// the shortened wait.
        case fullWaitOfOneCase
        /// A recheck after all cases gives the case the rest of the settle timeout.
        case recheckAfterAllCases
    }

    /// A shortened wait of a case, because another case has waited in full for the same effect.
    struct ShortenedWait: Hashable {
        /// The ID of the case that waited in full for the effect.
        let caseID: String
        /// The duration of a full wait for the effect.
        let fullTimeout: Duration
        /// The duration of the shortened wait for the effect.
        let shortenedTimeout: Duration
    }

    private struct State {
        var fullWaits: [MissingEffectKey: (caseID: String, fullTimeout: Duration)] = [:]
        /// For each effect that was missing at first and came later, the longest delay in any case.
        var longestDelays: [MissingEffectKey: Duration] = [:]
        /// The longest time after which any awaited effect came that no fault delayed.
        var slowestDelay: Duration = .zero
        /// The kinds of outcome that came after a full wait for them, in a run without faults.
        var lateOutcomes: Set<Judge.OutcomeKind> = []
        var isDisabled = false
    }

    private let state = Locked(State())

    /// Returns the wait for an effect whose absence is rechecked after all cases.
    ///
    /// The wait follows the slowest effect of any case.
    ///
    /// - Parameters:
    ///   - missingEffectKey: The missing effect; nil if no other case waits for it.
    ///   - fullTimeout: The duration of a full wait.
    ///   - shortestWait: The shortest possible duration of the wait.
    /// - Returns: The duration of the wait.
    func timeoutBeforeRecheck(
        for missingEffectKey: MissingEffectKey?,
        fullTimeout: Duration,
        atLeast shortestWait: Duration
    ) -> Duration {
        state.withLock { state in
            let longestDelay = missingEffectKey.flatMap { state.longestDelays[$0] } ?? .zero
            return state.isDisabled ? fullTimeout : min(fullTimeout, shortestWait + longestDelay)
        }
    }

    /// Returns a shortened wait if another case has waited in full for the same missing effect.
    ///
    /// - Parameters:
    ///   - missingEffectKey: The missing effect.
    ///   - fullTimeout: The duration of a full wait.
    ///   - shortestWait: The shortest possible duration of a shortened wait.
    /// - Returns: The shortened wait; nil if the case has to wait in full.
    func wait(
        for missingEffectKey: MissingEffectKey,
        fullTimeout: Duration,
        atLeast shortestWait: Duration
    )
        -> ShortenedWait?
    {
        state.withLock { state in
            let shortenedTimeout = shortestWait + (state.longestDelays[missingEffectKey] ?? .zero)
            guard !state.isDisabled, shortenedTimeout < fullTimeout,
                let fullWait = state.fullWaits[missingEffectKey]
            else {
                return nil
            }
            return ShortenedWait(
                caseID: fullWait.caseID,
                fullTimeout: fullWait.fullTimeout,
                shortenedTimeout: shortenedTimeout
            )
        }
    }

    /// Records that a case waited in full and the missing effect did not come.
    func recordFullWait(
        of missingEffectKey: MissingEffectKey,
        in caseID: String,
        after fullTimeout: Duration
    ) {
        state.withLock { state in
            if state.fullWaits[missingEffectKey] == nil {
                state.fullWaits[missingEffectKey] = (caseID, fullTimeout)
            }
        }
    }

    /// Records the time after which a missing effect came.
    ///
    /// - Parameters:
    ///   - missingEffectKey: The missing effect.
    ///   - time: The time after which it came.
    ///   - isDelayedByFault: Whether a fault may have delayed it. The wait for other effects then
    ///     does not follow it.
    func recordArrival(
        of missingEffectKey: MissingEffectKey,
        after time: Duration,
        isDelayedByFault: Bool = false
    ) {
        state.withLock { state in
            if !isDelayedByFault { state.slowestDelay = max(state.slowestDelay, time) }
            state.longestDelays[missingEffectKey] = max(
                state.longestDelays[missingEffectKey] ?? .zero,
                time
            )
        }
    }

    /// The longest time after which an effect of any case came that no fault delayed.
    var slowestDelay: Duration { state.withLock { $0.slowestDelay } }

    /// The kinds of outcome that came after a full wait for them, in a run without faults.
    ///
    /// For these kinds, the settle timeout of the profile is too short.
    var lateOutcomes: Set<Judge.OutcomeKind> { state.withLock { $0.lateOutcomes } }

    /// Records that outcomes came after a full wait for them, in a run without faults.
    func recordLateOutcomes(_ kinds: Set<Judge.OutcomeKind>) {
        state.withLock { $0.lateOutcomes.formUnion(kinds) }
    }

    /// Gives all later waits their full duration.
    func disableShortening() { state.withLock { $0.isDisabled = true } }
}
