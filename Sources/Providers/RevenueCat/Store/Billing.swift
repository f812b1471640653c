internal import Values

/// Actions of the store model on failed payments, and on payments that succeed after a failure
/// (RevenueCat fact sheet, section 3, rows 7, 8 and 8b).
enum Billing {
    static func failBilling(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try StorePreconditions.requireNotEnded(purchase, action)
        let days = state.catalog.product(purchase.productID).days ?? 30
        purchase.billingIssue = now
        var graceEnd: Instant?
        if purchase.store == "STRIPE" {
            // Stripe starts the new period although its payment failed, and then retries the
            // payment.
            let periodStart = purchase.expires ?? now
            purchase.period = "NORMAL"
            purchase.purchased = periodStart
            purchase.expires = periodStart + .days(days)
            purchase.renewalNumber += 1
        } else if let graceLength = action.grace {
            let end = max(purchase.expires ?? now, now) + graceLength
            purchase.graceEnd = end
            graceEnd = end
        } else {
            purchase.expires = min(purchase.expires ?? now, now)
        }
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(
            &state,
            .billingIssue,
            purchase,
            of: customerNumber,
            at: now,
            .billingFailed(graceEnd: graceEnd)
        )
        purchase.cancelReason = "BILLING_ERROR"
        purchase.unsubscribed = now
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(
            &state,
            .cancellation,
            purchase,
            of: customerNumber,
            at: now + StoreEvents.spacing,
            .cancelled(reason: "BILLING_ERROR")
        )
        guard graceEnd == nil, purchase.store != "STRIPE" else { return }
        Renewing.end(
            &state,
            &purchase,
            "BILLING_ERROR",
            of: customerNumber,
            now + StoreEvents.spacing + StoreEvents.spacing
        )
    }

    static func recover(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        of customerNumber: Int,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.billingIssue != nil else {
            throw StoreAction.Refusal("\(purchase.productID) has no failed payment")
        }
        guard purchase.store == "STRIPE" else {
            purchase.hasEnded = false
            Renewing.renew(&state, &purchase, of: customerNumber, at: now)
            return
        }
        // The renewal has the same period and number as the failed payment before it.
        let product = state.catalog.product(purchase.productID)
        purchase.billingIssue = nil
        purchase.unsubscribed = nil
        purchase.cancelReason = nil
        purchase.willRenew = true
        purchase.priceUSD = .number(JSONNumber(product.price))
        purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(
            &state,
            .renewal,
            purchase,
            of: customerNumber,
            at: now,
            payment: .price,
            .renewed(isTrialConversion: false)
        )
    }
}
