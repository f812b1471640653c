internal import Contracts
internal import Values

/// Actions of the store model on failed payments, and on payments that succeed after a failure
/// (RevenueCat fact sheet, section 3, rows 7, 8 and 8b).
extension RevenueCatState {
    mutating func failBilling(
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try requireNotEnded(purchase, action)
        let days = catalog.product(purchase.productID).days ?? 30
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
        savePurchase(purchase, customerNumber, now)
        emit(
            .billingIssue,
            purchase,
            of: customerNumber,
            at: now,
            .billingFailed(graceEnd: graceEnd)
        )
        purchase.cancelReason = "BILLING_ERROR"
        purchase.unsubscribed = now
        savePurchase(purchase, customerNumber, now)
        emit(
            .cancellation,
            purchase,
            of: customerNumber,
            at: now + Self.eventSpacing,
            .cancelled(reason: "BILLING_ERROR")
        )
        guard graceEnd == nil, purchase.store != "STRIPE" else { return }
        end(
            &purchase,
            "BILLING_ERROR",
            of: customerNumber,
            now + Self.eventSpacing + Self.eventSpacing
        )
    }

    mutating func recover(
        _ purchase: inout Purchase,
        of customerNumber: Int,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.billingIssue != nil else {
            throw Refusal("\(purchase.productID) has no failed payment")
        }
        guard purchase.store == "STRIPE" else {
            purchase.hasEnded = false
            renew(&purchase, of: customerNumber, at: now)
            return
        }
        // The renewal has the same period and number as the failed payment before it.
        let product = catalog.product(purchase.productID)
        purchase.billingIssue = nil
        purchase.unsubscribed = nil
        purchase.cancelReason = nil
        purchase.willRenew = true
        purchase.priceUSD = .number(JSONNumber(product.price))
        purchase.price = .number(JSONNumber(product.price * product.exchangeRate))
        savePurchase(purchase, customerNumber, now)
        emit(
            .renewal,
            purchase,
            of: customerNumber,
            at: now,
            payment: .price,
            .renewed(isTrialConversion: false)
        )
    }
}
