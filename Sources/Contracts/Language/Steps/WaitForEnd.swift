internal import Providers

/// The step `wait-for-end`, which waits in real time until a subscription period that ends `soon`
/// is over.
extension StepForm {
    static let waitForEnd = StepForm(
        "wait-for-end",
        .earlierDeliveryName,
        "Waits in real time until the subscription period or grace period in the event of this "
            + "delivery is over. The period must end `soon`. If it ends before the backend has "
            + "responded to the event, the case runs again with more time.",
        embed: { .waitForEnd(delivery: $0) },
        extract: { if case .waitForEnd(let delivery) = $0 { delivery } else { nil } }
    )
}

extension StepTraits {
    /// Returns the traits of the step `wait-for-end`.
    ///
    /// The backend may notice the end of the period only when its own timers fire.
    static func waitForEnd(_ delivery: String) -> StepTraits {
        var traits = StepTraits(.waitForEnd)
        traits.faultFreeForm = .waitForEnd(delivery: delivery)
        traits.endDependsOnBackendTimers = true
        return traits
    }
}

extension Contract {
    /// The steps that wait for the end of a period that does not end `soon`: the name of the
    /// delivery, and the index of the step.
    var waitStepsWithoutPeriodEndingSoon: [(delivery: String, step: Int)] {
        let allSteps = given + steps
        return allSteps.enumerated().compactMap { index, step in
            guard case .waitForEnd(let name) = step else { return nil }
            let isEndingSoon = allSteps.contains { step in
                guard case .deliver(let delivery) = step, delivery.name == name,
                    case .event(let event) = delivery.subject
                else { return false }
                return event.hasPeriodEndingSoon
            }
            return isEndingSoon ? nil : (name, index)
        }
    }

    /// Whether a period or grace period in the contract ends `soon`.
    var hasPeriodEndingSoon: Bool {
        RunPlan(steps: given + steps, users: [], observesFinalState: false).hasPeriodEndingSoon
    }
}
