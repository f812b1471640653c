internal import Providers

/// The baseline run of a case, with which the judged run is compared: the same steps without
/// faults, as the contract's `like` requires.
package enum Baseline {
    /// Returns the steps of the baseline run of a contract.
    ///
    /// Faults, restarts and waits are removed. The relation (the contract's `like`) decides what
    /// else is changed, such as repetitions or the order.
    package static func steps(
        of contract: Contract,
        _ relation: Expectation.BaselineRelation
    ) -> [Step] {
        let given = faultFreeForm(contract.given)
        let steps = faultFreeForm(contract.steps)
        switch relation {
        case .before: return given
        case .faultFree: return given + steps
        case .once: return once(given + steps)
        case .direct: return once(given + steps).map(direct)
        case .plain: return once(given + steps).map(plain)
        case .inOrder: return inOrder(once(given + steps))
        }
    }

    /// Returns the number of steps at the beginning of the baseline run that only prepare the case;
    /// nil when they are mixed with the other steps.
    static func preparationStepCount(
        of contract: Contract,
        _ relation: Expectation.BaselineRelation
    )
        -> Int?
    {
        let given = faultFreeForm(contract.given)
        return switch relation {
        case .before, .faultFree: given.count
        case .once, .direct, .plain: once(given).count
        case .inOrder: nil
        }
    }

    private static func direct(_ step: Step) -> Step {
        guard case .deliver(var delivery) = step, case .event(let event) = delivery.subject
        else { return step }
        delivery.subject = .event(event.withUsualUserID())
        return .deliver(delivery)
    }

    private static func plain(_ step: Step) -> Step {
        guard case .deliver(var delivery) = step else { return step }
        delivery.edits = []
        delivery.paddingKilobytes = 0
        delivery.addedNestingDepth = 0
        delivery.shufflesKeys = false
        return .deliver(delivery)
    }

    /// Returns the steps in order: the registrations first, then all other steps by their time.
    ///
    /// An event has a time. A step without a time, such as a call, follows the latest of the events
    /// that the contract lists before the step. It comes first when no event is listed before it.
    private static func inOrder(_ steps: [Step]) -> [Step] {
        let registrations = steps.filter(\.traits.createsUserOrAccount)
        var latestEventTime: Duration?
        var otherSteps: [(time: Duration?, step: Step)] = []
        for step in steps where !step.traits.createsUserOrAccount {
            let time = time(step)
            if let time { latestEventTime = latestEventTime.map { max($0, time) } ?? time }
            otherSteps.append((time ?? latestEventTime, step))
        }
        let sorted = otherSteps.enumerated().sorted { left, right in
            switch (left.element.time, right.element.time) {
            case (nil, nil): left.offset < right.offset
            case (nil, _?): true
            case (_?, nil): false
            case (let leftTime?, let rightTime?):
                (leftTime, left.offset) < (rightTime, right.offset)
            }
        }
        return registrations + sorted.map(\.element.step)
    }

    /// Returns the time of the event that a step delivers; nil for other steps and for events
    /// without a time in the contract.
    private static func time(_ step: Step) -> Duration? {
        guard case .deliver(let delivery) = step else { return nil }
        return delivery.event?.time
    }

    /// Returns the steps with all faults, restarts and waits removed.
    private static func faultFreeForm(_ steps: [Step]) -> [Step] {
        steps.compactMap(\.traits.faultFreeForm)
    }

    /// Returns the steps with every event delivered exactly once, without repetitions and copies.
    private static func once(_ steps: [Step]) -> [Step] {
        steps.compactMap { step in
            guard case .deliver(var delivery) = step else { return step }
            if case .repeats = delivery.subject { return nil }
            delivery.times = 1
            delivery.sendsCopiesConcurrently = false
            delivery.isConcurrentWithNext = false
            return .deliver(delivery)
        }
    }
}
