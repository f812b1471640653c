internal import Conformance
internal import FakeServers
internal import Providers

/// Waits until a case has settled, which means that the backend has finished its work.
///
/// See `CaseSettling` for the waits.
extension CaseExecution {
    /// Waits until the backend has processed the events of the given steps, which prepare the case.
    ///
    /// The later steps require the state that these events cause. Only a backend that processes
    /// events after its response needs the wait.
    func settleGiven(_ observability: RunRecord.Observability) async {
        let givenSteps = plan.steps.prefix(plan.preparationStepCount ?? 0)
        let hasEvents = givenSteps.contains { if case .deliver = $0 { true } else { false } }
        guard observability.appliesEventsLater == true, hasEvents, runProblem == nil,
            !Task.isCancelled
        else { return }
        _ = await settling.settle(observability, "-g")
    }

    /// Waits until the backend has processed all earlier events, before an app asks it for its
    /// state.
    ///
    /// Contracts do not test the state immediately after an event.
    mutating func settleBeforeStep(_ step: Int, _ observability: RunRecord.Observability) async {
        hasUnsettledEvents = false
        guard observability.appliesEventsLater == true, runProblem == nil, !Task.isCancelled else {
            return
        }
        _ = await settling.settle(observability, "-\(step)")
    }
}
