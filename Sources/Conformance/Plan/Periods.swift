/// The subscription periods that a contract's purchases and renewals begin.
///
/// Later events get the dates that they leave out from these periods.
///
/// Source: the event flows in the RevenueCat fact sheet. A cancellation, its reversal and the end
/// of a period contain the dates of the period that they concern.
struct Periods: Sendable {
    private struct Period: Sendable {
        var user: String
        var product: String
        var store: String
        var environment: String
        /// The time at which the event that begins the period was generated, relative to the start
        /// of the run.
        var told: Duration
        var begins: Duration
        var ends: Duration?
        var endsSoon: Bool?
        var isLifetime: Bool
    }

    /// The types of events that begin a subscription period and contain its dates.
    private static let beginnings: Set = ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"]

    /// The types of events that occur within a subscription period and contain its dates.
    private static let inside: Set = [
        "CANCELLATION", "UNCANCELLATION", "BILLING_ISSUE", "EXPIRATION", "PRODUCT_CHANGE",
        "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED",
        "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED",
    ]

    private let periods: [Period]

    init(of contract: Contract) {
        periods = (contract.given + contract.steps).compactMap { step in
            guard case .deliver(let delivery) = step, case .event(let spec) = delivery.subject,
                let user = spec.user, Self.beginnings.contains(spec.type)
            else { return nil }
            return Period(
                user: user,
                product: spec.product,
                store: spec.store,
                environment: spec.environment,
                told: spec.time,
                begins: spec.purchased ?? spec.time,
                ends: spec.expires,
                endsSoon: spec.endsSoon,
                isLifetime: spec.isLifetime
            )
        }
    }

    /// Returns the steps, with the dates filled in that their events leave out.
    func applied(to steps: [Step]) -> [Step] {
        steps.map { step in
            guard case .deliver(var delivery) = step, case .event(let spec) = delivery.subject
            else { return step }
            delivery.subject = .event(dated(spec))
            return .deliver(delivery)
        }
    }

    /// Fills in the dates that an event leaves out, from the last period that began before the
    /// event.
    private func dated(_ spec: EventSpec) -> EventSpec {
        guard spec.purchased == nil, Self.inside.contains(spec.type),
            let period = period(of: spec)
        else { return spec }
        var spec = spec
        spec.purchased = period.begins
        // An expiration or a refund ends the period at the event's own time.
        if spec.expires == nil, spec.endsSoon == nil, !spec.isLifetime, !spec.isOver {
            spec.expires = period.ends
            spec.endsSoon = period.endsSoon
            spec.isLifetime = period.isLifetime
        }
        return spec
    }

    private func period(of spec: EventSpec) -> Period? {
        periods.filter {
            ($0.user, $0.product, $0.store, $0.environment)
                == (spec.user, spec.product, spec.store, spec.environment)
                && $0.told <= spec.time
        }.max { $0.told < $1.told }
    }
}
