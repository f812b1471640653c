internal import Values

/// Functions that apply events from outside the store model to the model, so that REST responses
/// agree with these events.
enum ScriptedEvents {
    /// Applies a RevenueCat event to the store model.
    ///
    /// An event that the model itself created must not be applied again.
    static func apply(_ state: inout RevenueCatState, _ body: JSONValue) {
        guard let event = body["event"]?.object,
            let asOf = instant(event["event_timestamp_ms"])
        else { return }
        let type = RevenueCatEventType(rawValue: event["type"]?.string ?? "")
        guard type.documented != .test else { return }
        let customerNumber = EventCustomers.record(&state, event, asOf)
        switch type.facts?.effect {
        case .movesPurchases: applyTransfer(&state, event)
        case .paysPeriod, .setsDates, .changesPurchase, .endsPeriod:
            guard let customerNumber, let effect = type.facts?.effect else { return }
            applyToPurchase(&state, event, type, effect, of: customerNumber, asOf)
        case .announcesChange, .noChange, nil: break
        }
    }

    /// Applies an event to the purchase that it describes.
    private static func applyToPurchase(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        _ type: RevenueCatEventType,
        _ effect: RevenueCatEventType.Effect,
        of customerNumber: Int,
        _ asOf: Instant
    ) {
        guard let name = event["product_id"]?.string else { return }
        let productIDParts = name.split(separator: ":", maxSplits: 1).map(String.init)
        let product = productIDParts.first ?? name
        if ScriptedOneTimePurchases.tryChange(&state, event, type, product, of: customerNumber) {
            return
        }
        let key = SubscriptionKey(
            product: product,
            environment: event["environment"]?.string ?? "PRODUCTION"
        )
        let previousPurchase = state.customers[customerNumber]?.subscriptions[key]
        var purchase = Self.purchase(event, asOf, product, after: previousPurchase)
        purchase.planID = productIDParts.count == 2 ? productIDParts[1] : nil
        if type.documented == .nonRenewingPurchase, purchase.store != "PROMOTIONAL" {
            purchase.isOneTime = true
            state.customers[customerNumber]?.putPurchase(purchase)
            return
        }
        if let previousPurchase,
            previousPurchase.asOf > asOf
                || Self.endsEarlierPeriod(event, effect, than: previousPurchase)
        {
            return
        }
        purchase.beganAt =
            effect == .paysPeriod ? purchase.purchased : previousPurchase?.beganAt
        if purchase.price == 0, let previousPurchase { purchase.price = previousPurchase.price }
        Self.applyTypeSpecificFields(&purchase, type, event, after: previousPurchase)
        purchase.willRenew = Self.willRenew(purchase)
        if effect == .paysPeriod { endReplacedProducts(&state, purchase, of: customerNumber) }
        state.customers[customerNumber]?.putPurchase(purchase)
    }

    /// Whether the subscription renews at the end of the period, as far as its events report.
    private static func willRenew(_ purchase: Purchase) -> Bool {
        purchase.unsubscribed == nil && purchase.refunded == nil && !purchase.hasEnded
            && !purchase.isTemporary && purchase.expires != nil
            && !["PREPAID", "PROMOTIONAL"].contains(purchase.period)
    }

    /// Ends the subscriptions to other products that the purchase continues.
    ///
    /// Such a purchase has their original transaction ID. The new product replaces the old one when
    /// its period begins (RevenueCat fact sheet, section 3, rows 10 and 12).
    private static func endReplacedProducts(
        _ state: inout RevenueCatState,
        _ purchase: Purchase,
        of customerNumber: Int
    ) {
        for var replaced in state.customers[customerNumber]?.subscriptions.map(\.value) ?? []
        where replaced.originalTransactionID == purchase.originalTransactionID
            && replaced.environment == purchase.environment
            && replaced.productID != purchase.productID && replaced.asOf <= purchase.asOf
        {
            replaced.expires = replaced.expires.map { min($0, purchase.purchased) }
            replaced.graceEnd = nil
            replaced.hasEnded = true
            replaced.willRenew = false
            state.customers[customerNumber]?.putPurchase(replaced)
        }
    }

    /// Whether the event ends a period of the subscription that was already renewed.
    ///
    /// Such an event does not concern the current period, however late the event arrives.
    ///
    /// RevenueCat never sends refunds of an earlier period. Source: identity rules, S-15 and X-15;
    /// RevenueCat fact sheet, section 3, row 13b.
    private static func endsEarlierPeriod(
        _ event: JSONObject,
        _ effect: RevenueCatEventType.Effect,
        than previousPurchase: Purchase
    ) -> Bool {
        guard effect == .endsPeriod, let oldPeriodStart = previousPurchase.beganAt,
            let purchased = instant(event["purchased_at_ms"])
        else { return false }
        return purchased < oldPeriodStart
    }

