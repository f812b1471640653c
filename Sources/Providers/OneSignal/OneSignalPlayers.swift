internal import Contracts
package import Values

/// The old OneSignal API, in which a device is a player.
///
/// A player corresponds to a subscription (OneSignal fact sheet, section 10).
extension OneSignalState {
    /// The subscription type for each number that `device_type` may have.
    private static let deviceTypes: [Int64: String] = [
        0: "iOSPush", 1: "AndroidPush", 2: "FireOSPush", 5: "ChromePush", 7: "SafariLegacyPush",
        8: "FirefoxPush", 11: "Email", 13: "HuaweiPush", 14: "SMS",
    ]

    mutating func addPlayer(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.body["app_id"]?.string)
        guard let number = call.body["device_type"]?.int64, let type = Self.deviceTypes[number]
        else { throw OneSignalError(400, "Invalid device_type", confidence: .inferred) }
        let token = call.body["identifier"]?.string ?? ""
        let existingRecord =
            token.isEmpty ? nil : apps[appID]?.subscription(type: type, token: token)
        let owner = owner(of: existingRecord, call, appID)
        apps[appID, default: OneSignalApp(appID: appID)].save(owner)
        var player =
            existingRecord
            ?? OneSignalApp.Subscription(
                id: ids.uuid(),
                type: type,
                token: token,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: owner.id,
                created: call.now.seconds
            )
        player.ownerID = owner.id
        player.deviceType = number
        Self.updatePlayer(&player, call.body)
        apps[appID]?.save(player)
        // Read the owner again, since saving the player changed the owner.
        let savedOwner = apps[appID]?.users[owner.id] ?? owner
        try writeTags(call, savedOwner, appID, &effects)
        return HTTPMessage.Response(200, json: ["success": true, "id": .string(player.id)])
    }

    /// Registers a device, as the SDK on a phone does, and assigns the device's external ID to its
    /// user.
    package mutating func register(
        _ device: DespiaState.Registration,
        app id: String,
        at now: Instant
    ) {
        var app = apps.removeValue(forKey: id) ?? OneSignalApp(appID: id)
        let existingRecord = app.subscriptions[device.playerID]
        var owner =
            device.externalID.flatMap { app.user("external_id", $0) }
            ?? existingRecord.flatMap { app.users[$0.ownerID] }
            ?? OneSignalApp.User(
                id: ids.uuid(),
                firstActive: now.seconds,
                lastActive: now.seconds
            )
        if let externalID = device.externalID { owner.aliases["external_id"] = externalID }
        app.save(owner)
        var subscription =
            existingRecord
            ?? OneSignalApp.Subscription(
                id: device.playerID,
                type: device.isAndroid ? "AndroidPush" : "iOSPush",
                token: device.playerID,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: owner.id,
                created: now.seconds
            )
        subscription.ownerID = owner.id
        app.save(subscription)
        apps[id] = app
    }

    /// Returns the user who owns a player.
    ///
    /// This is the user with the given external ID, else the player's current user, else a new
    /// user.
    private mutating func owner(
        of player: OneSignalApp.Subscription?,
        _ call: Call,
        _ appID: String
    ) -> OneSignalApp.User {
        let externalID = call.body["external_user_id"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        if let externalID, let existingRecord = apps[appID]?.user("external_id", externalID) {
            return existingRecord
        }
        var user =
            player.flatMap { apps[appID]?.users[$0.ownerID] }
            ?? OneSignalApp.User(
                id: ids.uuid(),
                firstActive: call.now.seconds,
                lastActive: call.now.seconds
            )
        if let externalID { user.aliases["external_id"] = externalID }
        return user
    }

    mutating func editPlayer(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.body["app_id"]?.string)
        guard var player = apps[appID]?.subscriptions[call.pathParameter("player_id")]
        else { throw .playerNotFound }
        let owner = owner(of: player, call, appID)
        apps[appID]?.save(owner)
        player.ownerID = owner.id
        if let token = call.body["identifier"]?.string { player.token = token }
        Self.updatePlayer(&player, call.body)
        apps[appID]?.save(player)
        let savedOwner = apps[appID]?.users[owner.id] ?? owner
        try writeTags(call, savedOwner, appID, &effects)
        return HTTPMessage.Response(200, json: ["success": true])
    }

    mutating func deletePlayer(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.query("app_id"))
        let id = call.pathParameter("player_id")
        guard apps[appID]?.subscriptions[id] != nil else { throw .playerNotFound }
        apps[appID]?.remove(subscription: id)
        // The member `success` is a Boolean, as in OneSignal's API description. OneSignal's
        // documentation shows a string.
        return HTTPMessage.Response(200, json: ["success": true])
    }

    private static func updatePlayer(_ player: inout OneSignalApp.Subscription, _ body: JSONObject)
    {
        if let types = body["notification_types"]?.int64 {
            player.notificationTypes = types
            player.isEnabled = types > 0
        }
        for key in ["language", "timezone", "game_version", "device_os", "device_model", "sdk"] {
            if let value = body[key], !value.isNull { player.details[key] = value }
        }
    }

    func viewPlayer(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        guard let player = app.subscriptions[call.pathParameter("player_id")] else {
            throw .playerNotFound
        }
        return HTTPMessage.Response(200, json: .object(Self.resourceJSON(player, app)))
    }

    func listPlayers(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        let limit = min(max(0, call.query("limit").flatMap { Int($0) } ?? 300), 300)
        let offset = max(0, call.query("offset").flatMap { Int($0) } ?? 0)
        let playerPage = app.subscriptions(limit, from: offset)
        return HTTPMessage.Response(
            200,
            json: [
                "total_count": .integer(Int64(app.subscriptions.count)),
                "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "players": .array(playerPage.map { .object(Self.resourceJSON($0, app)) }),
            ]
        )
    }

    static func resourceJSON(
        _ player: OneSignalApp.Subscription,
        _ app: OneSignalApp
    ) -> JSONObject {
        let owner = app.users[player.ownerID]
        let details = player.details
        let number = player.deviceType ?? deviceTypes.first { $0.value == player.type }?.key ?? 0
        return [
            "id": .string(player.id), "identifier": .string(player.token),
            "session_count": details["session_count"] ?? 1,
            "language": details["language"] ?? "en", "timezone": details["timezone"] ?? 0,
            "game_version": details["game_version"] ?? "1.0",
            "device_os": details["device_os"] ?? "", "device_type": .integer(number),
            "device_model": details["device_model"] ?? "", "ad_id": .null,
            "tags": .object(owner?.tags ?? JSONObject()),
            "last_active": .integer(owner?.lastActive ?? player.created),
            "amount_spent": owner?.properties["amount_spent"] ?? .number(JSONNumber(0.0)),
            "created_at": .integer(player.created),
            "invalid_identifier": .bool(!player.isReachable), "badge_count": 0,
            "sdk": details["sdk"] ?? "", "test_type": .null, "ip": "127.0.0.1",
            "external_user_id": owner?.aliases["external_id"].map(JSONValue.string) ?? .null,
        ]
    }
}
