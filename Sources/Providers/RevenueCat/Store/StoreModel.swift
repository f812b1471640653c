internal import Values

/// The store model of the fake RevenueCat: actions of customers and stores, and their consequences.
///
/// Source: RevenueCat fact sheet, section 3. Comments name the row of each flow in its table.
enum StoreModel {
    /// Carries out an action of a customer, a store or a developer.
    ///
    /// `takeEvents` returns the events that the action causes.
    ///
    /// - Throws: A refusal that explains the problem; the state is then unchanged.
    static func carryOut(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        PassingOfTime.advance(&state, to: now)
        guard !AppUserID.isBlocked(action.user), !action.user.contains("/") else {
            throw StoreAction.Refusal("'\(action.user)' is an App User ID that RevenueCat refuses")
        }
        state.saveLaggedState(at: now)
        try performAction(&state, action, now)
    }

    private static func performAction(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        switch action.kind {
        case .purchase: try Buying.buy(&state, action, now)
        case .restore:
            let owner = try from(action)
            try Ownership.restore(&state, receiptOf: owner, by: action.user, isPurchase: false, now)
        case .transfer: try Ownership.transfer(&state, action, now)
        case .grant: try Granting.grant(&state, action, now)
        case .revoke: try Granting.revoke(&state, action.user, action.entitlement, now)
        case .test: StoreEvents.emitTest(&state, at: now)
        case .invoice:
            let customerNumber = state.customers.recordActivity(of: action.user, at: now)
            let purchase = Buying.newPurchase(&state, action, store: "RC_BILLING", now)
            StoreEvents.emitInvoice(&state, purchase, of: customerNumber, at: now)
        case .paywall:
            let customerNumber = state.customers.recordActivity(of: action.user, at: now)
            StoreEvents.emitPaywall(&state, action.type, of: customerNumber, at: now)
        case .familyShare: try Ownership.share(&state, action, now)
        case .temporaryGrant: try Granting.grantTemporarily(&state, action, now)
        case .redeem: try Ownership.redeem(&state, action, now)
        case .logIn: _ = state.customers.logIn(try from(action), as: action.user, at: now)
        case .setAttributes: setAttributes(&state, action, now)
        case .enroll:
            let customerNumber = state.customers.recordActivity(of: action.user, at: now)
            StoreEvents.emitEnrollment(&state, action.variant, of: customerNumber, at: now)
        case .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .billingIssue, .recover, .changeProduct, .reverseRefund, .stopFamilyShare,
            .priceConsent, .currency:
            try changePurchase(&state, action, now)
        }
    }

    private static func from(_ action: StoreAction) throws(StoreAction.Refusal) -> String {
        guard let from = action.from else {
            throw StoreAction.Refusal("\(action.kind.rawValue) needs 'from'")
        }
        return from
    }

    private static func setAttributes(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        _ now: Instant
    ) {
        let customerNumber = state.customers.recordActivity(of: action.user, at: now)
        for member in action.attributes.members {
            state.customers[customerNumber]?.attributes[member.key] = [
                "value": member.value, "updated_at_ms": .integer(now.milliseconds),
            ]
        }
    }

    // MARK: Changes of existing purchases

    private static func changePurchase(
        _ state: inout RevenueCatState,
        _ action: StoreAction,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard let customerNumber = state.customers.number(of: action.user) else {
            throw StoreAction.Refusal(
                "there is no customer '\(action.user)'; a purchase creates one"
            )
        }
        state.customers[customerNumber]?.lastSeenID = action.user
        var purchase = try findPurchase(action, of: state.customers[customerNumber])
        try StorePreconditions.requireStore(purchase.store, action.kind)
        try change(&state, &purchase, action, customerNumber, now)
    }

    private static func change(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        switch action.kind {
        case .renew:
            try StorePreconditions.requireNotEnded(purchase, action)
            Renewing.renew(&state, &purchase, of: customerNumber, at: now)
        case .cancel: try Renewing.cancel(&state, &purchase, action, customerNumber, now)
        case .uncancel: try Renewing.uncancel(&state, &purchase, customerNumber, now)
        case .pause: try Renewing.pause(&state, &purchase, action, customerNumber, now)
        case .resume: try Renewing.resume(&state, &purchase, customerNumber, now)
        case .extend: try Renewing.extend(&state, &purchase, action, customerNumber, now)
        case .expire:
            try StorePreconditions.requireNotEnded(purchase, action)
            Renewing.end(
                &state,
                &purchase,
                action.reason ?? purchase.cancelReason ?? "UNSUBSCRIBE",
                of: customerNumber,
                now
            )
        case .billingIssue: try Billing.failBilling(&state, &purchase, action, customerNumber, now)
        case .recover: try Billing.recover(&state, &purchase, of: customerNumber, at: now)
        case .changeProduct:
            try ProductChange.changeProduct(&state, &purchase, action, customerNumber, now)
        case .refund: try Refunding.refundUnlessRefunded(&state, &purchase, customerNumber, now)
        case .reverseRefund: try Refunding.reverseRefund(&state, &purchase, customerNumber, now)
        case .stopFamilyShare:
            try Ownership.stopSharing(&state, &purchase, action, customerNumber, now)
        case .priceConsent:
            StoreEvents.emitPriceConsent(
                &state,
                purchase,
                of: customerNumber,
                isApproved: action.isApproved,
                at: now
            )
        case .currency:
            StoreEvents.emitVirtualCurrency(
                &state,
                purchase,
                of: customerNumber,
                amount: action.amount,
                at: now
            )
        case .purchase, .transfer, .grant, .revoke, .restore, .test, .invoice, .paywall,
            .familyShare, .temporaryGrant, .redeem, .logIn, .setAttributes, .enroll:
            throw StoreAction.Refusal(
                "the action \(action.kind.rawValue) does not change a purchase"
            )
        }
    }

    /// Returns the purchase of a customer that an action names by its product.
    static func findPurchase(
        _ action: StoreAction,
        of customer: Customer?
    ) throws(StoreAction.Refusal) -> Purchase {
        let id = action.product.split(separator: ":").first.map(String.init) ?? action.product
        if let foundPurchase = customer?.subscription(to: id, preferring: action.environment) {
            return foundPurchase
        }
        if let foundPurchase = customer?.oneTime[id]?.last { return foundPurchase }
        if action.kind == .reverseRefund,
            let foundPurchase = customer?.refundedOneTime?.last(where: { $0.productID == id })
        {
            return foundPurchase
        }
        // If the customer has only one purchase, the action need not name its product.
        let customerPurchases = customer?.purchases ?? []
        if customerPurchases.count == 1, action.product == "premium_monthly",
            let only = customerPurchases.first
        {
            return only
        }
        let productIDList = customerPurchases.map(\.productID).joined(separator: ", ")
        throw StoreAction.Refusal(
            "\(action.user) has no purchase of \(id)"
                + (productIDList.isEmpty
                    ? "; buy it with the action purchase" : "; it has \(productIDList)")
        )
    }
}
