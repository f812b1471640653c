internal import Contracts
internal import Values

/// Operations on users and their aliases (OneSignal fact sheet, section 7).
extension OneSignalState {
    func json(_ status: Int, _ object: JSONObject) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: .object(object))
    }

    // MARK: View

    /// Returns the user that a call addresses by an alias, and the ID of the app.
    private mutating func addressedUser(
        _ call: Call
    ) throws(OneSignalError) -> (user: OneSignalApp.User, appID: String) {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let label = call.pathParameter("alias_label")
        let id = call.pathParameter("alias_id")
        guard let existingRecord = apps[appID]?.user(label, id) else {
            throw OneSignalError(
                404,
                title: "No aliases found for \(label == "onesignal_id" ? "oneSignalID" : label) "
                    + "`\(id)`"
            )
        }
        guard !existingRecord.pending.isEmpty else { return (existingRecord, appID) }
        apps[appID]?.settleProperties(of: existingRecord.id, at: call.now)
        return (apps[appID]?.users[existingRecord.id] ?? existingRecord, appID)
    }

    mutating func viewUser(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, appID) = try addressedUser(call)
        return json(200, resourceJSON(user, appID))
    }

    mutating func viewIdentity(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, _) = try addressedUser(call)
        return json(200, ["identity": .object(user.identityJSON)])
    }

    private func resourceJSON(_ user: OneSignalApp.User, _ appID: String) -> JSONObject {
        let subscriptions = apps[appID]?.subscriptions(of: user) ?? []
        var properties = user.propertiesJSON
        properties["first_active"] = .integer(user.firstActive)
        properties["last_active"] = .integer(user.lastActive)
        return [
            "properties": .object(properties), "identity": .object(user.identityJSON),
            "subscriptions": .array(subscriptions.map { .object($0.resourceJSON(in: appID)) }),
        ]
    }

    /// Records an effect (an observable change) on a user.
    ///
    /// A call that changes nothing must not record an effect.
    func recordEffect(
        _ kind: String,
        _ user: OneSignalApp.User,
        _ content: JSONObject,
        _ effects: inout [Effect]
    ) {
        let name = user.aliases["external_id"] ?? user.id
        effects.append(Effect(kind: kind, recipients: [name], content: .object(content)))
    }

    mutating func checkWriteLimit(_ id: String, _ call: Call) throws(OneSignalError) {
        if let max = settings.userWritesPerSecondMax {
            try checkRateLimit("user|" + id, max, at: call.now)
        }
    }

    // MARK: Create

    mutating func createUser(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let aliases = try aliases(call.body["identity"], allowsOneSignalID: true)
        let requestedSubscriptions = (call.body["subscriptions"]?.array ?? []).compactMap(\.object)
        guard !aliases.isEmpty || !requestedSubscriptions.isEmpty else {
            throw OneSignalError(
                400,
                code: "user-3",
                title: "Creating a User requires at least one Alias or Subscription"
            )
        }
        let known = try owner(of: aliases, appID)
        var user =
            known
            ?? OneSignalApp.User(
                id: ids.uuid(),
                firstActive: call.now.seconds,
                lastActive: call.now.seconds
            )
        if known != nil { try checkWriteLimit(user.id, call) }
        for (label, id) in aliases where label != "onesignal_id" { user.aliases[label] = id }
        try checkAliasLimit(user)
        let pendingChange = try pendingChange(call.body["properties"]?.object, call)
        try checkTagLimit(user, pendingChange)
        applyChange(pendingChange, to: &user, call)
        apps[appID, default: OneSignalApp(appID: appID)].save(user)
        for subscription in requestedSubscriptions {
            _ = try addSubscription(subscription, to: user.id, appID, call, &effects)
        }
        if known == nil {
            recordEffect("onesignal.user", user, ["aliases": .object(user.aliasesJSON)], &effects)
        }
        recordTagEffect(pendingChange, previousUser: known, user, &effects)
        let savedUser = apps[appID]?.users[user.id] ?? user
        return json(known == nil ? 201 : 200, resourceJSON(savedUser, appID))
    }

    /// Returns the user who owns the known aliases; nil when no alias is known.
    ///
    /// Throws when the aliases belong to different users.
    private func owner(
        of aliases: [String: String],
        _ appID: String
    ) throws(OneSignalError) -> OneSignalApp.User? {
        let owners = aliases.compactMap { label, id in
            apps[appID]?.user(label, id).map { (label, id, $0) }
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

    func aliases(
        _ value: JSONValue?,
        allowsOneSignalID: Bool
    ) throws(OneSignalError) -> [String: String] {
        var aliases: [String: String] = [:]
        for member in value?.object?.members ?? [] {
            guard let id = member.value.scalarText, !id.isEmpty else {
                throw OneSignalError(
                    400,
                    "Alias ids must be strings: \(member.key)",
                    confidence: .inferred
                )
            }
            guard member.key != "onesignal_id" || allowsOneSignalID else {
                throw OneSignalError(
                    400,
                    "onesignal_id is a reserved alias label",
                    confidence: .inferred
                )
            }
            guard member.key.count <= 128, id.count <= 128 else {
                throw OneSignalError(
                    400,
                    "Alias labels and ids may have at most 128 characters",
                    confidence: .inferred
                )
            }
            aliases[member.key] = id
        }
        return aliases
    }

    private func checkAliasLimit(_ user: OneSignalApp.User) throws(OneSignalError) {
        guard let max = settings.aliasesMax, user.aliases.count > max else { return }
        throw OneSignalError(
            400,
            "A user may have at most \(max) aliases",
            confidence: .inferred
        )
    }

    // MARK: Update

    mutating func updateUser(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (previousUser, appID) = try addressedUser(call)
        try checkWriteLimit(previousUser.id, call)
        let pendingChange = try pendingChange(call.body["properties"]?.object, call)
        try checkTagLimit(previousUser, pendingChange)
        var user = previousUser
        Self.addPurchases(call.body["deltas"]?["purchases"]?.array ?? [], to: &user)
        applyChange(pendingChange, to: &user, call)
        user.lastActive = call.now.seconds
        apps[appID]?.save(user)
        recordTagEffect(pendingChange, previousUser: previousUser, user, &effects)
        return json(202, ["properties": .object(user.propertiesJSON)])
    }

    mutating func updateIdentity(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, _) = try addressedUser(call)
        return try addAliases(call, user, &effects)
    }

    /// Adds a subscription to an existing user.
    mutating func createSubscription(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, appID) = try addressedUser(call)
        try checkWriteLimit(user.id, call)
        guard let requestedSubscriptions = call.body["subscription"]?.object else {
            throw OneSignalError(400, "subscription is required", confidence: .inferred)
        }
        let newSubscription = try addSubscription(
            requestedSubscriptions,
            to: user.id,
            appID,
            call,
            &effects
        )
        return json(201, ["subscription": .object(newSubscription.resourceJSON(in: appID))])
    }

    /// Adds to a user the purchases made outside of OneSignal, which a request reports in `deltas`.
    static func addPurchases(_ purchases: [JSONValue], to user: inout OneSignalApp.User) {
        guard !purchases.isEmpty else { return }
        func number(_ value: JSONValue?) -> Double {
            value?.scalarText.flatMap { Double($0) } ?? 0
        }
        let known = user.properties["purchases"]?.array ?? []
        user.properties["purchases"] = .array(known + purchases)
        let amountSpent = purchases.reduce(number(user.properties["amount_spent"])) {
            $0 + number($1["amount"]) * max(1, number($1["count"]))
        }
        user.properties["amount_spent"] = .number(JSONNumber(amountSpent))
    }

    mutating func addAliases(
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        try checkWriteLimit(user.id, call)
        let requestedSubscriptions = try aliases(call.body["identity"], allowsOneSignalID: false)
        let appID = try knownAppID(call.pathParameter("app_id"))
        let claimedAliases = requestedSubscriptions.filter { label, id in
            apps[appID]?.user(label, id).map { $0.id != user.id } ?? false
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
        try checkAliasLimit(updatedUser)
        apps[appID]?.save(updatedUser)
        if updatedUser.aliases != user.aliases {
            recordEffect("onesignal.aliases", updatedUser, updatedUser.aliasesJSON, &effects)
        }
        return json(200, ["identity": .object(updatedUser.identityJSON)])
    }

    // MARK: Delete

    mutating func deleteUser(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, appID) = try addressedUser(call)
        apps[appID]?.remove(user: user.id)
        recordEffect("onesignal.user-deleted", user, [:], &effects)
        return json(200, JSONObject())
    }

    mutating func deleteAlias(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (previousUser, appID) = try addressedUser(call)
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
        apps[appID]?.save(user)
        recordEffect("onesignal.alias-removed", user, ["label": .string(label)], &effects)
        return json(200, ["identity": .object(user.identityJSON)])
    }
}

extension OneSignalApp.User {
    fileprivate var aliasesJSON: JSONObject {
        JSONObject(members: identityJSON.members.filter { $0.key != "onesignal_id" })
    }
}
