internal import Values

/// Actions of the store model that grant access without a purchase: promotional grants, and
/// temporary grants during a store outage.
///
/// Source: RevenueCat fact sheet, section 3, rows 20 to 22 and 25.
enum Granting {
    /// The length in hours of each named duration of a promotional grant (RevenueCat fact sheet,
    /// section 4.1).
    static let promotionalDurationInHours: [String: Int64] = [
        "daily": 24, "three_day": 72, "weekly": 7 * 24, "two_week": 14 * 24,
        "monthly": 31 * 24, "two_month": 61 * 24,
        "three_month": 92 * 24, "six_month": 183 * 24, "yearly": 365 * 24,
        "lifetime": 200 * 365 * 24,
    ]

    /// Grants a promotional entitlement to a customer.
    ///
    /// - Parameters:
    ///   - state: The state of the fake.
    ///   - action: The customer, the entitlement, and the name of the duration.
    ///   - start: The time from which the duration counts. Access begins immediately in any case.
    ///   - until: The end of access, in place of the duration.
    ///   - now: The current time.
    /// - Throws: A refusal when the name of the duration is unknown.
    static func grant(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        from start: Instant? = nil,
        until: Instant? = nil,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        let entitlement = action.entitlement ?? state.catalog.entitlement
        let name = action.duration ?? "monthly"
        guard let hours = Self.promotionalDurationInHours[name] else {
            throw StoreAction.Refusal(
                "'duration' is '\(name)', which is not one of "
                    + Self.promotionalDurationInHours.keys.sorted().joined(separator: ", ")
            )
        }
        let customerNumber = state.customers.recordActivity(of: action.user, at: now)
        let newTransactionID = state.ids.transactionID(in: "PROMOTIONAL")
        let purchase = Purchase(
            productID: "rc_promo_\(entitlement)_\(until == nil ? name : "custom")",
            store: "PROMOTIONAL",
            environment: "PRODUCTION",
            period: "PROMOTIONAL",
            purchased: now,
            originallyPurchased: now,
            expires: until ?? (start ?? now) + .hours(hours),
            transactionID: newTransactionID,
            originalTransactionID: newTransactionID,
            priceUSD: 0,
            price: 0,
            currency: "USD",
            entitlements: [entitlement],
            asOf: now
        )
        state.customers[customerNumber]?.putPurchase(purchase)
        StoreEvents.emit(&state, .nonRenewingPurchase, purchase, of: customerNumber, at: now)
    }

    static func revoke(
        _ state: inout RevenueCatState,
        _ user: String,
        _ entitlement: String?,
        _ now: Instant
    )
        throws(StoreAction.Refusal)
    {
        guard let customerNumber = state.customers.number(of: user) else {
            throw StoreAction.Refusal("there is no customer '\(user)'")
        }
        let entitlementToRevoke = entitlement ?? state.catalog.entitlement
        let grants = (state.customers[customerNumber]?.purchases ?? []).filter {
            $0.store == "PROMOTIONAL" && $0.entitlements.contains(entitlementToRevoke)
                && !$0.hasEnded
        }
        for var purchase in grants {
            purchase.expires = now
            purchase.unsubscribed = now
            state.customers.save(purchase, of: customerNumber, asOf: now)
            StoreEvents.emit(
                &state,
                .cancellation,
                purchase,
                of: customerNumber,
                at: now,
                .cancelled(reason: "DEVELOPER_INITIATED")
            )
            // In a capture, the expiration contains a different reason from that of the
            // cancellation.
            Renewing.end(
                &state,
                &purchase,
                "UNSUBSCRIBE",
                of: customerNumber,
                now + .milliseconds(100)
            )
        }
    }

    static func grantTemporarily(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        try StorePreconditions.requireStore(action.store, action.kind)
        let customerNumber = state.customers.recordActivity(of: action.user, at: now)
        var purchase = Buying.newPurchase(&state, action, now)
        purchase.transactionID = state.ids.resourceID("tmp_", digits: 16)
        purchase.originalTransactionID = purchase.transactionID
        purchase.expires = now + min(action.by ?? .seconds(86_400), .seconds(86_400))
        purchase.isTemporary = true
        purchase.isOneTime = false
        purchase.willRenew = false
        state.customers[customerNumber]?.putPurchase(purchase)
        StoreEvents.emitTemporaryGrant(&state, purchase, of: customerNumber, at: now)
    }
}
