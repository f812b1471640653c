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

    /// How many of those steps are only what the others start from; nil where their order mixes
    /// both.
    static func givenCount(of contract: Contract, _ relation: Expectation.Relation) -> Int? {
        let given = calm(contract.given)
        return switch relation {
        case .before, .undisturbed: given.count
        case .once, .direct, .plain: once(given).count
        case .inOrder: nil
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
    ///
    /// An event carries its time. What carries none, such as a call, is made when all has come that
    /// stands before it: it stays behind the latest of those events, and before all others when it
    /// stands before any.
    private static func inOrder(_ steps: [Step]) -> [Step] {
        let registrations = steps.filter(\.traits.makesSomebody)
        var latest: Duration?
        var others: [(time: Duration?, step: Step)] = []
        for step in steps where !step.traits.makesSomebody {
            let time = time(step)
            if let time { latest = latest.map { max($0, time) } ?? time }
            others.append((time ?? latest, step))
        }
        let sorted = others.enumerated().sorted { left, right in
            switch (left.element.time, right.element.time) {
            case (nil, nil): left.offset < right.offset
            case (nil, _?): true
            case (_?, nil): false
            case (let mine?, let theirs?): (mine, left.offset) < (theirs, right.offset)
            }
        }
        return registrations + sorted.map(\.element.step)
    }

    /// When an event happened; nil for what happens where it stands, and for events whose time the
    /// contract does not know.
    private static func time(_ step: Step) -> Duration? {
        guard case .deliver(let delivery) = step else { return nil }
        return switch delivery.subject {
        case .event, .purchasely, .raw(.truncated): delivery.time
        case .body, .raw(.text), .repeats, .told: nil
        }
    }

    /// The steps without failures, losses, restarts and waits.
    private static func calm(_ steps: [Step]) -> [Step] {
        steps.compactMap(\.traits.calm)
    }

    /// Each event once: no repeats, no copies.
    private static func once(_ steps: [Step]) -> [Step] {
        steps.compactMap { step in
            guard case .deliver(var delivery) = step else { return step }
            if case .repeats = delivery.subject { return nil }
            delivery.times = 1
            delivery.isTogether = false
            delivery.isWithNext = false
            return .deliver(delivery)
        }
    }
}
