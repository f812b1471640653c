internal import DequeModule
internal import Values

/// A table of the responses to calls with an idempotency key (API description of REST v2).
///
/// A repeated call gets the stored response and changes nothing.
struct IdempotentResults: Hashable, Codable, Sendable {
    private struct Result: Hashable, Codable {
        /// The digest of the request that was sent first with the idempotency key.
        let request: String
        let body: JSONValue
    }

    /// The largest number of stored responses.
    ///
    /// The oldest responses are removed.
    private static let resultCountMax = 10_000

    private var results: SharedTable<String, Result> = [:]
    private var keys: Deque<String> = []

    /// Returns the stored response to the first call with this idempotency key; nil when there was
    /// no such call.
    ///
    /// - Throws: 409 when the first call with this key was a different request.
    func result(of key: String, _ request: String) throws(RevenueCatError) -> JSONValue? {
        guard let savedResult = results[key] else { return nil }
        guard savedResult.request == request else {
            throw RevenueCatError(
                v2: 409,
                "idempotency_error",
                "Idempotency key already used for a different request"
            )
        }
        return savedResult.body
    }

    mutating func saveResult(_ body: JSONValue, of key: String, _ request: String) {
        if results[key] == nil { keys.append(key) }
        results[key] = Result(request: request, body: body)
        if keys.count > Self.resultCountMax { results[keys.removeFirst()] = nil }
    }
}
