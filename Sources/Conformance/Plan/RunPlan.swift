/// What one run does to the backend and which users it looks at afterwards.
///
/// Two cases with the same twin share one run of it: plans are compared by value.
package struct RunPlan: Hashable, Sendable {
    package var steps: [Step]
    package var users: [String]
    /// Whether the run settles and probes at its end.
    package var observes: Bool

    package init(steps: [Step], users: [String], observes: Bool) {
        self.steps = steps
        self.users = users
        self.observes = observes
    }

    package var deliveries: [Delivery] {
        steps.compactMap { if case .deliver(let delivery) = $0 { delivery } else { nil } }
    }

    package var hasRestart: Bool {
        steps.contains { if case .restart = $0 { true } else { false } }
    }
}

/// One variant as it will be run: the run to judge and the twin it is compared with.
package struct CasePlan: Hashable, Sendable {
    package let contract: Contract
    package let subject: RunPlan
    package let twin: RunPlan?

    package init(_ contract: Contract) {
        self.contract = contract
        let users = contract.users
        let observes = contract.expectation.needsSettling
        subject = RunPlan(steps: contract.given + contract.steps, users: users, observes: observes)
        twin = contract.expectation.relation.map {
            RunPlan(
                steps: Self.twinSteps(of: contract, $0),
                users: users,
                observes: true
            )
        }
    }

    private static func twinSteps(
        of contract: Contract,
        _ relation: Expectation.Relation
    ) -> [Step] {
        let given = calm(contract.given)
        let steps = calm(contract.steps)
        switch relation {
        case .before: return given
        case .undisturbed: return given + steps
        case .once: return once(given + steps)
        case .direct:
            return once(given + steps).map { step in
                guard case .deliver(var delivery) = step, case .event(var spec) = delivery.subject
                else { return step }
                spec.knownBy = .appUserID
                delivery.subject = .event(spec)
                return .deliver(delivery)
            }
        case .plain:
            return once(given + steps).map { step in
                guard case .deliver(var delivery) = step else { return step }
                delivery.edits = []
                delivery.paddingKilobytes = 0
                delivery.nesting = 0
                return .deliver(delivery)
            }
        case .inOrder:
            let all = once(given + steps)
            let registrations = all.filter { if case .register = $0 { true } else { false } }
            let deliveries = all.enumerated().filter { !registrations.contains($0.element) }
            return registrations
                + deliveries.sorted {
                    (time($0.element), $0.offset) < (time($1.element), $1.offset)
                }
                .map(\.element)
        }
    }

    private static func time(_ step: Step) -> Duration {
        guard case .deliver(let delivery) = step, case .event(let spec) = delivery.subject
        else { return .zero }
        return spec.time
    }

    /// The steps without failures, losses, restarts and waits.
    private static func calm(_ steps: [Step]) -> [Step] {
        steps.compactMap { step in
            switch step {
            case .register: return step
            case .provider, .restart: return nil
            case .deliver(var delivery):
                delivery.isAlongLadder = false
                delivery.answersLost = 0
                delivery.requestsCut = 0
                delivery.hangUps = 0
                delivery.delay = .zero
                delivery.answers = nil
                return .deliver(delivery)
            }
        }
    }

    /// Each event once: no repeats, no copies.
    private static func once(_ steps: [Step]) -> [Step] {
        steps.compactMap { step in
            guard case .deliver(var delivery) = step else { return step }
            if case .repeats = delivery.subject { return nil }
            delivery.times = 1
            delivery.isTogether = false
            return .deliver(delivery)
        }
    }
}
