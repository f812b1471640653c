internal import Values

/// Actions of the store model that change the owner of a purchase: restoring, transfers, family
/// sharing and redeemed web purchases.
///
/// Source: RevenueCat fact sheet, section 3, rows 17, 23 and 26, and sections 5.3 and 5.4.
enum Ownership {
    /// Handles a receipt of the customer `owner` that the customer `user` sends, as the project's
    /// restore behavior requires.
    static func restore(
        _ state: inout RevenueCatState,
        receiptOf owner: String,
        by user: String,
        isPurchase: Bool,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard let sourceCustomerNumber = state.customers.number(of: owner) else {
            throw StoreAction.Refusal("there is no customer '\(owner)'")
        }
        let targetCustomerNumber = state.customers.recordActivity(of: user, at: now)
        guard sourceCustomerNumber != targetCustomerNumber else { return }
        let restoreBehavior =
            state.customers[targetCustomerNumber]?.restoreBehavior ?? state.settings.restoreBehavior
        // An anonymous owner is merged under every restore behavior, and no event is sent.
        if state.customers[sourceCustomerNumber]?.isAnonymous == true {
            state.customers.merge(sourceCustomerNumber, into: targetCustomerNumber)
            return
        }
        let isActive = state.customers[sourceCustomerNumber]?.subscriptions.values.contains {
            $0.isActive(at: now)
        }
        let foreignReceiptRefusal = StoreAction.Refusal(
            "7102: the receipt belongs to another subscriber"
        )
        switch restoreBehavior {
        case .transfer: announceTransfer(&state, sourceCustomerNumber, targetCustomerNumber, now)
        case .transferIfNoActiveSubscriptions:
            guard isActive != true else { throw foreignReceiptRefusal }
            announceTransfer(&state, sourceCustomerNumber, targetCustomerNumber, now)
        case .keep: throw foreignReceiptRefusal
        case .share:
            guard !isPurchase else { throw foreignReceiptRefusal }
            state.customers.merge(sourceCustomerNumber, into: targetCustomerNumber)
        }
    }

    static func transfer(_ state: inout RevenueCatState, _ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let from = action.from, let sourceCustomerNumber = state.customers.number(of: from)
        else {
            throw StoreAction.Refusal("transfer needs 'from', the ID of a customer with a purchase")
        }
        let targetCustomerNumber = state.customers.recordActivity(of: action.user, at: now)
        guard sourceCustomerNumber != targetCustomerNumber else {
            throw StoreAction.Refusal("'from' and 'user' are the same customer")
        }
        guard state.customers[sourceCustomerNumber]?.purchases.isEmpty == false else {
            throw StoreAction.Refusal("\(from) has no purchase to transfer")
        }
        announceTransfer(&state, sourceCustomerNumber, targetCustomerNumber, now)
    }

    static func announceTransfer(
        _ state: inout RevenueCatState,
        _ sourceCustomerNumber: Int,
        _ targetCustomerNumber: Int,
        _ now: Instant
    ) {
        // The restore happens in one environment, and moves the purchases of that environment.
        let purchases = state.customers[sourceCustomerNumber]?.purchases ?? []
        let firstPurchase =
            purchases.first { !$0.subscriptionKey.isSandbox } ?? purchases.first
        let environment = firstPurchase?.environment ?? "PRODUCTION"
        let previousOwners = state.customers[sourceCustomerNumber]?.ids ?? []
        let newOwners = state.customers[targetCustomerNumber]?.ids ?? []
        state.customers.movePurchases(
            from: sourceCustomerNumber,
            to: targetCustomerNumber,
            environment: environment
        )
        // Only one event is sent, about the customer who receives the purchases. The previous owner
        // gets no EXPIRATION (RevenueCat fact sheet, section 3, row 17).
        StoreEvents.emitTransfer(
            &state,
            from: previousOwners,
            to: newOwners,
            store: firstPurchase?.store ?? "APP_STORE",
            environment: environment,
            at: now
        )
    }

    static func share(_ state: inout RevenueCatState, _ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let from = action.from, let owner = state.customers.number(of: from) else {
            throw StoreAction.Refusal(
                "family-share needs 'from', the ID of a customer with a purchase"
            )
        }
        var purchase = try StoreModel.findPurchase(action, of: state.customers[owner])
        let customerNumber = state.customers.recordActivity(of: action.user, at: now)
        guard customerNumber != owner else {
            throw StoreAction.Refusal("'from' and 'user' are the same customer")
        }
        purchase.isFamilyShared = true
        purchase.transactionID = state.ids.transactionID(in: purchase.store)
        purchase.sharedTransactionID = purchase.transactionID
        purchase.priceUSD = 0
        purchase.price = 0
        purchase.asOf = now
        state.customers[customerNumber]?.putPurchase(purchase)
        StoreEvents.emit(
            &state,
            .initialPurchase,
            purchase,
            of: customerNumber,
            at: now,
            payment: .price
        )
    }

    static func redeem(_ state: inout RevenueCatState, _ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let from = action.from, let sourceCustomerNumber = state.customers.number(of: from)
        else {
            throw StoreAction.Refusal(
                "redeem needs 'from', the ID of the customer who bought on the web"
            )
        }
        let targetCustomerNumber = state.customers.recordActivity(of: action.user, at: now)
        let previousOwners = state.customers[sourceCustomerNumber]?.ids ?? [from]
        let newOwners = state.customers[targetCustomerNumber]?.ids ?? [action.user]
        let purchaseEnvironment =
            state.customers[sourceCustomerNumber]?.purchases.first?.environment ?? "PRODUCTION"
        let isAlias = state.customers[sourceCustomerNumber]?.isAnonymous ?? false
        StoreEvents.emitRedemption(
            &state,
            from: previousOwners,
            by: newOwners,
            outcome: sourceCustomerNumber == targetCustomerNumber
                ? "redeemer_owns" : isAlias ? "alias" : "transfer",
            environment: purchaseEnvironment,
            at: now
        )
        guard sourceCustomerNumber != targetCustomerNumber else { return }
        if isAlias {
            state.customers.merge(sourceCustomerNumber, into: targetCustomerNumber)
        } else {
            state.customers.movePurchases(
                from: sourceCustomerNumber,
                to: targetCustomerNumber,
                environment: purchaseEnvironment
            )
            StoreEvents.emitTransfer(
                &state,
                from: previousOwners,
                to: newOwners,
                store: "RC_BILLING",
                environment: purchaseEnvironment,
                at: now + StoreEvents.spacing
            )
        }
    }

    static func stopSharing(
        _ state: inout RevenueCatState,
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.isFamilyShared, !purchase.hasEnded else {
            throw StoreAction.Refusal("\(purchase.productID) is not shared with \(action.user)")
        }
        Renewing.end(&state, &purchase, "UNSUBSCRIBE", of: customerNumber, now)
    }
}
