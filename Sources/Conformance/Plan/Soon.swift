/// Ends that come while a case goes on: what is right before them and wrong after them is seen only by
/// somebody who waits.
extension RunPlan {
    /// How long after its beginning a run's `soon` is, at first.
    package static let soonest: Duration = .seconds(3)
    /// The longest that it may be.
    package static let latestSoon: Duration = .seconds(60)

    /// Whether an end in it is `soon`.
    package var hasSoon: Bool {
        deliveries.contains { delivery in
            guard case .event(let spec) = delivery.subject else { return false }
            return spec.endsSoon == true || spec.graceEndsSoon == true
        }
    }

    /// The plan with every `soon` as a moment.
    ///
    /// - Parameter start: When the run begins, relative to the moment that its dates count from.
    /// - Returns: The plan that can be carried out now.
    package func timed(from start: Duration) -> RunPlan {
        guard hasSoon else { return self }
        let end = start + (soon ?? Self.soonest)
        var plan = self
        plan.steps = steps.map { step in
            guard case .deliver(var delivery) = step, case .event(var spec) = delivery.subject
            else { return step }
            if spec.endsSoon == true { spec.expires = end }
            if spec.graceEndsSoon == true { spec.grace = end }
            (spec.endsSoon, spec.graceEndsSoon) = (nil, nil)
            delivery.subject = .event(spec)
            return .deliver(delivery)
        }
        return plan
    }
}
