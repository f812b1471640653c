/// What one run does to the backend and which users it looks at afterwards.
///
/// Two cases with the same twin share one run of it: plans are compared by value.
package struct RunPlan: Hashable, Codable, Sendable {
    package var steps: [Step]
    package var users: [String]
    /// Whether the run settles and probes at its end.
    package var observes: Bool
    /// How long the run is watched, in real time, after everything has settled.
    package var watch: Duration?
    /// Whether the run counts what nobody in it can be named for.
    package var countsFetches = false
    /// What `{{some.NAME}}` stands for, where the contract says so.
    package var values: [String: JSONValue] = [:]

    package init(steps: [Step], users: [String], observes: Bool, watch: Duration? = nil) {
        self.steps = steps
        self.users = users
        self.observes = observes
        self.watch = watch
    }

    package var deliveries: [Delivery] {
        steps.compactMap { if case .deliver(let delivery) = $0 { delivery } else { nil } }
    }

    /// The calls of the app, in order.
    package var calls: [Call] {
        steps.flatMap { step -> [Call] in if case .call(let calls) = step { calls } else { [] } }
    }

    /// What happens on phones, in order.
    package var phoneSteps: [PhoneStep] {
        steps.compactMap { if case .phone(let step) = $0 { step } else { nil } }
    }

    package var requests: [AppRequest] {
        steps.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// Whether a provider's answers are planned.
    package var hasPlan: Bool {
        steps.contains { if case .provider = $0 { true } else { false } }
    }

    package var hasRestart: Bool {
        steps.contains { step in
            switch step {
            case .restart, .killAtCall: true
            case .deliver(let delivery): delivery.crash != nil
            case .register, .name, .createAccount, .provider, .call, .request, .rotateKeys,
                .account, .phone:
                false
            }
        }
    }

    /// Whether copies are held back, which starves everybody else of a backend that takes one
    /// connection at a time.
    package var hasHeldCopies: Bool { deliveries.contains(where: \.isTogether) }

    /// Whether it touches what other runs share: the backend's process, Firebase's keys.
    package var needsSolitude: Bool {
        hasRestart || countsFetches
            || steps.contains { step in
                switch step {
                case .rotateKeys: true
                case .provider(let plan): plan.provider == "firebase"
                // Reconciling touches everybody whom the backend knows.
                case .call(let calls): calls.contains { $0.route == .reconcile }
                case .restart, .killAtCall, .deliver, .request, .register, .name, .createAccount,
                    .account, .phone:
                    false
                }
            }
    }
}

/// One variant as it will be run: the run to judge and the twin it is compared with.
package struct CasePlan: Hashable, Codable, Sendable {
    package let contract: Contract
    package private(set) var subject: RunPlan
    package let twin: RunPlan?

    package init(_ contract: Contract) {
        self.init(contract, steps: contract.steps)
    }

    /// The contract with other steps in the judged run; its twin stays as the contract says.
    package init(_ contract: Contract, given: [Step] = [], steps: [Step]) {
        self.contract = contract
        let users = contract.users
        let all = contract.given + given + steps
        subject = RunPlan(
            steps: all,
            users: users,
            observes: contract.expectation.needsSettling,
            watch: contract.expectation.watch
        )
        subject.countsFetches = contract.expectation.keyFetchesMax != nil
        subject.values = contract.values
        twin = contract.expectation.relation.map {
            RunPlan(steps: Self.twinSteps(of: contract, $0), users: users, observes: true)
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
                delivery.shufflesKeys = false
                return .deliver(delivery)
            }
        case .inOrder:
            let all = once(given + steps)
            let registrations = all.filter { step in
                switch step {
                case .register, .name, .createAccount: true
                default: false
                }
            }
            let deliveries = all.enumerated().filter { !registrations.contains($0.element) }
            return registrations
                + deliveries.sorted {
                    (time($0.element), $0.offset) < (time($1.element), $1.offset)
                }
                .map(\.element)
        }
    }

    private static func time(_ step: Step) -> Duration {
        if case .deliver(let delivery) = step { delivery.time } else { .zero }
    }

    /// The steps without failures, losses, restarts and waits.
    private static func calm(_ steps: [Step]) -> [Step] {
        steps.compactMap { step in
            switch step {
            case .register, .name, .createAccount, .call, .request, .account, .phone: return step
            case .provider, .restart, .rotateKeys, .killAtCall: return nil
            case .deliver(var delivery):
                delivery.isAlongLadder = false
                delivery.answersLost = 0
                delivery.requestsCut = 0
                delivery.hangUps = 0
                delivery.crash = nil
                delivery.delay = .zero
                delivery.answers = nil
                delivery.isDropped = false
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
