internal import Judging
internal import Values

/// Shortens the wait for an effect that another case has already awaited in vain.
///
/// The first case that lacks an effect waits for the full time. If the effect does not come, later
/// cases that lack the same effect wait for a shorter time, and their results mention the shortened
/// wait.
///
/// The shorter wait is longer than the time after which the effect came in any other case. A case
/// with a shortened wait is rechecked at the end of the suite, when its full time has passed.
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
        var isDisabled = false
    }

    private let state = Locked(State())

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
    func recordArrival(of missingEffectKey: MissingEffectKey, after time: Duration) {
        state.withLock { state in
            state.longestDelays[missingEffectKey] = max(
                state.longestDelays[missingEffectKey] ?? .zero,
                time
            )
        }
    }

    /// Gives all later waits their full duration.
    func disableShortening() { state.withLock { $0.isDisabled = true } }
}
