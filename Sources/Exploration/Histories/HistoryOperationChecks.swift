internal import Providers
internal import Values

/// Rules of real stores that the simulated stores do not enforce.
///
/// Without these rules, a history could contain an event that no real backend receives, or an event
/// whose meaning no source defines.
extension HistoryModel {
    private static let storeOperations: Set<HistoryOperation.Kind> = [
        .purchase, .temporaryGrant, .recover, .refund, .expire, .extend, .cancel,
    ]

    private static let familyMemberOperations: Set<HistoryOperation.Kind> = [
        .unshare, .irrelevantEvent, .share,
    ]

    private func isShared(_ heldPurchase: Purchase) -> Bool {
        purchaseFacts.productsEverHad.keys.contains { user in
            purchases(of: user).contains {
                $0.isFamilyShared && $0.originalTransactionID == heldPurchase.originalTransactionID
            }
        }
    }

    /// Checks that an operation follows the rules that real stores enforce and the simulated stores
    /// do not.
    ///
    /// - Throws: The reason why the operation cannot happen in a real store.
    func checkOperation(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        let state = PurchaseState(heldPurchase(of: operation), at: Self.zero + operation.time)
        if Self.storeOperations.contains(operation.kind),
            heldPurchase(of: operation)?.store == "PROMOTIONAL"
        {
            throw ImpossibleOperation(
                reason: "a promotional grant comes from the developer and cannot be bought"
            )
        }
        // After a product change, the subscription under the old product has ended, and no event
        // reports earlier periods (RevenueCat fact sheet 3, row 13b).
        if operation.kind != .irrelevantEvent, let product = operation.product,
            purchaseFacts.replacedPurchases.contains(
                PurchaseKey(user: operation.user, product: product)
            )
        {
            throw ImpossibleOperation(reason: "another product continues the subscription")
        }
        if let heldPurchase = heldPurchase(of: operation),
            !Self.familyMemberOperations.contains(operation.kind)
        {
            // A family member does not pay for a shared purchase, and no source defines product
            // changes of a shared purchase.
            guard !heldPurchase.isFamilyShared,
                operation.kind != .changeProduct || !isShared(heldPurchase)
            else {
                throw ImpossibleOperation(reason: "the purchase is shared in a family")
            }
        }
        func requireState(_ states: Set<PurchaseState>) throws(ImpossibleOperation) {
            guard states.contains(state) else {
                throw ImpossibleOperation(
                    reason:
                        "'\(operation.kind.rawValue)' is not possible for a purchase in the state '\(state.rawValue)'"
                )
            }
        }
        switch operation.kind {
        case .purchase: try checkPurchase(operation, state)
        case .transfer: try checkTransfer(operation)
        case .temporaryGrant:
            try requireState([.none, .ended])
            guard !HistoryGenerator.oneTimeProducts.contains(operation.product ?? "") else {
                throw ImpossibleOperation(
                    reason: "a one-day grant cannot be for a one-time product"
                )
            }
            // The event of a one-day grant names no environment, so a backend could not recognize a
            // sandbox grant (RevenueCat fact sheet 2.6).
            guard operation.effectiveEnvironment != "SANDBOX" else {
                throw ImpossibleOperation(
                    reason: "a one-day grant cannot be for a sandbox purchase"
                )
            }
            try checkStore(operation)
            try checkNotBoughtAgain(operation)
        // The fact sheets leave open whether an extension of a subscription ends its grace period.
        case .extend: try requireState([.active, .cancelled, .trial, .intro, .changing])
        case .uncancel: try requireState([.cancelled])
        case .cancel: try requireState([.active, .trial, .intro, .grace, .changing])
        case .pause: try requireState([.active])
        case .resume: try requireState([.paused])
        case .billingIssue:
            try requireState([.active, .trial, .intro])
            try checkChargeTime(operation)
        case .changeProduct:
            try requireState([.active, .trial, .intro])
            guard let requestedProduct = operation.newProduct,
                purchaseFacts.productsEverHad[operation.user]?.contains(requestedProduct) != true
            else {
                throw ImpossibleOperation(reason: "the user had the product before")
            }
        case .refund:
            try requireState([.active, .cancelled, .intro, .grace, .changing, .lifetime, .ended])
            try checkPeriodHasBegun(operation)
        case .expire:
            try requireState([.active, .cancelled, .trial, .intro, .grace, .retrying])
            try checkPeriodHasBegun(operation)
        case .renew:
            try requireState([.active, .trial, .intro, .changing])
            try checkChargeTime(operation)
        case .share: try checkShare(operation, state)
        case .unshare: try requireState([.active, .cancelled])
        case .signUp, .logIn:
            guard !accounts.hasUndeterminedOwner(operation.user) else {
                throw ImpossibleOperation(reason: "the device is signed in to another account")
            }
        case .grant, .revoke, .recover, .reverseRefund, .irrelevantEvent, .register, .wait: break
        }
    }

