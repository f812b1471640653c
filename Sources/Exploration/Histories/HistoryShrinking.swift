internal import Contracts
internal import Providers

extension CustomerHistory {
    /// Smaller variants of a failed history, the smallest first: without the last steps, without
    /// one user or product, or without single faults and operations.
    ///
    /// A variant may be impossible in real stores; the caller must check this.
    package var shorterVariants: [CustomerHistory] {
        var variants: [CustomerHistory] = []
        // Tries beginnings of the history to find the shortest part that still fails: a quarter,
        // half and three quarters of the steps, and all steps except the last.
        var endIndexes = Set<Int>()
        for stepFraction in [0.25, 0.5, 0.75] {
            endIndexes.insert(Int(Double(steps.count) * stepFraction))
        }
        endIndexes.insert(steps.count - 2)
        for end in endIndexes.sorted() where end >= 0 && end < steps.count - 1 {
            var history = prefix(through: steps[end].id)
            history.hasBaseline = hasBaseline
            variants.append(history)
        }
        if placedFaults.count > 1 {
            var history = self
            history.placedFaults = []
            variants.append(history)
        }
        for person in users where users.count > 1 {
            let stepsOfUser = steps.filter { $0.operation.users.contains(person.name) }
            for var history in historiesWithout(Set(stepsOfUser.map(\.id))) {
                history.users.removeAll { $0.name == person.name }
                variants.append(history)
            }
        }
        // The operations on one product are removed together, because a refund makes no sense
        // without its purchase.
        let products = Set(steps.compactMap(\.operation.product)).sorted()
        for product in products where products.count > 1 {
            let operations = steps.filter { $0.operation.product == product }
            if operations.count > 1 {
                variants += historiesWithout(Set(operations.map(\.id))).map(\.withoutInactiveUsers)
            }
        }
        for index in placedFaults.indices {
            var history = self
            history.placedFaults.remove(at: index)
            variants.append(history)
        }
        for index in steps.indices where steps.count > 1 {
            variants += historiesWithout([steps[index].id]).map(\.withoutInactiveUsers)
        }
        return variants + withoutOperationPairs
    }

    /// The maximum number of operations for which pairs are also removed together.
    ///
    /// A grant and its end, for example, cannot be removed one by one.
    private static let stepCountMaxForPairs = 8

    private var withoutOperationPairs: [CustomerHistory] {
        guard (3...Self.stepCountMaxForPairs).contains(steps.count) else { return [] }
        return steps.indices.flatMap { first in
            steps.indices.dropFirst(first + 1).flatMap { second in
                historiesWithout([steps[first].id, steps[second].id]).map(\.withoutInactiveUsers)
            }
        }
    }

    /// Variants of the history with the same size that are easier to read, such as with the default
    /// store and product and with round times.
    package var simplerVariants: [CustomerHistory] {
        var variants: [CustomerHistory] = []
        func addVariant(_ change: (inout CustomerHistory) -> Void) {
            var history = self
            change(&history)
            if history != self { variants.append(history) }
        }
        if withoutStateReadPoints != self { variants.append(withoutStateReadPoints) }
        addVariant { $0.hasBaseline = false }
        for index in users.indices { addVariant { $0.users[index].arrival = .registered } }
        for index in placedFaults.indices {
            for simplerVariants in placedFaults[index].fault.simplerVariants {
                addVariant { $0.placedFaults[index].fault = simplerVariants }
            }
        }
        for index in steps.indices {
            addVariant { $0.steps[index].operation.userIDLocation = nil }
            addVariant { $0.steps[index].operation.additionalID = nil }
            addVariant { $0.steps[index].operation.period = nil }
            addVariant { $0.steps[index].operation.environment = nil }
            addVariant { $0.steps[index].operation.isDeferred = false }
            addVariant { history in
                if let store = history.steps[index].operation.store {
                    history.steps[index].operation.store = sellers[store].defaultStore
                }
            }
            addVariant { history in
                if history.steps[index].operation.kind != .grant {
                    history.steps[index].operation.reason = nil
                }
            }
        }
        variants += variantsWithSimplestProducts
        for index in steps.indices { addVariant { $0.roundGapAfterStep(index) } }
        for index in steps.indices.dropLast() {
            for days in Self.periods {
                let periods = (steps[index + 1].operation.time - steps[index].operation.time) / days
                // Two operations cannot happen at the same time, so some time must remain between
                // them.
                for count in Set([Int(periods.rounded(.up)) - 1, 1]).sorted(by: >)
                where count > 0 && Double(count) < periods {
                    addVariant { $0.moveStepsLater(index, by: days * count) }
                }
            }
        }
        return variants
    }

    // MARK: Parts

    /// Variants with the simplest product of a seller instead of one of the seller's other products.
    private var variantsWithSimplestProducts: [CustomerHistory] {
        sellers.entries.indices.flatMap { seller -> [CustomerHistory] in
            let products = Set(
                steps.filter { sellers.index(of: $0.operation.store) == seller }
                    .compactMap(\.operation.product)
            )
            guard let simplestProduct = sellers.entries[seller].simplestProduct,
                !products.contains(simplestProduct)
            else { return [] }
            return products.sorted().map { product in
                var history = self
                history.renameProduct(product, of: seller, to: simplestProduct)
                return history
            }
        }
    }

