internal import Values

/// The fake Purchasely's operations that create purchases and transfer them to another owner
/// (Purchasely fact sheet, section 7).
extension PurchaselyState {
    mutating func buy(_ body: JSONObject, at now: Instant) throws(StoreAction.Refusal) {
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
        let newSubscription = newSubscription(type, body, at: now)
        subscriptions[newSubscription.id] = newSubscription
        queueEvent("ACTIVATE", newSubscription, at: now)
        guard !newSubscription.isOneTime else { return }
        queueEvent("SUBSCRIPTION_STARTED", newSubscription, at: now)
        switch newSubscription.offerType {
        case "FREE_TRIAL": queueEvent("TRIAL_STARTED", newSubscription, at: now)
        case "INTRO_OFFER", "PROMO_CODE", "PROMOTIONAL_OFFER":
            queueEvent(newSubscription.offerType + "_STARTED", newSubscription, at: now)
        default: charge(newSubscription, "SUBSCRIPTION_STARTED", newSubscription.price, at: now)
        }
    }

    private mutating func newSubscription(
        _ type: String,
        _ body: JSONObject,
        at now: Instant
    ) -> Subscription {
        func text(_ name: String, _ defaultValue: String) -> String {
            body[name]?.string ?? defaultValue
        }
        let offer = text("offer", "NONE")
        let plan = text("plan", "PLUS_MONTHLY")
        let isOneTime = !type.hasSuffix("SUBSCRIPTION")
        let periodEnd = isOneTime ? nil : now + Self.periodLength(plan)
        let store = text("store", "APPLE_APP_STORE")
        let newTransactionID = transactionID(store)
        let price = offer == "FREE_TRIAL" ? 0 : 9.99
        let user = body["user"]?.string
        return Subscription(
            id: (isOneTime ? "otp_" : "subs_")
                + ids.drawString(17, from: "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"),
            userID: user,
            anonymousID: user == nil ? body["anonymous"]?.string : nil,
            plan: plan,
            product: text("product", "PLUS"),
            storeProduct: text("storeProduct", Self.storeProduct(plan)),
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

    static func periodLength(_ plan: String) -> Duration {
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
        case "STRIPE": "in_" + ids.alphanumerics(14)
        default: "2000000" + ids.digits(9)
        }
    }

    // MARK: Transfer, section 7

    /// Moves the subscriptions of a user or anonymous ID to another user.
    ///
    /// With `includesOneTimePurchases`, it moves one-time purchases too, as a restore of purchases may do.
    mutating func transfer(
        from previousOwnerID: String,
        to newOwnerID: String,
        includesOneTimePurchases: Bool,
        at now: Instant
    ) {
        let subscriptionsToTransfer = subscriptions.subscriptionsOwned(by: previousOwnerID).filter {
            includesOneTimePurchases || !$0.isOneTime
        }
        for oldSubscription in subscriptionsToTransfer {
            var receivedSubscription = oldSubscription
            receivedSubscription.userID = newOwnerID
            receivedSubscription.anonymousID = nil
            receivedSubscription.previousOfferType =
                receivedSubscription.previousOfferType ?? receivedSubscription.offerType
            var lostSubscription = oldSubscription
            lostSubscription.previousOfferType = receivedSubscription.previousOfferType
            subscriptions[receivedSubscription.id] = receivedSubscription
            let previousOwner: PurchaselyEvent.Holder =
                oldSubscription.userID == nil ? .anonymous(previousOwnerID) : .user(previousOwnerID)
            let eventNamePrefix = oldSubscription.isOneTime ? "ONE_TIME_PURCHASE" : "SUBSCRIPTION"
            // The published events of a transfer all have the same time, and Purchasely guarantees
            // no order.
            if settings.transferOrder == .deactivateFirst {
                queueEvent("DEACTIVATE", lostSubscription, at: now) { $0.other = .user(newOwnerID) }
                queueEvent("ACTIVATE", receivedSubscription, at: now) { $0.other = previousOwner }
            } else {
                queueEvent("ACTIVATE", receivedSubscription, at: now) { $0.other = previousOwner }
                queueEvent("DEACTIVATE", lostSubscription, at: now) { $0.other = .user(newOwnerID) }
            }
            lostSubscription.status = lostSubscription.isOneTime ? nil : "DEACTIVATED"
            queueEvent(eventNamePrefix + "_TRANSFERRED", lostSubscription, at: now) {
                $0.other = .user(newOwnerID)
            }
            queueEvent(eventNamePrefix + "_RECEIVED", receivedSubscription, at: now) {
                $0.other = previousOwner
            }
        }
    }
}
