/// One variant as it will be run: the run to judge and the twin it is compared with.
package struct CasePlan: Hashable, Codable, Sendable {
    @Boxed package private(set) var contract: Contract
    package private(set) var subject: RunPlan
    package private(set) var twin: RunPlan?

    package init(_ contract: Contract) {
        self.init(contract, steps: contract.steps)
    }

    /// The contract with other steps in the judged run; its twin stays as the contract says.
    package init(_ contract: Contract, given: [Step] = [], steps: [Step]) {
        self.contract = contract
        let users = contract.users
        let periods = Periods(of: contract)
        let all = periods.applied(to: contract.given + given + steps)
        subject = RunPlan(
            steps: all,
            users: users,
            observes: contract.expectation.needsSettling,
            watch: contract.expectation.watch
        )
        subject.countsFetches = contract.expectation.keyFetchesMax != nil
        subject.values = contract.values
        subject.givenCount = contract.given.count + given.count
        twin = contract.expectation.relation.map {
            var plan = RunPlan(
                steps: periods.applied(to: Twin.steps(of: contract, $0)),
                users: users,
                observes: true
            )
            plan.values = contract.values
            plan.givenCount = Twin.givenCount(of: contract, $0)
            return plan
        }
    }

    /// The case and its twin before a backend whose clock is set so far ahead: what differs because
    /// time has passed differs in both.
    package func setting(clock: [Duration]?) -> CasePlan {
        var plan = self
        plan.subject.clock = clock
        plan.twin?.clock = clock
        return plan
    }

    /// The case without a purchase of somebody else at its end, where the backend works at once.
    package var brief: CasePlan {
        var plan = self
        plan.subject.isBrief = true
        return plan
    }

    /// Whether the run that it is compared with makes every step of the case, without its faults.
    package var twinHasAllSteps: Bool {
        guard let relation = contract.expectation.relation else { return false }
        return relation != .before
    }

    /// The case compared with a run of all its steps without faults, whatever its contract asks for.
    package var againstBaseline: CasePlan {
        var changed = contract
        changed.expectation.relation = .undisturbed
        return CasePlan(changed)
    }

    /// Whether it takes far longer than others by its nature: it stands for many runs, or waits for
    /// an end that comes.
    package var takesLong: Bool { contract.search != nil || subject.hasSoon }
}
