/// The step `wait-for-end`, which waits in real time until a subscription period that ends `soon`
/// is over.
extension StepForm {
    static let pass = StepForm(
        "wait-for-end",
        .earlierDeliveryName,
        "Waits in real time until the subscription period or grace period in the event of this "
            + "delivery is over. The period must end `soon`. If it ends before the backend has "
            + "responded to the event, the case runs again with more time.",
        embed: { .pass(delivery: $0) },
        extract: { if case .pass(let delivery) = $0 { delivery } else { nil } }
    )
}

extension StepTraits {
    /// Returns the traits of the step `wait-for-end`.
    ///
    /// The backend may notice the end of the period only when its own timers fire.
    static func waitForEnd(_ delivery: String) -> StepTraits {
        var traits = StepTraits(.pass)
        traits.faultFreeForm = .pass(delivery: delivery)
        traits.endDependsOnBackendTimers = true
        return traits
    }
}

extension Contract {
    /// The steps that wait for the end of a period that does not end `soon`: the name of the
    /// delivery, and the index of the step.
    var waitsWithoutSoonEnd: [(delivery: String, step: Int)] {
        let all = given + steps
        return all.enumerated().compactMap { index, step in
            guard case .pass(let name) = step else { return nil }
            let isEndingSoon = all.contains { step in
                guard case .deliver(let delivery) = step, delivery.name == name,
                    case .event(let spec) = delivery.subject
                else { return false }
                return spec.endsSoon == true || spec.graceEndsSoon == true
            }
            return isEndingSoon ? nil : (name, index)
        }
    }

    /// Whether a period or grace period in the contract ends `soon`.
    var hasPeriodEndingSoon: Bool {
        RunPlan(steps: given + steps, users: [], observes: false).hasPeriodEndingSoon
    }
}
