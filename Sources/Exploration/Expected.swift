internal import Conformance
internal import Providers

/// What a backend has to show of somebody, as far as the catalogue fixes it; nil: it does not.
///
/// Source: identity rules, effect table C.1 and S-09 to S-19.
package struct Expected: Hashable, Sendable {
    package enum End: Hashable, Sendable {
        case never
        /// Relative to the start of the run.
        case at(Duration)
    }

    /// Whether the backend has to know the person at all.
    package var exists = false
    package var access: Bool?
    package var product: String?
    package var expires: End?
    package var willRenew: Bool?
    package var billingIssue: Bool?
    package var refunded: Bool?
    package var pendingProduct: Pending?

    /// What a subscription changes to when its period is over (S-14).
    package enum Pending: Hashable, Sendable {
        case nothing
        case product(String)
    }

    /// The fields that a contract can ask for; an end is that of an event that names it.
    ///
    /// - Parameter end: How the contract writes an end.
    /// - Returns: The fields, in the order in which contracts write them.
    func fields(_ end: (Duration) -> JSONValue) -> [(name: String, value: JSONValue)] {
        var fields: [(String, JSONValue)] = []
        if let access { fields.append(("access", .bool(access))) }
        if let product { fields.append(("product", .string(product))) }
        switch expires {
        case .never: fields.append(("expires", .null))
        case .at(let time): fields.append(("expires", end(time)))
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

extension LifeModel {
    /// What a backend that has heard everything so far must show of somebody.
    package func expected(_ user: String) -> Expected {
        var expected = Expected(exists: known.contains(user))
        // Whose the anonymous id is that something was told of, nobody can know yet (fact sheet 5.4).
        guard expected.exists, !isApart(user) else { return expected }
        let now = Self.zero + Self.look
        let all = purchases(of: user)
        let granting = all.filter { !$0.isSandbox && !$0.entitlements.isEmpty }
        let active = granting.filter { $0.isActive(at: now) && !$0.hasEnded }
        let isLeft =
            (notes.left[user] ?? []).contains { $0 > Self.look }
            || notes.mayBeGranted(user, at: Self.look)
        func isOpen(_ purchase: Purchase) -> Bool { self.isOpen(purchase, of: user) }
        let own = Self.access(granting, active, isLeft: isLeft, isOpen)
        expected.access = Self.either(own, plans.access(of: user, at: Self.look))
        if accounts.isJoined(user) {
            // Whose device it is now, and which of the two has what both had, S-28 leaves open.
            expected.exists = accounts.joined[user] == nil
            if expected.access != true { expected.access = nil }
            return expected
        }
        if own == false, plans.lines(of: user).isEmpty, let only = all.first, all.count == 1,
            only.refunded != nil, !only.isSandbox, hasFlags(only, user),
            !notes.wasHandedOver(to: user, only.productID)
        {
            // An end changes no flag (effect table C.1, EXPIRATION).
            expected.refunded = true
        }
        // Of whoever has had several, at several providers, no field says of which it speaks.
        guard own == true, !isLeft, !granting.contains(where: isOpen),
            active.count == 1, let only = active.first,
            plans.lines(of: user).isEmpty
        else { return expected }
        if only.store != "PLAY_STORE", only.store != "PROMOTIONAL", !only.isTemporary {
            expected.product = only.productID
        }
        if only.graceEnd == nil {
            expected.expires = only.expires.map { .at($0 - Self.zero) } ?? .never
        }
        setFlags(of: only, in: &expected, user)
        return expected
    }

    /// One source of access is enough.
    private static func either(_ one: Bool?, _ other: Bool?) -> Bool? {
        if one == true || other == true { return true }
        return one == nil || other == nil ? nil : false
    }

    /// Nil where the fact sheets leave it open.
    private static func access(
        _ granting: [Purchase],
        _ active: [Purchase],
        isLeft: Bool,
        _ isOpen: (Purchase) -> Bool
    ) -> Bool? {
        if active.contains(where: { !isOpen($0) }) { return true }
        // The end of a period that a change of product cut short is never told.
        if isLeft || granting.contains(where: isOpen) { return nil }
        return false
    }

    /// Stripe counts the period whose charge failed as begun and may end it any time (fact sheet,
    /// section 3, row 8).
    ///
    /// What was granted while a store was away gives way to the purchase that it stands for, whose ids
    /// and product may be others (row 25): whether a later one is that purchase nobody can tell.
    private func isOpen(_ purchase: Purchase, of user: String) -> Bool {
        if purchase.isTemporary { return notes.paidSinceGrant.contains(user) }
        return purchase.store == "STRIPE" && purchase.billingIssue != nil && !purchase.hasEnded
    }

    /// Flags speak of one purchase; of whoever has had several no field says of which.
    ///
    /// What spends no money is apart from it (S-19).
    private func hasFlags(_ purchase: Purchase, _ user: String) -> Bool {
        notes.hadOne(user) && !purchase.isOneTime && !purchase.isTemporary
            && purchase.store != "PROMOTIONAL" && purchase.period != "PREPAID"
            && purchase.resume == nil && !purchase.isFamilyShared
    }

    private func setFlags(of purchase: Purchase, in expected: inout Expected, _ user: String) {
        guard hasFlags(purchase, user) else { return }
        let line = LifeNotes.Line(user: user, product: purchase.productID)
        // A store that tries again may still renew it (effect table C.1, CANCELLATION BILLING_ERROR).
        if !notes.reversed.contains(line), purchase.billingIssue == nil {
            expected.willRenew = purchase.willRenew && purchase.unsubscribed == nil
        }
        if !notes.ended.contains(line) { expected.billingIssue = purchase.billingIssue != nil }
        expected.refunded = false
        // Play says what comes next by other names, and whether a change outlives what ends the renewal
        // the sheets leave open.
        if purchase.store != "PLAY_STORE", expected.willRenew == true {
            expected.pendingProduct = purchase.nextProductID.map { .product($0) } ?? .nothing
        }
    }
}
