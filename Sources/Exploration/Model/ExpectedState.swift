internal import Providers
internal import Values

/// The state that a backend must return for a user at the end of a history.
///
/// A nil value means that the specification allows any value.
///
/// Source: identity rules, effect table C.1 and S-09 to S-19.
package struct ExpectedState: Hashable, Sendable {
    package enum Expiration: Hashable, Sendable {
        case never
        /// Access ends at this time, relative to the run's base time (`RunRecord.base`).
        case at(Duration)
    }

    /// Whether the backend must have a record of the user.
    package var exists = false
    package var access: Bool?
    package var product: String?
    package var expires: Expiration?
    package var willRenew: Bool?
    package var billingIssue: Bool?
    package var refunded: Bool?
    package var pendingProduct: PendingProduct?

    /// The product to which a subscription changes at the end of its period (S-14).
    package enum PendingProduct: Hashable, Sendable {
        case nothing
        case product(String)
    }

    /// Returns the fields of this state that the `expect` section of a contract can check.
    ///
    /// - Parameter expirationValue: Returns the contract's notation for the time at which access ends, such as
    ///   a reference to the event that contains this time.
    /// - Returns: The names and values of the fields, in the order in which contracts list them.
    func fields(_ expirationValue: (Duration) -> JSONValue) -> [(name: String, value: JSONValue)] {
        var fields: [(String, JSONValue)] = []
        if let access { fields.append(("access", .bool(access))) }
        if let product { fields.append(("product", .string(product))) }
        switch expires {
        case .never: fields.append(("expires", .null))
        case .at(let time): fields.append(("expires", expirationValue(time)))
        case nil: break
        }
        if let willRenew { fields.append(("will-renew", .bool(willRenew))) }
        if let billingIssue { fields.append(("billing-issue", .bool(billingIssue))) }
        if let refunded { fields.append(("refunded", .bool(refunded))) }
        switch pendingProduct {
        case .nothing: fields.append(("pending-product", .null))
        case .product(let next): fields.append(("pending-product", .string(next)))
        case nil: break
        }
        return fields
    }
}

extension HistoryModel {
    /// Returns the state that a backend must have for a user after it has processed all events.
    package func expectedState(_ user: String) -> ExpectedState {
        var expectedState = ExpectedState(exists: known.contains(user))
        // If events named the user only by an anonymous ID, the owner of that ID is still unknown
        // (RevenueCat fact sheet 5.4).
        guard expectedState.exists, !isKnownOnlyAnonymously(user) else { return expectedState }
        let now = Self.zero + Self.finalReadTime
        let userPurchases = purchases(of: user)
        let purchasesGrantingAccess = userPurchases.filter {
            !$0.isSandbox && !$0.entitlements.isEmpty
        }
        let activePurchases = purchasesGrantingAccess.filter {
            $0.isActive(at: now) && !$0.hasEnded
        }
        let hasShortenedPeriod =
            (purchaseFacts.shortenedPeriodEnds[user] ?? []).contains { $0 > Self.finalReadTime }
            || purchaseFacts.mayHaveTemporaryAccess(user, at: Self.finalReadTime)
        func isAccessUndetermined(_ purchase: Purchase) -> Bool {
            self.isAccessUndetermined(purchase, of: user)
        }
        let accessFromPurchases = Self.access(
            purchasesGrantingAccess,
            activePurchases,
            hasShortenedPeriod: hasShortenedPeriod,
            isAccessUndetermined
        )
        expectedState.access = Self.combinedAccess(
            accessFromPurchases,
            plans.access(of: user, at: Self.finalReadTime)
        )
        if accounts.hasUndeterminedOwner(user) {
            // S-28 leaves open who owns the device now, and which of the two users keeps the
            // purchases.
            expectedState.exists = accounts.joinedUsers[user] == nil
            if expectedState.access != true { expectedState.access = nil }
            return expectedState
        }
        if accessFromPurchases == false, plans.heldPurchases(of: user).isEmpty,
            let onlyPurchase = userPurchases.first,
            userPurchases.count == 1,
            onlyPurchase.refunded != nil, !onlyPurchase.isSandbox,
            areRenewalFlagsDefined(onlyPurchase, user),
            !purchaseFacts.wasTransferred(to: user, onlyPurchase.productID)
        {
            // An expiration changes no flag (effect table C.1, EXPIRATION).
            expectedState.refunded = true
        }
        // With several purchases or several providers, no field shows which purchase it describes.
        guard accessFromPurchases == true, !hasShortenedPeriod,
            !purchasesGrantingAccess.contains(where: isAccessUndetermined),
            activePurchases.count == 1, let onlyPurchase = activePurchases.first,
            plans.heldPurchases(of: user).isEmpty
        else { return expectedState }
        if onlyPurchase.store != "PLAY_STORE", onlyPurchase.store != "PROMOTIONAL",
            !onlyPurchase.isTemporary
        {
            expectedState.product = onlyPurchase.productID
        }
        if onlyPurchase.graceEnd == nil {
            expectedState.expires = onlyPurchase.expires.map { .at($0 - Self.zero) } ?? .never
        }
        setRenewalFlags(of: onlyPurchase, in: &expectedState, user)
        return expectedState
    }

