internal import Values

/// Operations on live activities (OneSignal's API description).
///
/// The paths for devices come from the published SDKs and are *inferred*.
enum OneSignalActivityOperations {
    /// A prefix for the idempotency keys of live activities.
    ///
    /// It keeps them separate from the idempotency keys of messages.
    private static let activityKeyPrefix = "activity|"

    static func start(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let requestedRecipients = RequestedRecipients(call.body)
        let key = requestedRecipients.key.map { activityKeyPrefix + $0 }
        if let storedResponse = state.notifications[appID]?
            .storedResponse(201, of: key, at: call.now)
        {
            return storedResponse
        }
        for name in ["name", "activity_id"] { _ = try call.text(name) }
        guard call.body["event"] == "start" else {
            throw OneSignalError(400, "event must be start", confidence: .inferred)
        }
        for name in ["event_attributes", "event_updates", "contents", "headings"] {
            try call.requireObject(name)
        }
        guard !requestedRecipients.isEmpty else { throw .noRecipients }
        let responseFields: JSONObject = ["notification_id": .string(state.ids.uuid())]
        if let key {
            state.notifications[appID, default: NotificationLog()]
                .saveResult(.object(responseFields), of: key, at: call.now)
        }
        effects.append(
            Effect(
                kind: "onesignal.live-activity",
                recipients: requestedRecipients.ids,
                content: [
                    "event": "start", "activity_id": call.body["activity_id"] ?? .null,
                    "event_updates": call.body["event_updates"] ?? .null,
                ],
                idempotencyKey: requestedRecipients.key
            )
        )
        return HTTPMessage.Response(201, json: .object(responseFields))
    }

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try state.knownAppID(call.pathParameter("app_id"))
        _ = try call.text("name")
        guard ["update", "end"].contains(call.body["event"]?.string) else {
            throw OneSignalError(400, "event must be update or end", confidence: .inferred)
        }
        try call.requireObject("event_updates")
        let activity = call.pathParameter("activity_id")
        effects.append(
            Effect(
                kind: "onesignal.live-activity",
                recipients: [activity],
                content: [
                    "event": call.body["event"] ?? .null, "activity_id": .string(activity),
                    "event_updates": call.body["event_updates"] ?? .null,
                ]
            )
        )
        return HTTPMessage.Response(200, json: ["id": .string(state.ids.uuid())])
    }

    static func registerToken(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try state.knownAppID(call.pathParameter("app_id"))
        _ = try call.text("token")
        return HTTPMessage.Response(200, json: ["success": true])
    }

    static func removeToken(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try state.knownAppID(call.pathParameter("app_id"))
        return HTTPMessage.Response(200, json: ["success": true])
    }
}
