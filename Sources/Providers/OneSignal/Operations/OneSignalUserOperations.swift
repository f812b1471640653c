internal import Values

/// Operations on users and their aliases (OneSignal fact sheet, section 7).
enum OneSignalUserOperations {
    // MARK: View

    /// Returns the user that a call addresses by an alias, and the ID of the app.
    static func addressedUser(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> (user: OneSignalApp.User, appID: String) {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let label = call.pathParameter("alias_label")
        let id = call.pathParameter("alias_id")
        guard let existingRecord = state.apps[appID]?.user(label, id) else {
            throw OneSignalError(
                404,
                title: "No aliases found for \(label == "onesignal_id" ? "oneSignalID" : label) "
                    + "`\(id)`"
            )
        }
        guard !existingRecord.pending.isEmpty else { return (existingRecord, appID) }
        state.apps[appID]?.settleProperties(of: existingRecord.id, at: call.now)
        return (state.apps[appID]?.users[existingRecord.id] ?? existingRecord, appID)
    }

    static func view(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, appID) = try addressedUser(&state, call)
        return userResponse(200, user, appID, state)
    }

    static func viewIdentity(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, _) = try addressedUser(&state, call)
        return HTTPMessage.Response(200, json: ["identity": .object(user.identityJSON)])
    }

    private static func userResponse(
        _ status: Int,
        _ user: OneSignalApp.User,
        _ appID: String,
        _ state: OneSignalState
    ) -> HTTPMessage.Response {
        let app = state.apps[appID] ?? OneSignalApp(appID: appID)
        return HTTPMessage.Response(status, json: .object(app.resourceJSON(of: user)))
    }

    // MARK: Create

    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let aliases = try OneSignalApp.User.aliases(
            in: call.body["identity"],
            allowsOneSignalID: true
        )
        let requestedSubscriptions = (call.body["subscriptions"]?.array ?? []).compactMap(\.object)
        guard !aliases.isEmpty || !requestedSubscriptions.isEmpty else {
            throw OneSignalError(
                400,
                code: "user-3",
                title: "Creating a User requires at least one Alias or Subscription"
            )
        }
        let known = try owner(of: aliases, state.apps[appID])
        var user =
            known
            ?? OneSignalApp.User(
                id: state.ids.uuid(),
                firstActive: call.now.seconds,
                lastActive: call.now.seconds
            )
        if known != nil { try state.countWrite(to: user.id, call) }
        for (label, id) in aliases where label != "onesignal_id" { user.aliases[label] = id }
        try user.checkAliasLimit(state.settings.aliasesMax)
        let change = try pendingChange(of: call.body["properties"]?.object, state.settings, call)
        try checkTagLimit(user, change, state.settings)
        user.applyChange(change, delayedBy: state.settings.propertyDelaySeconds)
        state.apps[appID, default: OneSignalApp(appID: appID)].save(user)
        for subscription in requestedSubscriptions {
            _ = try OneSignalSubscriptionOperations.add(
                subscription,
                to: user.id,
                appID,
                &state,
                call,
                &effects
            )
        }
        if known == nil {
            effects.append(user.effect("onesignal.user", ["aliases": .object(user.aliasesJSON)]))
        }
        if let effect = change.tagEffect(on: user, previousUser: known) { effects.append(effect) }
        let savedUser = state.apps[appID]?.users[user.id] ?? user
        return userResponse(known == nil ? 201 : 200, savedUser, appID, state)
    }

    /// Returns the user who owns the known aliases; nil when no alias is known.
    ///
    /// Throws when the aliases belong to different users.
    private static func owner(
        of aliases: [String: String],
        _ app: OneSignalApp?
    ) throws(OneSignalError) -> OneSignalApp.User? {
        // A response must not depend on the order of a dictionary.
        let owners = aliases.sorted { $0.key < $1.key }.compactMap { label, id in
            app?.user(label, id).map { (label, id, $0) }
        }
        guard Set(owners.map(\.2.id)).count <= 1 else {
            throw OneSignalError(
                409,
                code: "user-2",
                title: "Multiple User Identity Conflict",
                meta: [
                    "conflicting_aliases": .object(
                        JSONObject(
                            members: owners.map { .init(key: $0.0, value: .string($0.1)) }
                        )
                    )
                ],
                confidence: .inferred
            )
        }
        guard aliases["onesignal_id"] == nil || !owners.isEmpty else { throw .userNotFound }
        return owners.first?.2
    }

    private static func pendingChange(
        of properties: JSONObject?,
        _ settings: OneSignalSettings,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> OneSignalApp.User.PendingChange {
        try OneSignalApp.User.PendingChange(
            properties,
            due: call.now + .seconds(settings.propertyDelaySeconds)
        )
    }

    /// Throws when the user would have too many tags after the update.
    ///
    /// The whole update is then refused, including its valid tags (OneSignal fact sheet, section
    /// 8).
    private static func checkTagLimit(
        _ user: OneSignalApp.User,
        _ change: OneSignalApp.User.PendingChange,
        _ settings: OneSignalSettings
    ) throws(OneSignalError) {
        guard
            change.tags.members.isEmpty
                || !user.exceedsTagLimit(settings.tagsMax, after: change)
        else { throw .tagLimitExceeded }
    }

    // MARK: Update

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (previousUser, appID) = try addressedUser(&state, call)
        try state.countWrite(to: previousUser.id, call)
        let change = try pendingChange(of: call.body["properties"]?.object, state.settings, call)
        try checkTagLimit(previousUser, change, state.settings)
        var user = previousUser
        user.addPurchases(call.body["deltas"]?["purchases"]?.array ?? [])
        user.applyChange(change, delayedBy: state.settings.propertyDelaySeconds)
        user.lastActive = call.now.seconds
        state.apps[appID]?.save(user)
        if let effect = change.tagEffect(on: user, previousUser: previousUser) {
            effects.append(effect)
        }
        return HTTPMessage.Response(202, json: ["properties": .object(user.propertiesJSON)])
    }

    static func updateIdentity(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, _) = try addressedUser(&state, call)
        return try addAliases(to: user, &state, call, &effects)
    }

    /// Adds the aliases of the request body to a user.
    static func addAliases(
        to user: OneSignalApp.User,
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        try state.countWrite(to: user.id, call)
        let requestedSubscriptions = try OneSignalApp.User.aliases(
            in: call.body["identity"],
            allowsOneSignalID: false
        )
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let claimedAliases = requestedSubscriptions.filter { label, id in
            state.apps[appID]?.user(label, id).map { $0.id != user.id } ?? false
        }
        guard claimedAliases.isEmpty else {
            throw OneSignalError(
                409,
                code: "user-2",
                title: "One or more Aliases claimed by another User",
                meta: JSONObject(
                    members: claimedAliases.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: .string($0.value))
                    }
                )
            )
        }
        var updatedUser = user
        for (label, id) in requestedSubscriptions { updatedUser.aliases[label] = id }
        try updatedUser.checkAliasLimit(state.settings.aliasesMax)
        state.apps[appID]?.save(updatedUser)
        if updatedUser.aliases != user.aliases {
            effects.append(updatedUser.effect("onesignal.aliases", updatedUser.aliasesJSON))
        }
        return HTTPMessage.Response(200, json: ["identity": .object(updatedUser.identityJSON)])
    }

    // MARK: Delete

    static func delete(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, appID) = try addressedUser(&state, call)
        state.apps[appID]?.remove(user: user.id)
        effects.append(user.effect("onesignal.user-deleted", [:]))
        return HTTPMessage.Response(200, json: [:])
    }

    static func deleteAlias(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (previousUser, appID) = try addressedUser(&state, call)
        let label = call.pathParameter("alias_label_to_delete")
        guard previousUser.aliases[label] != nil else {
            throw OneSignalError(
                404,
                title: "User does not have an alias with the label `\(label)`",
                confidence: .inferred
            )
        }
        var user = previousUser
        user.aliases[label] = nil
        state.apps[appID]?.save(user)
        effects.append(user.effect("onesignal.alias-removed", ["label": .string(label)]))
        return HTTPMessage.Response(200, json: ["identity": .object(user.identityJSON)])
    }
}
