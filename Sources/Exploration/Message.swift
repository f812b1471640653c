package import Conformance

/// What a provider tells the backend in a life.
package enum Message: Hashable, Sendable {
    case event(EventSpec)
    case purchasely(PurchaselySpec)

    /// The store of acts and coverage that Purchasely sells for, whichever it bills through.
    package static let planStore = "PURCHASELY"

    var event: EventSpec? {
        if case .event(let spec) = self { spec } else { nil }
    }

    /// Who sells plans, for people.
    static let planSeller = "Purchasely"

    /// Whose webhook brings it.
    var provider: Exchange.Party {
        switch self {
        case .event: .revenueCat
        case .purchasely: .purchasely
        }
    }

    /// When it happened, relative to the start of the run.
    var time: Duration {
        switch self {
        case .event(let spec): spec.time
        case .purchasely(let spec): spec.time
        }
    }

    /// Everybody whom it names.
    var users: [String] {
        switch self {
        case .event(let spec): spec.users
        case .purchasely(let spec): spec.users
        }
    }

    /// Whose purchase it tells of; nil: of no single one.
    var user: String? {
        switch self {
        case .event(let spec): spec.user
        case .purchasely(let spec): spec.user
        }
    }

    /// Its sender's word for what happened.
    var type: String {
        switch self {
        case .event(let spec): spec.type
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
        case .purchasely: Self.planStore
        }
    }

    var isSandbox: Bool {
        switch self {
        case .event(let spec): spec.environment == "SANDBOX"
        case .purchasely(let spec): spec.environment == "SANDBOX"
        }
    }

    /// It changes nobody's subscription.
    var isIdle: Bool {
        switch self {
        case .event(let spec): LifeModel.idleTypes.contains(spec.type)
        case .purchasely(let spec): PlanModel.idleNames.contains(spec.name)
        }
    }

    /// What it is, as coverage counts it: its type, with its reason where that makes another event of
    /// it.
    package var what: String {
        if isIdle { return LifeCoverage.Tracker.idle }
        switch self {
        case .event(let spec):
            guard let reason = spec.reason, reason != "UNSUBSCRIBE" else { return spec.type }
            return "\(spec.type)/\(reason)"
        case .purchasely(let spec):
            guard let status = spec.status, !Self.usualStatuses.contains(status) else {
                return spec.name
            }
            return "\(spec.name)/\(status)"
        }
    }

    /// They say no more than that it goes on, or is over.
    private static let usualStatuses: Set = ["AUTO_RENEWING", "DEACTIVATED"]

    /// What its delivery is called.
    var word: String {
        guard case .event(let spec) = self else {
            return type.lowercased().replacing("_", with: "-")
        }
        return switch spec.type {
        case "INITIAL_PURCHASE": "purchase"
        case "RENEWAL": "renewal"
        case "NON_RENEWING_PURCHASE": spec.store == "PROMOTIONAL" ? "promotion" : "one-time"
        case "CANCELLATION": spec.reason == "CUSTOMER_SUPPORT" ? "refund" : "cancellation"
        case "UNCANCELLATION": "back"
        case "SUBSCRIPTION_PAUSED": "pause"
        case "EXPIRATION": "end"
        case "BILLING_ISSUE": "issue"
        case "PRODUCT_CHANGE": "change"
        case "SUBSCRIPTION_EXTENDED": "extension"
        case "REFUND_REVERSED": "reversal"
        case "TEMPORARY_ENTITLEMENT_GRANT": "grant"
        // Every other type by its own name.
        default: spec.type.lowercased().replacing("_", with: "-")
        }
    }

    /// As a contract delivers it, without what every reader would add.
    func delivery(_ name: String) -> Delivery {
        switch self {
        case .event(var spec):
            if spec.purchased == spec.time { spec.purchased = nil }
            return Delivery(name: name, subject: .event(spec))
        case .purchasely(var spec):
            if spec.purchased == spec.time { spec.purchased = nil }
            if spec.renews == spec.expires { spec.renews = nil }
            var delivery = Delivery(name: name, subject: .purchasely(spec))
            delivery.provider = provider
            return delivery
        }
    }

    /// A type, or a name, that no provider sends yet.
    static let unknownType = "FUTURE_STEP"

    /// One of the same sender that nobody knows.
    func unknown(_ name: String) -> Delivery {
        switch self {
        case .event(let spec):
            var future = EventSpec(
                type: Self.unknownType,
                user: spec.user ?? spec.to.first,
                product: spec.product
            )
            future.time = spec.time
            future.store = spec.store
            return Message.event(future).delivery(name)
        case .purchasely(let spec):
            var future = spec
            future.name = Self.unknownType
            return Message.purchasely(future).delivery(name)
        }
    }

    /// Fields that nobody knows, where this sender would put them.
    var unknownFields: [Delivery.Edit] {
        let root: [String] =
            switch self {
            case .event: ["event"]
            case .purchasely: []
            }
        return [
            Delivery.Edit(
                pointer: JSONPointer(tokens: root + ["future_object"]),
                value: ["access": false, "expires": .null]
            ),
            Delivery.Edit(pointer: JSONPointer(tokens: ["future_root"]), value: "later"),
        ]
    }
}
