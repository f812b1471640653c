/// Searches for the smallest input that still has a property, such as a certain failure.
///
/// A caller supplies smaller candidates, the most promising first. The first candidate with the
/// property replaces the input, until no candidate has the property or the search has to end.
package struct Shrinker {
    /// The number of candidates that are tried at the same time.
    ///
    /// The result does not depend on it, unless the property depends on chance.
    private let batchSize: Int
    /// The largest number of candidates that may be tried.
    private let testCountMax: Int
    /// Whether the search has to end, because of a time limit or a cancellation.
    private let isOver: () -> Bool

    /// The number of candidates that were tried.
    package private(set) var testCount = 0

    package init(
        batchSize: Int = 1,
        testCountMax: Int = .max,
        isOver: @escaping () -> Bool = { Task.isCancelled }
    ) {
        self.batchSize = max(1, batchSize)
        self.testCountMax = testCountMax
        self.isOver = isOver
    }

    /// Whether no more candidates may be tried.
    private var hasEnded: Bool { testCount >= testCountMax || isOver() }

    /// Tries candidates until one of them has the property.
    ///
    /// - Parameters:
    ///   - candidates: The candidates, the most promising first. They are created when they are
    ///     tried.
    ///   - test: Tries candidates at the same time. It returns the outcomes of those that have the
    ///     property, in the order of the candidates.
    /// - Returns: The outcome of the first candidate with the property; nil when none has it or the
    ///   search has to end.
    package mutating func first<Input, Outcome>(
        of candidates: some Sequence<Input>,
        test: ([Input]) async -> [Outcome]
    ) async -> Outcome? {
        var iterator = candidates.makeIterator()
        while !hasEnded {
            var batch: [Input] = []
            while batch.count < min(batchSize, testCountMax - testCount),
                let candidate = iterator.next()
            {
                batch.append(candidate)
            }
            if batch.isEmpty { return nil }
            testCount += batch.count
            if let outcome = await test(batch).first { return outcome }
        }
        return nil
    }

    /// Shrinks an input until no smaller candidate has the property.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the input itself, which has the property.
    ///   - candidates: Returns groups of smaller candidates for the input of an outcome. A group is
    ///     tried only if no candidate of the groups before it has the property.
    ///   - test: Tries candidates, as in `first(of:test:)`.
    /// - Returns: The outcome of the smallest input, and whether all its candidates were tried.
    package mutating func shrunk<Input, Outcome>(
        _ outcome: Outcome,
        candidates: (Outcome) -> [[Input]],
        test: ([Input]) async -> [Outcome]
    ) async -> (outcome: Outcome, isMinimal: Bool) {
        var smallest = outcome
        var groups = candidates(smallest)[...]
        while let group = groups.popFirst() {
            guard let smaller = await first(of: group, test: test) else { continue }
            smallest = smaller
            groups = candidates(smallest)[...]
        }
        return (smallest, !hasEnded)
    }
}
