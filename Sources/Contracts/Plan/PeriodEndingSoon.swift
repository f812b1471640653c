internal import Providers

/// Support for subscription periods that end while a case runs, which contracts write as `expires:
/// soon` or `grace: soon`.
///
/// Only a case that waits for the end of a period can detect a backend that is correct before the
/// end of the period and wrong after it.
extension RunPlan {
    /// The default time from the start of a run to the end of a period for which the contract
    /// writes `soon`.
    package static let soonPeriodDefault: Duration = .seconds(3)
    /// The maximum time from the start of a run to the end of a period for which the contract
    /// writes `soon`.
    package static let soonPeriodMax: Duration = .seconds(60)

    /// Whether the plan contains a subscription period or a grace period that ends `soon`, that is,
    /// while the run lasts.
    package var hasPeriodEndingSoon: Bool {
        deliveries.contains { delivery in
            guard case .event(let event) = delivery.subject else { return false }
            return event.hasPeriodEndingSoon
        }
    }

    /// Returns the plan in which a time replaces every `soon`.
    ///
    /// - Parameter start: The start of the run, relative to the time from which the contract's
    ///   times are counted.
    /// - Returns: The plan with fixed times, which can be run now.
    package func withFixedPeriodEnd(from start: Duration) -> RunPlan {
        guard hasPeriodEndingSoon else { return self }
        let end = start + (timeUntilSoonPeriodEnd ?? Self.soonPeriodDefault)
        var plan = self
        plan.steps = steps.map { step in
            guard case .deliver(var delivery) = step, case .event(let event) = delivery.subject
            else { return step }
            delivery.subject = .event(event.endingPeriod(at: end))
            return .deliver(delivery)
        }
        return plan
    }
}
