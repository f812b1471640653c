/// An event to deliver, with its faults and the name of its delivery.
struct PlannedDelivery {
    let stepEvent: HistoryModel.StepEvent
    let placedFaults: [HistoryFault]
    let name: String

    var redeliveryName: String { name + "-again" }

    /// Whether this event is delivered at the same time as the next event.
    var overlapsNext: Bool { placedFaults.contains(.overlap) }

    /// Returns whether this event and the next event can be delivered at the same time, which
    /// requires that no other step comes between them.
    func canOverlap(_ next: PlannedDelivery) -> Bool {
        !placedFaults.contains { $0.interruptsDeliveryAttempt || $0 == .registrationOverlap }
            && !next.placedFaults.contains {
                $0.interruptsDeliveryAttempt || $0.insertsPrecedingStep
            }
    }
}

/// One item of a history in the order of delivery.
enum HistoryScriptItem {
    case arrival(PlannedDelivery)
    case signUp(HistoryOperation)
    case logIn(HistoryOperation)
    /// A second delivery of an earlier event.
    case copy(of: PlannedDelivery)
    case register(String)
    case stateReadPoint(CustomerHistory.Step)

    var arrival: PlannedDelivery? {
        if case .arrival(let arrival) = self { arrival } else { nil }
    }
}