    /// Checks that the earlier operations determine the owner of every user ID in an operation.
    ///
    /// A store would move an anonymous user's purchases under the anonymous ID, so only a later
    /// event could show their new owner. An alias of one user must not be the ID of another user.
    ///
    /// - Throws: The reason why the operation cannot happen in a real store.
    func checkUserIDs(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        let movesPurchases = [.transfer, .share, .signUp, .logIn].contains(operation.kind)
        guard !movesPurchases || operation.users.allSatisfy({ !wasAnonymous($0) }) else {
            throw ImpossibleOperation(
                reason: "purchases of a user in the operation belonged to an anonymous ID"
            )
        }
        guard operation.users.allSatisfy({ !userNames.aliases.contains($0) }) else {
            throw ImpossibleOperation(
                reason: "the ID of a user in the operation is an alias of another user"
            )
        }
        guard let otherUser = operation.additionalID else { return }
        guard operation.kind == .transfer, otherUser != operation.user, otherUser != operation.from,
            userNames.knownIDKind(of: otherUser) == .unknownToBackend, !known.contains(otherUser)
        else {
            throw ImpossibleOperation(
                reason: "the additional ID in the transfer belongs to another user"
            )
        }
        // Clause S-17 leaves open which of two IDs is kept if the backend knows neither of them.
        guard operation.from.map(registered.contains) ?? false else {
            throw ImpossibleOperation(
                reason: "the backend knows neither ID of the user who loses the purchases"
            )
        }
    }

    /// Checks that a purchase can be shared with a family member.
    ///
    /// The App Store shares subscriptions only with users who never had the subscription
    /// (RevenueCat fact sheet 3, row 23).
    private func checkShare(_ operation: HistoryOperation, _ state: PurchaseState)
        throws(ImpossibleOperation)
    {
        guard let from = operation.from,
            let sharedPurchase = purchases(of: from).last(where: {
                $0.productID == operation.product
            }),
            sharedPurchase.store == "APP_STORE", !sharedPurchase.isSandbox,
            !sharedPurchase.isOneTime,
            !sharedPurchase.isFamilyShared,
            [.active, .cancelled].contains(
                PurchaseState(sharedPurchase, at: Self.zero + operation.time)
            )
        else {
            throw ImpossibleOperation(
                reason: "the user has no active App Store subscription that a family can share"
            )
        }
        guard state == .none,
            purchaseFacts.productsEverHad[operation.user]?.contains(operation.product ?? "") != true
        else {
            throw ImpossibleOperation(reason: "the user had the product before")
        }
    }

    /// The stores that charge up to one day before a paid period ends (RevenueCat fact sheet,
    /// sections 1.5 and 3, row 2).
    ///
    /// All other stores charge at the end of the period.
    private static let storesChargingEarly: Set<String> = ["APP_STORE", "MAC_APP_STORE", "STRIPE"]

    private func checkChargeTime(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        let allowedLeadTime: Duration =
            Self.storesChargingEarly.contains(heldPurchase(of: operation)?.store ?? "")
            ? .seconds(86_400) : .seconds(60)
        guard let end = heldPurchase(of: operation)?.expires,
            end - (Self.zero + operation.time) <= allowedLeadTime
        else {
            throw ImpossibleOperation(
                reason: "the store does not charge this long before the end of the period"
            )
        }
    }

