internal import Conformance

/// The fake Purchasely's operations that create purchases and transfer them to another owner
/// (Purchasely fact sheet, section 7).
extension PurchaselyState {
    mutating func buy(_ body: JSONObject, at now: Instant) throws(StoreAction.Refusal) {
        func text(_ name: String, _ normal: String) -> String { body[name]?.string ?? normal }
        let user = body["user"]?.string
        let anonymous = body["anonymous"]?.string
        guard user != nil || anonymous != nil else {
            throw StoreAction.Refusal("'user' or 'anonymous' is missing")
        }
        let type = text("type", "RENEWING_SUBSCRIPTION")
        let types = [
            "RENEWING_SUBSCRIPTION", "NON_RENEWING_SUBSCRIPTION", "CONSUMABLE", "NON_CONSUMABLE",
        ]
        guard types.contains(type) else {
            throw StoreAction.Refusal("'type' must be one of \(types.joined(separator: ", "))")
        }
        let newSubscription = newSubscription(type, body, at: now)
        subscriptions[newSubscription.id] = newSubscription
        send("ACTIVATE", newSubscription, at: now)
        guard !newSubscription.isOneTime else { return }
        send("SUBSCRIPTION_STARTED", newSubscription, at: now)
        switch newSubscription.offerType {
        case "FREE_TRIAL": send("TRIAL_STARTED", newSubscription, at: now)
        case "INTRO_OFFER", "PROMO_CODE", "PROMOTIONAL_OFFER":
            send(newSubscription.offerType + "_STARTED", newSubscription, at: now)
        default: charge(newSubscription, "SUBSCRIPTION_STARTED", newSubscription.price, at: now)
        }
    }

    private mutating func newSubscription(
        _ type: String,
        _ body: JSONObject,
        at now: Instant
    ) -> Subscription {
        func text(_ name: String, _ normal: String) -> String { body[name]?.string ?? normal }
        let offer = text("offer", "NONE")
        let plan = text("plan", "PLUS_MONTHLY")
        let isOneTime = !type.hasSuffix("SUBSCRIPTION")
        let end = isOneTime ? nil : now + Self.period(plan)
        let store = text("store", "APPLE_APP_STORE")
        let transaction = transactionID(store)
        let price = offer == "FREE_TRIAL" ? 0 : 9.99
        let user = body["user"]?.string
        return Subscription(
            id: (isOneTime ? "otp_" : "subs_")
                + ids.draw(17, from: "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"),
            userID: user,
            anonymousID: user == nil ? body["anonymous"]?.string : nil,
            plan: plan,
            product: text("product", "PLUS"),
            storeProduct: text("storeProduct", Self.storeProduct(plan)),
            store: store,
            purchaseType: type,
            environment: text("environment", "SANDBOX"),
            offerType: offer,
            transactionID: transaction,
            originalTransactionID: transaction,
            purchased: now,
            originallyPurchased: now,
            nextRenewal: end,
            effectiveEnd: end,
            status: isOneTime ? nil : "AUTO_RENEWING",
            price: price,
            revenue: price
        )
    }

    static func period(_ plan: String) -> Duration {
        let name = plan.lowercased()
        if name.contains("year") || name.contains("annual") { return .days(365) }
        return .seconds((name.contains("week") ? 7 : 30) * 86_400)
    }

    static func storeProduct(_ plan: String) -> String {
        "com.example." + plan.lowercased().split(separator: "_").joined(separator: ".")
    }

    mutating func transactionID(_ store: String) -> String {
        switch store {
        case "GOOGLE_PLAY_STORE":
            "GPA." + [4, 4, 4, 5].map { ids.digits($0) }.joined(separator: "-")
        case "STRIPE": "in_" + ids.letters(14)
        default: "2000000" + ids.digits(9)
        }
    }

    // MARK: Transfer, section 7

    /// Moves the subscriptions of a user or anonymous ID to another user.
    ///
    /// With `everything`, it moves one-time purchases too, as a restore of purchases may do.
    mutating func transfer(
        from loser: String,
        to winner: String,
        everything: Bool,
        at now: Instant
    ) {
        let moving = subscriptions.subscriptionsOwned(by: loser).filter {
            everything || !$0.isOneTime
        }
        for old in moving {
            var moved = old
            moved.userID = winner
            moved.anonymousID = nil
            moved.previousOfferType = moved.previousOfferType ?? moved.offerType
            var lost = old
            lost.previousOfferType = moved.previousOfferType
            subscriptions[moved.id] = moved
            let former: PurchaselyEvent.Holder =
                old.userID == nil ? .anonymous(loser) : .user(loser)
            let kind = old.isOneTime ? "ONE_TIME_PURCHASE" : "SUBSCRIPTION"
            // The published events of a transfer all have the same time, and Purchasely guarantees
            // no order.
            if settings.transferOrder == .deactivateFirst {
                send("DEACTIVATE", lost, at: now) { $0.other = .user(winner) }
                send("ACTIVATE", moved, at: now) { $0.other = former }
            } else {
                send("ACTIVATE", moved, at: now) { $0.other = former }
                send("DEACTIVATE", lost, at: now) { $0.other = .user(winner) }
            }
            lost.status = lost.isOneTime ? nil : "DEACTIVATED"
            send(kind + "_TRANSFERRED", lost, at: now) { $0.other = .user(winner) }
            send(kind + "_RECEIVED", moved, at: now) { $0.other = former }
        }
    }
}
