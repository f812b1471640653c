internal import Values

/// Operations on apps (OneSignal's API description, *Apps*).
enum OneSignalAppOperations {
    static func list(_ state: OneSignalState, _: OneSignalCall) -> HTTPMessage.Response {
        let known = Set(state.console.records.keys).union(state.apps.keys)
            .union(state.settings.apps.map { $0.lowercased() })
        let ids = (known.isEmpty ? [OneSignalState.defaultAppID] : known).sorted()
        return HTTPMessage.Response(
            200,
            json: .array(ids.map { .object(state.console[$0].resourceJSON($0, state.apps[$0])) })
        )
    }

    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let name = try call.text("name")
        let id = state.ids.uuid()
        var record = OneSignalConsole.AppRecord(
            name: name,
            appID: id,
            created: call.now,
            isMade: true
        )
        let (token, key) = OneSignalConsole.Token.make(
            "Default",
            call.body,
            at: call.now,
            &state.ids
        )
        record.tokens = [token]
        try record.updateDetails(call.body)
        state.console[id] = record
        var body = record.resourceJSON(id, state.apps[id])
        // The API key is returned only in the response that creates it, like every new key.
        body["basic_auth_key"] = .string(key)
        return HTTPMessage.Response(200, json: .object(body))
    }

    static func view(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let id = try state.knownAppID(call.pathParameter("app_id"))
        let record = state.console[id]
        return HTTPMessage.Response(200, json: .object(record.resourceJSON(id, state.apps[id])))
    }

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let id = try state.knownAppID(call.pathParameter("app_id"))
        var record = state.console[id]
        try record.updateDetails(call.body)
        record.updated = call.now
        state.console[id] = record
        return HTTPMessage.Response(200, json: .object(record.resourceJSON(id, state.apps[id])))
    }
}
