import Contracts
import Testing
import TestSupport
import Values

/// The search that all shrinking uses, with sets of numbers as inputs.
@Suite("Shrinker")
struct ShrinkerTests {
    private static func withoutOne(_ set: Set<Int>) -> [Set<Int>] {
        set.sorted().map { set.subtracting([$0]) }
    }

    private static func halves(_ set: Set<Int>) -> [Set<Int>] {
        let sorted = set.sorted()
        return [Set(sorted.prefix(sorted.count / 2)), Set(sorted.suffix(sorted.count / 2))]
    }

    @Test("the result is exactly what the property needs", arguments: [1, 2, 5, 64])
    func findsNeededPart(batchSize: Int) async {
        var random = SeededGenerator(seed: 7, text: "shrinker")
        for _ in 0..<40 {
            let needed = Set(
                (0..<Int.random(in: 1...5, using: &random)).map { _ in
                    Int.random(in: 0..<60, using: &random)
                }
            )
            var shrinker = Shrinker(batchSize: batchSize)
            let (smallest, isMinimal) = await shrinker.shrunk(Set(0..<60)) { input in
                [Self.halves(input), Self.withoutOne(input)]
            } test: { inputs in
                #expect(inputs.count <= batchSize)
                return inputs.filter { $0.isSuperset(of: needed) }
            }
            #expect(smallest == needed)
            #expect(isMinimal)
        }
    }

    @Test func `the first candidate with the property wins, in every batch size`() async {
        for batchSize in 1...7 {
            var shrinker = Shrinker(batchSize: batchSize)
            let first = await shrinker.first(of: 1...20) { $0.filter { $0.isMultiple(of: 5) } }
            #expect(first == 5)
            #expect(shrinker.testCount >= 5 && shrinker.testCount < 5 + batchSize)
        }
    }

    @Test("a limit of tries is kept, and the result is not called minimal", arguments: 0...12)
    func keepsLimit(testCountMax: Int) async {
        var shrinker = Shrinker(batchSize: 5, testCountMax: testCountMax)
        let (_, isMinimal) = await shrinker.shrunk(Set(0..<60)) {
            [Self.withoutOne($0)]
        } test: {
            $0.filter { $0.contains(3) }
        }
        #expect(shrinker.testCount == testCountMax)
        #expect(!isMinimal)
    }

    @Test func `a search that has to end keeps the last outcome`() async {
        var triedCount = 0
        var shrinker = Shrinker(isOver: { false })
        let none: Int? = await shrinker.first(of: 0..<0) { _ in
            triedCount += 1
            return []
        }
        #expect(none == nil && triedCount == 0)
        var ended = Shrinker(isOver: { true })
        let (outcome, isMinimal) = await ended.shrunk(9) { _ in
            [[1, 2]]
        } test: {
            $0
        }
        #expect(outcome == 9 && !isMinimal && ended.testCount == 0)
    }
}