    /// Returns the purchase that the lifecycle fields of an event describe.
    private static func purchase(
        _ event: JSONObject,
        _ asOf: Instant,
        _ product: String,
        after previousPurchase: Purchase?
    ) -> Purchase {
        let purchased = instant(event["purchased_at_ms"]) ?? asOf
        let transaction = event["transaction_id"]?.string ?? product
        var purchase = Purchase(
            productID: product,
            store: event["store"]?.string ?? "APP_STORE",
            environment: event["environment"]?.string ?? "PRODUCTION",
            period: event["period_type"]?.string ?? "NORMAL",
            purchased: purchased,
            originallyPurchased: previousPurchase?.originallyPurchased ?? purchased,
            expires: instant(event["expiration_at_ms"]),
            transactionID: transaction,
            originalTransactionID: event["original_transaction_id"]?.string ?? transaction,
            priceUSD: event["price"] ?? 0,
            price: event["price"] ?? 0,
            currency: event["currency"] ?? .null,
            entitlements: event["entitlement_ids"]?.array?.compactMap(\.string) ?? [],
            asOf: asOf
        )
        purchase.isScripted = true
        purchase.isFamilyShared = event["is_family_share"]?.bool ?? false
        if purchase.isFamilyShared {
            purchase.sharedTransactionID = previousPurchase?.sharedTransactionID ?? transaction
        }
        return purchase
    }

    /// Applies to a purchase the information that follows from the event's type, in addition to the
    /// event's dates.
    private static func applyTypeSpecificFields(
        _ purchase: inout Purchase,
        _ type: RevenueCatEventType,
        _ event: JSONObject,
        after previousPurchase: Purchase?
    ) {
        let asOf = purchase.asOf
        // A payment or a resumed renewal clears the flags of a purchase. All other events leave the
        // flags unchanged (identity rules, S-13 and effect table C.1).
        if ![.paysPeriod, .setsDates].contains(type.facts?.effect) {
            purchase.unsubscribed = previousPurchase?.unsubscribed
            purchase.billingIssue = previousPurchase?.billingIssue
            // Only a payment or a reversal undoes the refund of a period.
            if type.documented != .refundReversed,
                previousPurchase?.transactionID == purchase.transactionID
            {
                purchase.refunded = previousPurchase?.refunded
            }
        }
        switch type.documented {
        case .cancellation:
            purchase.unsubscribed = asOf
            purchase.graceEnd = previousPurchase?.graceEnd
            let reason = event["cancel_reason"]?.string
            if reason == "CUSTOMER_SUPPORT" { purchase.refunded = asOf }
            if reason == "BILLING_ERROR" {
                purchase.billingIssue = previousPurchase?.billingIssue ?? asOf
            }
        case .billingIssue:
            purchase.billingIssue = asOf
            purchase.graceEnd = instant(event["grace_period_expiration_at_ms"])
        case .expiration:
            purchase.unsubscribed = previousPurchase?.unsubscribed ?? asOf
            purchase.hasEnded = true
            if event["expiration_reason"]?.string == "SUBSCRIPTION_PAUSED" {
                purchase.isPaused = true
                purchase.resume = previousPurchase?.resume
            }
            // The subscription ends now at the latest, because captured expiration events contain
            // an expiration date far in the future.
            purchase.expires = min(purchase.expires ?? asOf, asOf)
        case .subscriptionPaused:
            purchase.graceEnd = previousPurchase?.graceEnd
            purchase.resume = instant(event["auto_resume_at_ms"])
        case .temporaryEntitlementGrant: purchase.isTemporary = true
        // The dates of these events contain all information.
        case .initialPurchase, .renewal, .uncancellation, .nonRenewingPurchase, .productChange,
            .subscriptionExtended, .refundReversed:
            break
        // Events of these types do not change a purchase.
        case .test, .transfer, .invoiceIssuance, .virtualCurrencyTransaction,
            .experimentEnrollment, .purchaseRedeemed, .priceIncreaseConsentRequired,
            .priceIncreaseConsentApproved, .subscriberAlias, .paywallImpression, .paywallClose,
            .paywallCancel, .paywallExitOffer, .paywallComponentInteracted, nil:
            break
        }
    }

    /// Moves the purchases in the environment of the event to the new owner.
    private static func applyTransfer(_ state: inout RevenueCatState, _ event: JSONObject) {
        let previousOwners = event["transferred_from"]?.array?.compactMap(\.string) ?? []
        let newOwners = event["transferred_to"]?.array?.compactMap(\.string) ?? []
        let customers = state.customers
        guard let newOwnerNumber = newOwners.lazy.compactMap(customers.number).first else { return }
        for loser in previousOwners {
            guard let loserNumber = state.customers.number(of: loser) else { continue }
            state.customers.movePurchases(
                from: loserNumber,
                to: newOwnerNumber,
                environment: event["environment"]?.string ?? "PRODUCTION"
            )
        }
    }

    private static func instant(_ milliseconds: JSONValue?) -> Instant? {
        milliseconds?.int64.map(Instant.init(milliseconds:))
    }
}
