/// The journal's entries in blocks of one size: none is moved when there are more, and the room of a
/// block that was forgotten is used again.
struct EntryBlocks: RandomAccessCollection, MutableCollection, Sendable {
    static let size = 1024

    /// Every one but the last is full.
    private var blocks: [[PackedExchange]] = []
    /// So many places at the beginning of the first block are forgotten.
    private var goneCount = 0
    /// An empty block with room.
    private var spare: [PackedExchange]?
    private(set) var count = 0

    var startIndex: Int { 0 }
    var endIndex: Int { count }

    subscript(index: Int) -> PackedExchange {
        get {
            let place = goneCount + index
            return blocks[place / Self.size][place % Self.size]
        }
        set {
            let place = goneCount + index
            blocks[place / Self.size][place % Self.size] = newValue
        }
    }

    mutating func append(_ entry: PackedExchange) {
        if (goneCount + count) % Self.size == 0 {
            var block = spare ?? []
            spare = nil
            block.reserveCapacity(Self.size)
            blocks.append(block)
        }
        blocks[blocks.count - 1].append(entry)
        count += 1
    }

    /// Forgets the first entry.
    mutating func forgetFirst() {
        blocks[0][goneCount] = PackedExchange.empty
        goneCount += 1
        count -= 1
        guard goneCount == Self.size else { return }
        goneCount = 0
        var block = blocks.removeFirst()
        block.removeAll(keepingCapacity: true)
        spare = block
    }
}
