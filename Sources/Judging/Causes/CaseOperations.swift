internal import Contracts
internal import Providers
internal import Values

/// The operations of a case, independent of the names that it gives to users and deliveries.
///
/// A case contains a shorter case when it has all operations of the shorter case in the same order.
/// If both fail in the same way, the shorter case probably shows the cause. For example, a backend
/// that mishandles renewals fails every case with a renewal, and the shortest of them leads.
struct CaseOperations: Hashable {
    private let operations: [String]
    /// The label of the last event that the case delivers; nil for a case without a delivery.
    let lastEvent: String?

    var count: Int { operations.count }

    /// Lists the operations of a contract.
    ///
    /// A delivery with faults counts as two operations: the plain delivery, and its faults. An
    /// event about a user that no earlier step created is another operation than an event about a
    /// known user.
    init(_ contract: Contract) {
        var knownUsers: Set<String> = []
        var operations: [String] = []
        var lastEvent: String?
        let events = EventLabels(contract)
        for step in contract.given + contract.steps {
            guard case .deliver(let delivery) = step else {
                if case .register(let user) = step {
                    knownUsers.insert(user)
                    operations.append("register")
                } else {
                    operations.append("\(step)")
                }
                continue
            }
            let event = events[delivery]
            lastEvent = event
            let prefix = if case .repeats = delivery.subject { "redelivery of " } else { "" }
            let isKnown = knownUsers.isSuperset(of: delivery.users)
            operations.append(
                "\(delivery.provider) \(prefix)\(event)\(isKnown ? "" : " of unknown user")"
            )
            var faults = delivery
            (faults.name, faults.subject) = ("", .body(.null))
            var delayOnly = Delivery(name: "", subject: .body(.null))
            (delayOnly.provider, delayOnly.delay) = (delivery.provider, delivery.delay)
            if faults != delayOnly { operations.append("\(faults)") }
        }
        self.operations = operations
        self.lastEvent = lastEvent
    }

    /// Whether the case has all operations of another case, in the same order.
    func contains(_ other: CaseOperations) -> Bool {
        var rest = other.operations[...]
        for operation in operations where operation == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }
}

/// The labels of the events that a contract delivers: the type as the provider names it, or a
/// description of an event without a documented type.
struct EventLabels {
    private let deliveriesByName: [String: Delivery]

    init(_ contract: Contract) {
        deliveriesByName = Dictionary(
            (contract.given + contract.steps).compactMap { step in
                if case .deliver(let delivery) = step { (delivery.name, delivery) } else { nil }
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    static let unknownType = "an unknown type"
    static let malformedBody = "a malformed body"

    /// Returns the delivery of that name; nil when the contract has none.
    func delivery(_ name: String) -> Delivery? { deliveriesByName[name] }

    /// Returns the delivery that contains the event: the delivery itself, or the earlier delivery
    /// that it repeats.
    func original(of delivery: Delivery) -> Delivery {
        var original = delivery
        // A contract may only repeat earlier deliveries, so the loop ends.
        var remaining = deliveriesByName.count
        while case .repeats(let name) = original.subject, let earlier = deliveriesByName[name],
            remaining > 0
        {
            original = earlier
            remaining -= 1
        }
        return original
    }

    subscript(_ delivery: Delivery) -> String {
        let original = original(of: delivery)
        let type: String?
        switch original.subject {
        case .event(let event): type = event.typeName
        case .storeEvent(let name): type = name
        case .body(let body): type = original.eventType(of: body)
        case .raw, .repeats: type = nil
        }
        guard let type else { return Self.malformedBody }
        guard let knownTypes = original.sender?.format.eventTypes else { return type }
        return knownTypes.contains(type) ? type : Self.unknownType
    }
}
