internal import Values

/// The operations of REST v1 with which developers change purchases: promotional grants, and
/// operations for Google Play purchases.
extension RevenueCatState {
    mutating func grantPromotionalEntitlement(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        saveLaggedState(at: call.now)
        let id = call.appUserID
        var action = StoreAction(.grant, user: id)
        action.entitlement = call.named("entitlement_identifier")
        action.duration = call.body["duration"]?.string
        do throws(StoreAction.Refusal) {
            let end = try Self.requestedTime("end_time_ms", call)
            guard action.duration != nil || end != nil else {
                throw StoreAction.Refusal("duration or end_time_ms is required.")
            }
            if let end, end <= call.now {
                throw StoreAction.Refusal("end_time_ms must lie in the future.")
            }
            let start = try Self.requestedTime("start_time_ms", call)
            try grant(action, from: start, until: end, call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return customerInfo(customerByID[id] ?? 0, 201, call)
    }

    mutating func revokePromotionalEntitlements(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        saveLaggedState(at: call.now)
        let id = call.appUserID
        let customerNumber = recordActivity(id, call.now)
        do throws(StoreAction.Refusal) {
            try revoke(id, call.named("entitlement_identifier"), call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return customerInfo(customerNumber, 200, call)
    }

    /// Returns a date from a member of the request body that contains milliseconds; nil when the
    /// member is missing.
    private static func requestedTime(
        _ name: String,
        _ call: CallV1
    ) throws(StoreAction.Refusal) -> Instant? {
        guard let milliseconds = call.body[name]?.int64 else { return nil }
        guard let requestedTime = RequestDate(milliseconds: milliseconds) else {
            throw StoreAction.Refusal("\(name) must lie within \(RequestDate.acceptedRangeText).")
        }
        return requestedTime.instant
    }

    // MARK: Single purchases

    mutating func deferPlaySubscription(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (purchase, customerNumber) = try playPurchase(call.named("product_identifier"), call)
        var action = StoreAction(.extend, user: call.appUserID)
        action.product = purchase.productID
        action.by = try Self.deferral(of: purchase, call)
        return try carryOut(action, on: customerNumber, call)
    }

    mutating func revokePlaySubscription(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (purchase, customerNumber) = try playPurchase(call.named("product_identifier"), call)
        var action = StoreAction(.refund, user: call.appUserID)
        action.product = purchase.productID
        return try carryOut(action, on: customerNumber, call)
    }

    /// Cancels a subscription in Google Play.
    ///
    /// In the path `…/subscriptions/{product}/{transaction}/cancel`, the transaction follows the
    /// product.
    mutating func cancelPlaySubscription(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let transactionID = call.values["store_transaction_identifier"] ?? call.named("transaction")
        let (purchase, customerNumber) = try playPurchase(transactionID, call)
        var action = StoreAction(.cancel, user: call.appUserID)
        action.product = purchase.productID
        return try carryOut(action, on: customerNumber, call)
    }

    mutating func refundPlayTransaction(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let transactionID = call.named("store_transaction_identifier")
        let (purchase, customerNumber) = try playPurchase(transactionID, call)
        // A refund of an earlier period sends no event and revokes nothing (RevenueCat fact sheet,
        // section 3, row 13b).
        guard transactionID == purchase.transactionID || transactionID == purchase.productID else {
            return customerInfo(customerNumber, 200, call)
        }
        var action = StoreAction(.refund, user: call.appUserID)
        action.product = purchase.productID
        return try carryOut(action, on: customerNumber, call)
    }

    /// Extends a subscription in the App Store, by at most 90 days (API description of REST v1).
    mutating func extendSubscription(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let transactionID = call.named("store_transaction_identifier")
        let (purchase, customerNumber) = try requestedPurchase(transactionID, call)
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
        return try carryOut(action, on: customerNumber, call)
    }

    /// Returns the customer's purchase that a request names by the ID of its product or of a
    /// transaction, with the customer's number.
    ///
    /// - Throws: 401 for a caller without a secret key, 404 for an unknown customer or purchase.
    private func requestedPurchase(
        _ transactionOrProductID: String,
        _ call: CallV1
    ) throws(RevenueCatError) -> (purchase: Purchase, customerNumber: Int) {
        try requireKey(.secret, call)
        guard let customerNumber = customerByID[call.appUserID] else {
            throw RevenueCatError(404, 7259, "Subscriber not found.")
        }
        let purchase = customers[customerNumber]?.purchases.first {
            $0.productID == transactionOrProductID.split(separator: ":").first.map(String.init)
                || $0.transactionID == transactionOrProductID
                || $0.originalTransactionID == transactionOrProductID
                || transactionOrProductID.hasPrefix($0.originalTransactionID + "..")
        }
        guard let purchase else { throw RevenueCatError(404, 7259, "Purchase not found.") }
        return (purchase, customerNumber)
    }

    /// Returns the requested purchase; throws 400 when it is not from Google Play.
    private func playPurchase(
        _ transactionOrProductID: String,
        _ call: CallV1
    ) throws(RevenueCatError) -> (purchase: Purchase, customerNumber: Int) {
        let requestedPurchase = try requestedPurchase(transactionOrProductID, call)
        guard requestedPurchase.purchase.store == "PLAY_STORE" else {
            throw RevenueCatError(400, 7231, "Only Google Play purchases can be changed here.")
        }
        return requestedPurchase
    }

    private mutating func carryOut(
        _ action: StoreAction,
        on customerNumber: Int,
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        do throws(StoreAction.Refusal) {
            try carryOut(action, at: call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return customerInfo(customerNumber, 200, call)
    }

    /// Returns the time by which a request defers the end of a subscription.
    private static func deferral(
        of purchase: Purchase,
        _ call: CallV1
    ) throws(RevenueCatError) -> Duration {
        let time: Instant?
        do throws(StoreAction.Refusal) {
            time = try requestedTime("expiry_time_ms", call)
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