    /// Combines the access from RevenueCat purchases with the access from Purchasely plans; nil
    /// when the result is undetermined.
    private static func combinedAccess(_ purchaseAccess: Bool?, _ planAccess: Bool?) -> Bool? {
        if purchaseAccess == true || planAccess == true { return true }
        return purchaseAccess == nil || planAccess == nil ? nil : false
    }

    /// Returns whether a user's RevenueCat purchases grant access; nil where the fact sheets leave
    /// it open.
    private static func access(
        _ purchasesGrantingAccess: [Purchase],
        _ activePurchases: [Purchase],
        hasShortenedPeriod: Bool,
        _ isAccessUndetermined: (Purchase) -> Bool
    ) -> Bool? {
        if activePurchases.contains(where: { !isAccessUndetermined($0) }) { return true }
        // No event reports the end of a period that a product change cut short.
        if hasShortenedPeriod || purchasesGrantingAccess.contains(where: isAccessUndetermined) {
            return nil
        }
        return false
    }

    /// Returns whether the fact sheets leave open whether the purchase currently gives access.
    ///
    /// Stripe counts the period with the failed charge as begun and may end that period at any time
    /// (RevenueCat fact sheet, section 3, row 8).
    ///
    /// A temporary grant during a store outage is replaced by the actual purchase, whose IDs and
    /// product may differ (row 25). It is unknown whether a later purchase is the one that replaces
    /// the grant.
    private func isAccessUndetermined(_ purchase: Purchase, of user: String) -> Bool {
        if purchase.isTemporary { return purchaseFacts.usersPayingSinceGrant.contains(user) }
        return purchase.store == "STRIPE" && purchase.billingIssue != nil && !purchase.hasEnded
    }

    /// Returns whether the flags of the user's state, such as `will-renew`, describe this purchase.
    ///
    /// For a user with several purchases, no field shows which purchase the flags describe.
    ///
    /// Sandbox purchases do not count (S-19).
    private func areRenewalFlagsDefined(_ purchase: Purchase, _ user: String) -> Bool {
        purchaseFacts.hadExactlyOneProduct(user) && !purchase.isOneTime && !purchase.isTemporary
            && purchase.store != "PROMOTIONAL" && purchase.period != "PREPAID"
            && purchase.resume == nil && !purchase.isFamilyShared
    }

    private func setRenewalFlags(
        of purchase: Purchase,
        in expectedState: inout ExpectedState,
        _ user: String
    ) {
        guard areRenewalFlagsDefined(purchase, user) else { return }
        let purchaseKey = PurchaseFacts.PurchaseKey(user: user, product: purchase.productID)
        // A store that retries the charge may still renew (effect table C.1, CANCELLATION
        // BILLING_ERROR).
        if !purchaseFacts.reversedRefunds.contains(purchaseKey), purchase.billingIssue == nil {
            expectedState.willRenew = purchase.willRenew && purchase.unsubscribed == nil
        }
        if !purchaseFacts.endedPurchases.contains(purchaseKey) {
            expectedState.billingIssue = purchase.billingIssue != nil
        }
        expectedState.refunded = false
        // Google Play names the next product in another form. The fact sheets leave open whether a
        // product change survives a cancellation.
        if purchase.store != "PLAY_STORE", expectedState.willRenew == true {
            expectedState.pendingProduct = purchase.nextProductID.map { .product($0) } ?? .nothing
        }
    }
}
