/// The subscription periods that a contract's purchases and renewals begin.
///
/// If a later event omits the dates of its period, the dates are filled in from these periods.
///
/// Source: the event flows in the RevenueCat fact sheet. A cancellation, its reversal and the end
/// of a period contain the dates of the period that they concern.
struct SubscriptionPeriods: Sendable {
    private struct SubscriptionPeriod: Sendable {
        var user: String
        var product: String
        var store: String
        var environment: String
        /// The time at which the event that begins the period was generated, relative to the run's
        /// base time (`RunRecord.base`).
        var generatedAt: Duration
        var startTime: Duration
        var endTime: Duration?
        var periodEndsSoon: Bool?
        var isLifetime: Bool
    }

    private let periods: [SubscriptionPeriod]

    init(of events: [EventSpec]) {
        periods = events.compactMap { spec in
            guard let user = spec.user, spec.type.facts?.period == .begins else { return nil }
            return SubscriptionPeriod(
                user: user,
                product: spec.product,
                store: spec.store,
                environment: spec.environment,
                generatedAt: spec.time,
                startTime: spec.purchased ?? spec.time,
                endTime: spec.expires,
                periodEndsSoon: spec.periodEndsSoon,
                isLifetime: spec.isLifetime
            )
        }
    }

    /// Fills in the dates that an event omits, from the last period that began before the event.
    func fillingDates(_ spec: EventSpec) -> EventSpec {
        guard spec.purchased == nil, spec.type.facts?.period == .within,
            let period = period(of: spec)
        else { return spec }
        var spec = spec
        spec.purchased = period.startTime
        // An expiration or a refund ends the period at the event's own time.
        if spec.expires == nil, spec.periodEndsSoon == nil, !spec.isLifetime, !spec.endsSubscription
        {
            spec.expires = period.endTime
            spec.periodEndsSoon = period.periodEndsSoon
            spec.isLifetime = period.isLifetime
        }
        return spec
    }

    private func period(of spec: EventSpec) -> SubscriptionPeriod? {
        periods.filter {
            ($0.user, $0.product, $0.store, $0.environment)
                == (spec.user, spec.product, spec.store, spec.environment)
                && $0.generatedAt <= spec.time
        }.max { $0.generatedAt < $1.generatedAt }
    }
}
