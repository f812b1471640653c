internal import Values

/// Paywalls and purchases on a simulated phone (Despia fact sheet, sections 4 and 6).
enum DespiaPaywalls {
    /// Closes the open sheet on a device, and returns the callbacks for the page.
    static func close(
        _ state: inout DespiaState,
        _ paywall: DespiaDevice.Paywall,
        _ purchaseOutcome: DespiaDevice.Paywall.PurchaseOutcome,
        _ device: inout DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) -> [JSONValue] {
        let product = body["product"]?.string ?? paywall.product ?? "premium_monthly"
        var transactionID = ""
        if purchaseOutcome == .complete {
            transactionID = buy(&state, product, paywall, device, body, at: now)
        }
        device.paywall = nil
        var callbackReplies: [JSONValue] = []
        if purchaseOutcome == .complete {
            callbackReplies.append(
                DespiaReply.callback("onRevenueCatPurchase", [], state.settings.latencyMilliseconds)
            )
        }
        guard state.settings.hasResultChannel else { return callbackReplies }
        let hidesDetails = device.platform == "android" && paywall.source == "paywall"
        let resultEnvelope = device.purchaseResultJSON(
            purchaseOutcome,
            source: paywall.source,
            details: hidesDetails ? nil : (product, transactionID)
        )
        return callbackReplies
            + DespiaReply.revenueCatResult(
                "Result",
                resultEnvelope,
                state.settings.latencyMilliseconds
            )
    }

    /// Queues a purchase for the store model and adds it to the history of the device's store
    /// account.
    ///
    /// - Returns: The transaction ID.
    private static func buy(
        _ state: inout DespiaState,
        _ product: String,
        _ paywall: DespiaDevice.Paywall,
        _ device: DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) -> String {
        let buyerID = device.revenueCatID
        let store = device.platform == "android" ? "PLAY_STORE" : "APP_STORE"
        let transactionID =
            store == "PLAY_STORE"
            ? "GPA." + [4, 4, 4, 5].map { state.ids.digits($0) }.joined(separator: "-")
            : "2000000" + state.ids.digits(9)
        var action = StoreAction(.purchase, user: buyerID)
        action.product = product
        action.store = store
        action.environment = body["environment"]?.string ?? "SANDBOX"
        action.offering = paywall.offering
        action.transactionID = transactionID
        state.outbox.add(action)
        let isAnonymous = Customer.isAnonymous(buyerID)
        let newEntry = historyEntry(
            action,
            transactionID,
            isAnonymous: isAnonymous,
            state.settings,
            at: now
        )
        state.accounts.addPurchase(newEntry, of: device)
        return transactionID
    }

    /// Returns the entry of a purchase in the history of a store account.
    private static func historyEntry(
        _ action: StoreAction,
        _ transactionID: String,
        isAnonymous: Bool,
        _ settings: DespiaSettings,
        at now: Instant
    ) -> JSONObject {
        let product = Catalog().product(action.product)
        let expiryTime = product.days.map { now + .days($0) }
        let entitlement =
            settings.historyEntitlementField == .entitlement
            ? product.entitlements.first ?? "" : action.product
        var historyEntry: JSONObject = [
            "transactionId": .string(transactionID),
            "originalTransactionId": .string(transactionID),
            "type": .string(product.days == nil ? "product" : "subscription"),
            "entitlementId": .string(entitlement),
            "externalUserId": .string(isAnonymous ? "" : action.user),
            "isAnonymous": .bool(isAnonymous), "isActive": true,
            "willRenew": .bool(product.days != nil), "purchaseDate": .string(now.description),
            "originalPurchaseDate": .string(now.description),
            "expirationDate": expiryTime.map { .string($0.description) } ?? .null,
            "store": .string(action.store.lowercased()),
            "country": action.store == "APP_STORE" ? "USA" : "US",
            "environment": .string(action.environment.lowercased()), "receipt": "ZmFrZSByZWNlaXB0",
        ]
        if settings.historyProductField != .productIdentifier {
            historyEntry["productId"] = .string(action.product)
        }
        if settings.historyProductField != .productId {
            historyEntry["productIdentifier"] = .string(action.product)
        }
        return historyEntry
    }
}
