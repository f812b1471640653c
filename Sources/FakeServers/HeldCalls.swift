/// Calls to fakes that wait without a response because of a planned fault, by namespace.
struct HeldCalls: Sendable {
    private var continuations: [String: [Int: AsyncStream<Never>.Continuation]] = [:]
    private var count = 0

    /// Adds a call that waits without a response.
    ///
    /// - Returns: The number of the call, for `remove`.
    mutating func add(_ wait: AsyncStream<Never>.Continuation, to namespace: String) -> Int {
        count += 1
        continuations[namespace, default: [:]][count] = wait
        return count
    }

    /// Removes a call whose caller has given up.
    mutating func remove(_ number: Int, of namespace: String) {
        continuations[namespace]?[number] = nil
        if continuations[namespace]?.isEmpty == true { continuations[namespace] = nil }
    }

    func hasHeldCalls(_ namespace: String) -> Bool { continuations[namespace] != nil }

    /// Removes all calls of a namespace, and returns the continuations that end their waits.
    mutating func take(_ namespace: String) -> [AsyncStream<Never>.Continuation] {
        continuations.removeValue(forKey: namespace).map { Array($0.values) } ?? []
    }
}
