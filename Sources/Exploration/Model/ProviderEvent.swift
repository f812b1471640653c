internal import Contracts
package import Providers
internal import Values

/// A webhook event that RevenueCat or Purchasely sends in a generated history.
package enum ProviderEvent: Hashable, Sendable {
    case event(EventSpec)
    case purchasely(PurchaselySpec)

    /// The store name in `HistoryOperation.store` and in the coverage report for all Purchasely
    /// plans, whichever store bills them.
    package static let purchaselyStoreName = "PURCHASELY"

    var event: EventSpec? {
        if case .event(let spec) = self { spec } else { nil }
    }

    /// The seller of Purchasely plans in the titles of histories.
    static let purchaselyServiceName = "Purchasely"

    /// The provider that sends the event.
    var provider: Exchange.Party {
        switch self {
        case .event: .revenueCat
        case .purchasely: .purchasely
        }
    }

    /// The time of the event, relative to the run's base time (`RunRecord.base`).
    var time: Duration {
        switch self {
        case .event(let spec): spec.time
        case .purchasely(let spec): spec.time
        }
    }

    /// The names of all users that the event names.
    var users: [String] {
        switch self {
        case .event(let spec): spec.users
        case .purchasely(let spec): spec.users
        }
    }

    /// The name of the user whose purchase the event reports; nil when the event reports no single
    /// purchase.
    var user: String? {
        switch self {
        case .event(let spec): spec.user
        case .purchasely(let spec): spec.user
        }
    }

    /// The event type, as RevenueCat or Purchasely names it.
    var type: String {
        switch self {
        case .event(let spec): spec.type.rawValue
        case .purchasely(let spec): spec.name
        }
    }

    var product: String {
        switch self {
        case .event(let spec): spec.product
        case .purchasely(let spec): spec.plan
        }
    }

    var store: String {
        switch self {
        case .event(let spec): spec.store
        case .purchasely: Self.purchaselyStoreName
        }
    }

    var isSandbox: Bool {
        switch self {
        case .event(let spec): spec.environment == "SANDBOX"
        case .purchasely(let spec): spec.environment == "SANDBOX"
        }
    }

    /// Whether the event changes no subscription.
    var isIrrelevant: Bool {
        switch self {
        case .event(let spec): HistoryModel.irrelevantEventTypes.contains(spec.type.rawValue)
        case .purchasely(let spec): PurchaselyModel.irrelevantEventNames.contains(spec.name)
        }
    }

    /// The kind of the event in the coverage report: its type, and its reason or status if that
    /// changes the meaning.
    package var coverageLabel: String {
        if isIrrelevant { return HistoryCoverage.Tracker.irrelevant }
        switch self {
        case .event(let spec):
            guard let reason = spec.reason, reason != "UNSUBSCRIBE" else {
                return spec.type.rawValue
            }
            return "\(spec.type)/\(reason)"
        case .purchasely(let spec):
            guard let status = spec.status, !Self.usualStatuses.contains(status) else {
                return spec.name
            }
            return "\(spec.name)/\(status)"
        }
    }

    /// Purchasely statuses that only mean that the subscription continues or is over.
    private static let usualStatuses: Set = ["AUTO_RENEWING", "DEACTIVATED"]

    /// The name of the event's delivery in a contract, such as `purchase`, without a number.
    var deliveryName: String {
        let nameFromType = type.lowercased().replacing("_", with: "-")
        guard case .event(let spec) = self else { return nameFromType }
        return switch spec.type.documented {
        case .nonRenewingPurchase where spec.store == "PROMOTIONAL": "promotion"
        case .cancellation where spec.reason == "CUSTOMER_SUPPORT": "refund"
        case let documented: documented?.facts.deliveryName ?? nameFromType
        }
    }

    /// Returns a delivery of the event as a contract writes it, without values that equal the
    /// defaults.
    func delivery(_ name: String) -> Delivery {
        switch self {
        case .event(var spec):
            if spec.purchased == spec.time { spec.purchased = nil }
            return Delivery(name: name, subject: .event(AnyWebhookEvent(spec)))
        case .purchasely(var spec):
            if spec.purchased == spec.time { spec.purchased = nil }
            if spec.renewalTime == spec.expires { spec.renewalTime = nil }
            return Delivery(
                name: name,
                subject: .event(AnyWebhookEvent(spec)),
                provider: provider
            )
        }
    }

    /// An event type that neither RevenueCat nor Purchasely sends yet.
    static let unknownType = "FUTURE_STEP"

    /// Returns a delivery, by the same provider, of an event with an unknown type.
    func unknown(_ name: String) -> Delivery {
        switch self {
        case .event(let spec):
            var futureEvent = EventSpec(
                type: .unknown(Self.unknownType),
                user: spec.user ?? spec.to.first,
                product: spec.product
            )
            futureEvent.time = spec.time
            futureEvent.store = spec.store
            return ProviderEvent.event(futureEvent).delivery(name)
        case .purchasely(let spec):
            var futureEvent = spec
            futureEvent.name = Self.unknownType
            return ProviderEvent.purchasely(futureEvent).delivery(name)
        }
    }

    /// The edits that add unknown fields to the event, where its provider would add new fields.
    var unknownFields: [Delivery.Edit] {
        let rootKeys: [String] =
            switch self {
            case .event: ["event"]
            case .purchasely: []
            }
        return [
            Delivery.Edit(
                pointer: JSONPointer(tokens: rootKeys + ["future_object"]),
                value: ["access": false, "expires": .null]
            ),
            Delivery.Edit(pointer: JSONPointer(tokens: ["future_root"]), value: "later"),
        ]
    }
}
