/// A sorted set that is divided into blocks.
///
/// Its copies share all blocks that were not changed since the copy was made.
///
/// A change costs a search among the blocks, and moves the elements of at most one block. A search
/// for the first element or for the start of a page costs only the search among the blocks. The set
/// is used for due times and for lists that are returned in pages.
package struct SharedSortedSet<Element: Comparable & Sendable>: Sendable {
    /// The number of elements above which a block is split into two.
    static var blockMax: Int { 256 }

    /// The blocks of the set, none of them empty.
    ///
    /// The elements are sorted within each block and across the blocks.
    private var blocks: [[Element]] = []
    package private(set) var count = 0

    package init() {}

    package var first: Element? {
        StorageStepCounter.countSteps()
        return blocks.first?.first
    }

    package mutating func insert(_ element: Element) {
        let (blockIndex, offset) = position { $0 < element }
        guard blockIndex < blocks.count else {
            // The new element is the largest one. Elements that are appended in order fill whole
            // blocks.
            if let last = blocks.indices.last, blocks[last].count < Self.blockMax {
                blocks[last].append(element)
            } else {
                blocks.append([element])
            }
            count += 1
            return
        }
        if blocks[blockIndex][offset] == element { return }
        blocks[blockIndex].insert(element, at: offset)
        count += 1
        guard blocks[blockIndex].count > Self.blockMax else { return }
        let halfCount = blocks[blockIndex].count / 2
        let rest = Array(blocks[blockIndex][halfCount...])
        blocks[blockIndex].removeSubrange(halfCount...)
        blocks.insert(rest, at: blockIndex + 1)
    }

    package mutating func remove(_ element: Element) {
        let (blockIndex, offset) = position { $0 < element }
        guard blockIndex < blocks.count, blocks[blockIndex][offset] == element else { return }
        blocks[blockIndex].remove(at: offset)
        count -= 1
        if blocks[blockIndex].isEmpty {
            blocks.remove(at: blockIndex)
        } else if blockIndex + 1 < blocks.count,
            blocks[blockIndex].count + blocks[blockIndex + 1].count < Self.blockMax / 2
        {
            // Merge two small blocks; a set that shrinks would otherwise keep many small blocks.
            blocks[blockIndex] += blocks.remove(at: blockIndex + 1)
        }
    }

    /// Returns at most `limit` elements that follow this element, in order.
    package func prefix(_ limit: Int, after element: Element) -> [Element] {
        let (blockIndex, offset) = position { $0 <= element }
        return blockIndex < blocks.count ? collectElements(from: blockIndex, offset, limit) : []
    }

    /// Returns at most `limit` elements, starting at the element with this rank (0 for the first),
    /// in order.
    package func prefix(_ limit: Int, from rank: Int) -> [Element] {
        var rest = max(0, rank)
        for blockIndex in blocks.indices {
            guard rest >= blocks[blockIndex].count else {
                return collectElements(from: blockIndex, rest, limit)
            }
            rest -= blocks[blockIndex].count
        }
        return []
    }

    /// Returns the first element for which `isBefore` is false.
    ///
    /// The closure must return true for all earlier elements and false for all later ones.
    package func first(skipping isBefore: (Element) -> Bool) -> Element? {
        let (blockIndex, offset) = position(isBefore)
        return blockIndex < blocks.count ? blocks[blockIndex][offset] : nil
    }

    /// Returns a sequence of adjacent elements of the set, in order.
    ///
    /// - Parameters:
    ///   - isBefore: Returns true for all elements before the wanted elements.
    ///   - isWanted: Returns true for the wanted elements, and false for the first element after
    ///     them.
    /// - Returns: All wanted elements.
    package func elements(
        skipping isBefore: (Element) -> Bool,
        while isWanted: (Element) -> Bool
    ) -> [Element] {
        var collectedElements: [Element] = []
        var (blockIndex, offset) = position(isBefore)
        while blockIndex < blocks.count {
            for element in blocks[blockIndex][offset...] {
                StorageStepCounter.countSteps()
                guard isWanted(element) else { return collectedElements }
                collectedElements.append(element)
            }
            (blockIndex, offset) = (blockIndex + 1, 0)
        }
        return collectedElements
    }

    private func collectElements(from first: Int, _ offset: Int, _ limit: Int) -> [Element] {
        var (collectedElements, offset): ([Element], Int) = ([], offset)
        for block in blocks[first...] {
            guard collectedElements.count < limit else { break }
            collectedElements += block[offset...].prefix(limit - collectedElements.count)
            offset = 0
        }
        StorageStepCounter.countSteps(collectedElements.count)
        return collectedElements
    }

    /// All elements of the set in order.
    package var all: [Element] { prefix(count, from: 0) }

    /// Returns the position of the first element for which `isBefore` is false.
    ///
    /// If there is no such element, the position is in the block after the last one.
    private func position(_ isBefore: (Element) -> Bool) -> (block: Int, offset: Int) {
        StorageStepCounter.countSteps()
        let block = Self.partitionPoint(blocks.count) { blockIndex in
            StorageStepCounter.countSteps()
            return blocks[blockIndex].last.map(isBefore) ?? false
        }
        guard block < blocks.count else { return (block, 0) }
        return (block, Self.partitionPoint(blocks[block].count) { isBefore(blocks[block][$0]) })
    }

    /// Returns the first number below `count` for which `isBefore` is false.
    ///
    /// The closure must return true for all smaller numbers and false for all larger ones.
    private static func partitionPoint(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Compares two sets by their elements, regardless of how the elements are divided into blocks.
extension SharedSortedSet: Equatable {
    package static func == (left: SharedSortedSet, right: SharedSortedSet) -> Bool {
        left.count == right.count && left.blocks.joined().elementsEqual(right.blocks.joined())
    }
}

extension SharedSortedSet: Hashable where Element: Hashable {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in blocks.joined() { hasher.combine(element) }
    }
}
