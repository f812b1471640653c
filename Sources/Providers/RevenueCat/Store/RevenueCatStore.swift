internal import Contracts
package import Values

/// The store model of the fake RevenueCat: actions of customers and stores, and their consequences.
///
/// Source: RevenueCat fact sheet, section 3. Comments name the row of each flow in its table.
extension RevenueCatState {
    typealias Refusal = StoreAction.Refusal

    /// The time between the events that one action causes, as captured (RevenueCat fact sheet,
    /// section 3, row 8b).
    static let eventSpacing: Duration = .milliseconds(11)

    /// Carries out an action of a customer, a store or a developer.
    ///
    /// `takeEvents` returns the events that the action causes.
    ///
    /// - Throws: A refusal that explains the problem; the state is then unchanged.
    package mutating func carryOut(
        _ action: StoreAction,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        advance(to: now)
        guard !AppUserID.isBlocked(action.user), !action.user.contains("/") else {
            throw Refusal("'\(action.user)' is an App User ID that RevenueCat refuses")
        }
        saveLaggedState(at: now)
        try performAction(action, now)
    }

    private mutating func performAction(
        _ action: StoreAction,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        switch action.kind {
        case .purchase: try buy(action, now)
        case .restore:
            let owner = try from(action)
            try restore(receiptOf: owner, by: action.user, isPurchase: false, now)
        case .transfer: try transfer(action, now)
        case .grant: try grant(action, now)
        case .revoke: try revoke(action.user, action.entitlement, now)
        case .test: emitTest(at: now)
        case .invoice:
            let customerNumber = recordActivity(action.user, now)
            emitInvoice(newPurchase(action, store: "RC_BILLING", now), of: customerNumber, at: now)
        case .paywall:
            emitPaywall(action.type, of: recordActivity(action.user, now), at: now)
        case .familyShare: try share(action, now)
        case .temporaryGrant: try grantTemporarily(action, now)
        case .redeem: try redeem(action, now)
        case .logIn: _ = identify(try from(action), as: action.user, now)
        case .setAttributes: setAttributes(action, now)
        case .enroll: emitEnrollment(action.variant, of: recordActivity(action.user, now), at: now)
        case .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
            .billingIssue, .recover, .changeProduct, .reverseRefund, .stopFamilyShare,
            .priceConsent, .currency:
            try changePurchase(action, now)
        }
    }

    private func from(_ action: StoreAction) throws(StoreAction.Refusal) -> String {
        guard let from = action.from else {
            throw Refusal("\(action.kind.rawValue) needs 'from'")
        }
        return from
    }

    private mutating func setAttributes(_ action: StoreAction, _ now: Instant) {
        let customerNumber = recordActivity(action.user, now)
        for member in action.attributes.members {
            customers[customerNumber]?.attributes[member.key] = [
                "value": member.value, "updated_at_ms": .integer(now.milliseconds),
            ]
        }
    }

    // MARK: Changes of existing purchases

    private mutating func changePurchase(_ action: StoreAction, _ now: Instant) throws(StoreAction
        .Refusal)
    {
        guard let customerNumber = customerByID[action.user] else {
            throw Refusal("there is no customer '\(action.user)'; a purchase creates one")
        }
        customers[customerNumber]?.lastSeenID = action.user
        var purchase = try findPurchase(action, customerNumber)
        try requireStore(purchase.store, action.kind)
        switch action.kind {
        case .renew:
            try requireNotEnded(purchase, action)
            renew(&purchase, of: customerNumber, at: now)
        case .cancel: try cancel(&purchase, action, customerNumber, now)
        case .uncancel: try uncancel(&purchase, customerNumber, now)
        case .pause: try pause(&purchase, action, customerNumber, now)
        case .resume: try resume(&purchase, customerNumber, now)
        case .extend: try extend(&purchase, action, customerNumber, now)
        case .expire:
            try requireNotEnded(purchase, action)
            end(
                &purchase,
                action.reason ?? purchase.cancelReason ?? "UNSUBSCRIBE",
                of: customerNumber,
                now
            )
        case .billingIssue: try failBilling(&purchase, action, customerNumber, now)
        case .recover: try recover(&purchase, of: customerNumber, at: now)
        case .changeProduct: try changeProduct(&purchase, action, customerNumber, now)
        case .refund: try refundUnlessRefunded(&purchase, customerNumber, now)
        case .reverseRefund: try reverseRefund(&purchase, customerNumber, now)
        case .stopFamilyShare: try stopSharing(&purchase, action, customerNumber, now)
        case .priceConsent:
            emitPriceConsent(purchase, of: customerNumber, isApproved: action.isApproved, at: now)
        case .currency:
            emitVirtualCurrency(purchase, of: customerNumber, amount: action.amount, at: now)
        case .purchase, .transfer, .grant, .revoke, .restore, .test, .invoice, .paywall,
            .familyShare, .temporaryGrant, .redeem, .logIn, .setAttributes, .enroll:
            throw Refusal("the action \(action.kind.rawValue) does not change a purchase")
        }
    }

    func findPurchase(
        _ action: StoreAction,
        _ customerNumber: Int
    ) throws(StoreAction.Refusal) -> Purchase {
        let id = action.product.split(separator: ":").first.map(String.init) ?? action.product
        let customer = customers[customerNumber]
        if let foundPurchase = customer?.subscriptions[id] { return foundPurchase }
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
        throw Refusal(
            "\(action.user) has no purchase of \(id)"
                + (productIDList.isEmpty
                    ? "; buy it with the action purchase" : "; it has \(productIDList)")
        )
    }

    // MARK: Preconditions

    /// The stores that never send the event of an action, by the kind of action (RevenueCat fact
    /// sheet, section 2.1, columns of the table).
    private static let storesWithoutEvent: [StoreAction.Kind: Set<String>] = [
        .uncancel: ["STRIPE", "PROMOTIONAL"],
        .billingIssue: ["PROMOTIONAL"],
        .changeProduct: ["AMAZON", "ROKU", "PROMOTIONAL"],
        .extend: ["ROKU", "RC_BILLING", "PROMOTIONAL"],
        .reverseRefund: ["PLAY_STORE", "STRIPE", "AMAZON", "ROKU", "RC_BILLING", "PROMOTIONAL"],
        .temporaryGrant: ["RC_BILLING", "PROMOTIONAL"],
        .currency: ["AMAZON", "ROKU", "PROMOTIONAL"],
    ]

    func requireStore(
        _ store: String,
        _ kind: StoreAction.Kind
    ) throws(StoreAction.Refusal) {
        guard Self.storesWithoutEvent[kind]?.contains(store) == true else { return }
        throw Refusal("the action \(kind.rawValue) is not possible in the store \(store)")
    }

    func requireNotEnded(
        _ purchase: Purchase,
        _ action: StoreAction
    ) throws(StoreAction.Refusal) {
        guard !purchase.isOneTime else {
            throw Refusal(
                "\(purchase.productID) is a one-time purchase; it does not support the action "
                    + action.kind.rawValue
            )
        }
        guard !purchase.hasEnded else {
            throw Refusal("\(purchase.productID) has ended; buy it again with the action purchase")
        }
    }

    mutating func savePurchase(_ purchase: Purchase, _ customerNumber: Int, _ now: Instant) {
        var purchase = purchase
        purchase.asOf = now
        customers[customerNumber]?.putPurchase(purchase)
    }
}
