internal import Contracts
internal import Grammar
internal import Values

/// Operations on templates of messages (OneSignal's API description, *Templates*).
extension OneSignalState {
    private static let templateMembers = [
        "contents", "headings", "subtitle", "isEmail", "email_subject", "email_body", "email_bcc",
        "isSMS", "dynamic_content",
    ]

    // MARK: Operations

    func listTemplates(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let templates = record(of: try templateAppID(call)).templates
        let (limit, offset) = pageBounds(call, max: 50)
        let channel = call.query("channel")
        let matchingTemplates = templates.filter { channel == nil || $0.channel == channel }
        return json(
            200,
            [
                "total_count": .integer(Int64(matchingTemplates.count)),
                "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "templates": .array(
                    matchingTemplates.dropFirst(offset).prefix(limit).map {
                        .object(Self.resourceJSON($0))
                    }
                ),
            ]
        )
    }

    mutating func createTemplate(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try templateAppID(call)
        var record = record(of: appID)
        var template = OneSignalConsole.Template(
            id: ids.uuid(),
            name: try text("name", call),
            content: JSONObject(),
            created: call.now,
            updated: call.now
        )
        guard call.body["contents"]?.object != nil || call.body["email_body"]?.string != nil
        else { throw OneSignalError(400, "contents is required", confidence: .inferred) }
        try fillContent(&template, call)
        record.templates.append(template)
        store(record, of: appID)
        return json(200, Self.resourceJSON(template))
    }

    func viewTemplate(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let record = record(of: try templateAppID(call))
        let index = try templateIndex(call, in: record, errorStatus: 404)
        return json(200, Self.resourceJSON(record.templates[index]))
    }

    mutating func deleteTemplate(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try templateAppID(call)
        var record = record(of: appID)
        let index = try templateIndex(call, in: record, errorStatus: 404)
        record.templates.remove(at: index)
        store(record, of: appID)
        return json(200, ["success": true])
    }

    mutating func updateTemplate(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try templateAppID(call)
        var record = record(of: appID)
        // OneSignal's API description lists 400 instead of 404 for this operation.
        let index = try templateIndex(call, in: record, errorStatus: 400)
        var template = record.templates[index]
        if let name = call.body["name"]?.string, !name.isEmpty { template.name = name }
        try fillContent(&template, call)
        template.updated = call.now
        record.templates[index] = template
        store(record, of: appID)
        return json(200, Self.resourceJSON(template))
    }

    mutating func copyTemplate(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let record = record(of: try templateAppID(call))
        // OneSignal's API description lists 400 instead of 404 for this operation.
        let index = try templateIndex(call, in: record, errorStatus: 400)
        let targetAppID = try knownAppID(call.body["target_app_id"]?.string)
        let sourceTemplate = record.templates[index]
        let templateCopy = OneSignalConsole.Template(
            id: ids.uuid(),
            name: sourceTemplate.name,
            content: sourceTemplate.content,
            created: call.now,
            updated: call.now
        )
        var targetRecord = self.record(of: targetAppID)
        targetRecord.templates.append(templateCopy)
        store(targetRecord, of: targetAppID)
        return json(200, Self.resourceJSON(templateCopy))
    }

    // MARK: Shared parts

    /// Returns the ID of the app that a call names in the query or in the body.
    private func templateAppID(_ call: Call) throws(OneSignalError) -> String {
        try knownAppID(call.query("app_id") ?? call.body["app_id"]?.string)
    }

    /// Returns the position of the template that a call addresses.
    private func templateIndex(
        _ call: Call,
        in record: OneSignalConsole.AppRecord,
        errorStatus: Int
    ) throws(OneSignalError) -> Int {
        let templateID = call.pathParameter("template_id")
        guard let index = record.templates.firstIndex(where: { $0.id == templateID }) else {
            throw OneSignalError(errorStatus, "Template not found", confidence: .inferred)
        }
        return index
    }

    private func fillContent(
        _ template: inout OneSignalConsole.Template,
        _ call: Call
    ) throws(OneSignalError) {
        for key in Self.templateMembers {
            if let value = call.body[key] { template.content[key] = value.isNull ? nil : value }
        }
        let isText = template.channel != "email"
        guard !isText || template.content["contents"]?["en"]?.string?.isEmpty == false else {
            throw OneSignalError(
                400,
                "Message Notifications must have English language content"
            )
        }
        guard isText || template.content["email_subject"]?.string?.isEmpty == false else {
            throw OneSignalError(400, "email_subject is required", confidence: .inferred)
        }
    }

    private static func resourceJSON(_ template: OneSignalConsole.Template) -> JSONObject {
        [
            "id": .string(template.id), "name": .string(template.name),
            "created_at": .string(template.created.preciseText),
            "updated_at": .string(template.updated.preciseText),
            "channel": .string(template.channel), "content": .object(template.content),
        ]
    }
}
