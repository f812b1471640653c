internal import Conformance
internal import FakeServers

/// Patience is spent once per cause, not once per case: when the same thing was waited for to the end
/// and did not come, the next case that lacks it waits shorter, and says so.
///
/// What does come sets how short: nobody gives up before a while more than the time after which the
/// same has come elsewhere. A case that waited shorter is looked at once more when all are over and it
/// has had its time.
final class SharedPatience: Sendable {
    /// What is missing, as far as it can be told before it is waited for.
    struct Cause: Hashable {
        let clause: String
        /// What is found while it is missing; empty while a call that failed is to be made again.
        let codes: Set<FindingCode>
    }

    /// A wait that another case has made before.
    struct Wait: Hashable {
        /// The case that waited to the end.
        let caseID: String
        /// How long that was.
        let full: Duration
        /// How long is enough now.
        let enough: Duration
    }

    private struct State {
        var ends: [Cause: (caseID: String, full: Duration)] = [:]
        /// The longest time after which what was missing came.
        var arrivals: [Cause: Duration] = [:]
        var isOff = false
    }

    private let state = Locked(State())

    /// How long is enough, when somebody has waited for the same before.
    ///
    /// - Parameters:
    ///   - cause: What is missing.
    ///   - full: How long it would be waited for.
    ///   - least: Less is never enough.
    /// - Returns: Nil: as long as ever.
    func wait(for cause: Cause, full: Duration, atLeast least: Duration) -> Wait? {
        state.withLock { state in
            let enough = least + (state.arrivals[cause] ?? .zero)
            guard !state.isOff, enough < full, let end = state.ends[cause] else { return nil }
            return Wait(caseID: end.caseID, full: end.full, enough: enough)
        }
    }

    /// It was waited for to the end, and did not come.
    func noteEnd(of cause: Cause, in caseID: String, after full: Duration) {
        state.withLock { state in
            if state.ends[cause] == nil { state.ends[cause] = (caseID, full) }
        }
    }

    /// What was missing has come after all.
    func noteArrival(of cause: Cause, after time: Duration) {
        state.withLock { state in
            state.arrivals[cause] = max(state.arrivals[cause] ?? .zero, time)
        }
    }

    /// Everybody waits to the end from now on.
    func turnOff() { state.withLock { $0.isOff = true } }
}
