import Testing
@testable import Contracts
@testable import Values

/// The journal's storage does what an array does, across the bounds of its blocks.
struct EntryBlocksTests {
    private static func entry(_ number: Int) -> PackedExchange {
        var entry = PackedExchange.empty
        entry.sequence = Int32(number)
        return entry
    }

    @Test("entries are added and dropped in any order", arguments: 0..<12)
    func rhythm(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var blocks = EntryBlocks()
        var model: [Int] = []
        var next = 0
        for _ in 0..<60 {
            for _ in 0..<Int.random(in: 0...900, using: &generator) {
                blocks.append(Self.entry(next))
                model.append(next)
                next += 1
            }
            let goes = Int.random(in: 0...1100, using: &generator)
            for _ in 0..<min(goes, model.count) { blocks.dropOldest() }
            model.removeFirst(min(goes, model.count))
            if let index = model.indices.randomElement(using: &generator) {
                blocks[index] = Self.entry(-model[index])
                model[index] = -model[index]
            }
            #expect(blocks.count == model.count)
            #expect(blocks.map { Int($0.sequence) } == model)
        }
        #expect(next > EntryBlocks.blockSize * 4, "several blocks were filled")
    }

    @Test(
        "a block that is exactly full and a block that is entirely dropped",
        arguments: [1, 2, 3]
    )
    func bounds(blockCount: Int) {
        var blocks = EntryBlocks()
        let blockSize = EntryBlocks.blockSize * blockCount
        for number in 0..<blockSize { blocks.append(Self.entry(number)) }
        #expect(blocks.last?.sequence == Int32(blockSize - 1))
        for _ in 0..<blockSize { blocks.dropOldest() }
        #expect(blocks.isEmpty)
        blocks.append(Self.entry(7))
        #expect(blocks.map(\.sequence) == [7])
    }
}
