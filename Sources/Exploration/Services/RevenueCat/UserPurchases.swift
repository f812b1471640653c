internal import Providers
internal import Values

/// The store purchases of one user at the end of a history, and the access that they give.
struct UserPurchases {
    let user: String
    let facts: PurchaseFacts
    private let purchases: [Purchase]
    /// The purchases that give access while they are active.
    private let purchasesGrantingAccess: [Purchase]
    private let activePurchases: [Purchase]
    /// Whether a product change cut a period short, or a temporary grant may still give access.
    private let hasShortenedPeriod: Bool

    init(_ user: String, in stores: SimulatedStores) {
        self.user = user
        facts = stores.facts
        purchases = stores.purchases(of: user)
        let now = HistoryModel.zero + HistoryModel.finalReadTime
        purchasesGrantingAccess = purchases.filter { !$0.isSandbox && !$0.entitlements.isEmpty }
        activePurchases = purchasesGrantingAccess.filter { $0.isActive(at: now) && !$0.hasEnded }
        hasShortenedPeriod =
            (facts.shortenedPeriodEnds[user] ?? []).contains { $0 > HistoryModel.finalReadTime }
            || facts.mayHaveTemporaryAccess(user, at: HistoryModel.finalReadTime)
    }

    /// Whether the purchases give access; nil where the fact sheets leave it open.
    var access: Bool? {
        if activePurchases.contains(where: { !isAccessUndetermined($0) }) { return true }
        // No event reports the end of a period that a product change cut short.
        if hasShortenedPeriod || purchasesGrantingAccess.contains(where: isAccessUndetermined) {
            return nil
        }
        return false
    }

    /// Whether the user has only one purchase, which was refunded and gives no access.
    var isOnlyRefunded: Bool {
        guard access == false, let onlyPurchase = purchases.first, purchases.count == 1 else {
            return false
        }
        return onlyPurchase.refunded != nil && !onlyPurchase.isSandbox
            && areRenewalFlagsDefined(onlyPurchase)
            && !facts.wasTransferred(to: user, onlyPurchase.productID)
    }

    /// The purchase that alone gives access; nil when there is none, or when the fact sheets leave
    /// open which purchase gives access.
    var onlyActivePurchase: Purchase? {
        guard access == true, !hasShortenedPeriod,
            !purchasesGrantingAccess.contains(where: isAccessUndetermined),
            activePurchases.count == 1
        else { return nil }
        return activePurchases.first
    }

    /// Returns whether the fact sheets leave open whether the purchase currently gives access.
    ///
    /// Stripe counts the period with the failed charge as begun and may end that period at any time
    /// (RevenueCat fact sheet, section 3, row 8).
    ///
    /// A temporary grant during a store outage is replaced by the actual purchase, whose IDs and
    /// product may differ (row 25). It is unknown whether a later purchase is the one that replaces
    /// the grant.
    private func isAccessUndetermined(_ purchase: Purchase) -> Bool {
        if purchase.isTemporary { return facts.usersPayingSinceGrant.contains(user) }
        return purchase.store == "STRIPE" && purchase.billingIssue != nil && !purchase.hasEnded
    }

    /// Returns whether the flags of the user's state, such as `will-renew`, describe this purchase.
    ///
    /// For a user with several purchases, no field shows which purchase the flags describe.
    ///
    /// Sandbox purchases do not count (S-19).
    func areRenewalFlagsDefined(_ purchase: Purchase) -> Bool {
        facts.hadExactlyOneProduct(user) && !purchase.isOneTime && !purchase.isTemporary
            && purchase.store != "PROMOTIONAL" && purchase.period != "PREPAID"
            && purchase.resume == nil && !purchase.isFamilyShared
    }
}
