/// Real time passes until something is over that ends `soon`.
extension StepForm {
    static let pass = StepForm(
        "pass",
        .earlierDelivery,
        "Time passes, for once in earnest, until the period or the grace period is over that this "
            + "delivery told of and that ends `soon`. Where the end came before the event was "
            + "answered, the case is played again with more time.",
        embed: { .pass(delivery: $0) },
        extract: { if case .pass(let delivery) = $0 { delivery } else { nil } }
    )
}

extension StepTraits {
    /// The backend's own timers may decide when an end is noticed.
    static func passing(_ delivery: String) -> StepTraits {
        var traits = StepTraits(.pass)
        traits.calm = .pass(delivery: delivery)
        traits.isDisturbance = true
        return traits
    }
}

extension Contract {
    /// Deliveries that a step waits for although they tell of no end that comes soon, with the step's
    /// number.
    var endless: [(delivery: String, step: Int)] {
        let all = given + steps
        return all.enumerated().compactMap { index, step in
            guard case .pass(let name) = step else { return nil }
            let ends = all.contains { step in
                guard case .deliver(let delivery) = step, delivery.name == name,
                    case .event(let spec) = delivery.subject
                else { return false }
                return spec.endsSoon == true || spec.graceEndsSoon == true
            }
            return ends ? nil : (name, index)
        }
    }

    /// Whether an end in it comes while the case goes on.
    var hasSoon: Bool { RunPlan(steps: given + steps, users: [], observes: false).hasSoon }
}
