internal import Conformance

/// All customers by number, with what is asked of all of them at once: what is due next, and whose a
/// transaction or a receipt is.
struct CustomerBook: Hashable, Sendable {
    private var customers: SharedTable<Int, Customer> = [:]
    /// Periods that begin at their moment.
    private var renewals = SharedOrder<Due>()
    /// Periods that end; a store is late to notice.
    private var ends = SharedOrder<Due>()
    private var marks = SharedIndex<Mark, Int>()

    /// A moment at which something happens to a subscription by itself.
    struct Due: Hashable, Comparable {
        let time: Instant
        let number: Int
        let productID: String

        static func < (left: Due, right: Due) -> Bool {
            (left.time, left.number, left.productID) < (right.time, right.number, right.productID)
        }
    }

    /// What purchases are recognised by.
    enum Mark: Hashable, Comparable {
        /// Its own or the first one's.
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

    // MARK: What is asked of all

    /// What happens next; ends are noticed so much later than they come.
    func nextDue(noticedAfter delay: Duration) -> Due? {
        let end = ends.first.map {
            Due(time: $0.time + delay, number: $0.number, productID: $0.productID)
        }
        return [renewals.first, end].compactMap { $0 }.min()
    }

    /// All of them, in no order.
    var all: [Customer] { Array(customers.values) }

    var numbers: [Int] { Array(customers.keys) }

    /// The customers who have a purchase with that mark, oldest first.
    func owners(of mark: Mark) -> [(number: Int, customer: Customer)] {
        marks.ids(under: mark).compactMap { number in customers[number].map { (number, $0) } }
    }

    // MARK: Keeping up

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

/// Written as a dictionary of the customers; the rest is found again.
extension CustomerBook: Codable {
    init(from decoder: any Decoder) throws {
        customers = try SharedTable(from: decoder)
        for number in customers.keys { update(from: nil, to: customers[number], number) }
    }

    func encode(to encoder: any Encoder) throws { try customers.encode(to: encoder) }
}
