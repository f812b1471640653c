internal import Contracts
internal import Values

/// Actions of the store model that change the owner of a purchase: login, restoring, transfers,
/// family sharing and redeemed web purchases.
///
/// Source: RevenueCat fact sheet, section 3, rows 17, 23 and 26, and sections 5.3 and 5.4.
extension RevenueCatState {
    /// Changes the customer's App User ID as the SDK's `logIn` does.
    ///
    /// Returns whether the new ID was unknown before.
    mutating func identify(_ currentUserID: String, as wantedID: String, _ now: Instant) -> Bool {
        let sourceCustomerNumber = customer(named: [currentUserID], original: currentUserID, now)
        defer {
            if let customerNumber = customerByID[wantedID] {
                customers[customerNumber]?.lastSeenID = wantedID
                customers[customerNumber]?.lastSeen = now
            }
        }
        guard let targetCustomerNumber = customerByID[wantedID] else {
            if Customer.isAnonymous(currentUserID),
                customers[sourceCustomerNumber]?.isAnonymous == true
            {
                customerByID[wantedID] = sourceCustomerNumber
                customers[sourceCustomerNumber]?.ids.append(wantedID)
            } else {
                _ = customer(named: [wantedID], original: wantedID, now)
            }
            return true
        }
        let hasAnonymousAlias =
            customers[targetCustomerNumber]?.ids.contains(where: Customer.isAnonymous) ?? false
        if Customer.isAnonymous(currentUserID),
            customers[sourceCustomerNumber]?.isAnonymous == true,
            !hasAnonymousAlias
        {
            merge(sourceCustomerNumber, into: targetCustomerNumber)
        }
        return false
    }

    /// Handles a receipt of the customer `owner` that the customer `user` sends, as the project's
    /// restore behavior requires.
    mutating func restore(
        receiptOf owner: String,
        by user: String,
        isPurchase: Bool,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard let sourceCustomerNumber = customerByID[owner] else {
            throw Refusal("there is no customer '\(owner)'")
        }
        let targetCustomerNumber = recordActivity(user, now)
        guard sourceCustomerNumber != targetCustomerNumber else { return }
        let restoreBehavior =
            customers[targetCustomerNumber]?.restoreBehavior ?? settings.restoreBehavior
        // An anonymous owner is merged under every restore behavior, and no event is sent.
        if customers[sourceCustomerNumber]?.isAnonymous == true {
            merge(sourceCustomerNumber, into: targetCustomerNumber)
            return
        }
        let isActive = customers[sourceCustomerNumber]?.subscriptions.values.contains {
            $0.isActive(at: now)
        }
        let foreignReceiptRefusal = Refusal("7102: the receipt belongs to another subscriber")
        switch restoreBehavior {
        case .transfer: announceTransfer(sourceCustomerNumber, targetCustomerNumber, now)
        case .transferIfNoActiveSubscriptions:
            guard isActive != true else { throw foreignReceiptRefusal }
            announceTransfer(sourceCustomerNumber, targetCustomerNumber, now)
        case .keep: throw foreignReceiptRefusal
        case .share:
            guard !isPurchase else { throw foreignReceiptRefusal }
            merge(sourceCustomerNumber, into: targetCustomerNumber)
        }
    }

    mutating func transfer(_ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let from = action.from, let sourceCustomerNumber = customerByID[from] else {
            throw Refusal("transfer needs 'from', the ID of a customer with a purchase")
        }
        let targetCustomerNumber = recordActivity(action.user, now)
        guard sourceCustomerNumber != targetCustomerNumber else {
            throw Refusal("'from' and 'user' are the same customer")
        }
        guard customers[sourceCustomerNumber]?.purchases.isEmpty == false else {
            throw Refusal("\(from) has no purchase to transfer")
        }
        announceTransfer(sourceCustomerNumber, targetCustomerNumber, now)
    }

    mutating func announceTransfer(
        _ sourceCustomerNumber: Int,
        _ targetCustomerNumber: Int,
        _ now: Instant
    ) {
        let firstPurchase = customers[sourceCustomerNumber]?.purchases.first
        let previousOwners = customers[sourceCustomerNumber]?.ids ?? []
        let newOwners = customers[targetCustomerNumber]?.ids ?? []
        movePurchases(from: sourceCustomerNumber, to: targetCustomerNumber)
        // Only one event is sent, about the customer who receives the purchases. The previous owner
        // gets no EXPIRATION (RevenueCat fact sheet, section 3, row 17).
        emitTransfer(
            from: previousOwners,
            to: newOwners,
            store: firstPurchase?.store ?? "APP_STORE",
            environment: firstPurchase?.environment ?? "PRODUCTION",
            at: now
        )
    }

    mutating func share(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal) {
        guard let from = action.from, let owner = customerByID[from] else {
            throw Refusal("family-share needs 'from', the ID of a customer with a purchase")
        }
        var purchase = try findPurchase(action, owner)
        let customerNumber = recordActivity(action.user, now)
        guard customerNumber != owner else {
            throw Refusal("'from' and 'user' are the same customer")
        }
        purchase.isFamilyShared = true
        purchase.transactionID = transactionID(purchase.store)
        purchase.priceUSD = 0
        purchase.price = 0
        purchase.asOf = now
        customers[customerNumber]?.putPurchase(purchase)
        emit(.initialPurchase, purchase, of: customerNumber, at: now, payment: .price)
    }

    mutating func redeem(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal) {
        guard let from = action.from, let sourceCustomerNumber = customerByID[from] else {
            throw Refusal("redeem needs 'from', the ID of the customer who bought on the web")
        }
        let targetCustomerNumber = recordActivity(action.user, now)
        let previousOwners = customers[sourceCustomerNumber]?.ids ?? [from]
        let newOwners = customers[targetCustomerNumber]?.ids ?? [action.user]
        let purchaseEnvironment =
            customers[sourceCustomerNumber]?.purchases.first?.environment ?? "PRODUCTION"
        let isAlias = customers[sourceCustomerNumber]?.isAnonymous ?? false
        emitRedemption(
            from: previousOwners,
            by: newOwners,
            outcome: sourceCustomerNumber == targetCustomerNumber
                ? "redeemer_owns" : isAlias ? "alias" : "transfer",
            environment: purchaseEnvironment,
            at: now
        )
        guard sourceCustomerNumber != targetCustomerNumber else { return }
        if isAlias {
            merge(sourceCustomerNumber, into: targetCustomerNumber)
        } else {
            movePurchases(from: sourceCustomerNumber, to: targetCustomerNumber)
            emitTransfer(
                from: previousOwners,
                to: newOwners,
                store: "RC_BILLING",
                environment: purchaseEnvironment,
                at: now + Self.eventSpacing
            )
        }
    }

    mutating func stopSharing(
        _ purchase: inout Purchase,
        _ action: StoreAction,
        _ customerNumber: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.isFamilyShared, !purchase.hasEnded else {
            throw Refusal("\(purchase.productID) is not shared with \(action.user)")
        }
        end(&purchase, "UNSUBSCRIBE", of: customerNumber, now)
    }
}
