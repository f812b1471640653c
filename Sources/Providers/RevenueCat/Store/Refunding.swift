internal import Contracts
internal import Values

/// Actions of the store model that refund purchases and reverse refunds (RevenueCat fact sheet,
/// section 3, rows 13 to 13c and 18).
extension RevenueCatState {
    mutating func refund(_ purchase: inout Purchase, _ customerNumber: Int, _ now: Instant) {
        purchase.refunded = now
        purchase.unsubscribed = now
        purchase.cancelReason = "CUSTOMER_SUPPORT"
        purchase.willRenew = false
        if let expires = purchase.expires { purchase.expires = min(expires, now) }
        if purchase.isOneTime {
            // A refunded one-time purchase disappears from REST responses. The event still contains
            // the purchase.
            customers[customerNumber]?.hideRefundedPurchase(purchase)
        } else {
            savePurchase(purchase, customerNumber, now)
        }
        emit(
            .cancellation,
            purchase,
            of: customerNumber,
            at: now,
            payment: .refund,
            .cancelled(reason: "CUSTOMER_SUPPORT")
        )
        guard !purchase.isOneTime, settings.expiresAfterRefund else { return }
        end(&purchase, "CUSTOMER_SUPPORT", of: customerNumber, now + Self.eventSpacing)
    }

    mutating func refundUnlessRefunded(
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.refunded == nil else {
            throw Refusal("\(purchase.productID) is already refunded")
        }
        refund(&purchase, customerNumber, now)
    }

    /// Reverses the refund of a purchase.
    ///
    /// The paid period is valid again, but may have ended (RevenueCat fact sheet, section 3, row
    /// 13c).
    mutating func reverseRefund(
        _ purchase: inout Purchase,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.refunded != nil else {
            throw Refusal("\(purchase.productID) was not refunded")
        }
        purchase.refunded = nil
        purchase.unsubscribed = nil
        purchase.hasEnded = false
        purchase.cancelReason = nil
        purchase.willRenew = !purchase.isOneTime
        if !purchase.isOneTime, let days = catalog.product(purchase.productID).days {
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
        customers[customerNumber]?.refundedOneTime?.removeAll { $0.transactionID == transaction }
        savePurchase(purchase, customerNumber, now)
        emit(.refundReversed, purchase, of: customerNumber, at: now, payment: .price)
    }
}
