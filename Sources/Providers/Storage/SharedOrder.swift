/// A sorted set in blocks whose copies share all blocks but those that were written since.
///
/// The first element, the rank of a page's beginning and every change cost a search among blocks and
/// the move of at most one block: due moments, lists that are shown in pages.
package struct SharedOrder<Element: Comparable & Sendable>: Sendable {
    /// At this size a block is parted.
    static var blockMax: Int { 256 }

    /// None is empty; in order within and between them.
    private var blocks: [[Element]] = []
    package private(set) var count = 0

    package init() {}

    package var first: Element? {
        StoredWork.note()
        return blocks.first?.first
    }

    package mutating func insert(_ element: Element) {
        let (number, place) = position { $0 < element }
        guard number < blocks.count else {
            // Behind all: what comes in order fills whole blocks.
            if let last = blocks.indices.last, blocks[last].count < Self.blockMax {
                blocks[last].append(element)
            } else {
                blocks.append([element])
            }
            count += 1
            return
        }
        if blocks[number][place] == element { return }
        blocks[number].insert(element, at: place)
        count += 1
        guard blocks[number].count > Self.blockMax else { return }
        let half = blocks[number].count / 2
        let rest = Array(blocks[number][half...])
        blocks[number].removeSubrange(half...)
        blocks.insert(rest, at: number + 1)
    }

    package mutating func remove(_ element: Element) {
        let (number, place) = position { $0 < element }
        guard number < blocks.count, blocks[number][place] == element else { return }
        blocks[number].remove(at: place)
        count -= 1
        if blocks[number].isEmpty {
            blocks.remove(at: number)
        } else if number + 1 < blocks.count,
            blocks[number].count + blocks[number + 1].count < Self.blockMax / 2
        {
            // Else many small blocks would be left of what was large once.
            blocks[number] += blocks.remove(at: number + 1)
        }
    }

    /// At most so many elements behind that one, in order.
    package func prefix(_ limit: Int, after element: Element) -> [Element] {
        let (number, place) = position { $0 <= element }
        return number < blocks.count ? page(from: number, place, limit) : []
    }

    /// At most so many elements from that rank on, in order.
    package func prefix(_ limit: Int, from rank: Int) -> [Element] {
        var rest = max(0, rank)
        for number in blocks.indices {
            guard rest >= blocks[number].count else { return page(from: number, rest, limit) }
            rest -= blocks[number].count
        }
        return []
    }

    /// The first behind those that come before it; the order parts the two.
    package func first(skipping isBefore: (Element) -> Bool) -> Element? {
        let (number, place) = position(isBefore)
        return number < blocks.count ? blocks[number][place] : nil
    }

    /// What stands together, in order.
    ///
    /// - Parameters:
    ///   - isBefore: True for what stands before it.
    ///   - isWanted: True for it, and false for the first behind it.
    /// - Returns: All of it.
    package func run(
        skipping isBefore: (Element) -> Bool,
        while isWanted: (Element) -> Bool
    ) -> [Element] {
        var found: [Element] = []
        var (number, place) = position(isBefore)
        while number < blocks.count {
            for element in blocks[number][place...] {
                StoredWork.note()
                guard isWanted(element) else { return found }
                found.append(element)
            }
            (number, place) = (number + 1, 0)
        }
        return found
    }

    private func page(from first: Int, _ place: Int, _ limit: Int) -> [Element] {
        var (found, place): ([Element], Int) = ([], place)
        for block in blocks[first...] {
            guard found.count < limit else { break }
            found += block[place...].prefix(limit - found.count)
            place = 0
        }
        StoredWork.note(found.count)
        return found
    }

    /// In order.
    package var all: [Element] { prefix(count, from: 0) }

    /// Where the first element stands that is not before; one block behind the last when there is none.
    private func position(_ isBefore: (Element) -> Bool) -> (block: Int, place: Int) {
        StoredWork.note()
        let block = Self.partition(blocks.count) { number in
            StoredWork.note()
            return blocks[number].last.map(isBefore) ?? false
        }
        guard block < blocks.count else { return (block, 0) }
        return (block, Self.partition(blocks[block].count) { isBefore(blocks[block][$0]) })
    }

    /// The first of so many numbers for which it does not hold; it holds for none behind that.
    private static func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Two sets are one whatever blocks their elements stand in.
extension SharedOrder: Equatable {
    package static func == (left: SharedOrder, right: SharedOrder) -> Bool {
        left.count == right.count && left.blocks.joined().elementsEqual(right.blocks.joined())
    }
}

extension SharedOrder: Hashable where Element: Hashable {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in blocks.joined() { hasher.combine(element) }
    }
}
