internal import Values

/// The operations of REST v1 with which developers change purchases in Google Play, or extend
/// subscriptions in the App Store.
enum V1Purchases {
    static func deferSubscription(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (purchase, customerNumber) = try playPurchase(
            state,
            call.named("product_identifier"),
            call
        )
        var action = StoreAction(.extend, user: call.appUserID)
        action.product = purchase.productID
        action.by = try deferral(of: purchase, call)
        return try carryOut(&state, action, on: customerNumber, call)
    }

    static func revoke(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (purchase, customerNumber) = try playPurchase(
            state,
            call.named("product_identifier"),
            call
        )
        var action = StoreAction(.refund, user: call.appUserID)
        action.product = purchase.productID
        return try carryOut(&state, action, on: customerNumber, call)
    }

    /// Cancels a subscription in Google Play.
    ///
    /// In the path `…/subscriptions/{product}/{transaction}/cancel`, the transaction follows the
    /// product.
    static func cancel(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let transactionID = call.values["store_transaction_identifier"] ?? call.named("transaction")
        let (purchase, customerNumber) = try playPurchase(state, transactionID, call)
        var action = StoreAction(.cancel, user: call.appUserID)
        action.product = purchase.productID
        return try carryOut(&state, action, on: customerNumber, call)
    }

    static func refundTransaction(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let transactionID = call.named("store_transaction_identifier")
        let (purchase, customerNumber) = try playPurchase(state, transactionID, call)
        // A refund of an earlier period sends no event and revokes nothing (RevenueCat fact sheet,
        // section 3, row 13b).
        guard transactionID == purchase.transactionID || transactionID == purchase.productID else {
            return V1Customers.response(&state, customerNumber, 200, call)
        }
        var action = StoreAction(.refund, user: call.appUserID)
        action.product = purchase.productID
        return try carryOut(&state, action, on: customerNumber, call)
    }

    /// Extends a subscription in the App Store, by at most 90 days (API description of REST v1).
    static func extend(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let transactionID = call.named("store_transaction_identifier")
        let (purchase, customerNumber) = try requestedPurchase(state, transactionID, call)
        guard ["APP_STORE", "MAC_APP_STORE"].contains(purchase.store) else {
            throw RevenueCatError(400, 7226, "Only App Store subscriptions can be extended.")
        }
        guard let days = call.body["extend_by_days"]?.int64, (1...90).contains(days) else {
            throw RevenueCatError(400, 7226, "extend_by_days must be between 1 and 90.")
        }
        guard let reason = call.body["extend_reason_code"]?.int64, (0...3).contains(reason) else {
            throw RevenueCatError(400, 7226, "extend_reason_code must be between 0 and 3.")
        }
        var action = StoreAction(.extend, user: call.appUserID)
        action.product = purchase.productID
        action.by = .days(days)
        return try carryOut(&state, action, on: customerNumber, call)
    }

    /// Returns the customer's purchase that a request names by the ID of its product or of a
    /// transaction, with the customer's number.
    ///
    /// - Throws: 401 for a caller without a secret key, 404 for an unknown customer or purchase.
    private static func requestedPurchase(
        _ state: RevenueCatState,
        _ transactionOrProductID: String,
        _ call: V1Call
    ) throws(RevenueCatError) -> (purchase: Purchase, customerNumber: Int) {
        try call.requireKey(.secret)
        guard let customerNumber = state.customers.number(of: call.appUserID) else {
            throw RevenueCatError(404, 7259, "Subscriber not found.")
        }
        let purchase = state.customers[customerNumber]?.purchases.first {
            $0.productID == transactionOrProductID.split(separator: ":").first.map(String.init)
                || $0.transactionID == transactionOrProductID
                || $0.originalTransactionID == transactionOrProductID
                || transactionOrProductID.hasPrefix($0.originalTransactionID + "..")
        }
        guard let purchase else { throw RevenueCatError(404, 7259, "Purchase not found.") }
        return (purchase, customerNumber)
    }

    /// Returns the requested purchase; throws 400 when it is not from Google Play.
    private static func playPurchase(
        _ state: RevenueCatState,
        _ transactionOrProductID: String,
        _ call: V1Call
    ) throws(RevenueCatError) -> (purchase: Purchase, customerNumber: Int) {
        let requestedPurchase = try requestedPurchase(state, transactionOrProductID, call)
        guard requestedPurchase.purchase.store == "PLAY_STORE" else {
            throw RevenueCatError(400, 7231, "Only Google Play purchases can be changed here.")
        }
        return requestedPurchase
    }

    private static func carryOut(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        on customerNumber: Int,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        do throws(StoreAction.Refusal) {
            try state.carryOut(action, at: call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return V1Customers.response(&state, customerNumber, 200, call)
    }

    /// Returns the time by which a request defers the end of a subscription.
    private static func deferral(
        of purchase: Purchase,
        _ call: V1Call
    ) throws(RevenueCatError) -> Duration {
        let time: Instant?
        do throws(StoreAction.Refusal) {
            time = try call.time("expiry_time_ms")
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        if let time, let end = purchase.expires { return time - end }
        guard let days = call.body["extend_by_days"]?.int64, (1...365).contains(days) else {
            throw RevenueCatError(400, 7226, "expiry_time_ms or extend_by_days is required.")
        }
        return .days(days)
    }
}
