/// The orders in which the events of a case may arrive.
package enum EventOrder {
    /// Returns the number of pairs of events that are in reverse order; 0 for the original order.
    package static func inversions(_ order: [Int]) -> Int {
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
        let first = Array(0..<count)
        var found: [[Int]]
        if count <= Search.exhaustivelyOrderedEventCountMax {
            found = permutations(first)
        } else {
            found = first.indices.dropLast().map { index in
                var order = first
                order.swapAt(index, index + 1)
                return order
            }
            found.append(first.reversed())
            var known = Set(found)
            while found.count < sampleSize {
                let order = first.shuffled(using: &generator)
                if known.insert(order).inserted { found.append(order) }
            }
        }
        return found.filter { $0 != first }
            .sorted { (inversions($0), $0.description) < (inversions($1), $1.description) }
    }

    private static func permutations(_ items: [Int]) -> [[Int]] {
        guard items.count > 1 else { return [items] }
        return items.indices.flatMap { index -> [[Int]] in
            var rest = items
            let item = rest.remove(at: index)
            return permutations(rest).map { [item] + $0 }
        }
    }

    /// Returns the name of an order in reports, such as `2-1-3`.
    package static func name(_ order: [Int]) -> String {
        order.map { String($0 + 1) }.joined(separator: "-")
    }
}
