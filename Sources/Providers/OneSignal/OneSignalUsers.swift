internal import Conformance

/// Users, aliases, subscriptions and tags (OneSignal fact sheet, sections 7 and 8).
extension OneSignalState {
    static let subscriptionTypes: Set<String> = [
        "iOSPush", "AndroidPush", "FireOSPush", "ChromeExtensionPush", "ChromePush",
        "WindowsPush", "SafariLegacyPush", "FirefoxPush", "macOSPush", "HuaweiPush", "SafariPush",
        "Email", "SMS",
    ]

    /// Keys that no tag may have.
    static let reservedTags: Set<String> = [
        "message", "notification", "subscription", "user", "template", "app", "org",
        "dynamic_content", "data_feed", "journey", "custom_data",
    ]

    mutating func userAnswer(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let app = try app(call.path[1])
        let rest = Array(call.path.dropFirst(2))
        let method = call.request.method
        switch (method, rest.first, rest.count) {
        case ("POST", "users", 1): return try createUser(call, app, &effects)
        // The legacy call that writes tags by external id; its page says PUT and PATCH.
        case ("PUT", "users", 2), ("PATCH", "users", 2):
            return try legacyTags(call, app, rest[1], &effects)
        case (_, "users", 4...) where rest[1] == "by":
            let user = try user(rest[2], rest[3], app, at: call.now)
            return try answer(method, Array(rest.dropFirst(4)), call, user, &effects)
        case (_, "subscriptions", 2...):
            return try subscriptionAnswer(method, rest, call, app, &effects)
        case ("PATCH", "subscriptions_by_token", 3):
            guard let found = app.subscription(type: rest[1], token: rest[2]) else {
                throw .subscriptionMissing
            }
            return (try updateSubscription(found, call, app, status: 202, &effects), .documented)
        default: throw .notFound
        }
    }

    private mutating func user(
        _ label: String,
        _ id: String,
        _ app: OneSignalApp,
        at now: Instant
    ) throws(OneSignalError) -> OneSignalApp.User {
        guard let found = app.user(label, id) else {
            throw OneSignalError(
                404,
                title: "No aliases found for \(label == "onesignal_id" ? "oneSignalID" : label) "
                    + "`\(id)`"
            )
        }
        apps[app.appID]?.settleProperties(of: found.id, at: now)
        return apps[app.appID]?.users[found.id] ?? found
    }

    private mutating func answer(
        _ method: String,
        _ rest: [String],
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let appID = call.path[1]
        switch (method, rest.first, rest.count) {
        case ("GET", nil, 0): return (json(200, shown(user, appID)), .documented)
        case ("PATCH", nil, 0): return try updateUser(call, user, &effects)
        case ("DELETE", nil, 0):
            apps[appID]?.remove(user: user.id)
            note("onesignal.user-deleted", user, [:], &effects)
            return (json(200, JSONObject()), .documented)
        case ("GET", "identity", 1):
            return (json(200, ["identity": .object(user.shownIdentity)]), .documented)
        case ("PATCH", "identity", 1): return try addAliases(call, user, &effects)
        case ("DELETE", "identity", 2):
            var user = user
            guard user.aliases[rest[1]] != nil else {
                throw OneSignalError(
                    404,
                    title: "User does not have an alias with the label `\(rest[1])`",
                    confidence: .inferred
                )
            }
            user.aliases[rest[1]] = nil
            apps[appID]?.save(user)
            note("onesignal.alias-removed", user, ["label": .string(rest[1])], &effects)
            return (json(200, ["identity": .object(user.shownIdentity)]), .documented)
        case ("POST", "subscriptions", 1):
            try limitWrites(user.id, call)
            guard let wanted = call.body["subscription"]?.object else {
                throw OneSignalError(400, "subscription is required", confidence: .inferred)
            }
            let made = try addSubscription(wanted, to: user.id, appID, call, &effects)
            return (
                json(201, ["subscription": .object(made.shown(in: appID))]), .documented
            )
        default: throw .notFound
        }
    }

