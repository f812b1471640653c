internal import Conformance
internal import Providers

/// What happened to somebody's purchases that the store model keeps no record of.
struct LifeNotes: Sendable {
    struct Line: Hashable, Sendable {
        let user: String
        let product: String
    }

    /// What anybody ever had, by name.
    private(set) var everHad: [String: Set<String>] = [:]
    /// The part of it that spends no money.
    private var everTried: Set<Line> = []
    /// Ends of periods that a change of product has left behind: nothing tells of them any more.
    private(set) var left: [String: [Duration]] = [:]
    /// Whose refund was taken back and who has paid nothing since: whether it renews nobody says
    /// (effect table C.1 leaves the flags as they are; the store goes on charging).
    private(set) var reversed: Set<Line> = []
    /// What has ended and was paid for no more since: whether a charge had failed before, the sheets
    /// do not say of it (S-13; defect X-11).
    private(set) var ended: Set<Line> = []
    /// What another product goes on with.
    private(set) var replaced: Set<Line> = []
    /// The store's first transaction of what somebody bought.
    private var transactions: [Line: String] = [:]
    /// What was granted while a store was away.
    private var grants: Set<Line> = []
    /// Who paid for anything since something was granted to them so.
    private(set) var paidSinceGrant: Set<String> = []
    /// When it would have ended.
    private var grantEnds: [String: [Duration]] = [:]
    /// Who bought first what now belongs to somebody else, by holder and product.
    private var buyers: [Line: String] = [:]
    /// The product that a line's first transaction was for.
    private var firstProducts: [Line: String] = [:]

    mutating func had(_ user: String, _ product: String, isSandbox: Bool = false) {
        everHad[user, default: []].insert(product)
        if isSandbox { everTried.insert(Line(user: user, product: product)) }
    }

    /// Whether somebody has had only one thing that spends money.
    func hadOne(_ user: String) -> Bool {
        (everHad[user] ?? []).count { !everTried.contains(Line(user: user, product: $0)) } == 1
    }

    /// A change of product leaves a period behind that would have ended then.
    mutating func leave(_ user: String, _ end: Duration) {
        left[user, default: []].append(end)
    }

    /// Whether both have had a product that each of them bought, refunded or not.
    func haveTwoOfOne(_ one: String, _ other: String) -> Bool {
        let both = (everHad[one] ?? []).intersection(everHad[other] ?? [])
        return both.contains { product in
            origin(of: one, product) != origin(of: other, product)
        }
    }

    /// Whether somebody else bought what this one has.
    func wasHandedOver(to user: String, _ product: String) -> Bool {
        buyers[Line(user: user, product: product)].map { $0 != user } ?? false
    }

    /// Who bought first what somebody has, and of which product.
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
            // Which of the two it goes on with nobody says either.
            paidSinceGrant.insert(to)
        } else {
            grantEnds[from] = nil
        }
    }

    /// Whether what was granted while a store was away may go on beside what was paid for since: no
    /// source says that a purchase ends it (row 25, "on until X").
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
        // The store model sends the types; the others leave open no more than they find.
        default: break
        }
    }

    private mutating func notePayment(of user: String) {
        if grants.contains(where: { $0.user == user }) { paidSinceGrant.insert(user) }
    }

    /// A contract names a first transaction by who bought which product: it can tell of one purchase
    /// by each name, and stores never use one name for two.
    mutating func checkTransaction(
        _ spec: EventSpec,
        _ transaction: String?
    ) throws(LifeModel.Illegal) {
        guard let user = spec.user else { return }
        if spec.type == "TEMPORARY_ENTITLEMENT_GRANT" {
            let line = Line(user: user, product: spec.product)
            guard grants.insert(line).inserted else {
                throw LifeModel.Illegal(reason: "one name for two grants")
            }
        }
        guard let transaction, spec.isFamilyShared != true else { return }
        let name = Line(user: spec.boughtBy ?? user, product: spec.continues ?? spec.product)
        let known = transactions[name]
        // What is granted while a store is away gives way to the purchase that it stands for.
        let isTemporary = transaction.hasPrefix("tmp_")
        guard known == nil || known == transaction else {
            throw LifeModel.Illegal(reason: "one name for two transactions")
        }
        if !isTemporary { transactions[name] = transaction }
    }

    /// Which transaction an event goes on with, where that is not its own.
    ///
    /// - Parameters:
    ///   - spec: What the event says so far.
    ///   - purchases: What its user has.
    ///   - first: The transaction that it bears as its first.
    /// - Returns: The event, with whose transaction it bears.
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
            // A line that goes on with another's first transaction.
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
