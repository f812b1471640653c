internal import Providers
internal import Values

extension ExpectedState {
    /// Adds the values that describe the store purchases of a user.
    mutating func addDetails(of purchases: UserPurchases) {
        // An expiration changes no flag (effect table C.1, EXPIRATION).
        if purchases.isOnlyRefunded { refunded = true }
        // With several purchases, no field shows which purchase it describes.
        guard let onlyPurchase = purchases.onlyActivePurchase else { return }
        if onlyPurchase.store != "PLAY_STORE", onlyPurchase.store != "PROMOTIONAL",
            !onlyPurchase.isTemporary
        {
            product = onlyPurchase.productID
        }
        if onlyPurchase.graceEnd == nil {
            expires = onlyPurchase.expires.map { .at($0 - HistoryModel.zero) } ?? .never
        }
        setRenewalFlags(of: onlyPurchase, purchases)
    }

    private mutating func setRenewalFlags(of purchase: Purchase, _ purchases: UserPurchases) {
        guard purchases.areRenewalFlagsDefined(purchase) else { return }
        let facts = purchases.facts
        let purchaseKey = PurchaseFacts.PurchaseKey(
            user: purchases.user,
            product: purchase.productID
        )
        // A store that retries the charge may still renew (effect table C.1, CANCELLATION
        // BILLING_ERROR).
        if !facts.reversedRefunds.contains(purchaseKey), purchase.billingIssue == nil {
            willRenew = purchase.willRenew && purchase.unsubscribed == nil
        }
        if !facts.endedPurchases.contains(purchaseKey) {
            billingIssue = purchase.billingIssue != nil
        }
        refunded = false
        // Google Play names the next product in another form. The fact sheets leave open whether a
        // product change survives a cancellation.
        if purchase.store != "PLAY_STORE", willRenew == true {
            pendingProduct = purchase.nextProductID.map { .product($0) } ?? .nothing
        }
    }
}
