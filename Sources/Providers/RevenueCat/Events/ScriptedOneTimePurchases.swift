internal import Values

/// Functions that apply refunds of one-time purchases, from events outside the store model.
enum ScriptedOneTimePurchases {
    /// Refunds a one-time purchase or reverses its refund, if the event reports that, and returns
    /// whether it does.
    ///
    /// A refunded purchase disappears from REST v1 (RevenueCat fact sheet, section 3, row 18).
    static func tryChange(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        _ type: RevenueCatEventType,
        _ product: String,
        of customerNumber: Int
    ) -> Bool {
        guard var customer = state.customers[customerNumber] else { return false }
        let isRefund =
            type.documented == .cancellation && event["cancel_reason"]?.string == "CUSTOMER_SUPPORT"
        if isRefund, var purchase = find(event, in: customer.oneTime[product] ?? []) {
            customer.remove(purchase)
            purchase.refunded = event["event_timestamp_ms"]?.int64.map(Instant.init(milliseconds:))
            customer.refundedOneTime = (customer.refundedOneTime ?? []) + [purchase]
        } else if type.documented == .refundReversed,
            var purchase = find(
                event,
                in: (customer.refundedOneTime ?? []).filter { $0.productID == product }
            )
        {
            customer.refundedOneTime?.removeAll { $0.transactionID == purchase.transactionID }
            purchase.refunded = nil
            customer.putPurchase(purchase)
        } else {
            return false
        }
        state.customers[customerNumber] = customer
        return true
    }

    /// Returns the purchase that an event concerns: the one with its transaction ID, or the latest
    /// one, in the environment of the event.
    private static func find(_ event: JSONObject, in purchases: [Purchase]) -> Purchase? {
        let environment = event["environment"]?.string ?? "PRODUCTION"
        let candidates = purchases.filter { $0.environment == environment }
        let transaction = event["transaction_id"]?.string
        return candidates.last { $0.transactionID == transaction } ?? candidates.last
    }
}
