internal import Contracts
internal import Providers
internal import Values

/// A RevenueCat event in a generated history.
struct RevenueCatHistoryEvent: HistoryEvent {
    let spec: EventSpec

    var time: Duration { spec.time }
    var users: [String] { spec.users }
    var user: String? { spec.user }
    var type: String { spec.type.rawValue }
    var product: String { spec.product }
    var store: String { spec.store }
    var isSandbox: Bool { spec.environment == "SANDBOX" }
    var isIrrelevant: Bool { RevenueCatModel.irrelevantEventTypes.contains(type) }
    var isTest: Bool { type == RevenueCatModel.testEventType }
    var usuallyCausesPush: Bool { spec.type.facts?.effect == .paysPeriod && !isSandbox }

    var detailedType: String {
        guard let reason = spec.reason, reason != "UNSUBSCRIBE" else { return type }
        return "\(spec.type)/\(reason)"
    }

    var userIDLocation: String? {
        spec.userIDLocation == .appUserID ? nil : spec.userIDLocation.rawValue
    }

    var reportedEnd: ReportedEnd? {
        isIrrelevant ? nil : spec.expires.map { ReportedEnd($0, field: "expiration_at_ms") }
    }

    var needs: Set<Feature> {
        var needs: Set<Feature> = []
        if userIDLocation != nil { needs.insert(.aliases) }
        // Promotional grants come from the developer, not from a store.
        if !(RevenueCatModel.commonStores + ["PROMOTIONAL"]).contains(spec.store) {
            needs.insert(.acceptsEveryStore)
        }
        return needs
    }

    var deliveryName: String {
        switch spec.type.documented {
        case .nonRenewingPurchase where spec.store == "PROMOTIONAL": "promotion"
        case .cancellation where spec.reason == "CUSTOMER_SUPPORT": "refund"
        case let documented: documented?.facts.deliveryName ?? nameFromType
        }
    }

    /// The usual product stays open, so that the run draws a product as it does for contracts.
    func delivery(_ name: String) -> Delivery {
        var spec = spec
        if spec.product == EventSpec.defaultProduct { spec.namedProduct = nil }
        if spec.purchased == spec.time { spec.purchased = nil }
        return Delivery(
            name: name,
            subject: .event(spec),
            provider: .revenueCat
        )
    }

    func deliveryOfUnknownType(_ name: String) -> Delivery {
        var futureSpec = EventSpec(
            type: .unknown(HistoryModel.unknownEventType),
            user: spec.user ?? spec.to.first,
            product: spec.product
        )
        futureSpec.time = spec.time
        futureSpec.store = spec.store
        return RevenueCatHistoryEvent(spec: futureSpec).delivery(name)
    }

    /// RevenueCat adds new fields to the member `event` of the body.
    var unknownFields: [Delivery.Edit] { Delivery.Edit.unknownFields(inside: ["event"]) }
}
