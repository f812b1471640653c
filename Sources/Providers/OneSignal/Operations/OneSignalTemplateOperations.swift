internal import Values

/// Operations on templates of messages (OneSignal's API description, *Templates*).
enum OneSignalTemplateOperations {
    static func list(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let templates = state.console[try appID(call, state)].templates
        let (limit, offset) = call.pageBounds(max: 50)
        let channel = call.query("channel")
        let matchingTemplates = templates.filter { channel == nil || $0.channel == channel }
        return HTTPMessage.Response(
            200,
            json: [
                "total_count": .integer(Int64(matchingTemplates.count)),
                "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "templates": .array(
                    matchingTemplates.dropFirst(offset).prefix(limit).map {
                        .object($0.resourceJSON)
                    }
                ),
            ]
        )
    }

    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try appID(call, state)
        var template = OneSignalConsole.Template(
            id: state.ids.uuid(),
            name: try call.text("name"),
            content: JSONObject(),
            created: call.now,
            updated: call.now
        )
        guard call.body["contents"]?.object != nil || call.body["email_body"]?.string != nil
        else { throw OneSignalError(400, "contents is required", confidence: .inferred) }
        try template.fillContent(call.body)
        state.console[appID].templates.append(template)
        return HTTPMessage.Response(200, json: .object(template.resourceJSON))
    }

    static func view(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let record = state.console[try appID(call, state)]
        let index = try templateIndex(call, in: record, errorStatus: 404)
        return HTTPMessage.Response(200, json: .object(record.templates[index].resourceJSON))
    }

    static func delete(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try appID(call, state)
        let index = try templateIndex(call, in: state.console[appID], errorStatus: 404)
        state.console[appID].templates.remove(at: index)
        return HTTPMessage.Response(200, json: ["success": true])
    }

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try appID(call, state)
        // OneSignal's API description lists 400 instead of 404 for this operation.
        let index = try templateIndex(call, in: state.console[appID], errorStatus: 400)
        var template = state.console[appID].templates[index]
        if let name = call.body["name"]?.string, !name.isEmpty { template.name = name }
        try template.fillContent(call.body)
        template.updated = call.now
        state.console[appID].templates[index] = template
        return HTTPMessage.Response(200, json: .object(template.resourceJSON))
    }

    static func copyToApp(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let record = state.console[try appID(call, state)]
        // OneSignal's API description lists 400 instead of 404 for this operation.
        let index = try templateIndex(call, in: record, errorStatus: 400)
        let targetAppID = try state.knownAppID(call.body["target_app_id"]?.string)
        let sourceTemplate = record.templates[index]
        let templateCopy = OneSignalConsole.Template(
            id: state.ids.uuid(),
            name: sourceTemplate.name,
            content: sourceTemplate.content,
            created: call.now,
            updated: call.now
        )
        state.console[targetAppID].templates.append(templateCopy)
        return HTTPMessage.Response(200, json: .object(templateCopy.resourceJSON))
    }

    // MARK: Shared parts

    /// Returns the ID of the app that a call names in the query or in the body.
    private static func appID(
        _ call: OneSignalCall,
        _ state: OneSignalState
    ) throws(OneSignalError) -> String {
        try state.knownAppID(call.query("app_id") ?? call.body["app_id"]?.string)
    }

    /// Returns the position of the template that a call addresses.
    private static func templateIndex(
        _ call: OneSignalCall,
        in record: OneSignalConsole.AppRecord,
        errorStatus: Int
    ) throws(OneSignalError) -> Int {
        let templateID = call.pathParameter("template_id")
        guard let index = record.templates.firstIndex(where: { $0.id == templateID }) else {
            throw OneSignalError(errorStatus, "Template not found", confidence: .inferred)
        }
        return index
    }
}
