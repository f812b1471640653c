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

    package var isEmpty: Bool { count == 0 }

    package var first: Element? {
        StoredWork.note()
        return blocks.first?.first
    }

    package mutating func insert(_ element: Element) {
        let number = blockNumber(of: element)
        guard number < blocks.count else {
            StoredWork.note()
            // Behind all: what comes in order fills whole blocks.
            if let last = blocks.indices.last, blocks[last].count < Self.blockMax {
                blocks[last].append(element)
            } else {
                blocks.append([element])
            }
            count += 1
            return
        }
        let place = Self.place(of: element, in: blocks[number])
        if place < blocks[number].count, blocks[number][place] == element { return }
        blocks[number].insert(element, at: place)
        count += 1
        guard blocks[number].count > Self.blockMax else { return }
        let half = blocks[number].count / 2
        let rest = Array(blocks[number][half...])
        blocks[number].removeSubrange(half...)
        blocks.insert(rest, at: number + 1)
    }

    package mutating func remove(_ element: Element) {
        let number = blockNumber(of: element)
        guard number < blocks.count else { return }
        let place = Self.place(of: element, in: blocks[number])
        guard place < blocks[number].count, blocks[number][place] == element else { return }
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
        let number = blockNumber(of: element)
        guard number < blocks.count else { return [] }
        var place = Self.place(of: element, in: blocks[number])
        if place < blocks[number].count, blocks[number][place] == element { place += 1 }
        return page(from: number, place, limit)
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

    /// The first that is not smaller than that one.
    package func first(from element: Element) -> Element? {
        let number = blockNumber(of: element)
        guard number < blocks.count else { return nil }
        StoredWork.note()
        return blocks[number][Self.place(of: element, in: blocks[number])]
    }

    /// What stands at the beginning for as long as it is wanted, in order.
    package func prefixWhile(_ isWanted: (Element) -> Bool) -> [Element] {
        first.map { run(from: $0, while: isWanted) } ?? []
    }

    /// What stands from there on for as long as it is wanted, in order.
    ///
    /// - Parameters:
    ///   - element: Where it begins; it need not be there itself.
    ///   - isWanted: False for the first that is not, which ends it.
    /// - Returns: Those before that one.
    package func run(from element: Element, while isWanted: (Element) -> Bool) -> [Element] {
        var found: [Element] = []
        var number = blockNumber(of: element)
        guard number < blocks.count else { return found }
        var place = Self.place(of: element, in: blocks[number])
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

    /// The first block whose last element is not smaller; one behind the last when there is none.
    private func blockNumber(of element: Element) -> Int {
        var (low, high) = (0, blocks.count)
        while low < high {
            StoredWork.note()
            let middle = (low + high) / 2
            if let last = blocks[middle].last, last < element {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Where it stands, or would.
    private static func place(of element: Element, in block: [Element]) -> Int {
        var (low, high) = (0, block.count)
        while low < high {
            let middle = (low + high) / 2
            if block[middle] < element { low = middle + 1 } else { high = middle }
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
