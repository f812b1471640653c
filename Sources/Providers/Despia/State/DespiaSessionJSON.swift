internal import Values

/// The results about the session of RevenueCat's SDK on a device, in the format that callbacks of
/// the page receive (Despia fact sheet, section 6).
extension DespiaDevice {
    /// Returns the result of a purchase in the format that the page's callback receives.
    ///
    /// On Android, the result of a paywall contains neither product nor transaction.
    func purchaseResultJSON(
        _ purchaseOutcome: Paywall.PurchaseOutcome,
        source: String,
        details: (product: String, transactionID: String)?
    ) -> JSONValue {
        let isPurchaseComplete = purchaseOutcome == .complete
        let reportedDetails = isPurchaseComplete ? details : nil
        return [
            "ok": .bool(isPurchaseComplete), "cancelled": .bool(purchaseOutcome == .cancel),
            "restored": false,
            "source": .string(source),
            "product": reportedDetails.map { .string($0.product) } ?? .null,
            "transaction": reportedDetails.map { .string($0.transactionID) } ?? .null,
            "entitlements": isPurchaseComplete ? ["premium"] : [],
            "user": .string(revenueCatID),
            "platform": .string(platform), "runtime": 3, "bridge": 2,
            "error": purchaseOutcome == .fail ? "The purchase failed." : .null,
            "code": purchaseOutcome == .cancel
                ? "purchaseCancelledError" : purchaseOutcome == .fail ? "storeProblemError" : .null,
        ]
    }

    /// The products that the store offers.
    var productsJSON: JSONValue {
        [
            "ok": true, "products": ["premium_monthly", "premium_yearly"],
            "platform": .string(platform), "runtime": 3, "bridge": 2, "error": .null,
            "code": .null,
        ]
    }

    /// The result of redeeming an offer code.
    var redemptionJSON: JSONValue {
        [
            "ok": true, "cancelled": false, "restored": false, "source": "redeem",
            "product": .null, "transaction": .null, "entitlements": [],
            "user": .string(revenueCatID), "platform": "ios", "runtime": 3, "bridge": 2,
            "error": .null, "code": "presented",
        ]
    }

    /// The identity of the session.
    var identityJSON: JSONValue {
        let isAnonymous = Customer.isAnonymous(revenueCatID)
        return [
            "ok": true, "user": .string(revenueCatID), "anonymous": .bool(isAnonymous),
            "registered": .bool(!isAnonymous), "new": false,
            "entitlements": ["active": [], "all": []], "platform": .string(platform),
            "runtime": 3, "bridge": 2, "error": .null, "code": .null,
        ]
    }
}
