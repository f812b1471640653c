internal import Providers
internal import Contracts
internal import Values

/// A Purchasely event in a generated history.
struct PurchaselyHistoryEvent: HistoryEvent {
    let spec: PurchaselySpec

    /// The store name in histories of all Purchasely plans, whichever store bills them.
    static let store = "PURCHASELY"

    /// Purchasely statuses that only mean that the subscription continues or is over.
    private static let usualStatuses: Set = ["AUTO_RENEWING", "DEACTIVATED"]

    var time: Duration { spec.time }
    var users: [String] { spec.users }
    var user: String? { spec.user }
    var type: String { spec.name }
    var product: String { spec.plan }
    var store: String { Self.store }
    var isSandbox: Bool { spec.environment == "SANDBOX" }
    var isIrrelevant: Bool { PurchaselyModel.irrelevantEventTypes.contains(spec.name) }
    var isTest: Bool { false }
    /// No source shows which of Purchasely's events backends report to users.
    var usuallyCausesPush: Bool { false }
    var userIDLocation: String? { nil }
    /// No expected state contains the end of a plan.
    var reportedEnd: ReportedEnd? { nil }
    var needs: Set<Feature> { [] }
    var deliveryName: String { nameFromType }

    var detailedType: String {
        guard let status = spec.status, !Self.usualStatuses.contains(status) else {
            return spec.name
        }
        return "\(spec.name)/\(status)"
    }

    func delivery(_ name: String) -> Delivery {
        var spec = spec
        if spec.purchased == spec.time { spec.purchased = nil }
        if spec.renewalTime == spec.expires { spec.renewalTime = nil }
        return Delivery(
            name: name,
            subject: .event(spec),
            provider: .purchasely
        )
    }

    func deliveryOfUnknownType(_ name: String) -> Delivery {
        var futureSpec = spec
        futureSpec.name = HistoryModel.unknownEventType
        return PurchaselyHistoryEvent(spec: futureSpec).delivery(name)
    }

    var unknownFields: [Delivery.Edit] { Delivery.Edit.unknownFields(inside: []) }
}
