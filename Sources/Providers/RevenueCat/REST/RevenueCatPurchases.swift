internal import Conformance

/// The operations of REST v1 with which developers change purchases: promotional grants, and
/// operations for Google Play purchases.
extension RevenueCatState {
    mutating func handlePromotionalGrant(
        _ id: String,
        _ entitlement: String,
        _ verb: String,
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        guard ["promotional", "revoke_promotionals"].contains(verb) else {
            throw .notFound
        }
        saveLaggedState(at: call.now)
        do throws(StoreAction.Refusal) {
            if verb == "promotional" {
                var action = StoreAction(.grant, user: id)
                action.entitlement = entitlement
                action.duration = call.body["duration"]?.string
                let end = try Self.requestedTime("end_time_ms", call)
                guard action.duration != nil || end != nil else {
                    throw StoreAction.Refusal("duration or end_time_ms is required.")
                }
                if let end, end <= call.now {
                    throw StoreAction.Refusal("end_time_ms must lie in the future.")
                }
                let start = try Self.requestedTime("start_time_ms", call)
                try grant(action, from: start, until: end, call.now)
                return customerInfo(customerByID[id] ?? 0, 201, call)
            }
            let customerNumber = recordActivity(id, call.now)
            try revoke(id, entitlement, call.now)
            return customerInfo(customerNumber, 200, call)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
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

    /// Carries out the operations of REST v1 on a single purchase.
    ///
    /// For Google Play only: `subscriptions/{product}/defer`, `…/revoke`,
    /// `subscriptions/{txn}/cancel` and `transactions/{txn}/refund`. For the App Store only:
    /// `subscriptions/{txn}/extend`.
    mutating func handlePlayAction(
        _ id: String,
        _ remainingPath: [String],
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        // In the path `…/subscriptions/{product}/{txn}/cancel`, the transaction precedes the verb.
        guard remainingPath.count == 3 || (remainingPath.count == 4 && remainingPath[3] == "cancel")
        else {
            throw .notFound
        }
        let (transactionOrProductID, verb) = (
            remainingPath[remainingPath.count - 2], remainingPath[remainingPath.count - 1]
        )
        guard let customerNumber = customerByID[id] else {
            throw RevenueCatError(404, 7259, "Subscriber not found.")
        }
        let purchase = customers[customerNumber]?.purchases.first {
            $0.productID == transactionOrProductID.split(separator: ":").first.map(String.init)
                || $0.transactionID == transactionOrProductID
                || $0.originalTransactionID == transactionOrProductID
                || transactionOrProductID.hasPrefix($0.originalTransactionID + "..")
        }
        guard let purchase else { throw RevenueCatError(404, 7259, "Purchase not found.") }
        if verb == "extend" { return try extend(purchase, of: id, customerNumber, call) }
        guard purchase.store == "PLAY_STORE" else {
            throw RevenueCatError(400, 7231, "Only Google Play purchases can be changed here.")
        }
        // A refund of an earlier period sends no event and revokes nothing (RevenueCat fact sheet,
        // section 3, row 13b).
        let isEarlierTransaction =
            remainingPath[0] == "transactions" && transactionOrProductID != purchase.transactionID
            && transactionOrProductID != purchase.productID
        guard !isEarlierTransaction else { return customerInfo(customerNumber, 200, call) }
        let action = try Self.action(verb, of: id, purchase, call)
        do throws(StoreAction.Refusal) {
            try carryOut(action, at: call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return customerInfo(customerNumber, 200, call)
    }

    /// Extends a subscription for `subscriptions/{txn}/extend`.
    ///
    /// This works in the App Store only, by at most 90 days (API description of REST v1).
    private mutating func extend(
        _ purchase: Purchase,
        of id: String,
        _ customerNumber: Int,
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard ["APP_STORE", "MAC_APP_STORE"].contains(purchase.store) else {
            throw RevenueCatError(400, 7226, "Only App Store subscriptions can be extended.")
        }
        guard let days = call.body["extend_by_days"]?.int64, (1...90).contains(days) else {
            throw RevenueCatError(400, 7226, "extend_by_days must be between 1 and 90.")
        }
        guard let reason = call.body["extend_reason_code"]?.int64, (0...3).contains(reason) else {
            throw RevenueCatError(400, 7226, "extend_reason_code must be between 0 and 3.")
        }
        var action = StoreAction(.extend, user: id)
        action.product = purchase.productID
        action.by = .days(days)
        do throws(StoreAction.Refusal) {
            try carryOut(action, at: call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return customerInfo(customerNumber, 200, call)
    }

    private static func action(
        _ verb: String,
        of id: String,
        _ purchase: Purchase,
        _ call: CallV1
    ) throws(RevenueCatError) -> StoreAction {
        var action = StoreAction(.extend, user: id)
        action.product = purchase.productID
        switch verb {
        case "defer":
            let time: Instant?
            do throws(StoreAction.Refusal) {
                time = try Self.requestedTime("expiry_time_ms", call)
            } catch {
                throw RevenueCatError(400, 7226, error.description)
            }
            if let time, let end = purchase.expires {
                action.by = time - end
            } else if let days = call.body["extend_by_days"]?.int64, (1...365).contains(days) {
                action.by = .days(days)
            } else {
                throw RevenueCatError(400, 7226, "expiry_time_ms or extend_by_days is required.")
            }
        case "cancel": action.kind = .cancel
        case "revoke", "refund": action.kind = .refund
        default: throw .notFound
        }
        return action
    }
}
