internal import Providers
internal import Values

/// Rules of real stores that the simulated stores do not enforce.
///
/// Without these rules, a history could contain an event that no real backend receives, or an event
/// whose meaning no source defines.
struct HistoryOperationChecks {
    /// The stores at the time of the operation, before the operation.
    let stores: SimulatedStores
    let users: KnownUsers
    let operation: HistoryOperation

    private static let storeOperations: Set<HistoryOperation.Kind> = [
        .purchase, .temporaryGrant, .recover, .refund, .expire, .extend, .cancel,
    ]

    private static let familyMemberOperations: Set<HistoryOperation.Kind> = [
        .unshare, .irrelevantEvent, .share,
    ]

    private var facts: PurchaseFacts { stores.facts }
    private var heldPurchase: Purchase? { stores.heldPurchase(of: operation) }

    /// The state of the purchase at the time of the operation.
    private var state: PurchaseState {
        PurchaseState(heldPurchase, at: HistoryModel.zero + operation.time)
    }

    /// Checks that an operation follows the rules that real stores enforce and the simulated stores
    /// do not.
    ///
    /// - Throws: The reason why the operation cannot happen in a real store.
    func checkOperation() throws(HistoryModel.ImpossibleOperation) {
        try checkHeldPurchase()
        if let allowedStates, !allowedStates.contains(state) {
            throw HistoryModel.ImpossibleOperation(
                reason:
                    "'\(operation.kind.rawValue)' is not possible for a purchase in the state '\(state.rawValue)'"
            )
        }
        switch operation.kind {
        case .purchase: try checkPurchase()
        case .transfer: try checkTransfer()
        case .temporaryGrant: try checkTemporaryGrant()
        case .billingIssue, .renew: try checkChargeTime()
        case .changeProduct:
            guard let requestedProduct = operation.newProduct,
                facts.productsEverHad[operation.user]?.contains(requestedProduct) != true
            else {
                throw HistoryModel.ImpossibleOperation(reason: "the user had the product before")
            }
        case .refund, .expire: try checkPeriodHasBegun()
        case .share: try checkShare()
        case .signUp, .logIn:
            guard !users.accounts.hasUndeterminedOwner(operation.user) else {
                throw HistoryModel.ImpossibleOperation(
                    reason: "the device is signed in to another account"
                )
            }
        case .extend, .uncancel, .cancel, .pause, .resume, .unshare, .grant, .revoke, .recover,
            .reverseRefund, .irrelevantEvent, .register, .wait:
            break
        }
    }

    /// The states in which a purchase allows the operation; nil when no state is required.
    private var allowedStates: Set<PurchaseState>? {
        switch operation.kind {
        case .temporaryGrant: [.none, .ended]
        // The fact sheets leave open whether an extension of a subscription ends its grace period.
        case .extend: [.active, .cancelled, .trial, .intro, .changing]
        case .uncancel: [.cancelled]
        case .cancel: [.active, .trial, .intro, .grace, .changing]
        case .pause: [.active]
        case .resume: [.paused]
        case .billingIssue, .changeProduct: [.active, .trial, .intro]
        case .refund: [.active, .cancelled, .intro, .grace, .changing, .lifetime, .ended]
        case .expire: [.active, .cancelled, .trial, .intro, .grace, .retrying]
        case .renew: [.active, .trial, .intro, .changing]
        case .unshare: [.active, .cancelled]
        case .purchase, .transfer, .share, .signUp, .logIn, .grant, .revoke, .recover,
            .reverseRefund, .irrelevantEvent, .register, .wait:
            nil
        }
    }

    /// Checks that the kind of the held purchase allows the operation, no matter in which state the
    /// purchase is.
    private func checkHeldPurchase() throws(HistoryModel.ImpossibleOperation) {
        if Self.storeOperations.contains(operation.kind), heldPurchase?.store == "PROMOTIONAL" {
            throw HistoryModel.ImpossibleOperation(
                reason: "a promotional grant comes from the developer and cannot be bought"
            )
        }
        // After a product change, the subscription under the old product has ended, and no event
        // reports earlier periods (RevenueCat fact sheet 3, row 13b).
        if operation.kind != .irrelevantEvent, let product = operation.product,
            facts.replacedPurchases.contains(
                PurchaseFacts.PurchaseKey(user: operation.user, product: product)
            )
        {
            throw HistoryModel.ImpossibleOperation(
                reason: "another product continues the subscription"
            )
        }
        if let heldPurchase, !Self.familyMemberOperations.contains(operation.kind) {
            // A family member does not pay for a shared purchase, and no source defines product
            // changes of a shared purchase.
            guard !heldPurchase.isFamilyShared,
                operation.kind != .changeProduct || !stores.isShared(heldPurchase)
            else {
                throw HistoryModel.ImpossibleOperation(reason: "the purchase is shared in a family")
            }
        }
    }

