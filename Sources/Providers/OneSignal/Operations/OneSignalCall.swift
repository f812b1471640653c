internal import Values

/// A request to the fake OneSignal, with its operation.
struct OneSignalCall {
    let request: HTTPMessage.Request
    let operation: OneSignalOperation
    /// The values of the parameters in the path of the request.
    let values: PathParameterValues
    let body: JSONObject
    let now: Instant
    /// The response to this call that a test has planned.
    let plannedResponse: ProviderPlan.PlannedResponse

    func query(_ name: String) -> String? { request.query(name) }

    /// Returns the value of a path parameter; an empty string when the path has no such parameter.
    func pathParameter(_ name: String) -> String { values[name] ?? "" }

    /// Returns a string member of the request body; throws when the member is missing or empty.
    func text(_ name: String) throws(OneSignalError) -> String {
        guard let text = body[name]?.string, !text.isEmpty else {
            throw OneSignalError(400, "\(name) is required", confidence: .inferred)
        }
        return text
    }

    /// Throws when a member of the request body is missing or not an object.
    func requireObject(_ name: String) throws(OneSignalError) {
        guard body[name]?.object != nil else {
            throw OneSignalError(400, "\(name) is required", confidence: .inferred)
        }
    }

    /// Returns the values of `limit` and `offset` in a list request, within the allowed range.
    func pageBounds(max defaultLimit: Int) -> (limit: Int, offset: Int) {
        let limit = min(
            max(0, query("limit").flatMap { Int($0) } ?? defaultLimit),
            defaultLimit
        )
        return (limit, max(0, query("offset").flatMap { Int($0) } ?? 0))
    }
}
