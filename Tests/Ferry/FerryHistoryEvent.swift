internal import Contracts
internal import Exploration
internal import Providers
internal import Values

/// An event of the ferry company in a generated history.
struct FerryHistoryEvent: HistoryEvent {
    var event: FerryEvent

    var time: Duration { event.time }
    var users: [String] { event.users }
    var user: String? { event.user }
    var type: String { event.type }
    var detailedType: String { event.type }
    var product: String { event.pass }
    var store: String { FerrySeller.store }
    var isSandbox: Bool { event.environment == "SANDBOX" }
    var isIrrelevant: Bool { FerrySeller.irrelevantEventTypes.contains(type) }
    var isTest: Bool { false }
    var usuallyCausesPush: Bool { type == FerryEvent.Kind.sold.rawValue }
    var userIDLocation: String? { nil }
    var reportedEnd: ReportedEnd? { nil }
    var needs: Set<Feature> { [] }
    var deliveryName: String { nameFromType }

    func delivery(_ name: String) -> Delivery {
        Delivery(name: name, subject: .event(event), provider: FerryState.party)
    }

    func deliveryOfUnknownType(_ name: String) -> Delivery {
        var copy = self
        copy.event.type = HistoryModel.unknownEventType
        return copy.delivery(name)
    }

    var unknownFields: [Delivery.Edit] { Delivery.Edit.unknownFields(inside: []) }
}
