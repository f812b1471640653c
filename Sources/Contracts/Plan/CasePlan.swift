/// The plan of one case: the run that is judged, and the baseline run (the same case without
/// faults) to compare it with.
package struct CasePlan: Hashable, Codable, Sendable {
    @IndirectlyStored package private(set) var contract: Contract
    package private(set) var subject: RunPlan
    package private(set) var baseline: RunPlan?

    package init(_ contract: Contract) {
        self.init(contract, steps: contract.steps)
    }

    /// Plans a case whose judged run has other steps than the contract; the baseline run keeps the
    /// contract's steps.
    package init(_ contract: Contract, steps: [Step]) {
        self.contract = contract
        let contract = contract.registeringCallers
        let users = contract.users
        let periods = PeriodDates(of: contract)
        let allSteps = periods.applied(to: contract.given + steps)
        subject = RunPlan(
            steps: allSteps,
            users: users,
            observesFinalState: contract.expectation.requiresSettling,
            extraObservationTime: contract.expectation.extraObservationTime
        )
        subject.countsKeyFetches = contract.expectation.signingKeyFetchCountMax != nil
        if contract.expectation.hidesSecrets { subject.readsReadinessRoute = true }
        subject.values = contract.values
        subject.drawnValues = contract.drawnValues
        subject.preparationStepCount = contract.given.count
        baseline = contract.expectation.relation.map {
            var plan = RunPlan(
                steps: periods.applied(to: Baseline.steps(of: contract, $0)),
                users: users,
                observesFinalState: true
            )
            plan.values = contract.values
            plan.drawnValues = contract.drawnValues
            plan.preparationStepCount = Baseline.preparationStepCount(of: contract, $0)
            return plan
        }
    }

    /// Returns the plan in which the backend's clock is set ahead by these durations, one after the
    /// other.
    ///
    /// The baseline run uses the same clock, so that the passage of time affects both runs equally.
    package func settingBackendClock(clock: [Duration]?) -> CasePlan {
        var plan = self
        plan.subject.clock = clock
        plan.baseline?.clock = clock
        return plan
    }

    /// Returns the plan of the case with another timing of its concurrent requests.
    package func withConcurrentTiming(_ timing: ConcurrentTiming) -> CasePlan {
        var plan = self
        plan.subject.concurrentTiming = timing
        return plan
    }

    /// The plan without the sentinel: the purchase of another user that shows at the end of a run
    /// that all events were processed.
    ///
    /// This shorter run is used with backends that apply events at once.
    package var withoutSentinel: CasePlan {
        var plan = self
        plan.subject.skipsSentinel = true
        return plan
    }

    /// Whether the baseline run has all steps of the case, without their faults, and not only the
    /// `given` steps.
    package var baselineHasAllSteps: Bool {
        guard let relation = contract.expectation.relation else { return false }
        return relation != .before
    }

    /// The plan of the same case with `like: fault-free`: it is compared with a run of all its
    /// steps without faults.
    package var comparedWithFaultFreeRun: CasePlan {
        var changedContract = contract
        changedContract.expectation.relation = .faultFree
        return CasePlan(changedContract)
    }

    /// Whether the case takes far longer than most cases.
    ///
    /// It does when it consists of many runs, or when it waits for a subscription to end.
    package var isLongRunning: Bool { contract.search != nil || subject.hasPeriodEndingSoon }
}
