/// The periods that a contract's purchases and renewals begin, so that what happens within one names
/// it.
///
/// Source: the fact sheet's event flows: a cancellation, its taking back and the end of a period
/// carry the dates of the period that they are about.
struct Periods: Sendable {
    private struct Period: Sendable {
        var user: String
        var product: String
        var store: String
        var environment: String
        /// When its event was generated, relative to the start of the run, as the others are.
        var told: Duration
        var begins: Duration
        var ends: Duration?
        var endsSoon: Bool?
        var isLifetime: Bool
    }

    /// What begins a period, and says when.
    private static let beginnings: Set = ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"]

    /// What happens within a period.
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

    /// The steps, with the dates that their events leave out.
    func applied(to steps: [Step]) -> [Step] {
        steps.map { step in
            guard case .deliver(var delivery) = step, case .event(let spec) = delivery.subject
            else { return step }
            delivery.subject = .event(dated(spec))
            return .deliver(delivery)
        }
    }

    /// What the event says of its period stays; what it leaves out is that of the last one that began
    /// before it.
    private func dated(_ spec: EventSpec) -> EventSpec {
        guard spec.purchased == nil, Self.inside.contains(spec.type),
            let period = period(of: spec)
        else { return spec }
        var spec = spec
        spec.purchased = period.begins
        // What is over or given back ends with its event, whatever was paid for.
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