    private func json(_ status: Int, _ object: JSONObject) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: .object(object))
    }

    private func shown(_ user: OneSignalApp.User, _ appID: String) -> JSONObject {
        let subscriptions = apps[appID]?.subscriptions(of: user) ?? []
        var properties = user.shownProperties
        properties["first_active"] = .integer(user.firstActive)
        properties["last_active"] = .integer(user.lastActive)
        return [
            "properties": .object(properties), "identity": .object(user.shownIdentity),
            "subscriptions": .array(subscriptions.map { .object($0.shown(in: appID)) }),
        ]
    }

    /// Notes what changed; a call that changes nothing has no effect.
    private func note(
        _ kind: String,
        _ user: OneSignalApp.User,
        _ content: JSONObject,
        _ effects: inout [Effect]
    ) {
        let name = user.aliases["external_id"] ?? user.id
        effects.append(Effect(kind: kind, recipients: [name], content: .object(content)))
    }

    private mutating func limitWrites(_ id: String, _ call: Call) throws(OneSignalError) {
        if let max = settings.userWritesPerSecondMax { try limit("user|" + id, max, at: call.now) }
    }

    // MARK: Create

    private mutating func createUser(
        _ call: Call,
        _ app: OneSignalApp,
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
        let owners = aliases.compactMap { label, id in app.user(label, id).map { (label, id, $0) } }
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
        apps[app.appID] = app
        let known = owners.first?.2
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
        apps[app.appID]?.save(user)
        for subscription in wanted {
            _ = try addSubscription(subscription, to: user.id, app.appID, call, &effects)
        }
        if known == nil {
            note("onesignal.user", user, ["aliases": .object(user.shownAliases)], &effects)
        }
        noteTags(change, before: known, user, &effects)
        let saved = apps[app.appID]?.users[user.id] ?? user
        return (json(known == nil ? 201 : 200, shown(saved, app.appID)), .documented)
    }

    private func aliases(
        _ value: JSONValue?,
        allowsOneSignalID: Bool
    ) throws(OneSignalError) -> [String: String] {
        var aliases: [String: String] = [:]
        for member in value?.object?.members ?? [] {
            guard let id = FirebaseFields.text(member.value), !id.isEmpty else {
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
        noteTags(change, before: before, user, &effects)
        return (json(202, ["properties": .object(user.shownProperties)]), .documented)
    }

    /// What was bought outside, as `deltas` report it.
    private static func add(_ purchases: [JSONValue], to user: inout OneSignalApp.User) {
        guard !purchases.isEmpty else { return }
        func number(_ value: JSONValue?) -> Double {
            value.flatMap(FirebaseFields.text).flatMap { Double($0) } ?? 0
        }
        let known = user.properties["purchases"]?.array ?? []
        user.properties["purchases"] = .array(known + purchases)
        let spent = purchases.reduce(number(user.properties["amount_spent"])) {
            $0 + number($1["amount"]) * max(1, number($1["count"]))
        }
        user.properties["amount_spent"] = .number(JSONNumber(spent))
    }

    /// Properties as they are stored: tags as texts, everything else as it came.
    private func change(
        _ properties: JSONObject?,
        _ call: Call,
        isDevice: Bool = false
    ) throws(OneSignalError) -> OneSignalApp.User.Pending {
        var tags = JSONObject()
        for member in properties?["tags"]?.object?.members ?? [] {
            switch member.value {
            case .string, .number, .bool:
                tags[member.key] = .string(
                    FirebaseFields.text(member.value) ?? (member.value == true ? "true" : "false")
                )
            // An empty text deletes a tag everywhere, null when a device is edited.
            case .null: tags[member.key] = ""
            case .array, .object:
                throw OneSignalError(
                    400,
                    "Tag values must be strings: \(member.key)",
                    confidence: .inferred
                )
            }
            guard !Self.reservedTags.contains(member.key) else {
                throw OneSignalError(
                    400,
                    "\(member.key) is a reserved tag key",
                    confidence: .inferred
                )
            }
        }
        var others = JSONObject()
        for member in properties?.members ?? [] where member.key != "tags" {
            others[member.key] = member.value
        }
        // Property changes count like tags (section 9).
        guard tags.members.count + others.members.count <= 100 else { throw .tooManyTags }
        return OneSignalApp.User.Pending(
            due: call.now + .seconds(settings.propertyDelaySeconds),
            tags: tags,
            properties: others
        )
    }

    /// An overflow refuses the whole update, the good keys included (section 8).
    private func checkTagLimit(
        _ user: OneSignalApp.User,
        _ change: OneSignalApp.User.Pending
    ) throws(OneSignalError) {
        guard let max = settings.tagsMax, !change.tags.members.isEmpty else { return }
        var after = user
        after.apply(change)
        guard after.tags.members.count <= max else { throw .tagLimit }
    }

    private func apply(
        _ change: OneSignalApp.User.Pending,
        to user: inout OneSignalApp.User,
        _ call: Call
    ) {
        if settings.propertyDelaySeconds > 0 {
            user.pending.append(change)
        } else {
            user.apply(change)
        }
    }

    private func noteTags(
        _ change: OneSignalApp.User.Pending,
        before: OneSignalApp.User?,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) {
        let changed = change.tags.members.filter { member in
            let old = before?.tags[member.key]?.string ?? ""
            return old != member.value.string
        }
        guard !changed.isEmpty else { return }
        note("onesignal.tags", user, JSONObject(members: changed), &effects)
    }

    private mutating func addAliases(
        _ call: Call,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        try limitWrites(user.id, call)
        let wanted = try aliases(call.body["identity"], allowsOneSignalID: false)
        let app = try app(call.path[1])
        let claimed = wanted.filter { label, id in
            app.user(label, id).map { $0.id != user.id } ?? false
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
            note("onesignal.aliases", changed, changed.shownAliases, &effects)
        }
        return (json(200, ["identity": .object(changed.shownIdentity)]), .documented)
    }

    // MARK: Subscriptions

    private mutating func addSubscription(
        _ wanted: JSONObject,
        to userID: String,
        _ appID: String,
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> OneSignalApp.Subscription {
        guard let type = wanted["type"]?.string, Self.subscriptionTypes.contains(type) else {
            throw OneSignalError(
                400,
                "Invalid subscription type: \(wanted["type"]?.text ?? "missing")",
                confidence: .inferred
            )
        }
        let token = wanted["token"]?.string ?? ""
        let known = token.isEmpty ? nil : apps[appID]?.subscription(type: type, token: token)
        let owned = apps[appID]?.users[userID]?.subscriptionIDs.count ?? 0
        guard known?.ownerID == userID || owned < OneSignalApp.subscriptionsMax else {
            throw OneSignalError(
                409,
                title: "User already owns the maximum of \(OneSignalApp.subscriptionsMax) "
                    + "subscriptions",
                confidence: .inferred
            )
        }
        var subscription =
            known
            ?? OneSignalApp.Subscription(
                id: ids.uuid(),
                type: type,
                token: token,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: userID,
                created: call.now.seconds
            )
        let previous = known
        subscription.ownerID = userID
        Self.update(&subscription, wanted)
        apps[appID]?.save(subscription)
        if subscription != previous, let user = apps[appID]?.users[userID] {
            note(
                previous.map { $0.ownerID == userID } == false
                    ? "onesignal.subscription-transferred" : "onesignal.subscription",
                user,
                ["type": .string(type)],
                &effects
            )
        }
        return subscription
    }

    private static func update(
        _ subscription: inout OneSignalApp.Subscription,
        _ wanted: JSONObject
    ) {
        for member in wanted.members {
            switch member.key {
            case "id", "app_id", "type": break
            case "token": subscription.token = member.value.string ?? subscription.token
            case "enabled": subscription.isEnabled = member.value.bool ?? subscription.isEnabled
            case "notification_types":
                subscription.notificationTypes =
                    member.value.int64 ?? subscription.notificationTypes
            default: subscription.details[member.key] = member.value
            }
        }
    }

    private mutating func updateSubscription(
        _ found: OneSignalApp.Subscription,
        _ call: Call,
        _ app: OneSignalApp,
        status: Int,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        try limitWrites(found.id, call)
        var changed = found
        Self.update(&changed, call.body["subscription"]?.object ?? JSONObject())
        apps[app.appID]?.save(changed)
        if changed != found, let user = app.users[found.ownerID] {
            note("onesignal.subscription", user, ["type": .string(found.type)], &effects)
        }
        return json(status, ["subscription": .object(changed.shown(in: app.appID))])
    }

    private mutating func subscriptionAnswer(
        _ method: String,
        _ rest: [String],
        _ call: Call,
        _ app: OneSignalApp,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        guard let found = app.subscriptions[rest[1]] else { throw .subscriptionMissing }
        switch (method, Array(rest.dropFirst(2))) {
        case ("PATCH", []):
            return (try updateSubscription(found, call, app, status: 200, &effects), .documented)
        case ("DELETE", []):
            apps[app.appID]?.remove(subscription: found.id)
            if let user = app.users[found.ownerID] {
                note(
                    "onesignal.subscription-deleted",
                    user,
                    ["type": .string(found.type)],
                    &effects
                )
            }
            return (json(202, JSONObject()), .documented)
        case ("PATCH", ["owner"]):
            return try transfer(found, call, app, &effects)
        case ("GET", ["user", "identity"]):
            guard let owner = app.users[found.ownerID] else { throw .userMissing }
            return (json(200, ["identity": .object(owner.shownIdentity)]), .documented)
        case ("PATCH", ["user", "identity"]):
            guard let owner = app.users[found.ownerID] else { throw .userMissing }
            return try addAliases(call, owner, &effects)
        default: throw .notFound
        }
    }

    private mutating func transfer(
        _ found: OneSignalApp.Subscription,
        _ call: Call,
        _ app: OneSignalApp,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let wanted = try aliases(call.body["identity"], allowsOneSignalID: true)
        guard wanted.count == 1, let (label, id) = wanted.first else {
            throw OneSignalError(400, "identity must hold one alias", confidence: .inferred)
        }
        guard let owner = app.user(label, id) else { throw .userMissing }
        guard
            owner.id == found.ownerID
                || owner.subscriptionIDs.count < OneSignalApp.subscriptionsMax
        else {
            throw OneSignalError(
                409,
                title: "User already owns the maximum of \(OneSignalApp.subscriptionsMax) "
                    + "subscriptions",
                confidence: .inferred
            )
        }
        var moved = found
        moved.ownerID = owner.id
        apps[app.appID]?.save(moved)
        if found.ownerID != owner.id {
            note(
                "onesignal.subscription-transferred",
                owner,
                ["type": .string(found.type)],
                &effects
            )
        }
        return (json(200, ["identity": .object(owner.shownIdentity)]), .documented)
    }

    // MARK: Tags through the old routes

    private mutating func legacyTags(
        _ call: Call,
        _ app: OneSignalApp,
        _ externalID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        guard let user = app.user("external_id", externalID) else { throw .playerMissing }
        try writeTags(call, user, app.appID, &effects)
        return (json(200, ["success": true]), .documented)
    }

    /// Writes `tags` of the body to a user, with the limits of the old routes.
    mutating func writeTags(
        _ call: Call,
        _ user: OneSignalApp.User,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) {
        guard let tags = call.body["tags"] else { return }
        try limitWrites(user.id, call)
        let change = try change(["tags": tags], call)
        if let max = settings.tagsMax {
            var after = user
            after.apply(change)
            guard after.tags.members.count <= max else {
                throw OneSignalError(
                    400,
                    "App is limited to a maximum of \(max) tags on a given player",
                    confidence: .captured
                )
            }
        }
        var changed = user
        apply(change, to: &changed, call)
        apps[appID]?.save(changed)
        noteTags(change, before: user, changed, &effects)
    }
}

extension OneSignalApp.User {
    fileprivate var shownAliases: JSONObject {
        JSONObject(members: shownIdentity.members.filter { $0.key != "onesignal_id" })
    }
}
