internal import Conformance

/// Operations on subscriptions, through which messages reach users (OneSignal fact sheet, section
/// 7).
extension OneSignalState {
    static let subscriptionTypes: Set<String> = [
        "iOSPush", "AndroidPush", "FireOSPush", "ChromeExtensionPush", "ChromePush",
        "WindowsPush", "SafariLegacyPush", "FirefoxPush", "macOSPush", "HuaweiPush", "SafariPush",
        "Email", "SMS",
    ]

    private static let tooManySubscriptions = OneSignalError(
        409,
        title: "User already owns the maximum of \(OneSignalApp.subscriptionsMax) subscriptions",
        confidence: .inferred
    )

    mutating func addSubscription(
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
            throw Self.tooManySubscriptions
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
            recordEffect(
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

    mutating func updateSubscription(
        _ found: OneSignalApp.Subscription,
        _ call: Call,
        _ appID: String,
        status: Int,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        try limitWrites(found.id, call)
        var changed = found
        Self.update(&changed, call.body["subscription"]?.object ?? JSONObject())
        apps[appID]?.save(changed)
        if changed != found, let user = apps[appID]?.users[found.ownerID] {
            recordEffect("onesignal.subscription", user, ["type": .string(found.type)], &effects)
        }
        return json(status, ["subscription": .object(changed.resourceJSON(in: appID))])
    }

    mutating func handleSubscriptionCall(
        _ method: String,
        _ rest: [String],
        _ call: Call,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        guard let found = apps[appID]?.subscriptions[rest[1]] else { throw .subscriptionMissing }
        switch (method, Array(rest.dropFirst(2))) {
        case ("PATCH", []):
            return (try updateSubscription(found, call, appID, status: 200, &effects), .documented)
        case ("DELETE", []):
            apps[appID]?.remove(subscription: found.id)
            if let user = apps[appID]?.users[found.ownerID] {
                recordEffect(
                    "onesignal.subscription-deleted",
                    user,
                    ["type": .string(found.type)],
                    &effects
                )
            }
            return (json(202, JSONObject()), .documented)
        case ("PATCH", ["owner"]):
            return try transfer(found, call, appID, &effects)
        case ("GET", ["user", "identity"]):
            guard let owner = apps[appID]?.users[found.ownerID] else { throw .userMissing }
            return (json(200, ["identity": .object(owner.identityJSON)]), .documented)
        case ("PATCH", ["user", "identity"]):
            guard let owner = apps[appID]?.users[found.ownerID] else { throw .userMissing }
            return try addAliases(call, owner, &effects)
        default: throw .notFound
        }
    }

    mutating func transfer(
        _ found: OneSignalApp.Subscription,
        _ call: Call,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let wanted = try aliases(call.body["identity"], allowsOneSignalID: true)
        guard wanted.count == 1, let (label, id) = wanted.first else {
            throw OneSignalError(400, "identity must hold one alias", confidence: .inferred)
        }
        guard let owner = apps[appID]?.user(label, id) else { throw .userMissing }
        guard
            owner.id == found.ownerID
                || owner.subscriptionIDs.count < OneSignalApp.subscriptionsMax
        else {
            throw Self.tooManySubscriptions
        }
        var moved = found
        moved.ownerID = owner.id
        apps[appID]?.save(moved)
        if found.ownerID != owner.id {
            recordEffect(
                "onesignal.subscription-transferred",
                owner,
                ["type": .string(found.type)],
                &effects
            )
        }
        return (json(200, ["identity": .object(owner.identityJSON)]), .documented)
    }
}
