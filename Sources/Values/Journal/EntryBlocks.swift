/// The journal's entries, stored in blocks of equal size.
///
/// Appending never moves existing entries, and the memory of a dropped block is reused.
struct EntryBlocks: RandomAccessCollection, MutableCollection, Sendable {
    static let blockSize = 1024

    /// The blocks of entries; every block except the last is full.
    private var blocks: [[PackedExchange]] = []
    /// The number of entries at the beginning of the first block that have been dropped.
    private var droppedCount = 0
    /// An empty block whose memory can be reused for the next block; nil when there is none.
    private var spareBlock: [PackedExchange]?
    private(set) var count = 0

    var startIndex: Int { 0 }
    var endIndex: Int { count }

    subscript(index: Int) -> PackedExchange {
        get {
            let position = droppedCount + index
            return blocks[position / Self.blockSize][position % Self.blockSize]
        }
        set {
            let position = droppedCount + index
            blocks[position / Self.blockSize][position % Self.blockSize] = newValue
        }
    }

    mutating func append(_ entry: PackedExchange) {
        if (droppedCount + count) % Self.blockSize == 0 {
            var block = spareBlock ?? []
            spareBlock = nil
            block.reserveCapacity(Self.blockSize)
            blocks.append(block)
        }
        blocks[blocks.count - 1].append(entry)
        count += 1
    }

    /// Drops the oldest entry of the journal.
    mutating func dropOldest() {
        blocks[0][droppedCount] = PackedExchange.empty
        droppedCount += 1
        count -= 1
        guard droppedCount == Self.blockSize else { return }
        droppedCount = 0
        var block = blocks.removeFirst()
        block.removeAll(keepingCapacity: true)
        spareBlock = block
    }
}
