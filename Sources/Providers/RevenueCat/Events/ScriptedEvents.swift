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
        guard let effect = type.facts?.effect else { return }
        switch effect {
        case .movesPurchases: applyTransfer(&state, event, asOf)
        case .paysPeriod, .setsDates, .changesPurchase, .endsPeriod:
            applyToPurchase(&state, event, type, effect, asOf)
        case .announcesChange, .noChange: break
        }
    }

    /// Applies an event to the purchase that it describes.
    private static func applyToPurchase(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        _ type: RevenueCatEventType,
        _ effect: RevenueCatEventType.Effect,
        _ asOf: Instant
    ) {
        guard let customerNumber = customer(&state, of: event, asOf),
            let name = event["product_id"]?.string
        else { return }
        let productIDParts = name.split(separator: ":", maxSplits: 1).map(String.init)
        let product = productIDParts.first ?? name
        if tryRefundOneTimePurchase(&state, event, type, product, of: customerNumber) { return }
        let previousPurchase = state.customers[customerNumber]?.subscriptions[product]
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
        state.customers[customerNumber]?.putPurchase(purchase)
    }

    /// Returns whether the event refunds a one-time purchase.
    ///
    /// If so, removes that purchase from REST responses (RevenueCat fact sheet, section 3, row 18).
    private static func tryRefundOneTimePurchase(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        _ type: RevenueCatEventType,
        _ product: String,
        of customerNumber: Int
    ) -> Bool {
        guard type.documented == .cancellation,
            event["cancel_reason"]?.string == "CUSTOMER_SUPPORT",
            let refundablePurchase = state.customers[customerNumber]?.oneTime[product]?.last
        else { return false }
        state.customers[customerNumber]?.hideRefundedPurchase(refundablePurchase)
        return true
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
            // A refund ends the period. The expiration event that follows must not undo the refund.
            if previousPurchase?.transactionID == purchase.transactionID {
                purchase.refunded = previousPurchase?.refunded
            }
            // The subscription ends now at the latest, because captured expiration events contain
            // an expiration date far in the future.
            purchase.expires = min(purchase.expires ?? asOf, asOf)
        case .subscriptionPaused:
            purchase.graceEnd = previousPurchase?.graceEnd
            purchase.resume = instant(event["auto_resume_at_ms"])
        // The dates of these events contain all information.
        case .initialPurchase, .renewal, .uncancellation, .nonRenewingPurchase, .productChange,
            .subscriptionExtended, .refundReversed, .temporaryEntitlementGrant:
            break
        // Events of these types do not change a purchase.
        case .test, .transfer, .invoiceIssuance, .virtualCurrencyTransaction,
            .experimentEnrollment, .purchaseRedeemed, .priceIncreaseConsentRequired,
            .priceIncreaseConsentApproved, .subscriberAlias, .paywallImpression, .paywallClose,
            .paywallCancel, .paywallExitOffer, .paywallComponentInteracted, nil:
            break
        }
    }

    private static func applyTransfer(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        _ asOf: Instant
    ) {
        let previousOwners = event["transferred_from"]?.array?.compactMap(\.string) ?? []
        let newOwners = event["transferred_to"]?.array?.compactMap(\.string) ?? []
        guard let newOwner = newOwners.first else { return }
        let newOwnerNumber = state.customers.findOrCreate(newOwners, originalID: newOwner, at: asOf)
        for loser in previousOwners {
            if let loserNumber = state.customers.number(of: loser) {
                state.customers.movePurchases(from: loserNumber, to: newOwnerNumber)
            }
        }
    }

    private static func customer(
        _ state: inout RevenueCatState,
        of event: JSONObject,
        _ asOf: Instant
    ) -> Int? {
        guard let id = event["app_user_id"]?.string else { return nil }
        let original = event["original_app_user_id"]?.string ?? id
        let aliases = event["aliases"]?.array?.compactMap(\.string) ?? []
        let customerNumber = state.customers.findOrCreate(
            [id, original] + aliases,
            originalID: original,
            at: asOf
        )
        for member in event["subscriber_attributes"]?.object?.members ?? [] {
            state.customers[customerNumber]?.attributes[member.key] = member.value
        }
        return customerNumber
    }

    private static func instant(_ milliseconds: JSONValue?) -> Instant? {
        milliseconds?.int64.map(Instant.init(milliseconds:))
    }
}
