internal import Contracts
internal import Providers

/// Facts about the users' purchases in a history that the simulated stores do not record.
struct PurchaseFacts: Sendable {
    struct PurchaseKey: Hashable, Sendable {
        let user: String
        let product: String
    }

    /// The IDs of all products that a user ever had, by the name of the user.
    private(set) var productsEverHad: [String: Set<String>] = [:]
    /// The products that a user had only in the sandbox.
    private var sandboxPurchases: Set<PurchaseKey> = []
    /// The original ends of periods that a product change cut short, by user.
    ///
    /// No event reports these ends.
    private(set) var shortenedPeriodEnds: [String: [Duration]] = [:]
    /// Purchases whose refund was reversed and that had no payment since.
    ///
    /// No source defines whether such purchases renew. Effect table C.1 leaves the flags unchanged,
    /// and the store keeps charging.
    private(set) var reversedRefunds: Set<PurchaseKey> = []
    /// Purchases that ended and had no payment since.
    ///
    /// The fact sheets leave open whether such a purchase still shows a charge that failed earlier
    /// (S-13; defect X-11).
    private(set) var endedPurchases: Set<PurchaseKey> = []
    /// Purchases that continue under another product after a product change.
    private(set) var replacedPurchases: Set<PurchaseKey> = []
    /// The store's ID of the first transaction of each purchase.
    private var transactionIDs: [PurchaseKey: String] = [:]
    /// The purchases that are temporary grants during a store outage.
    private var temporaryGrants: Set<PurchaseKey> = []
    /// The names of the users who paid for a purchase after their temporary grant.
    private(set) var usersPayingSinceGrant: Set<String> = []
    /// The original ends of the temporary grants, by the name of the user.
    private var temporaryGrantEnds: [String: [Duration]] = [:]
    /// The first buyer of a purchase that now belongs to another user.
    ///
    /// The key is the current owner and the product.
    private var firstBuyers: [PurchaseKey: String] = [:]
    /// The product of the first transaction of a purchase.
    ///
    /// The key is the current owner and product.
    private var firstProducts: [PurchaseKey: String] = [:]

    mutating func recordProduct(_ user: String, _ product: String, isSandbox: Bool = false) {
        productsEverHad[user, default: []].insert(product)
        if isSandbox { sandboxPurchases.insert(PurchaseKey(user: user, product: product)) }
    }

    /// Returns whether the user has had exactly one product, not counting sandbox products.
    func hadExactlyOneProduct(_ user: String) -> Bool {
        (productsEverHad[user] ?? []).count {
            !sandboxPurchases.contains(PurchaseKey(user: user, product: $0))
        } == 1
    }

    /// Records the original end of a period that a product change cut short for a user.
    mutating func recordShortenedPeriod(_ user: String, _ end: Duration) {
        shortenedPeriodEnds[user, default: []].append(end)
    }

    /// Returns whether both users have had the same product from two separate purchases, refunded
    /// or not.
    func haveSameProductTwice(_ firstUser: String, _ other: String) -> Bool {
        let commonProducts = (productsEverHad[firstUser] ?? []).intersection(
            productsEverHad[other] ?? []
        )
        return commonProducts.contains { product in
            origin(of: firstUser, product) != origin(of: other, product)
        }
    }

    /// Returns whether another user bought the product, and the user then received it in a
    /// transfer.
    func wasTransferred(to user: String, _ product: String) -> Bool {
        firstBuyers[PurchaseKey(user: user, product: product)].map { $0 != user } ?? false
    }

    /// Returns the first buyer of a product that the user has, and the product of the first
    /// transaction.
    private func origin(of user: String, _ product: String) -> PurchaseKey {
        let purchaseKey = PurchaseKey(user: user, product: product)
        return PurchaseKey(
            user: firstBuyers[purchaseKey] ?? user,
            product: firstProducts[purchaseKey] ?? product
        )
    }

    mutating func transferPurchases(_ purchases: [Purchase], _ from: String, _ to: String) {
        for purchase in purchases {
            let oldKey = PurchaseKey(user: from, product: purchase.productID)
            let newKey = PurchaseKey(user: to, product: purchase.productID)
            firstBuyers[newKey] = firstBuyers[oldKey] ?? from
            firstProducts[newKey] = firstProducts[oldKey]
            recordProduct(to, purchase.productID)
            if temporaryGrants.contains(oldKey) { temporaryGrants.insert(newKey) }
            if reversedRefunds.remove(oldKey) != nil { reversedRefunds.insert(newKey) }
            if endedPurchases.remove(oldKey) != nil { endedPurchases.insert(newKey) }
            if replacedPurchases.remove(oldKey) != nil { replacedPurchases.insert(newKey) }
        }
        shortenedPeriodEnds[to, default: []] += shortenedPeriodEnds[from] ?? []
        shortenedPeriodEnds[from] = nil
        temporaryGrantEnds[to, default: []] += temporaryGrantEnds[from] ?? []
        if usersPayingSinceGrant.contains(from) {
            // No source defines which of the two users keeps the temporary grant, so both are
            // marked.
            usersPayingSinceGrant.insert(to)
        } else {
            temporaryGrantEnds[from] = nil
        }
    }

