internal import Values

/// Actions of the store model that refund purchases and reverse refunds (RevenueCat fact sheet,
/// section 3, rows 13 to 13c and 18).
enum Refunding {
    static func refund(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) {
        purchase.refunded = now
        purchase.unsubscribed = now
        purchase.cancelReason = "CUSTOMER_SUPPORT"
        purchase.willRenew = false
        if let expires = purchase.expires { purchase.expires = min(expires, now) }
        if purchase.isOneTime {
            // A refunded one-time purchase disappears from REST responses. The event still contains
            // the purchase.
            state.customers[customerNumber]?.hideRefundedPurchase(purchase)
        } else {
            state.customers.save(purchase, of: customerNumber, asOf: now)
        }
        StoreEvents.emit(
            &state,
            .cancellation,
            purchase,
            of: customerNumber,
            at: now,
            payment: .refund,
            .cancelled(reason: "CUSTOMER_SUPPORT")
        )
        guard !purchase.isOneTime, state.settings.expiresAfterRefund else { return }
        Renewing.end(
            &state,
            &purchase,
            "CUSTOMER_SUPPORT",
            of: customerNumber,
            now + StoreEvents.spacing
        )
    }

    static func refundUnlessRefunded(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.refunded == nil else {
            throw StoreAction.Refusal("\(purchase.productID) is already refunded")
        }
        refund(&state, &purchase, customerNumber, now)
    }

    /// Reverses the refund of a purchase.
    ///
    /// The paid period is valid again, but may have ended (RevenueCat fact sheet, section 3, row
    /// 13c).
    static func reverseRefund(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.refunded != nil else {
            throw StoreAction.Refusal("\(purchase.productID) was not refunded")
        }
        purchase.refunded = nil
        purchase.unsubscribed = nil
        purchase.hasEnded = false
        purchase.cancelReason = nil
        purchase.willRenew = !purchase.isOneTime
        if !purchase.isOneTime, let days = state.catalog.product(purchase.productID).days {
            let end = purchase.purchased + .days(days)
            purchase.expires = end
            // If the paid period has ended meanwhile, the purchase stays ended, as the dates in the
            // event show.
            if end <= now {
                purchase.hasEnded = true
                purchase.willRenew = false
            }
        }
        let transaction = purchase.transactionID
        state.customers[customerNumber]?.refundedOneTime?.removeAll {
            $0.transactionID == transaction
        }
        state.customers.save(purchase, of: customerNumber, asOf: now)
        StoreEvents.emit(
            &state,
            .refundReversed,
            purchase,
            of: customerNumber,
            at: now,
            payment: .price
        )
    }
}
