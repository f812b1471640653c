internal import Contracts
internal import Values

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

    private mutating func applyUpdate(
        to existingSubscription: OneSignalApp.Subscription,
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

    // MARK: Operations

    /// Returns the subscription that a call addresses by its ID, and the ID of the app.
    private func addressedSubscription(
        _ call: Call
    ) throws(OneSignalError) -> (subscription: OneSignalApp.Subscription, appID: String) {
        let appID = try knownAppID(call.pathParameter("app_id"))
        guard
            let subscription = apps[appID]?.subscriptions[call.pathParameter("subscription_id")]
        else { throw .subscriptionNotFound }
        return (subscription, appID)
    }

    /// Returns the owner of the subscription that a call addresses.
    private func addressedOwner(_ call: Call) throws(OneSignalError) -> OneSignalApp.User {
        let (subscription, appID) = try addressedSubscription(call)
        guard let owner = apps[appID]?.users[subscription.ownerID] else { throw .userNotFound }
        return owner
    }

    mutating func updateSubscription(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (subscription, appID) = try addressedSubscription(call)
        return try applyUpdate(to: subscription, call, appID, status: 200, &effects)
    }

    mutating func updateSubscriptionByToken(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let (type, token) = (call.pathParameter("token_type"), call.pathParameter("token"))
        guard let subscription = apps[appID]?.subscription(type: type, token: token) else {
            throw .subscriptionNotFound
        }
        return try applyUpdate(to: subscription, call, appID, status: 202, &effects)
    }

    mutating func deleteSubscription(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (existingSubscription, appID) = try addressedSubscription(call)
        apps[appID]?.remove(subscription: existingSubscription.id)
        if let user = apps[appID]?.users[existingSubscription.ownerID] {
            recordEffect(
                "onesignal.subscription-deleted",
                user,
                ["type": .string(existingSubscription.type)],
                &effects
            )
        }
        return json(202, JSONObject())
    }

    func viewSubscriptionIdentity(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let owner = try addressedOwner(call)
        return json(200, ["identity": .object(owner.identityJSON)])
    }

    mutating func updateSubscriptionIdentity(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let owner = try addressedOwner(call)
        return try addAliases(call, owner, &effects)
    }

    mutating func transferSubscription(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (existingSubscription, appID) = try addressedSubscription(call)
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
        return json(200, ["identity": .object(owner.identityJSON)])
    }
}
