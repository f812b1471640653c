/// Calls to fakes that wait without a response because of a planned fault, by namespace.
struct HeldCalls: Sendable {
    private var waits: [String: [Int: AsyncStream<Never>.Continuation]] = [:]
    private var count = 0

    /// Adds a call that waits without a response.
    ///
    /// - Returns: The number of the call, for `remove`.
    mutating func add(_ wait: AsyncStream<Never>.Continuation, to namespace: String) -> Int {
        count += 1
        waits[namespace, default: [:]][count] = wait
        return count
    }

    /// Removes a call whose caller has given up.
    mutating func remove(_ number: Int, of namespace: String) {
        waits[namespace]?[number] = nil
        if waits[namespace]?.isEmpty == true { waits[namespace] = nil }
    }

    func isHolding(_ namespace: String) -> Bool { waits[namespace] != nil }

    /// Removes all calls of a namespace, and returns the continuations that end their waits.
    mutating func take(_ namespace: String) -> [AsyncStream<Never>.Continuation] {
        waits.removeValue(forKey: namespace).map { Array($0.values) } ?? []
    }
}
