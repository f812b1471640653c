internal import Contracts
internal import Providers
internal import Values

/// The operations of a case, independent of the names that it gives to users and deliveries.
///
/// A case contains a shorter case when it has all operations of the shorter case in the same order.
/// If both fail in the same way, the shorter case probably shows the cause. For example, a backend
/// that mishandles renewals fails every case with a renewal, and the shortest of them leads.
struct CaseOperations: Hashable {
    /// All operations, with the calls of the app, the probes and the users that they need.
    private var operations: [String] = []
    /// The operations that can decide a value: the deliveries with their faults, the ends of
    /// periods, the planned responses of fakes and the restarts.
    private var decisiveOperations: [String] = []
    /// The label of the last event that the case delivers, or `EventLabels.endOfPeriod` if the case
    /// waits for an end afterwards; nil for a case without a delivery.
    private(set) var lastEvent: String?
    /// The number of events that the case delivers, without redeliveries.
    private(set) var eventCount = 0

    var count: Int { operations.count }

    /// Lists the operations of a contract.
    ///
    /// A delivery with faults counts as two operations: the plain delivery, and its faults. An
    /// event about a user that no earlier step created is another operation than an event about a
    /// known user.
    init(_ contract: Contract) {
        var knownUsers: Set<String> = []
        let events = EventLabels(contract)
        for step in contract.given + contract.steps {
            switch step {
            case .deliver(let delivery):
                append(
                    delivery,
                    events[delivery],
                    isUserKnown: knownUsers.isSuperset(of: delivery.users)
                )
            case .register(let user):
                knownUsers.insert(user)
                operations.append("register")
            case .waitForEnd:
                lastEvent = EventLabels.endOfPeriod
                append(EventLabels.endOfPeriod)
            case .provider, .restart, .killAtCall: append("\(step)")
            case .name, .createAccount, .probe, .call, .request, .rotateKeys, .account, .phone:
                operations.append("\(step)")
            }
        }
    }

    private mutating func append(_ decisiveOperation: String) {
        operations.append(decisiveOperation)
        decisiveOperations.append(decisiveOperation)
    }

    private mutating func append(_ delivery: Delivery, _ event: String, isUserKnown: Bool) {
        lastEvent = event
        let isRepeated = if case .repeats = delivery.subject { true } else { false }
        eventCount += isRepeated ? 0 : 1
        let operation = "\(delivery.provider) \(isRepeated ? "redelivery of " : "")\(event)"
        operations.append(operation + (isUserKnown ? "" : " of unknown user"))
        decisiveOperations.append(operation)
        var faults = delivery
        (faults.name, faults.subject) = ("", .body(.null))
        var delayOnly = Delivery(name: "", subject: .body(.null))
        (delayOnly.provider, delayOnly.delay) = (delivery.provider, delivery.delay)
        if faults != delayOnly { append("\(faults)") }
    }

    /// Whether the case probably fails for the same reason as another case that fails in the same
    /// way.
    ///
    /// The case has all operations of the other one. If both end with the same type of event, the
    /// operations that can decide a value are enough.
    func probablyFails(like other: CaseOperations) -> Bool {
        Self.contains(operations, other.operations)
            || (lastEvent == other.lastEvent
                && Self.contains(decisiveOperations, other.decisiveOperations))
    }

    /// Whether a case has all operations of another case, in the same order.
    private static func contains(_ operations: [String], _ others: [String]) -> Bool {
        var rest = others[...]
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
    static let endOfPeriod = "the end of a period"

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