    /// The history without state reads after single steps (`quiet` in `.history` files), so that
    /// the backend's state is read only at the end.
    package var withoutStateReadPoints: CustomerHistory {
        var history = self
        for index in history.steps.indices { history.steps[index].readsStateAfterStep = false }
        return history
    }

    /// Returns variants of the history without the steps with these IDs and without their faults.
    ///
    /// An event that became due before a removed step now becomes due before the next step. The
    /// first variant moves the faults of the removed step to that next step.
    private func historiesWithout(_ removedIDs: Set<Int>) -> [CustomerHistory] {
        var history = self
        history.steps.removeAll { removedIDs.contains($0.id) }
        var historyWithMovedFaults = history
        history.placedFaults.removeAll { removedIDs.contains($0.operation) }
        guard history.placedFaults.count < placedFaults.count else { return [history] }
        for index in historyWithMovedFaults.placedFaults.indices
        where removedIDs.contains(historyWithMovedFaults.placedFaults[index].operation) {
            let position =
                steps.firstIndex { $0.id == historyWithMovedFaults.placedFaults[index].operation }
                ?? steps.endIndex
            let next = steps[position...].first { !removedIDs.contains($0.id) }
            historyWithMovedFaults.placedFaults[index].operation = next?.id ?? -1
        }
        historyWithMovedFaults.placedFaults.removeAll { $0.operation < 0 }
        return historyWithMovedFaults.placedFaults == history.placedFaults
            ? [history] : [historyWithMovedFaults, history]
    }

    /// The history without users who take part in no operation.
    private var withoutInactiveUsers: CustomerHistory {
        let activeUsers = Set(steps.flatMap(\.operation.users))
        var history = self
        history.users.removeAll { !activeUsers.contains($0.name) }
        return history
    }

    /// Gives a product of a seller another product ID.
    private mutating func renameProduct(
        _ product: String,
        of seller: Int,
        to newProduct: String
    ) {
        for index in steps.indices where steps[index].operation.product == product {
            guard sellers.index(of: steps[index].operation.store) == seller else { continue }
            steps[index].operation.product = newProduct
        }
    }

    /// Common lengths of subscription periods, each of which ends with a renewal event.
    private static let periods: [Duration] = [
        .seconds(365 * 86_400), .seconds(30 * 86_400), .seconds(7 * 86_400),
    ]

    /// Moves the operation at an index, and all operations before it, later by a duration.
    private mutating func moveStepsLater(_ index: Int, by time: Duration) {
        for earlier in 0...index { steps[earlier].operation.time += time }
    }

    /// Round time gaps to use between two operations when the length of the gap does not matter.
    private static let roundGaps: [Duration] = [.seconds(60), .seconds(3600), .seconds(86_400)]

    /// Moves the operation at an index, and all operations before it, so that the gap to the next
    /// operation is a round time.
    private mutating func roundGapAfterStep(_ index: Int) {
        let next = index + 1 < steps.count ? steps[index + 1].operation.time : .zero
        let gap = next - steps[index].operation.time
        guard !Self.roundGaps.contains(gap) else { return }
        let roundedGap = Self.roundGaps.last { $0 < gap } ?? Self.roundGaps[0]
        moveStepsLater(index, by: gap - roundedGap)
    }
}

extension HistoryFault {
    /// Weaker variants of this fault, the weakest first.
    fileprivate var simplerVariants: [HistoryFault] {
        func variantsWithSmallerCount(_ count: Int, _ makeFault: (Int) -> HistoryFault)
            -> [HistoryFault]
        {
            count > 1 ? [makeFault(1), makeFault(count - 1)] : []
        }
        return switch self {
        case .duplicate(let count): variantsWithSmallerCount(count) { .duplicate($0) }
        case .concurrentDuplicate(let count):
            [.duplicate(1)] + variantsWithSmallerCount(count) { .concurrentDuplicate($0) }
        case .redelivery(let after): variantsWithSmallerCount(after) { .redelivery(after: $0) }
        case .delayed(let by): variantsWithSmallerCount(by) { .delayed(by: $0) }
        case .lostResponses(let count): variantsWithSmallerCount(count) { .lostResponses($0) }
        case .truncatedRequests(let count):
            variantsWithSmallerCount(count) { .truncatedRequests($0) }
        case .disconnects(let count): variantsWithSmallerCount(count) { .disconnects($0) }
        case .serviceError(let error, _): [.serviceError(error, .status(500))]
        case .crash(let crash): [.crash(Crash(signal: crash.signal, phase: .sent))]
        case .overlap: [.delayed(by: 1)]
        case .registrationOverlap: [.register]
        case .unknownType, .unknownFields, .reorderedKeys, .restart, .register: []
        }
    }
}
