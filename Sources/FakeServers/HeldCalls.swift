/// Calls to fakes that wait without a response because of a planned fault, by namespace.
struct HeldCalls: Sendable {
    private var continuationsByNamespace: [String: [Int: AsyncStream<Never>.Continuation]] = [:]
    private var addedCallCount = 0

    /// Adds a call that waits without a response.
    ///
    /// - Returns: The number of the call, for `remove`.
    mutating func add(_ continuation: AsyncStream<Never>.Continuation, to namespace: String) -> Int
    {
        addedCallCount += 1
        continuationsByNamespace[namespace, default: [:]][addedCallCount] = continuation
        return addedCallCount
    }

    /// Removes a call whose caller has given up.
    mutating func remove(_ callNumber: Int, of namespace: String) {
        continuationsByNamespace[namespace]?[callNumber] = nil
        if continuationsByNamespace[namespace]?.isEmpty == true {
            continuationsByNamespace[namespace] = nil
        }
    }

    func hasHeldCalls(_ namespace: String) -> Bool { continuationsByNamespace[namespace] != nil }

    /// Removes all calls of a namespace, and returns the continuations that end their waits.
    mutating func take(_ namespace: String) -> [AsyncStream<Never>.Continuation] {
        continuationsByNamespace.removeValue(forKey: namespace).map { Array($0.values) } ?? []
    }
}
