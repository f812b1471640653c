internal import Values

/// Operations on subscriptions, through which messages reach users (OneSignal fact sheet, section
/// 7).
enum OneSignalSubscriptionOperations {
    private static let types: Set<String> = [
        "iOSPush", "AndroidPush", "FireOSPush", "ChromeExtensionPush", "ChromePush",
        "WindowsPush", "SafariLegacyPush", "FirefoxPush", "macOSPush", "HuaweiPush", "SafariPush",
        "Email", "SMS",
    ]

    private static let tooManySubscriptions = OneSignalError(
        409,
        title: "User already owns the maximum of \(OneSignalApp.subscriptionsMax) subscriptions",
        confidence: .inferred
    )

    /// Adds a requested subscription to a user, or moves an existing subscription with the same
    /// token to the user.
    static func add(
        _ requestedValues: JSONObject,
        to userID: String,
        _ appID: String,
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> OneSignalApp.Subscription {
        guard let type = requestedValues["type"]?.string, types.contains(type)
        else {
            throw OneSignalError(
                400,
                "Invalid subscription type: \(requestedValues["type"]?.text ?? "missing")",
                confidence: .inferred
            )
        }
        let token = requestedValues["token"]?.string ?? ""
        let existingSubscription =
            token.isEmpty ? nil : state.apps[appID]?.subscription(type: type, token: token)
        let ownedCount = state.apps[appID]?.users[userID]?.subscriptionIDs.count ?? 0
        guard existingSubscription?.ownerID == userID || ownedCount < OneSignalApp.subscriptionsMax
        else {
            throw tooManySubscriptions
        }
        var subscription =
            existingSubscription
            ?? OneSignalApp.Subscription(
                id: state.ids.uuid(),
                type: type,
                token: token,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: userID,
                created: call.now.seconds
            )
        let previousSubscription = existingSubscription
        subscription.ownerID = userID
        subscription.update(requestedValues)
        state.apps[appID]?.save(subscription)
        if subscription != previousSubscription, let user = state.apps[appID]?.users[userID] {
            let wasTransferred = previousSubscription.map { $0.ownerID == userID } == false
            effects.append(
                user.effect(
                    wasTransferred
                        ? "onesignal.subscription-transferred" : "onesignal.subscription",
                    ["type": .string(type)]
                )
            )
        }
        return subscription
    }

    private static func applyUpdate(
        to existingSubscription: OneSignalApp.Subscription,
        status: Int,
        _ appID: String,
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        try state.countWrite(to: existingSubscription.id, call)
        var updatedSubscription = existingSubscription
        updatedSubscription.update(call.body["subscription"]?.object ?? JSONObject())
        state.apps[appID]?.save(updatedSubscription)
        if updatedSubscription != existingSubscription,
            let user = state.apps[appID]?.users[existingSubscription.ownerID]
        {
            effects.append(
                user.effect("onesignal.subscription", ["type": .string(existingSubscription.type)])
            )
        }
        return HTTPMessage.Response(
            status,
            json: ["subscription": .object(updatedSubscription.resourceJSON(in: appID))]
        )
    }

    // MARK: Operations

    /// Adds a subscription to an existing user.
    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (user, appID) = try OneSignalUserOperations.addressedUser(&state, call)
        try state.countWrite(to: user.id, call)
        guard let requestedSubscriptions = call.body["subscription"]?.object else {
            throw OneSignalError(400, "subscription is required", confidence: .inferred)
        }
        let newSubscription = try add(
            requestedSubscriptions,
            to: user.id,
            appID,
            &state,
            call,
            &effects
        )
        return HTTPMessage.Response(
            201,
            json: ["subscription": .object(newSubscription.resourceJSON(in: appID))]
        )
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

    /// Returns the subscription that a call addresses by its ID, and the ID of the app.
    private static func addressedSubscription(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> (subscription: OneSignalApp.Subscription, appID: String) {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        guard
            let subscription = state.apps[appID]?.subscriptions[
                call.pathParameter("subscription_id")
            ]
        else { throw .subscriptionNotFound }
        return (subscription, appID)
    }

    /// Returns the owner of the subscription that a call addresses.
    private static func addressedOwner(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> OneSignalApp.User {
        let (subscription, appID) = try addressedSubscription(state, call)
        guard let owner = state.apps[appID]?.users[subscription.ownerID] else {
            throw .userNotFound
        }
        return owner
    }

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (subscription, appID) = try addressedSubscription(state, call)
        return try applyUpdate(to: subscription, status: 200, appID, &state, call, &effects)
    }

    static func updateByToken(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let (type, token) = (call.pathParameter("token_type"), call.pathParameter("token"))
        guard let subscription = state.apps[appID]?.subscription(type: type, token: token) else {
            throw .subscriptionNotFound
        }
        return try applyUpdate(to: subscription, status: 202, appID, &state, call, &effects)
    }

    static func delete(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (existingSubscription, appID) = try addressedSubscription(state, call)
        state.apps[appID]?.remove(subscription: existingSubscription.id)
        if let user = state.apps[appID]?.users[existingSubscription.ownerID] {
            effects.append(
                user.effect(
                    "onesignal.subscription-deleted",
                    ["type": .string(existingSubscription.type)]
                )
            )
        }
        return HTTPMessage.Response(202, json: [:])
    }

    static func viewIdentity(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let owner = try addressedOwner(state, call)
        return HTTPMessage.Response(200, json: ["identity": .object(owner.identityJSON)])
    }

    static func updateIdentity(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let owner = try addressedOwner(state, call)
        return try OneSignalUserOperations.addAliases(to: owner, &state, call, &effects)
    }

    static func transfer(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (existingSubscription, appID) = try addressedSubscription(state, call)
        let requestedValues = try OneSignalApp.User.aliases(
            in: call.body["identity"],
            allowsOneSignalID: true
        )
        guard requestedValues.count == 1, let (label, id) = requestedValues.first else {
            throw OneSignalError(400, "identity must hold one alias", confidence: .inferred)
        }
        guard let owner = state.apps[appID]?.user(label, id) else { throw .userNotFound }
        guard
            owner.id == existingSubscription.ownerID
                || owner.subscriptionIDs.count < OneSignalApp.subscriptionsMax
        else {
            throw tooManySubscriptions
        }
        var movedSubscription = existingSubscription
        movedSubscription.ownerID = owner.id
        state.apps[appID]?.save(movedSubscription)
        if existingSubscription.ownerID != owner.id {
            effects.append(
                owner.effect(
                    "onesignal.subscription-transferred",
                    ["type": .string(existingSubscription.type)]
                )
            )
        }
        return HTTPMessage.Response(200, json: ["identity": .object(owner.identityJSON)])
    }

    // MARK: Devices

    /// Returns the in-app messages of a device, of which the fake has none.
    ///
    /// The path comes from the published SDKs and is *inferred*.
    static func listInAppMessages(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        guard state.apps[appID]?.subscriptions[call.pathParameter("subscription_id")] != nil else {
            throw .subscriptionNotFound
        }
        return HTTPMessage.Response(200, json: ["in_app_messages": []])
    }

    /// Unsubscribes an email address by the token in the unsubscribe link of a message.
    ///
    /// In this fake, the token is the ID of the email subscription or the email address itself.
    static func unsubscribe(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        guard let token = call.query("token"), !token.isEmpty else {
            throw OneSignalError(400, "token is required", confidence: .inferred)
        }
        let app = state.apps[appID]
        let emailSubscription =
            app?.subscriptions[token] ?? app?.subscription(type: "Email", token: token)
        guard var device = emailSubscription, device.type == "Email" else {
            throw OneSignalError(400, "token is not valid", confidence: .inferred)
        }
        device.isEnabled = false
        // The notification type -2 means unsubscribed (OneSignal fact sheet, section 7).
        device.notificationTypes = -2
        state.apps[appID]?.save(device)
        if let owner = state.apps[appID]?.users[device.ownerID] {
            effects.append(owner.effect("onesignal.subscription", ["type": "Email"]))
        }
        return HTTPMessage.Response(202, json: ["success": true])
    }
}
