internal import Conformance

/// Actions of the store model that change the owner of a purchase: login, restoring, transfers,
/// family sharing and redeemed web purchases.
///
/// Source: RevenueCat fact sheet, section 3, rows 17, 23 and 26, and sections 5.3 and 5.4.
extension RevenueCatState {
    /// Changes the customer's App User ID as the SDK's `logIn` does.
    ///
    /// Returns whether the new ID was unknown before.
    mutating func identify(_ current: String, as wantedID: String, _ now: Instant) -> Bool {
        let source = customer(named: [current], original: current, now)
        defer {
            if let number = customerByID[wantedID] {
                customers[number]?.lastSeenID = wantedID
                customers[number]?.lastSeen = now
            }
        }
        guard let target = customerByID[wantedID] else {
            if Customer.isAnonymous(current), customers[source]?.isAnonymous == true {
                customerByID[wantedID] = source
                customers[source]?.ids.append(wantedID)
            } else {
                _ = customer(named: [wantedID], original: wantedID, now)
            }
            return true
        }
        let hasAnonymousAlias =
            customers[target]?.ids.contains(where: Customer.isAnonymous) ?? false
        if Customer.isAnonymous(current), customers[source]?.isAnonymous == true,
            !hasAnonymousAlias
        {
            merge(source, into: target)
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
        guard let source = customerByID[owner] else {
            throw Refusal("there is no customer '\(owner)'")
        }
        let target = recordActivity(user, now)
        guard source != target else { return }
        let behavior = customers[target]?.restoreBehavior ?? settings.restoreBehavior
        // An anonymous owner is merged under every restore behavior, and no event is sent.
        if customers[source]?.isAnonymous == true {
            merge(source, into: target)
            return
        }
        let isActive = customers[source]?.subscriptions.values.contains { $0.isActive(at: now) }
        let foreignReceiptRefusal = Refusal("7102: the receipt belongs to another subscriber")
        switch behavior {
        case .transfer: announceTransfer(source, target, now)
        case .transferIfNoActiveSubscriptions:
            guard isActive != true else { throw foreignReceiptRefusal }
            announceTransfer(source, target, now)
        case .keep: throw foreignReceiptRefusal
        case .share:
            guard !isPurchase else { throw foreignReceiptRefusal }
            merge(source, into: target)
        }
    }

    mutating func transfer(_ action: StoreAction, _ now: Instant)
        throws(StoreAction.Refusal)
    {
        guard let from = action.from, let source = customerByID[from] else {
            throw Refusal("transfer needs 'from', the ID of a customer with a purchase")
        }
        let target = recordActivity(action.user, now)
        guard source != target else { throw Refusal("'from' and 'user' are the same customer") }
        guard customers[source]?.purchases.isEmpty == false else {
            throw Refusal("\(from) has no purchase to transfer")
        }
        announceTransfer(source, target, now)
    }

    mutating func announceTransfer(_ source: Int, _ target: Int, _ now: Instant) {
        let first = customers[source]?.purchases.first
        let previousOwners = customers[source]?.ids ?? []
        let newOwners = customers[target]?.ids ?? []
        movePurchases(from: source, to: target)
        // Only one event is sent, about the customer who receives the purchases. The previous owner
        // gets no EXPIRATION (RevenueCat fact sheet, section 3, row 17).
        emitTransfer(
            from: previousOwners,
            to: newOwners,
            store: first?.store ?? "APP_STORE",
            environment: first?.environment ?? "PRODUCTION",
            at: now
        )
    }

    mutating func share(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal) {
        guard let from = action.from, let owner = customerByID[from] else {
            throw Refusal("family-share needs 'from', the ID of a customer with a purchase")
        }
        var purchase = try findPurchase(action, owner)
        let number = recordActivity(action.user, now)
        guard number != owner else { throw Refusal("'from' and 'user' are the same customer") }
        purchase.isFamilyShared = true
        purchase.transactionID = transactionID(purchase.store)
        purchase.priceUSD = 0
        purchase.price = 0
        purchase.asOf = now
        customers[number]?.put(purchase)
        emit("INITIAL_PURCHASE", purchase, of: number, at: now, money: .price)
    }

    mutating func redeem(_ action: StoreAction, _ now: Instant) throws(StoreAction.Refusal) {
        guard let from = action.from, let source = customerByID[from] else {
            throw Refusal("redeem needs 'from', the ID of the customer who bought on the web")
        }
        let target = recordActivity(action.user, now)
        let previousOwners = customers[source]?.ids ?? [from]
        let newOwners = customers[target]?.ids ?? [action.user]
        let purchaseEnvironment = customers[source]?.purchases.first?.environment ?? "PRODUCTION"
        let isAlias = customers[source]?.isAnonymous ?? false
        emitRedemption(
            from: previousOwners,
            by: newOwners,
            outcome: source == target ? "redeemer_owns" : isAlias ? "alias" : "transfer",
            environment: purchaseEnvironment,
            at: now
        )
        guard source != target else { return }
        if isAlias {
            merge(source, into: target)
        } else {
            movePurchases(from: source, to: target)
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
        _ number: Int,
        _ now: Instant
    ) throws(StoreAction.Refusal) {
        guard purchase.isFamilyShared, !purchase.hasEnded else {
            throw Refusal("\(purchase.productID) is not shared with \(action.user)")
        }
        end(&purchase, "UNSUBSCRIBE", of: number, now)
    }
}