    private func checkTemporaryGrant() throws(HistoryModel.ImpossibleOperation) {
        guard !RevenueCatModel.oneTimeProducts.contains(operation.product ?? "") else {
            throw HistoryModel.ImpossibleOperation(
                reason: "a one-day grant cannot be for a one-time product"
            )
        }
        // The event of a one-day grant names no environment, so a backend could not recognize a
        // sandbox grant (RevenueCat fact sheet 2.6).
        guard operation.effectiveEnvironment != "SANDBOX" else {
            throw HistoryModel.ImpossibleOperation(
                reason: "a one-day grant cannot be for a sandbox purchase"
            )
        }
        try checkStore()
        try checkNotBoughtAgain()
    }

    /// Checks that a purchase can be shared with a family member.
    ///
    /// The App Store shares subscriptions only with users who never had the subscription
    /// (RevenueCat fact sheet 3, row 23).
    private func checkShare()
        throws(HistoryModel.ImpossibleOperation)
    {
        guard let from = operation.from,
            let sharedPurchase = stores.purchases(of: from).last(where: {
                $0.productID == operation.product
            }),
            sharedPurchase.store == "APP_STORE", !sharedPurchase.isSandbox,
            !sharedPurchase.isOneTime,
            !sharedPurchase.isFamilyShared,
            [.active, .cancelled].contains(
                PurchaseState(sharedPurchase, at: HistoryModel.zero + operation.time)
            )
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the user has no active App Store subscription that a family can share"
            )
        }
        guard state == .none,
            facts.productsEverHad[operation.user]?.contains(operation.product ?? "") != true
        else {
            throw HistoryModel.ImpossibleOperation(reason: "the user had the product before")
        }
    }

    /// The stores that charge up to one day before a paid period ends (RevenueCat fact sheet,
    /// sections 1.5 and 3, row 2).
    ///
    /// All other stores charge at the end of the period.
    private static let storesChargingEarly: Set<String> = ["APP_STORE", "MAC_APP_STORE", "STRIPE"]

    private func checkChargeTime() throws(HistoryModel.ImpossibleOperation) {
        let allowedLeadTime: Duration =
            Self.storesChargingEarly.contains(heldPurchase?.store ?? "")
            ? .seconds(86_400) : .seconds(60)
        guard let end = heldPurchase?.expires,
            end - (HistoryModel.zero + operation.time) <= allowedLeadTime
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the store does not charge this long before the end of the period"
            )
        }
    }

    /// Checks that the current period of the purchase has begun.
    ///
    /// A period that was charged early cannot end before it begins.
    private func checkPeriodHasBegun() throws(HistoryModel.ImpossibleOperation) {
        guard
            heldPurchase.map({ $0.purchased <= HistoryModel.zero + operation.time }) ?? true
        else {
            throw HistoryModel.ImpossibleOperation(reason: "its period has not begun")
        }
    }

    /// Checks a purchase: a user buys each product in one store and one environment only, and a
    /// one-time product only once.
    ///
    /// A contract can name only one store transaction for each user and product. RevenueCat's REST
    /// API also has only one entry for each product in all environments.
    private func checkPurchase()
        throws(HistoryModel.ImpossibleOperation)
    {
        guard state != .lifetime, state != .consumed else {
            throw HistoryModel.ImpossibleOperation(reason: "the product was already bought")
        }
        try checkStore()
        // A purchase of a product to which a change is pending would be the change itself (S-14).
        guard
            !stores.purchases(of: operation.user).contains(where: {
                $0.nextProductID == operation.product
            }
            )
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "a change to the product is already pending"
            )
        }
        try checkNotBoughtAgain()
    }

    private func checkStore() throws(HistoryModel.ImpossibleOperation) {
        guard let heldPurchase else { return }
        guard heldPurchase.store == operation.store ?? RevenueCatModel.defaultStore,
            heldPurchase.environment == operation.effectiveEnvironment
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the user bought the product in another store or environment"
            )
        }
    }

    /// Checks that a user does not buy a product again after the user lost it by a refund or a
    /// transfer.
    ///
    /// A refund may still be reversed, which would give the user the product twice. A transferred
    /// purchase continues under another user.
    private func checkNotBoughtAgain() throws(HistoryModel.ImpossibleOperation) {
        guard
            heldPurchase != nil
                || facts.productsEverHad[operation.user]?.contains(operation.product ?? "")
                    != true
        else { throw HistoryModel.ImpossibleOperation(reason: "the user had the product before") }
    }

    private func checkTransfer() throws(HistoryModel.ImpossibleOperation) {
        guard let from = operation.from else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the transfer names no user who loses the purchases"
            )
        }
        let areAllPurchasesMovable = stores.purchases(of: from).allSatisfy {
            // No TRANSFER event reports promotional grants (RevenueCat fact sheet 2.1).
            !$0.isSandbox && $0.store != "PROMOTIONAL" && !$0.isFamilyShared
                && !stores.isShared($0)
        }
        guard !users.accounts.hasUndeterminedOwner(operation.user),
            !users.accounts.hasUndeterminedOwner(from)
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "after a login it is undetermined which user owns the purchases"
            )
        }
        // A backend may store purchases by product (X-10 allows this). It could not distinguish two
        // purchases of the same product.
        guard areAllPurchasesMovable, !stores.haveSameProductTwice(from, operation.user)
        else {
            throw HistoryModel.ImpossibleOperation(
                reason:
                    "both users have had the same product, or one of the purchases cannot be transferred"
            )
        }
    }
}
