internal import Values

/// The old OneSignal API, in which a device is a player.
///
/// A player corresponds to a subscription (OneSignal fact sheet, section 10).
enum OneSignalPlayerOperations {
    static func add(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.body["app_id"]?.string)
        guard let number = call.body["device_type"]?.int64,
            let type = OneSignalApp.Subscription.typesByDeviceType[number]
        else { throw OneSignalError(400, "Invalid device_type", confidence: .inferred) }
        let token = call.body["identifier"]?.string ?? ""
        let existingRecord =
            token.isEmpty ? nil : state.apps[appID]?.subscription(type: type, token: token)
        let owner = owner(of: existingRecord, appID, &state, call)
        state.apps[appID, default: OneSignalApp(appID: appID)].save(owner)
        var player =
            existingRecord
            ?? OneSignalApp.Subscription(
                id: state.ids.uuid(),
                type: type,
                token: token,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: owner.id,
                created: call.now.seconds
            )
        player.ownerID = owner.id
        player.deviceType = number
        player.updatePlayer(call.body)
        state.apps[appID]?.save(player)
        // Read the owner again, since saving the player changed the owner.
        let savedOwner = state.apps[appID]?.users[owner.id] ?? owner
        try writeTags(of: savedOwner, appID, &state, call, &effects)
        return HTTPMessage.Response(200, json: ["success": true, "id": .string(player.id)])
    }

    /// Returns the user who owns a player.
    ///
    /// This is the user with the given external ID, else the player's current user, else a new
    /// user.
    private static func owner(
        of player: OneSignalApp.Subscription?,
        _ appID: String,
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) -> OneSignalApp.User {
        let externalID = call.body["external_user_id"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        if let externalID, let existingRecord = state.apps[appID]?.user("external_id", externalID) {
            return existingRecord
        }
        var user =
            player.flatMap { state.apps[appID]?.users[$0.ownerID] }
            ?? OneSignalApp.User(
                id: state.ids.uuid(),
                firstActive: call.now.seconds,
                lastActive: call.now.seconds
            )
        if let externalID { user.aliases["external_id"] = externalID }
        return user
    }

    static func edit(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.body["app_id"]?.string)
        guard var player = state.apps[appID]?.subscriptions[call.pathParameter("player_id")]
        else { throw .playerNotFound }
        let owner = owner(of: player, appID, &state, call)
        state.apps[appID]?.save(owner)
        player.ownerID = owner.id
        if let token = call.body["identifier"]?.string { player.token = token }
        player.updatePlayer(call.body)
        state.apps[appID]?.save(player)
        let savedOwner = state.apps[appID]?.users[owner.id] ?? owner
        try writeTags(of: savedOwner, appID, &state, call, &effects)
        return HTTPMessage.Response(200, json: ["success": true])
    }

    static func delete(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.query("app_id"))
        let id = call.pathParameter("player_id")
        guard state.apps[appID]?.subscriptions[id] != nil else { throw .playerNotFound }
        state.apps[appID]?.remove(subscription: id)
        // The member `success` is a Boolean, as in OneSignal's API description. OneSignal's
        // documentation shows a string.
        return HTTPMessage.Response(200, json: ["success": true])
    }

    static func view(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try state.app(call.query("app_id"))
        guard let player = app.subscriptions[call.pathParameter("player_id")] else {
            throw .playerNotFound
        }
        return HTTPMessage.Response(200, json: .object(app.playerJSON(of: player)))
    }

    static func list(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try state.app(call.query("app_id"))
        let (limit, offset) = call.pageBounds(max: 300)
        let playerPage = app.subscriptions(limit, from: offset)
        return HTTPMessage.Response(
            200,
            json: [
                "total_count": .integer(Int64(app.subscriptions.count)),
                "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "players": .array(playerPage.map { .object(app.playerJSON(of: $0)) }),
            ]
        )
    }

    // MARK: Reports of devices

    // The paths of these reports come from the published SDKs and are *inferred*.

    static func recordSession(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.body["app_id"]?.string)
        var (device, owner) = try player(appID, state, call)
        let count = device.details["session_count"]?.int64 ?? 1
        device.details["session_count"] = .integer(count.addingSaturated(1))
        owner.lastActive = call.now.seconds
        state.apps[appID]?.save(device)
        state.apps[appID]?.save(owner)
        return HTTPMessage.Response(200, json: ["success": true])
    }

    static func recordPurchase(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.body["app_id"]?.string)
        let (device, previousOwner) = try player(appID, state, call)
        guard let purchases = call.body["purchases"]?.array, !purchases.isEmpty else {
            throw OneSignalError(400, "purchases is required", confidence: .inferred)
        }
        var owner = previousOwner
        owner.addPurchases(purchases)
        state.apps[appID]?.save(device)
        state.apps[appID]?.save(owner)
        return HTTPMessage.Response(200, json: ["success": true])
    }

    /// Returns the device that a call addresses as a player, and the user who owns it.
    private static func player(
        _ appID: String,
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> (device: OneSignalApp.Subscription, owner: OneSignalApp.User) {
        guard let device = state.apps[appID]?.subscriptions[call.pathParameter("player_id")],
            let owner = state.apps[appID]?.users[device.ownerID]
        else { throw .playerNotFound }
        return (device, owner)
    }

    // MARK: Tags

    /// Writes tags of the user with an external ID.
    ///
    /// OneSignal's documentation names both PUT and PATCH for this call.
    static func updateUserTags(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let externalID = call.pathParameter("external_user_id")
        guard let user = state.apps[appID]?.user("external_id", externalID) else {
            throw .playerNotFound
        }
        try writeTags(of: user, appID, &state, call, &effects)
        return HTTPMessage.Response(200, json: ["success": true])
    }

    /// Writes the member `tags` of the request body to a user, with the limits of the old API.
    private static func writeTags(
        of user: OneSignalApp.User,
        _ appID: String,
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) {
        guard let tags = call.body["tags"] else { return }
        try state.countWrite(to: user.id, call)
        let delaySeconds = state.settings.propertyDelaySeconds
        let change = try OneSignalApp.User.PendingChange(
            ["tags": tags],
            due: call.now + .seconds(delaySeconds)
        )
        if let max = state.settings.tagsMax, user.exceedsTagLimit(max, after: change) {
            throw OneSignalError(
                400,
                "App is limited to a maximum of \(max) tags on a given player",
                confidence: .captured
            )
        }
        var changed = user
        changed.applyChange(change, delayedBy: delaySeconds)
        state.apps[appID]?.save(changed)
        if let effect = change.tagEffect(on: changed, previousUser: user) { effects.append(effect) }
    }
}
