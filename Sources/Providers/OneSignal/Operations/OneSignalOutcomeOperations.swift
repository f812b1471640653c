internal import Values

/// Operations on outcomes, which apps measure (OneSignal's API description).
enum OneSignalOutcomeOperations {
    /// Returns the outcomes that an app measured, for `GET /apps/{app_id}/outcomes`.
    ///
    /// The query names them as `name.count` or `name.sum`.
    static func list(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let query = call.request.query
        let asked = query.filter { ["outcome_names", "outcome_names[]"].contains($0.name) }
            .flatMap { $0.value.split(separator: ",").map(String.init) }
        guard !asked.isEmpty else {
            throw OneSignalError(400, "outcome_names is required", confidence: .inferred)
        }
        let storedOutcomes = state.console[appID].outcomes
        var resourceJSON: [JSONValue] = []
        for name in asked {
            let outcomeNameParts = name.split(separator: ".")
            guard outcomeNameParts.count >= 2, let aggregation = outcomeNameParts.last,
                ["count", "sum"].contains(aggregation)
            else {
                throw OneSignalError(
                    400,
                    "outcome_names must end in .count or .sum: \(name)",
                    confidence: .inferred
                )
            }
            let id = outcomeNameParts.dropLast().joined(separator: ".")
            let outcome = storedOutcomes[id] ?? OneSignalConsole.Outcome()
            resourceJSON.append([
                "id": .string(id), "aggregation": .string(String(aggregation)),
                "value": .integer(
                    aggregation == "count"
                        ? outcome.count
                        : Int64(exactly: outcome.sum.rounded()) ?? 0
                ),
            ])
        }
        return HTTPMessage.Response(200, json: ["outcomes": .array(resourceJSON)])
    }

    /// Records an outcome that the SDK in an app reports (*inferred* from the published SDKs).
    static func record(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.body["app_id"]?.string)
        let id = try call.text("id")
        let weight = call.body["weight"]?.scalarText.flatMap { Double($0) } ?? 0
        state.console[appID].countOutcome(id, weight: weight)
        return HTTPMessage.Response(200, json: ["success": true])
    }
}
