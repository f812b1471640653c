internal import Conformance
internal import Providers

/// Facts about the users' purchases in a history that the simulated stores do not record.
struct LifeNotes: Sendable {
    struct Line: Hashable, Sendable {
        let user: String
        let product: String
    }

    /// The IDs of all products that a user ever had, by the name of the user.
    private(set) var everHad: [String: Set<String>] = [:]
    /// The products that a user had only in the sandbox.
    private var everTried: Set<Line> = []
    /// The original ends of periods that a product change cut short, by user.
    ///
    /// No event reports these ends.
    private(set) var left: [String: [Duration]] = [:]
    /// Purchases whose refund was reversed and that had no payment since.
    ///
    /// No source defines whether such purchases renew. Effect table C.1 leaves the flags unchanged,
    /// and the store keeps charging.
    private(set) var reversed: Set<Line> = []
    /// Purchases that ended and had no payment since.
    ///
    /// The fact sheets leave open whether such a purchase still shows a charge that failed earlier
    /// (S-13; defect X-11).
    private(set) var ended: Set<Line> = []
    /// Purchases that continue under another product after a product change.
    private(set) var replaced: Set<Line> = []
    /// The store's ID of the first transaction of each purchase.
    private var transactions: [Line: String] = [:]
    /// The purchases that are temporary grants during a store outage.
    private var grants: Set<Line> = []
    /// The names of the users who paid for a purchase after their temporary grant.
    private(set) var paidSinceGrant: Set<String> = []
    /// The original ends of the temporary grants, by the name of the user.
    private var grantEnds: [String: [Duration]] = [:]
    /// The first buyer of a purchase that now belongs to another user.
    ///
    /// The key is the current owner and the product.
    private var buyers: [Line: String] = [:]
    /// The product of the first transaction of a purchase.
    ///
    /// The key is the current owner and product.
    private var firstProducts: [Line: String] = [:]

    mutating func had(_ user: String, _ product: String, isSandbox: Bool = false) {
        everHad[user, default: []].insert(product)
        if isSandbox { everTried.insert(Line(user: user, product: product)) }
    }

    /// Returns whether the user has had exactly one product, not counting sandbox products.
    func hadOne(_ user: String) -> Bool {
        (everHad[user] ?? []).count { !everTried.contains(Line(user: user, product: $0)) } == 1
    }

    /// Records the original end of a period that a product change cut short for a user.
    mutating func leave(_ user: String, _ end: Duration) {
        left[user, default: []].append(end)
    }

    /// Returns whether both users have had the same product from two separate purchases, refunded
    /// or not.
    func haveTwoOfOne(_ one: String, _ other: String) -> Bool {
        let both = (everHad[one] ?? []).intersection(everHad[other] ?? [])
        return both.contains { product in
            origin(of: one, product) != origin(of: other, product)
        }
    }

    /// Returns whether another user bought the product, and the user then received it in a
    /// transfer.
    func wasHandedOver(to user: String, _ product: String) -> Bool {
        buyers[Line(user: user, product: product)].map { $0 != user } ?? false
    }

    /// Returns the first buyer of a product that the user has, and the product of the first
    /// transaction.
    private func origin(of user: String, _ product: String) -> Line {
        let line = Line(user: user, product: product)
        return Line(user: buyers[line] ?? user, product: firstProducts[line] ?? product)
    }

    mutating func move(_ purchases: [Purchase], _ from: String, _ to: String) {
        for purchase in purchases {
            let old = Line(user: from, product: purchase.productID)
            let new = Line(user: to, product: purchase.productID)
            buyers[new] = buyers[old] ?? from
            firstProducts[new] = firstProducts[old]
            had(to, purchase.productID)
            if grants.contains(old) { grants.insert(new) }
            if reversed.remove(old) != nil { reversed.insert(new) }
            if ended.remove(old) != nil { ended.insert(new) }
            if replaced.remove(old) != nil { replaced.insert(new) }
        }
        left[to, default: []] += left[from] ?? []
        left[from] = nil
        grantEnds[to, default: []] += grantEnds[from] ?? []
        if paidSinceGrant.contains(from) {
            // No source defines which of the two users keeps the temporary grant, so both are
            // marked.
            paidSinceGrant.insert(to)
        } else {
            grantEnds[from] = nil
        }
    }

    /// Returns whether a user's temporary grant may still give access in parallel with a later
    /// purchase.
    ///
    /// No source documents that a purchase ends the grant (RevenueCat fact sheet 3, row 25, "on
    /// until X").
    func mayBeGranted(_ user: String, at time: Duration) -> Bool {
        paidSinceGrant.contains(user) && (grantEnds[user] ?? []).contains { $0 > time }
    }

    mutating func note(_ spec: EventSpec) {
        guard let user = spec.user else { return }
        let line = Line(user: user, product: spec.product)
        switch spec.type {
        case "TEMPORARY_ENTITLEMENT_GRANT":
            if let end = spec.expires { grantEnds[user, default: []].append(end) }
        case "REFUND_REVERSED": reversed.insert(line)
        case "EXPIRATION": ended.insert(line)
        case "INITIAL_PURCHASE", "RENEWAL":
            reversed.remove(line)
            ended.remove(line)
            notePayment(of: user)
        case "NON_RENEWING_PURCHASE": notePayment(of: user)
        // The other types of events change nothing that is recorded here.
        default: break
        }
    }

    private mutating func notePayment(of user: String) {
        if grants.contains(where: { $0.user == user }) { paidSinceGrant.insert(user) }
    }

    /// Checks that a contract can name the first transaction of an event without ambiguity.
    ///
    /// A contract names a purchase's first transaction by the buyer and the product. Therefore each
    /// pair of buyer and product may have one first transaction only.
    mutating func checkTransaction(
        _ spec: EventSpec,
        _ transaction: String?
    ) throws(LifeModel.Illegal) {
        guard let user = spec.user else { return }
        if spec.type == "TEMPORARY_ENTITLEMENT_GRANT" {
            let line = Line(user: user, product: spec.product)
            guard grants.insert(line).inserted else {
                throw LifeModel.Illegal(
                    reason: "the contract could not distinguish two temporary grants of one product"
                )
            }
        }
        guard let transaction, spec.isFamilyShared != true else { return }
        let name = Line(user: spec.boughtBy ?? user, product: spec.continues ?? spec.product)
        let known = transactions[name]
        // The actual purchase later replaces a temporary grant, so the transaction ID of the grant
        // is not recorded.
        let isTemporary = transaction.hasPrefix("tmp_")
        guard known == nil || known == transaction else {
            throw LifeModel.Illegal(
                reason: "the contract could not distinguish two transactions of one product"
            )
        }
        if !isTemporary { transactions[name] = transaction }
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
        let line = Line(user: user, product: spec.product)
        let others = purchases.filter {
            $0.productID != spec.product && $0.originalTransactionID == first
        }
        if firstProducts[line] == nil {
            // This purchase continues the first transaction of another purchase, after a product
            // change.
            let other = others.first.map { Line(user: user, product: $0.productID) }
            firstProducts[line] =
                other.map { firstProducts[$0] ?? $0.product } ?? spec.product
            if let other { buyers[line] = buyers[other] }
        }
        if let own = firstProducts[line], own != spec.product {
            spec.continues = own
            for other in others { replaced.insert(Line(user: user, product: other.productID)) }
        }
        spec.boughtBy = buyers[line]
        return spec
    }
}
