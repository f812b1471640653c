internal import Conformance

/// Operations on users and their aliases (OneSignal fact sheet, section 7).
extension OneSignalState {
    mutating func handleUserCall(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let appID = try knownAppID(call.path[1])
        let rest = Array(call.path.dropFirst(2))
        let method = call.request.method
        switch (method, rest.first, rest.count) {
        case ("POST", "users", 1): return try createUser(call, appID, &effects)
        // The legacy call that writes tags by external ID. OneSignal's documentation names both PUT
        // and PATCH for it.
        case ("PUT", "users", 2), ("PATCH", "users", 2):
            return try legacyTags(call, appID, rest[1], &effects)
        case (_, "users", 4...) where rest[1] == "by":
            let user = try user(rest[2], rest[3], appID, at: call.now)
            return try handleUserRequest(method, Array(rest.dropFirst(4)), call, user, &effects)
        case (_, "subscriptions", 2...):
            return try handleSubscriptionCall(method, rest, call, appID, &effects)
        case ("PATCH", "subscriptions_by_token", 3):
            guard let found = apps[appID]?.subscription(type: rest[1], token: rest[2]) else {
                throw .subscriptionMissing
            }
            return (try updateSubscription(found, call, appID, status: 202, &effects), .documented)
        default: throw .notFound
        }
    }

    mutating func user(
        _ label: String,
        _ id: String,
        _ appID: String,
        at now: Instant
    ) throws(OneSignalError) -> OneSignalApp.User {
        guard let found = apps[appID]?.user(label, id) else {
            throw OneSignalError(
                404,
                title: "No aliases found for \(label == "onesignal_id" ? "oneSignalID" : label) "
                    + "`\(id)`"
            )
        }
        guard !found.pending.isEmpty else { return found }
        apps[appID]?.settleProperties(of: found.id, at: now)
        return apps[appID]?.users[found.id] ?? found
    }

    private mutating func handleUserRequest(
        _ method: String,
        _ rest: [String],
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let appID = call.path[1]
        switch (method, rest.first, rest.count) {
        case ("GET", nil, 0): return (json(200, resourceJSON(user, appID)), .documented)
        case ("PATCH", nil, 0): return try updateUser(call, user, &effects)
        case ("DELETE", nil, 0):
            apps[appID]?.remove(user: user.id)
            recordEffect("onesignal.user-deleted", user, [:], &effects)
            return (json(200, JSONObject()), .documented)
        case ("GET", "identity", 1):
            return (json(200, ["identity": .object(user.identityJSON)]), .documented)
        case ("PATCH", "identity", 1): return try addAliases(call, user, &effects)
        case ("DELETE", "identity", 2): return try removeAlias(rest[1], call, user, &effects)
        case ("POST", "subscriptions", 1):
            try limitWrites(user.id, call)
            guard let wanted = call.body["subscription"]?.object else {
                throw OneSignalError(400, "subscription is required", confidence: .inferred)
            }
            let made = try addSubscription(wanted, to: user.id, appID, call, &effects)
            return (
                json(201, ["subscription": .object(made.resourceJSON(in: appID))]), .documented
            )
        default: throw .notFound
        }
    }

    private mutating func removeAlias(
        _ label: String,
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        guard user.aliases[label] != nil else {
            throw OneSignalError(
                404,
                title: "User does not have an alias with the label `\(label)`",
                confidence: .inferred
            )
        }
        var user = user
        user.aliases[label] = nil
        apps[call.path[1]]?.save(user)
        recordEffect("onesignal.alias-removed", user, ["label": .string(label)], &effects)
        return (json(200, ["identity": .object(user.identityJSON)]), .documented)
    }

    func json(_ status: Int, _ object: JSONObject) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: .object(object))
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

    mutating func limitWrites(_ id: String, _ call: Call) throws(OneSignalError) {
        if let max = settings.userWritesPerSecondMax { try limit("user|" + id, max, at: call.now) }
    }

    // MARK: Create

    private mutating func createUser(
        _ call: Call,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let aliases = try aliases(call.body["identity"], allowsOneSignalID: true)
        let wanted = (call.body["subscriptions"]?.array ?? []).compactMap(\.object)
        guard !aliases.isEmpty || !wanted.isEmpty else {
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
        if known != nil { try limitWrites(user.id, call) }
        for (label, id) in aliases where label != "onesignal_id" { user.aliases[label] = id }
        try checkAliasLimit(user)
        let change = try change(call.body["properties"]?.object, call)
        try checkTagLimit(user, change)
        apply(change, to: &user, call)
        apps[appID, default: OneSignalApp(appID: appID)].save(user)
        for subscription in wanted {
            _ = try addSubscription(subscription, to: user.id, appID, call, &effects)
        }
        if known == nil {
            recordEffect("onesignal.user", user, ["aliases": .object(user.aliasesJSON)], &effects)
        }
        recordTagEffect(change, before: known, user, &effects)
        let saved = apps[appID]?.users[user.id] ?? user
        return (json(known == nil ? 201 : 200, resourceJSON(saved, appID)), .documented)
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
        guard aliases["onesignal_id"] == nil || !owners.isEmpty else { throw .userMissing }
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

    private mutating func updateUser(
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        try limitWrites(user.id, call)
        let change = try change(call.body["properties"]?.object, call)
        try checkTagLimit(user, change)
        let before = user
        var user = user
        Self.add(call.body["deltas"]?["purchases"]?.array ?? [], to: &user)
        apply(change, to: &user, call)
        user.lastActive = call.now.seconds
        apps[call.path[1]]?.save(user)
        recordTagEffect(change, before: before, user, &effects)
        return (json(202, ["properties": .object(user.propertiesJSON)]), .documented)
    }

    /// Adds to a user the purchases made outside of OneSignal, which a request reports in `deltas`.
    static func add(_ purchases: [JSONValue], to user: inout OneSignalApp.User) {
        guard !purchases.isEmpty else { return }
        func number(_ value: JSONValue?) -> Double {
            value?.scalarText.flatMap { Double($0) } ?? 0
        }
        let known = user.properties["purchases"]?.array ?? []
        user.properties["purchases"] = .array(known + purchases)
        let spent = purchases.reduce(number(user.properties["amount_spent"])) {
            $0 + number($1["amount"]) * max(1, number($1["count"]))
        }
        user.properties["amount_spent"] = .number(JSONNumber(spent))
    }

    mutating func addAliases(
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        try limitWrites(user.id, call)
        let wanted = try aliases(call.body["identity"], allowsOneSignalID: false)
        let appID = try knownAppID(call.path[1])
        let claimed = wanted.filter { label, id in
            apps[appID]?.user(label, id).map { $0.id != user.id } ?? false
        }
        guard claimed.isEmpty else {
            throw OneSignalError(
                409,
                code: "user-2",
                title: "One or more Aliases claimed by another User",
                meta: JSONObject(
                    members: claimed.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: .string($0.value))
                    }
                )
            )
        }
        var changed = user
        for (label, id) in wanted { changed.aliases[label] = id }
        try checkAliasLimit(changed)
        apps[call.path[1]]?.save(changed)
        if changed.aliases != user.aliases {
            recordEffect("onesignal.aliases", changed, changed.aliasesJSON, &effects)
        }
        return (json(200, ["identity": .object(changed.identityJSON)]), .documented)
    }
}

extension OneSignalApp.User {
    fileprivate var aliasesJSON: JSONObject {
        JSONObject(members: identityJSON.members.filter { $0.key != "onesignal_id" })
    }
}
