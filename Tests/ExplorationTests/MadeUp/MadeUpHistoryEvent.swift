import Contracts
import Exploration
import Values

/// An event of the invented ferry company, which sells passes.
struct MadeUpHistoryEvent: HistoryEvent {
    enum Kind: String {
        case sold = "PASS_SOLD"
        case returned = "PASS_RETURNED"
        /// The pass was used, which changes nothing.
        case scanned = "PASS_SCANNED"
    }

    /// A `Kind`, or a type that the company does not have.
    var type: String
    let time: Duration
    let buyer: String
    let product: String
    let environment: String
    let end: Duration

    var users: [String] { [buyer] }
    var user: String? { buyer }
    var detailedType: String { type }
    var store: String { MadeUpSeller.store }
    var isSandbox: Bool { environment == "SANDBOX" }
    var isIrrelevant: Bool { MadeUpSeller.irrelevantEventTypes.contains(type) }
    var isTest: Bool { false }
    var usuallyCausesPush: Bool { type == Kind.sold.rawValue }
    var userIDLocation: String? { nil }
    var reportedEnd: ReportedEnd? { nil }
    var needs: Set<Feature> { [] }
    var deliveryName: String { nameFromType }

    func delivery(_ name: String) -> Delivery {
        Delivery(
            name: name,
            subject: .body([
                "type": .string(type), "pass": .string(product),
                "user": .string("{{user.\(buyer)}}"), "environment": .string(environment),
                "end": .integer(end.components.seconds), "time": .integer(time.components.seconds),
            ])
        )
    }

    func deliveryOfUnknownType(_ name: String) -> Delivery {
        var event = self
        event.type = HistoryModel.unknownEventType
        return event.delivery(name)
    }

    var unknownFields: [Delivery.Edit] { Delivery.Edit.unknownFields(inside: []) }
}
