internal import Values

/// The action at the fake Purchasely that buys a plan.
enum PurchaselyPurchases {
    static func buy(_ state: inout PurchaselyState, _ body: JSONObject, at now: Instant)
        throws(StoreAction.Refusal)
    {
        func text(_ name: String, _ defaultValue: String) -> String {
            body[name]?.string ?? defaultValue
        }
        let user = body["user"]?.string
        let anonymous = body["anonymous"]?.string
        guard user != nil || anonymous != nil else {
            throw StoreAction.Refusal("'user' or 'anonymous' is missing")
        }
        let type = text("type", "RENEWING_SUBSCRIPTION")
        let purchaseTypes = [
            "RENEWING_SUBSCRIPTION", "NON_RENEWING_SUBSCRIPTION", "CONSUMABLE", "NON_CONSUMABLE",
        ]
        guard purchaseTypes.contains(type) else {
            throw StoreAction.Refusal(
                "'type' must be one of \(purchaseTypes.joined(separator: ", "))"
            )
        }
        let newSubscription = newSubscription(&state, type, body, at: now)
        state.subscriptions[newSubscription.id] = newSubscription
        PurchaselyStoreEvents.queueEvent(&state, "ACTIVATE", newSubscription, at: now)
        guard !newSubscription.isOneTime else { return }
        PurchaselyStoreEvents.queueEvent(&state, "SUBSCRIPTION_STARTED", newSubscription, at: now)
        switch newSubscription.offerType {
        case "FREE_TRIAL":
            PurchaselyStoreEvents.queueEvent(&state, "TRIAL_STARTED", newSubscription, at: now)
        case "INTRO_OFFER", "PROMO_CODE", "PROMOTIONAL_OFFER":
            PurchaselyStoreEvents.queueEvent(
                &state,
                newSubscription.offerType + "_STARTED",
                newSubscription,
                at: now
            )
        default:
            PurchaselyStoreEvents.charge(
                &state,
                newSubscription,
                "SUBSCRIPTION_STARTED",
                newSubscription.price,
                at: now
            )
        }
    }

    private static func newSubscription(
        _ state: inout PurchaselyState,
        _ type: String,
        _ body: JSONObject,
        at now: Instant
    ) -> PurchaselySubscription {
        func text(_ name: String, _ defaultValue: String) -> String {
            body[name]?.string ?? defaultValue
        }
        let offer = text("offer", "NONE")
        let plan = text("plan", "PLUS_MONTHLY")
        let isOneTime = !type.hasSuffix("SUBSCRIPTION")
        let periodEnd = isOneTime ? nil : now + PurchaselyPlan.periodLength(of: plan)
        let store = text("store", "APPLE_APP_STORE")
        let newTransactionID = state.ids.newTransactionID(in: store)
        let price = offer == "FREE_TRIAL" ? 0 : 9.99
        let user = body["user"]?.string
        return PurchaselySubscription(
            id: state.ids.newPurchaseID(isOneTime: isOneTime),
            userID: user,
            anonymousID: user == nil ? body["anonymous"]?.string : nil,
            plan: plan,
            product: text("product", "PLUS"),
            storeProduct: text("storeProduct", PurchaselyPlan.storeProduct(of: plan)),
            store: store,
            purchaseType: type,
            environment: text("environment", "SANDBOX"),
            offerType: offer,
            transactionID: newTransactionID,
            originalTransactionID: newTransactionID,
            purchased: now,
            originallyPurchased: now,
            nextRenewal: periodEnd,
            effectiveEnd: periodEnd,
            status: isOneTime ? nil : "AUTO_RENEWING",
            price: price,
            revenue: price
        )
    }
}
