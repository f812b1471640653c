/// Calls to fakes that a plan leaves without a response, by namespace.
struct HeldCalls: Sendable {
    private var waits: [String: [Int: AsyncStream<Never>.Continuation]] = [:]
    private var count = 0

    /// Adds a wait, which `take` ends.
    ///
    /// - Returns: The number by which `remove` finds it.
    mutating func add(_ wait: AsyncStream<Never>.Continuation, to namespace: String) -> Int {
        count += 1
        waits[namespace, default: [:]][count] = wait
        return count
    }

    /// Removes a wait whose caller has given up.
    mutating func remove(_ number: Int, of namespace: String) {
        waits[namespace]?[number] = nil
        if waits[namespace]?.isEmpty == true { waits[namespace] = nil }
    }

    func isHolding(_ namespace: String) -> Bool { waits[namespace] != nil }

    /// Removes and returns all waits of a namespace.
    mutating func take(_ namespace: String) -> [AsyncStream<Never>.Continuation] {
        waits.removeValue(forKey: namespace).map { Array($0.values) } ?? []
    }
}