    /// Returns whether a user's temporary grant may still give access in parallel with a later
    /// purchase.
    ///
    /// No source documents that a purchase ends the grant (RevenueCat fact sheet 3, row 25, "on
    /// until X").
    func mayHaveTemporaryAccess(_ user: String, at time: Duration) -> Bool {
        usersPayingSinceGrant.contains(user)
            && (temporaryGrantEnds[user] ?? []).contains { $0 > time }
    }

    mutating func recordEvent(_ spec: EventSpec) {
        guard let user = spec.user else { return }
        let purchaseKey = PurchaseKey(user: user, product: spec.product)
        switch spec.type.documented {
        case .temporaryEntitlementGrant:
            if let end = spec.expires { temporaryGrantEnds[user, default: []].append(end) }
        case .refundReversed: reversedRefunds.insert(purchaseKey)
        case .expiration: endedPurchases.insert(purchaseKey)
        case .initialPurchase, .renewal:
            reversedRefunds.remove(purchaseKey)
            endedPurchases.remove(purchaseKey)
            recordPayment(of: user)
        case .nonRenewingPurchase: recordPayment(of: user)
        // Events of these types change nothing that is recorded here.
        case .test, .cancellation, .uncancellation, .subscriptionPaused, .billingIssue,
            .productChange, .subscriptionExtended, .transfer, .invoiceIssuance,
            .virtualCurrencyTransaction, .experimentEnrollment, .purchaseRedeemed,
            .priceIncreaseConsentRequired, .priceIncreaseConsentApproved, .subscriberAlias,
            .paywallImpression, .paywallClose, .paywallCancel, .paywallExitOffer,
            .paywallComponentInteracted, nil:
            break
        }
    }

    private mutating func recordPayment(of user: String) {
        if temporaryGrants.contains(where: { $0.user == user }) {
            usersPayingSinceGrant.insert(user)
        }
    }

    /// Checks that a contract can name the first transaction of an event without ambiguity.
    ///
    /// A contract names a purchase's first transaction by the buyer and the product. Therefore each
    /// pair of buyer and product may have one first transaction only.
    mutating func checkTransaction(
        _ spec: EventSpec,
        _ transactionID: String?
    ) throws(HistoryModel.ImpossibleOperation) {
        guard let user = spec.user else { return }
        if spec.type.documented == .temporaryEntitlementGrant {
            let purchaseKey = PurchaseKey(user: user, product: spec.product)
            guard temporaryGrants.insert(purchaseKey).inserted else {
                throw HistoryModel.ImpossibleOperation(
                    reason: "the contract could not distinguish two temporary grants of one product"
                )
            }
        }
        guard let transactionID, spec.isFamilyShared != true else { return }
        let originKey = PurchaseKey(
            user: spec.firstBuyer ?? user,
            product: spec.continuedProduct ?? spec.product
        )
        let knownTransactionID = transactionIDs[originKey]
        // The actual purchase later replaces a temporary grant, so the transaction ID of the grant
        // is not recorded.
        let isTemporaryGrant = transactionID.hasPrefix("tmp_")
        guard knownTransactionID == nil || knownTransactionID == transactionID else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the contract could not distinguish two transactions of one product"
            )
        }
        if !isTemporaryGrant { transactionIDs[originKey] = transactionID }
    }

    /// Adds to an event the buyer and the product of the first transaction, when they differ from
    /// the event's own user and product.
    ///
    /// - Parameters:
    ///   - spec: The event to complete.
    ///   - purchases: The purchases of the event's user.
    ///   - first: The ID of the first transaction in the event.
    /// - Returns: The completed event.
    mutating func origin(
        of spec: EventSpec,
        _ purchases: [Purchase],
        _ first: String?
    ) -> EventSpec {
        guard let user = spec.user else { return spec }
        var spec = spec
        let purchaseKey = PurchaseKey(user: user, product: spec.product)
        let purchasesOfSameTransaction = purchases.filter {
            $0.productID != spec.product && $0.originalTransactionID == first
        }
        if firstProducts[purchaseKey] == nil {
            // This purchase continues the first transaction of another purchase, after a product
            // change.
            let other = purchasesOfSameTransaction.first.map {
                PurchaseKey(user: user, product: $0.productID)
            }
            firstProducts[purchaseKey] =
                other.map { firstProducts[$0] ?? $0.product } ?? spec.product
            if let other { firstBuyers[purchaseKey] = firstBuyers[other] }
        }
        if let firstProduct = firstProducts[purchaseKey], firstProduct != spec.product {
            spec.continuedProduct = firstProduct
            for other in purchasesOfSameTransaction {
                replacedPurchases.insert(PurchaseKey(user: user, product: other.productID))
            }
        }
        spec.firstBuyer = firstBuyers[purchaseKey]
        return spec
    }
}
