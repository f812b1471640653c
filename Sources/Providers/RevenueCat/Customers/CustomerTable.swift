internal import Values

/// A table of all customers in the fake RevenueCat, by number.
///
/// Its indexes find the next automatic change, and the customer who owns a transaction or a
/// receipt.
struct CustomerTable: Hashable, Sendable {
    private var customers: SharedTable<Int, Customer> = [:]
    /// The subscriptions whose next change is a new period, sorted by the time at which it begins.
    private var renewals = SharedSortedSet<DueChange>()
    /// The subscriptions whose next change is the end of a period, sorted by that time.
    ///
    /// A store notices the end with a delay.
    private var accessEnds = SharedSortedSet<DueChange>()
    private var purchaseIdentifiers = SharedIndex<PurchaseIdentifier, Int>()

    /// The time of the next automatic change of a subscription, with the customer and the subscription.
    struct DueChange: Hashable, Comparable {
        let time: Instant
        let customerNumber: Int
        let subscriptionKey: SubscriptionKey

        static func < (left: DueChange, right: DueChange) -> Bool {
            (left.time, left.customerNumber, left.subscriptionKey) < (
                right.time, right.customerNumber, right.subscriptionKey
            )
        }
    }

    /// An identifier by which the store model recognizes a purchase.
    enum PurchaseIdentifier: Hashable, Comparable {
        /// The ID of the purchase's current transaction or of its first transaction.
        case transaction(String)
        case receipt(String)
    }

    subscript(customerNumber: Int) -> Customer? {
        get { customers[customerNumber] }
        set {
            update(from: customers[customerNumber], to: newValue, customerNumber)
            customers[customerNumber] = newValue
        }
    }

    // MARK: Queries

    /// Returns the next automatic change of a subscription.
    ///
    /// The store notices the end of a period with this delay.
    func nextDueChange(noticedAfter delay: Duration) -> DueChange? {
        let nextNoticedEnd = accessEnds.first.map {
            DueChange(
                time: $0.time + delay,
                customerNumber: $0.customerNumber,
                subscriptionKey: $0.subscriptionKey
            )
        }
        return [renewals.first, nextNoticedEnd].compactMap { $0 }.min()
    }

    /// All customers, in no particular order.
    var all: [Customer] { Array(customers.values) }

    var customerNumbers: [Int] { Array(customers.keys) }

    /// Returns the customers who own a purchase with this transaction ID or receipt, oldest first.
    func owners(of identifier: PurchaseIdentifier) -> [(customerNumber: Int, customer: Customer)] {
        purchaseIdentifiers.ids(under: identifier).compactMap { customerNumber in
            customers[customerNumber].map { (customerNumber, $0) }
        }
    }

    // MARK: Indexes

    private mutating func update(from old: Customer?, to new: Customer?, _ customerNumber: Int) {
        if let old, let new, old.subscriptions == new.subscriptions, old.oneTime == new.oneTime {
            return
        }
        let (oldDueChanges, newDueChanges) = (
            Self.dueChanges(old, customerNumber), Self.dueChanges(new, customerNumber)
        )
        for dueChange in oldDueChanges.renewals where !newDueChanges.renewals.contains(dueChange) {
            renewals.remove(dueChange)
        }
        for dueChange in oldDueChanges.accessEnds
        where !newDueChanges.accessEnds.contains(dueChange) {
            accessEnds.remove(dueChange)
        }
        for dueChange in newDueChanges.renewals { renewals.insert(dueChange) }
        for dueChange in newDueChanges.accessEnds { accessEnds.insert(dueChange) }
        let (removedIdentifiers, addedIdentifiers) = (
            Self.purchaseIdentifiers(old), Self.purchaseIdentifiers(new)
        )
        for identifier in removedIdentifiers.subtracting(addedIdentifiers) {
            purchaseIdentifiers.remove(customerNumber, under: identifier)
        }
        for identifier in addedIdentifiers.subtracting(removedIdentifiers) {
            purchaseIdentifiers.insert(customerNumber, under: identifier)
        }
    }

    private static func purchaseIdentifiers(_ customer: Customer?) -> Set<PurchaseIdentifier> {
        guard let customer else { return [] }
        var identifiers: Set<PurchaseIdentifier> = []
        func recordPurchase(_ purchase: Purchase) {
            identifiers.insert(.transaction(purchase.transactionID))
            identifiers.insert(.transaction(purchase.originalTransactionID))
            if let token = purchase.receiptToken { identifiers.insert(.receipt(token)) }
        }
        for purchase in customer.subscriptions.values { recordPurchase(purchase) }
        for list in customer.oneTime.values { for purchase in list { recordPurchase(purchase) } }
        return identifiers
    }

    private static func dueChanges(
        _ customer: Customer?,
        _ customerNumber: Int
    ) -> (renewals: [DueChange], accessEnds: [DueChange]) {
        var dueChanges: (renewals: [DueChange], accessEnds: [DueChange]) = ([], [])
        for purchase in customer?.subscriptions.values.map({ $0 }) ?? [] {
            func dueChange(_ time: Instant) -> DueChange {
                DueChange(
                    time: time,
                    customerNumber: customerNumber,
                    subscriptionKey: purchase.subscriptionKey
                )
            }
            switch purchase.nextAutomaticChange {
            case .periodBegins(let time): dueChanges.renewals.append(dueChange(time))
            case .accessEnds(let time): dueChanges.accessEnds.append(dueChange(time))
            case nil: break
            }
        }
        return dueChanges
    }
}

/// Saves only the customers, as a dictionary by number.
///
/// The indexes are rebuilt when a saved table is loaded.
extension CustomerTable: Codable {
    /// - Throws: A decoding error for a subscription that is not stored under its own key. An
    ///   automatic change would not find such a subscription, and would stay due forever.
    init(from decoder: any Decoder) throws {
        customers = try SharedTable(from: decoder)
        for customer in customers.values {
            for (key, subscription) in customer.subscriptions
            where subscription.subscriptionKey != key {
                throw DecodingError.dataCorrupted(
                    .init(
                        codingPath: decoder.codingPath,
                        debugDescription:
                            "a subscription is not stored under its own product and environment"
                    )
                )
            }
        }
        for customerNumber in customers.keys {
            update(from: nil, to: customers[customerNumber], customerNumber)
        }
    }

    func encode(to encoder: any Encoder) throws { try customers.encode(to: encoder) }
}
