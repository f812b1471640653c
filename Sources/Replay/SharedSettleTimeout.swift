internal import Conformance
internal import FakeServers

/// Shortens waits for effects that did not come in another case.
///
/// The first case that lacks an effect waits for the full time. If the effect does not come, later
/// cases that lack the same effect wait for a shorter time, and report that.
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
        /// The longest time after which each effect came that was missing at first.
        var longestDelays: [MissingEffectKey: Duration] = [:]
        var isDisabled = false
    }

    private let state = Locked(State())

    /// Returns a shortened wait if another case has waited in full for the same missing effect.
    ///
    /// - Parameters:
    ///   - cause: The missing effect.
    ///   - fullTimeout: The duration of a full wait.
    ///   - shortestWait: The shortest possible duration of a shortened wait.
    /// - Returns: The shortened wait; nil if the case has to wait in full.
    func wait(for cause: MissingEffectKey, fullTimeout: Duration, atLeast shortestWait: Duration)
        -> ShortenedWait?
    {
        state.withLock { state in
            let shortenedTimeout = shortestWait + (state.longestDelays[cause] ?? .zero)
            guard !state.isDisabled, shortenedTimeout < fullTimeout,
                let fullWait = state.fullWaits[cause]
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
    func recordFullWait(of cause: MissingEffectKey, in caseID: String, after fullTimeout: Duration)
    {
        state.withLock { state in
            if state.fullWaits[cause] == nil { state.fullWaits[cause] = (caseID, fullTimeout) }
        }
    }

    /// Records the time after which a missing effect came.
    func recordArrival(of cause: MissingEffectKey, after time: Duration) {
        state.withLock { state in
            state.longestDelays[cause] = max(state.longestDelays[cause] ?? .zero, time)
        }
    }

    /// Gives all later waits their full duration.
    func disableShortening() { state.withLock { $0.isDisabled = true } }
}
