internal import Values

/// Operations on the API keys of apps (OneSignal's API description, *API keys*).
enum OneSignalTokenOperations {
    static func list(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let record = state.console[try state.knownAppID(call.pathParameter("app_id"))]
        let tokens = record.tokens.map { JSONValue.object($0.resourceJSON) }
        return HTTPMessage.Response(200, json: ["tokens": .array(tokens)])
    }

    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        try checkAllowlistMode(call)
        let (token, key) = OneSignalConsole.Token.make(
            try call.text("name"),
            call.body,
            at: call.now,
            &state.ids
        )
        state.console[appID].tokens.append(token)
        return HTTPMessage.Response(200, json: .object(token.response(with: key)))
    }

    static func delete(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let index = try tokenIndex(call, in: state.console[appID])
        state.console[appID].tokens.remove(at: index)
        return HTTPMessage.Response(200, json: [:])
    }

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        try checkAllowlistMode(call)
        let index = try tokenIndex(call, in: state.console[appID])
        state.console[appID].tokens[index].update(call.body, at: call.now)
        return HTTPMessage.Response(200, json: [:])
    }

    static func rotate(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        try checkAllowlistMode(call)
        var record = state.console[appID]
        let index = try tokenIndex(call, in: record)
        let (token, key) = OneSignalConsole.Token.make(
            record.tokens[index].name,
            call.body,
            at: call.now,
            &state.ids
        )
        record.tokens[index].digest = token.digest
        record.tokens[index].updated = call.now
        state.console[appID] = record
        return HTTPMessage.Response(200, json: .object(record.tokens[index].response(with: key)))
    }

    // MARK: Shared parts

    private static func checkAllowlistMode(_ call: OneSignalCall) throws(OneSignalError) {
        guard let mode = call.body["ip_allowlist_mode"],
            !["disabled", "explicit"].contains(mode.string)
        else { return }
        throw OneSignalError(
            400,
            "ip_allowlist_mode must be disabled or explicit",
            confidence: .inferred
        )
    }

    /// Returns the position of the API key that a call addresses.
    private static func tokenIndex(
        _ call: OneSignalCall,
        in record: OneSignalConsole.AppRecord
    ) throws(OneSignalError) -> Int {
        let tokenID = call.pathParameter("token_id")
        guard let index = record.tokens.firstIndex(where: { $0.id == tokenID }) else {
            throw OneSignalError(404, "API key not found", confidence: .inferred)
        }
        return index
    }
}
