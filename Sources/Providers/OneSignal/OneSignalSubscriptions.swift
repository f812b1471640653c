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
        _ requestedValues: JSONObject,
        to userID: String,
        _ appID: String,
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> OneSignalApp.Subscription {
        guard let type = requestedValues["type"]?.string, Self.subscriptionTypes.contains(type)
        else {
            throw OneSignalError(
                400,
                "Invalid subscription type: \(requestedValues["type"]?.text ?? "missing")",
                confidence: .inferred
            )
        }
        let token = requestedValues["token"]?.string ?? ""
        let existingSubscription =
            token.isEmpty ? nil : apps[appID]?.subscription(type: type, token: token)
        let ownedCount = apps[appID]?.users[userID]?.subscriptionIDs.count ?? 0
        guard existingSubscription?.ownerID == userID || ownedCount < OneSignalApp.subscriptionsMax
        else {
            throw Self.tooManySubscriptions
        }
        var subscription =
            existingSubscription
            ?? OneSignalApp.Subscription(
                id: ids.uuid(),
                type: type,
                token: token,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: userID,
                created: call.now.seconds
            )
        let previousSubscription = existingSubscription
        subscription.ownerID = userID
        Self.updateFields(&subscription, requestedValues)
        apps[appID]?.save(subscription)
        if subscription != previousSubscription, let user = apps[appID]?.users[userID] {
            recordEffect(
                previousSubscription.map { $0.ownerID == userID } == false
                    ? "onesignal.subscription-transferred" : "onesignal.subscription",
                user,
                ["type": .string(type)],
                &effects
            )
        }
        return subscription
    }

    private static func updateFields(
        _ subscription: inout OneSignalApp.Subscription,
        _ requestedValues: JSONObject
    ) {
        for member in requestedValues.members {
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
        _ existingSubscription: OneSignalApp.Subscription,
        _ call: Call,
        _ appID: String,
        status: Int,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        try checkWriteLimit(existingSubscription.id, call)
        var updatedSubscription = existingSubscription
        Self.updateFields(&updatedSubscription, call.body["subscription"]?.object ?? JSONObject())
        apps[appID]?.save(updatedSubscription)
        if updatedSubscription != existingSubscription,
            let user = apps[appID]?.users[existingSubscription.ownerID]
        {
            recordEffect(
                "onesignal.subscription",
                user,
                ["type": .string(existingSubscription.type)],
                &effects
            )
        }
        return json(status, ["subscription": .object(updatedSubscription.resourceJSON(in: appID))])
    }

    mutating func handleSubscriptionCall(
        _ method: String,
        _ remainingPath: [String],
        _ call: Call,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HandlerResult {
        guard let existingSubscription = apps[appID]?.subscriptions[remainingPath[1]] else {
            throw .subscriptionNotFound
        }
        switch (method, Array(remainingPath.dropFirst(2))) {
        case ("PATCH", []):
            return (
                try updateSubscription(existingSubscription, call, appID, status: 200, &effects),
                .documented
            )
        case ("DELETE", []):
            apps[appID]?.remove(subscription: existingSubscription.id)
            if let user = apps[appID]?.users[existingSubscription.ownerID] {
                recordEffect(
                    "onesignal.subscription-deleted",
                    user,
                    ["type": .string(existingSubscription.type)],
                    &effects
                )
            }
            return (json(202, JSONObject()), .documented)
        case ("PATCH", ["owner"]):
            return try transferSubscription(existingSubscription, call, appID, &effects)
        case ("GET", ["user", "identity"]):
            guard let owner = apps[appID]?.users[existingSubscription.ownerID] else {
                throw .userNotFound
            }
            return (json(200, ["identity": .object(owner.identityJSON)]), .documented)
        case ("PATCH", ["user", "identity"]):
            guard let owner = apps[appID]?.users[existingSubscription.ownerID] else {
                throw .userNotFound
            }
            return try addAliases(call, owner, &effects)
        default: throw .notFound
        }
    }

    mutating func transferSubscription(
        _ existingSubscription: OneSignalApp.Subscription,
        _ call: Call,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HandlerResult {
        let requestedValues = try aliases(call.body["identity"], allowsOneSignalID: true)
        guard requestedValues.count == 1, let (label, id) = requestedValues.first else {
            throw OneSignalError(400, "identity must hold one alias", confidence: .inferred)
        }
        guard let owner = apps[appID]?.user(label, id) else { throw .userNotFound }
        guard
            owner.id == existingSubscription.ownerID
                || owner.subscriptionIDs.count < OneSignalApp.subscriptionsMax
        else {
            throw Self.tooManySubscriptions
        }
        var movedSubscription = existingSubscription
        movedSubscription.ownerID = owner.id
        apps[appID]?.save(movedSubscription)
        if existingSubscription.ownerID != owner.id {
            recordEffect(
                "onesignal.subscription-transferred",
                owner,
                ["type": .string(existingSubscription.type)],
                &effects
            )
        }
        return (json(200, ["identity": .object(owner.identityJSON)]), .documented)
    }
}
