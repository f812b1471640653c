/// The items of a history in the order of delivery: with delayed events at the positions of their
/// delivery, and with repeated deliveries.
struct HistoryDeliveryOrder {
    /// The items in the order in which they happened.
    private let originalItems: [HistoryScriptItem]
    private(set) var items: [HistoryScriptItem] = []
    /// The items that are delivered later, each with the number of other deliveries to wait for.
    private var delayedItems: [(count: Int, item: HistoryScriptItem)] = []

    init(_ originalItems: [HistoryScriptItem]) {
        self.originalItems = originalItems
        for item in originalItems {
            if let arrival = item.arrival {
                add(arrival, item)
            } else {
                addWithoutEvent(item)
            }
        }
        items += delayedItems.map(\.item)
    }

    private mutating func addWithoutEvent(_ item: HistoryScriptItem) {
        // The state is not predictable while an event that happened has not been delivered yet.
        let isOverlapOpen = items.last?.arrival?.overlapsNext ?? false
        if case .stateReadPoint = item, !delayedItems.isEmpty || isOverlapOpen { return }
        // Clause S-28 leaves open who owns purchases after a login. Therefore earlier events of the
        // user are delivered before the login.
        if case .logIn(let operation) = item {
            let joinedUsers = Set([operation.user, operation.from].compactMap(\.self))
            let concernsJoinedUser = { (delayedItem: (count: Int, item: HistoryScriptItem)) in
                !joinedUsers.isDisjoint(
                    with: delayedItem.item.arrival?.stepEvent.message.users ?? []
                )
            }
            items += delayedItems.filter(concernsJoinedUser).map(\.item)
            delayedItems.removeAll(where: concernsJoinedUser)
        }
        items.append(item)
    }

    private mutating func add(_ arrival: PlannedDelivery, _ item: HistoryScriptItem) {
        var delay: Int?
        var redeliveryDelay: Int?
        for placedFault in arrival.placedFaults {
            switch placedFault {
            case .delayed(let by): delay = by
            case .redelivery(let after): redeliveryDelay = after
            case .duplicate, .concurrentDuplicate, .lostResponses, .truncatedRequests, .disconnects,
                .serviceError, .unknownType, .unknownFields,
                .reorderedKeys, .restart, .crash, .register, .overlap, .registrationOverlap:
                break
            }
        }
        if let delay {
            delayedItems.append((delay + 1, item))
        } else {
            items.append(item)
        }
        releaseDueItems()
        if let redeliveryDelay {
            delayedItems.append((redeliveryDelay + (delay ?? 0) + 1, .copy(of: arrival)))
        }
    }

    /// Counts one delivery, and adds the items that no longer wait for other deliveries.
    private mutating func releaseDueItems() {
        for index in delayedItems.indices { delayedItems[index].count -= 1 }
        items += delayedItems.filter { $0.count <= 0 }.map(\.item)
        delayedItems.removeAll { $0.count <= 0 }
    }

    /// Returns the faults that have no effect: faults of events that do not occur, delays that
    /// no other event overtakes, and overlaps without a second request.
    func ineffectiveFaults(of history: CustomerHistory) -> [CustomerHistory.PlacedFault] {
        let before = originalItems.compactMap(\.arrival)
        let after = items.compactMap(\.arrival)
        var overtakenDeliveries: Set<String> = []
        for (index, arrival) in before.enumerated() {
            let laterDeliveryNames = Set(before[(index + 1)...].map(\.name))
            let position = after.firstIndex { $0.name == arrival.name } ?? after.endIndex
            if after[..<position].contains(where: { laterDeliveryNames.contains($0.name) }) {
                overtakenDeliveries.insert(arrival.name)
            }
        }
        return history.placedFaults.filter { placedFault in
            let arrival = before.first {
                $0.stepEvent.step == placedFault.operation
                    && $0.stepEvent.index == placedFault.event
            }
            guard let arrival else { return true }
            return switch placedFault.fault {
            case .delayed: !overtakenDeliveries.contains(arrival.name)
            case .overlap: !overlappingDeliveries.contains(arrival.name)
            case .registrationOverlap:
                arrival.stepEvent.message.user == nil
                    || arrival.placedFaults.contains(where: \.interruptsDeliveryAttempt)
            case .concurrentDuplicate:
                arrival.placedFaults.contains(where: \.interruptsDeliveryAttempt)
            case .duplicate, .redelivery, .lostResponses, .truncatedRequests, .disconnects,
                .serviceError, .unknownType, .unknownFields, .reorderedKeys, .restart,
                .crash,
                .register:
                false
            }
        }
    }

    /// The names of the deliveries that are sent at the same time as the next delivery.
    private var overlappingDeliveries: Set<String> {
        var names: Set<String> = []
        for (item, next) in zip(items, items.dropFirst()) {
            guard let arrival = item.arrival, arrival.overlapsNext, let next = next.arrival,
                arrival.canOverlap(next)
            else { continue }
            names.insert(arrival.name)
        }
        return names
    }
}
