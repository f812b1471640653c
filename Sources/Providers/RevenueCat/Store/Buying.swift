internal import Values

/// Actions of the store model that buy a product (RevenueCat fact sheet, section 3, rows 1, 5, 14
/// to 16, 18 and 19).
enum Buying {
    /// Creates the purchase that an action describes, without saving it.
    static func newPurchase(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        store: String? = nil,
        _ now: Instant
    ) -> Purchase {
        let store = store ?? action.store
        let productIDParts = action.product.split(separator: ":", maxSplits: 1).map(String.init)
        let id = productIDParts.first ?? action.product
        let product = state.catalog.product(id)
        let isTrial = action.period == "TRIAL"
        let newTransactionID = action.transactionID ?? state.ids.transactionID(in: store)
        let days = isTrial ? product.trialDays : product.days
        let exchangeRate = product.exchangeRate
        var purchase = Purchase(
            productID: id,
            planID: productIDParts.count == 2
                ? productIDParts[1]
                : store == "PLAY_STORE" && product.days != nil
                    ? product.basePlan ?? "base-plan" : nil,
            store: store,
            environment: action.environment,
            period: action.period,
            purchased: now,
            originallyPurchased: now,
            expires: days.map { now + .days($0) },
            transactionID: newTransactionID,
            originalTransactionID: newTransactionID,
            priceUSD: .number(
                JSONNumber(isTrial ? 0 : action.price.map { $0 / exchangeRate } ?? product.price)
            ),
            price: .number(JSONNumber(isTrial ? 0 : action.price ?? product.price * exchangeRate)),
            currency: .string(action.currency ?? product.currency),
            entitlements: product.entitlements,
            offering: action.offering,
            offerCode: action.offerCode,
            asOf: now
        )
        purchase.isOneTime = product.days == nil
        purchase.willRenew = product.days != nil && action.period != "PREPAID"
        return purchase
    }

    static func buy(_ state: inout RevenueCatState, _ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard action.store != "PROMOTIONAL" else {
            throw StoreAction.Refusal(
                "a promotional entitlement cannot be bought; use the action grant"
            )
        }
        let customerNumber = state.customers.recordActivity(of: action.user, at: now)
        let purchase = newPurchase(&state, action, now)
        guard !purchase.isOneTime else {
            state.customers[customerNumber]?.putPurchase(purchase)
            StoreEvents.emit(
                &state,
                .nonRenewingPurchase,
                purchase,
                of: customerNumber,
                at: now,
                payment: .price
            )
            return
        }
        try subscribe(&state, action, purchase, of: customerNumber, now)
    }

    /// Saves a new subscription of a customer, which may continue an earlier one.
    private static func subscribe(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        _ newPurchase: Purchase,
        of customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        var purchase = newPurchase
        let previousPurchase = state.customers[customerNumber]?.subscriptions[
            purchase.subscriptionKey
        ]
        if let previousPurchase, !previousPurchase.hasEnded, previousPurchase.isActive(at: now) {
            // The store would refuse a second subscription to the same product.
            guard previousPurchase.unsubscribed != nil || previousPurchase.isTemporary else {
                throw StoreAction.Refusal(
                    "\(action.user) already has an active subscription to \(purchase.productID)"
                )
            }
        }
        var isRenewal = false
        if let previousPurchase, !previousPurchase.isTemporary {
            purchase.originallyPurchased = previousPurchase.originallyPurchased
            purchase.originalTransactionID = previousPurchase.originalTransactionID
            purchase.renewalNumber = previousPurchase.renewalNumber + 1
            if previousPurchase.store == "STRIPE" {
                purchase.transactionID = previousPurchase.transactionID
            }
            let isInGrace = previousPurchase.graceEnd.map { $0 > now } ?? false
            isRenewal =
                isInGrace || !previousPurchase.hasEnded
                || state.settings.resubscriptionEvent == .renewal
                || previousPurchase.period == "TRIAL"
        }
        state.customers[customerNumber]?.putPurchase(purchase)
        StoreEvents.emit(
            &state,
            isRenewal ? .renewal : .initialPurchase,
            purchase,
            of: customerNumber,
            at: now,
            payment: .price,
            isRenewal
                ? .renewed(isTrialConversion: previousPurchase?.period == "TRIAL") : .none
        )
    }
}
