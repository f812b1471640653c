internal import Contracts
internal import Grammar
internal import Values

/// Operations on live activities and custom events, and reports from devices (OneSignal's API
/// description).
///
/// The paths for devices come from the published SDKs and are *inferred*.
extension OneSignalState {
    /// The largest size of the payload of a custom event, in bytes (*inferred*).
    private static let payloadBytesMax = 2024

    // MARK: Live activities

    /// A prefix for the idempotency keys of live activities.
    ///
    /// It keeps them separate from the idempotency keys of messages.
    private static let activityKeyPrefix = "activity|"

    private func object(_ name: String, _ call: Call) throws(OneSignalError) {
        guard call.body[name]?.object != nil else {
            throw OneSignalError(400, "\(name) is required", confidence: .inferred)
        }
    }

    mutating func startActivity(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let requestedRecipients = RequestedRecipients(call.body)
        if let key = requestedRecipients.key,
            let replayedResponse = notifications[appID]?.result(
                of: Self.activityKeyPrefix + key,
                at: call.now,
                within: Self.replayWindow
            )
        {
            return HTTPMessage.Response(
                201,
                json: replayedResponse,
                fields: [HTTPMessage.Field("Idempotent-Replayed", "true")]
            )
        }
        for name in ["name", "activity_id"] { _ = try text(name, call) }
        guard call.body["event"] == "start" else {
            throw OneSignalError(400, "event must be start", confidence: .inferred)
        }
        for name in ["event_attributes", "event_updates", "contents", "headings"] {
            try object(name, call)
        }
        guard !requestedRecipients.isEmpty else { throw .noRecipients }
        let responseFields: JSONObject = ["notification_id": .string(ids.uuid())]
        if let key = requestedRecipients.key {
            notifications[appID, default: NotificationLog()]
                .saveResult(.object(responseFields), of: Self.activityKeyPrefix + key, at: call.now)
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
        return json(201, responseFields)
    }

    mutating func updateActivity(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try knownAppID(call.pathParameter("app_id"))
        _ = try text("name", call)
        guard ["update", "end"].contains(call.body["event"]?.string) else {
            throw OneSignalError(400, "event must be update or end", confidence: .inferred)
        }
        try object("event_updates", call)
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
        return json(200, ["id": .string(ids.uuid())])
    }

    func registerActivityToken(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try knownAppID(call.pathParameter("app_id"))
        _ = try text("token", call)
        return json(200, ["success": true])
    }

    func removeActivityToken(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try knownAppID(call.pathParameter("app_id"))
        return json(200, ["success": true])
    }

    // MARK: Events and journeys

    func recordCustomEvents(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try knownAppID(call.pathParameter("app_id"))
        guard let events = call.body["events"]?.array, !events.isEmpty else {
            throw OneSignalError(400, "events is required", confidence: .inferred)
        }
        var eventEffects: [Effect] = []
        for event in events {
            let userIDs = [event["external_id"], event["onesignal_id"]].compactMap { $0?.string }
                .filter { !$0.isEmpty }
            guard let name = event["name"]?.string, !name.isEmpty, let id = userIDs.first else {
                throw OneSignalError(
                    400,
                    "Every event needs a name, and external_id or onesignal_id",
                    confidence: .inferred
                )
            }
            let payload = event["payload"] ?? [:]
            guard payload.object != nil, payload.bytes.count <= Self.payloadBytesMax else {
                throw OneSignalError(
                    400,
                    "payload must be an object of at most \(Self.payloadBytesMax) bytes",
                    confidence: .inferred
                )
            }
            if let time = event["timestamp"], !time.isNull,
                time.string.flatMap({ Instant(iso8601: $0) }).flatMap({ RequestDate($0) }) == nil
            {
                throw OneSignalError(
                    400,
                    "timestamp must be a date of ISO 8601 within \(RequestDate.acceptedRangeText)",
                    confidence: .inferred
                )
            }
            eventEffects.append(
                Effect(
                    kind: "onesignal.event",
                    recipients: [id],
                    content: ["name": .string(name), "payload": payload]
                )
            )
        }
        effects += eventEffects
        return json(200, JSONObject())
    }

    func listJourneys(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try knownAppID(call.pathParameter("app_id"))
        return json(200, ["journeys": [], "has_more": false])
    }

    // MARK: Devices

    func listInAppMessages(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        guard apps[appID]?.subscriptions[call.pathParameter("subscription_id")] != nil else {
            throw .subscriptionNotFound
        }
        return json(200, ["in_app_messages": []])
    }

    /// Unsubscribes an email address by the token in the unsubscribe link of a message.
    ///
    /// In this fake, the token is the ID of the email subscription or the email address itself.
    mutating func unsubscribe(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        guard let token = call.query("token"), !token.isEmpty else {
            throw OneSignalError(400, "token is required", confidence: .inferred)
        }
        let app = apps[appID]
        let emailSubscription =
            app?.subscriptions[token] ?? app?.subscription(type: "Email", token: token)
        guard var device = emailSubscription, device.type == "Email" else {
            throw OneSignalError(400, "token is not valid", confidence: .inferred)
        }
        device.isEnabled = false
        // The notification type -2 means unsubscribed (OneSignal fact sheet, section 7).
        device.notificationTypes = -2
        apps[appID]?.save(device)
        if let owner = apps[appID]?.users[device.ownerID] {
            recordEffect("onesignal.subscription", owner, ["type": "Email"], &effects)
        }
        return json(202, ["success": true])
    }

    mutating func recordPlayerSession(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.body["app_id"]?.string)
        var (device, owner) = try player(call, appID)
        let count = device.details["session_count"]?.int64 ?? 1
        device.details["session_count"] = .integer(count.addingSaturated(1))
        owner.lastActive = call.now.seconds
        apps[appID]?.save(device)
        apps[appID]?.save(owner)
        return json(200, ["success": true])
    }

    mutating func recordPlayerPurchase(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response
    {
        let appID = try knownAppID(call.body["app_id"]?.string)
        let (device, previousOwner) = try player(call, appID)
        guard let purchases = call.body["purchases"]?.array, !purchases.isEmpty else {
            throw OneSignalError(400, "purchases is required", confidence: .inferred)
        }
        var owner = previousOwner
        Self.addPurchases(purchases, to: &owner)
        apps[appID]?.save(device)
        apps[appID]?.save(owner)
        return json(200, ["success": true])
    }

    /// Returns the device that a call addresses as a player, and the user who owns it.
    private func player(
        _ call: Call,
        _ appID: String
    ) throws(OneSignalError) -> (device: OneSignalApp.Subscription, owner: OneSignalApp.User) {
        guard let device = apps[appID]?.subscriptions[call.pathParameter("player_id")],
            let owner = apps[appID]?.users[device.ownerID]
        else { throw .playerNotFound }
        return (device, owner)
    }
}
