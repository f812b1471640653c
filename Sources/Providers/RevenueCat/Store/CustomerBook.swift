internal import Conformance

/// A table of all customers in the fake RevenueCat, by number.
///
/// Its indexes find the next automatic change, and the customer who owns a transaction or a
/// receipt.
struct CustomerBook: Hashable, Sendable {
    private var customers: SharedTable<Int, Customer> = [:]
    /// The subscriptions whose next change is a new period, sorted by the time at which it begins.
    private var renewals = SharedOrder<Due>()
    /// The subscriptions whose next change is the end of a period, sorted by that time.
    ///
    /// A store notices the end with a delay.
    private var ends = SharedOrder<Due>()
    private var marks = SharedIndex<Mark, Int>()

    /// The time of the next automatic change of a subscription, with the customer and the product.
    struct Due: Hashable, Comparable {
        let time: Instant
        let number: Int
        let productID: String

        static func < (left: Due, right: Due) -> Bool {
            (left.time, left.number, left.productID) < (right.time, right.number, right.productID)
        }
    }

    /// An identifier by which the store model recognizes a purchase.
    enum Mark: Hashable, Comparable {
        /// The ID of the purchase's current transaction or of its first transaction.
        case transaction(String)
        case receipt(String)
    }

    subscript(number: Int) -> Customer? {
        get { customers[number] }
        set {
            update(from: customers[number], to: newValue, number)
            customers[number] = newValue
        }
    }

    // MARK: Queries

    /// Returns the next automatic change of a subscription.
    ///
    /// The store notices the end of a period with this delay.
    func nextDue(noticedAfter delay: Duration) -> Due? {
        let end = ends.first.map {
            Due(time: $0.time + delay, number: $0.number, productID: $0.productID)
        }
        return [renewals.first, end].compactMap { $0 }.min()
    }

    /// All customers, in no particular order.
    var all: [Customer] { Array(customers.values) }

    var numbers: [Int] { Array(customers.keys) }

    /// Returns the customers who own a purchase with this transaction ID or receipt, oldest first.
    func owners(of mark: Mark) -> [(number: Int, customer: Customer)] {
        marks.ids(under: mark).compactMap { number in customers[number].map { (number, $0) } }
    }

    // MARK: Indexes

    private mutating func update(from old: Customer?, to new: Customer?, _ number: Int) {
        if let old, let new, old.subscriptions == new.subscriptions, old.oneTime == new.oneTime {
            return
        }
        let (before, after) = (Self.dues(old, number), Self.dues(new, number))
        for due in before.renewals where !after.renewals.contains(due) { renewals.remove(due) }
        for due in before.ends where !after.ends.contains(due) { ends.remove(due) }
        for due in after.renewals { renewals.insert(due) }
        for due in after.ends { ends.insert(due) }
        let (lost, won) = (Self.marks(old), Self.marks(new))
        for mark in lost.subtracting(won) { marks.remove(number, under: mark) }
        for mark in won.subtracting(lost) { marks.insert(number, under: mark) }
    }

    private static func marks(_ customer: Customer?) -> Set<Mark> {
        guard let customer else { return [] }
        var found: Set<Mark> = []
        func note(_ purchase: Purchase) {
            found.insert(.transaction(purchase.transactionID))
            found.insert(.transaction(purchase.originalTransactionID))
            if let token = purchase.receiptToken { found.insert(.receipt(token)) }
        }
        for purchase in customer.subscriptions.values { note(purchase) }
        for list in customer.oneTime.values { for purchase in list { note(purchase) } }
        return found
    }

    private static func dues(
        _ customer: Customer?,
        _ number: Int
    ) -> (renewals: [Due], ends: [Due]) {
        var found: (renewals: [Due], ends: [Due]) = ([], [])
        for purchase in customer?.subscriptions.values.map({ $0 }) ?? [] {
            func due(_ time: Instant) -> Due {
                Due(time: time, number: number, productID: purchase.productID)
            }
            switch purchase.moment {
            case .begins(let time): found.renewals.append(due(time))
            case .ends(let time): found.ends.append(due(time))
            case nil: break
            }
        }
        return found
    }
}

/// Saves only the customers, as a dictionary by number.
///
/// The indexes are rebuilt when they are loaded.
extension CustomerBook: Codable {
    init(from decoder: any Decoder) throws {
        customers = try SharedTable(from: decoder)
        for number in customers.keys { update(from: nil, to: customers[number], number) }
    }

    func encode(to encoder: any Encoder) throws { try customers.encode(to: encoder) }
}