    /// Checks that the current period of the purchase has begun.
    ///
    /// A period that was charged early cannot end before it begins.
    private func checkPeriodHasBegun(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        guard
            heldPurchase(of: operation).map({ $0.purchased <= Self.zero + operation.time }) ?? true
        else {
            throw ImpossibleOperation(reason: "its period has not begun")
        }
    }

    /// Checks a purchase: a user buys each product in one store and one environment only, and a
    /// one-time product only once.
    ///
    /// A contract can name only one store transaction for each user and product. RevenueCat's REST
    /// API also has only one entry for each product in all environments.
    private func checkPurchase(_ operation: HistoryOperation, _ state: PurchaseState)
        throws(ImpossibleOperation)
    {
        guard state != .lifetime, state != .consumed else {
            throw ImpossibleOperation(reason: "the product was already bought")
        }
        try checkStore(operation)
        // A purchase of a product to which a change is pending would be the change itself (S-14).
        guard
            !purchases(of: operation.user).contains(where: { $0.nextProductID == operation.product }
            )
        else {
            throw ImpossibleOperation(reason: "a change to the product is already pending")
        }
        try checkNotBoughtAgain(operation)
    }

    /// The store of a purchase in a contract that names no store.
    private static let defaultStore = "APP_STORE"

    private func checkStore(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        guard let heldPurchase = heldPurchase(of: operation) else { return }
        guard heldPurchase.store == operation.store ?? Self.defaultStore,
            heldPurchase.environment == operation.effectiveEnvironment
        else {
            throw ImpossibleOperation(
                reason: "the user bought the product in another store or environment"
            )
        }
    }

    /// Checks that a user does not buy a product again after the user lost it by a refund or a
    /// transfer.
    ///
    /// A refund may still be reversed, which would give the user the product twice. A transferred
    /// purchase continues under another user.
    private func checkNotBoughtAgain(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        guard
            heldPurchase(of: operation) != nil
                || purchaseFacts.productsEverHad[operation.user]?.contains(operation.product ?? "")
                    != true
        else { throw ImpossibleOperation(reason: "the user had the product before") }
    }

    private func checkTransfer(_ operation: HistoryOperation) throws(ImpossibleOperation) {
        guard let from = operation.from else {
            throw ImpossibleOperation(reason: "the transfer names no user who loses the purchases")
        }
        let areAllPurchasesMovable = purchases(of: from).allSatisfy {
            // No TRANSFER event reports promotional grants (RevenueCat fact sheet 2.1).
            !$0.isSandbox && $0.store != "PROMOTIONAL" && !$0.isFamilyShared && !isShared($0)
        }
        guard !accounts.hasUndeterminedOwner(operation.user), !accounts.hasUndeterminedOwner(from)
        else {
            throw ImpossibleOperation(
                reason: "after a login it is undetermined which user owns the purchases"
            )
        }
        // A backend may store purchases by product (X-10 allows this). It could not distinguish two
        // purchases of the same product.
        guard areAllPurchasesMovable, !haveSameProductTwice(from, operation.user) else {
            throw ImpossibleOperation(
                reason:
                    "both users have had the same product, or one of the purchases cannot be transferred"
            )
        }
    }

    /// Returns whether two users together bought the same product twice, or will have done so after
    /// a pending product change.
    ///
    /// Only a transaction ID could show whether a renewal carries out the product change or
    /// continues the other user's purchase (S-14).
    func haveSameProductTwice(_ firstUser: String, _ otherUser: String) -> Bool {
        func hasPendingChange(_ person: String, toProductOf owner: String) -> Bool {
            purchases(of: person).compactMap(\.nextProductID)
                .contains { purchaseFacts.productsEverHad[owner]?.contains($0) ?? false }
        }
        return purchaseFacts.haveSameProductTwice(firstUser, otherUser)
            || hasPendingChange(firstUser, toProductOf: otherUser)
            || hasPendingChange(otherUser, toProductOf: firstUser)
    }
}
