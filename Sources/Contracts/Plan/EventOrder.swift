package import Values

/// The orders in which the events of a case may arrive.
package enum EventOrder {
    /// Returns the number of pairs of events that are in reverse order; 0 for the original order.
    package static func inversionCount(_ order: [Int]) -> Int {
        order.indices.reduce(0) { sum, left in
            sum + order[(left + 1)...].count { order[left] > $0 }
        }
    }

    /// Returns every order of that many events except the original one, sorted by the number of
    /// inversions.
    ///
    /// When there are too many orders, the result is a random sample that includes every swap of
    /// two neighbors.
    package static func orders(
        of count: Int,
        sampleSize: Int,
        generator: inout SeededGenerator
    ) -> [[Int]] {
        let originalOrder = Array(0..<count)
        var eventOrders: [[Int]]
        if count <= Search.exhaustivelyOrderedEventCountMax {
            eventOrders = permutations(originalOrder)
        } else {
            eventOrders = originalOrder.indices.dropLast().map { index in
                var order = originalOrder
                order.swapAt(index, index + 1)
                return order
            }
            eventOrders.append(originalOrder.reversed())
            var knownOrders = Set(eventOrders)
            while eventOrders.count < sampleSize {
                let order = originalOrder.shuffled(using: &generator)
                if knownOrders.insert(order).inserted { eventOrders.append(order) }
            }
        }
        return eventOrders.filter { $0 != originalOrder }
            .sorted { (inversionCount($0), $0.description) < (inversionCount($1), $1.description) }
    }

    private static func permutations(_ items: [Int]) -> [[Int]] {
        guard items.count > 1 else { return [items] }
        return items.indices.flatMap { index -> [[Int]] in
            var remainingItems = items
            let item = remainingItems.remove(at: index)
            return permutations(remainingItems).map { [item] + $0 }
        }
    }

    /// Returns the name of an order in reports, such as `2-1-3`.
    package static func name(_ order: [Int]) -> String {
        order.map { String($0 + 1) }.joined(separator: "-")
    }
}
