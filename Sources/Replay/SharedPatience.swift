internal import Conformance
internal import FakeServers

/// Shortens waits for effects that did not come in another case.
///
/// The first case that lacks an effect waits for the full time. If the effect does not come, later
/// cases that lack the same effect wait for a shorter time, and report that.
///
/// The shorter wait is longer than the time after which the effect came in any other case. A case
/// with a shortened wait is rechecked at the end of the suite, when its full time has passed.
final class SharedPatience: Sendable {
    /// Identifies a missing effect before the wait for it.
    ///
    /// Cases with the same clause and the same findings lack the same effect.
    struct Cause: Hashable {
        let clause: String
        /// The codes of the findings while the effect is missing.
        ///
        /// Empty if the case waits for the backend to repeat a failed call.
        let codes: Set<FindingCode>
    }

    /// A shortened wait of a case, because another case has waited in full for the same effect.
    struct Wait: Hashable {
        /// The ID of the case that waited in full for the effect.
        let caseID: String
        /// The duration of a full wait for the effect.
        let full: Duration
        /// The duration of the shortened wait for the effect.
        let enough: Duration
    }

    private struct State {
        var ends: [Cause: (caseID: String, full: Duration)] = [:]
        /// The longest time after which each effect came that was missing at first.
        var arrivals: [Cause: Duration] = [:]
        var isOff = false
    }

    private let state = Locked(State())

    /// Returns a shortened wait if another case has waited in full for the same missing effect.
    ///
    /// - Parameters:
    ///   - cause: The missing effect.
    ///   - full: The duration of a full wait.
    ///   - least: The shortest possible duration of a shortened wait.
    /// - Returns: The shortened wait; nil if the case has to wait in full.
    func wait(for cause: Cause, full: Duration, atLeast least: Duration) -> Wait? {
        state.withLock { state in
            let enough = least + (state.arrivals[cause] ?? .zero)
            guard !state.isOff, enough < full, let end = state.ends[cause] else { return nil }
            return Wait(caseID: end.caseID, full: end.full, enough: enough)
        }
    }

    /// Records that a case waited in full and the missing effect did not come.
    func noteEnd(of cause: Cause, in caseID: String, after full: Duration) {
        state.withLock { state in
            if state.ends[cause] == nil { state.ends[cause] = (caseID, full) }
        }
    }

    /// Records the time after which a missing effect came.
    func noteArrival(of cause: Cause, after time: Duration) {
        state.withLock { state in
            state.arrivals[cause] = max(state.arrivals[cause] ?? .zero, time)
        }
    }

    /// Gives all later waits their full duration.
    func turnOff() { state.withLock { $0.isOff = true } }
}
