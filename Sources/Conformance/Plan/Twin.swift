/// The run that a case is compared with: the same steps in the form that its relation names.
package enum Twin {
    /// What the twin does; it never fails, loses, repeats or waits where the relation is about that.
    package static func steps(
        of contract: Contract,
        _ relation: Expectation.Relation
    ) -> [Step] {
        let given = calm(contract.given)
        let steps = calm(contract.steps)
        switch relation {
        case .before: return given
        case .undisturbed: return given + steps
        case .once: return once(given + steps)
        case .direct: return once(given + steps).map(direct)
        case .plain: return once(given + steps).map(plain)
        case .inOrder: return inOrder(once(given + steps))
        }
    }

    private static func direct(_ step: Step) -> Step {
        guard case .deliver(var delivery) = step, case .event(var spec) = delivery.subject
        else { return step }
        spec.knownBy = .appUserID
        delivery.subject = .event(spec)
        return .deliver(delivery)
    }

    private static func plain(_ step: Step) -> Step {
        guard case .deliver(var delivery) = step else { return step }
        delivery.edits = []
        delivery.paddingKilobytes = 0
        delivery.nesting = 0
        delivery.shufflesKeys = false
        return .deliver(delivery)
    }

    /// Who exists comes first, then everything else in the order in which it happened.
    private static func inOrder(_ steps: [Step]) -> [Step] {
        let registrations = steps.filter(makesSomebody)
        let others = steps.enumerated().filter { !makesSomebody($0.element) }
        return registrations
            + others.sorted { (time($0.element), $0.offset) < (time($1.element), $1.offset) }
            .map(\.element)
    }

    private static func makesSomebody(_ step: Step) -> Bool {
        switch step {
        case .register, .name, .createAccount: true
        case .provider, .deliver, .restart, .rotateKeys, .killAtCall, .call, .request, .account,
            .phone:
            false
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
