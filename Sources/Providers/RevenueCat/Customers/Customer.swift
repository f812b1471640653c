package import Values

/// A RevenueCat customer with all IDs that belong to the same person (RevenueCat fact sheet,
/// section 5).
package struct Customer: Hashable, Codable, Sendable {
    package var ids: [String]
    package var originalID: String
    package var firstSeen: Instant
    package var lastSeen: Instant
    package var lastSeenID: String?
    package var lastPlatform: String?
    /// The customer's subscriptions.
    ///
    /// The sandbox and production have separate subscriptions to the same product.
    package var subscriptions: [SubscriptionKey: Purchase] = [:]
    package var oneTime: [String: [Purchase]] = [:]
    /// Refunded one-time purchases of the customer.
    ///
    /// No response shows them, but their refund can be reversed.
    package var refundedOneTime: [Purchase]?
    package var attributes = JSONObject()
    package var experiments: [JSONValue] = []
    package var restoreBehavior: RevenueCatSettings.RestoreBehavior?
    package var offeringOverride: String?
    /// The customer's balances of virtual currencies, by currency code.
    package var balances: [String: Int64]?

    package static func isAnonymous(_ id: String) -> Bool { id.hasPrefix("$RCAnonymousID:") }

    package var isAnonymous: Bool { ids.allSatisfy(Self.isAnonymous) }

    /// The current App User ID of the customer (RevenueCat fact sheet, section 2.4).
    ///
    /// The current ID is the last seen ID if that ID is not anonymous. Otherwise it is the
    /// customer's latest ID that is not anonymous. A customer with only anonymous IDs keeps the
    /// last seen ID.
    package var currentID: String {
        if let last = lastSeenID, !Self.isAnonymous(last) { return last }
        return ids.last { !Self.isAnonymous($0) } ?? lastSeenID ?? originalID
    }

    package var purchases: [Purchase] {
        subscriptions.sorted { $0.key < $1.key }.map(\.value)
            + oneTime.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    /// All one-time purchases of the customer, including refunded ones.
    var oneTimePurchases: [Purchase] {
        oneTime.sorted { $0.key < $1.key }.flatMap(\.value) + (refundedOneTime ?? [])
    }

    package mutating func putPurchase(_ purchase: Purchase) {
        if purchase.isOneTime {
            var list = oneTime[purchase.productID] ?? []
            list.removeAll { $0.transactionID == purchase.transactionID }
            oneTime[purchase.productID] = list + [purchase]
        } else {
            subscriptions[purchase.subscriptionKey] = purchase
        }
    }

    package mutating func remove(_ purchase: Purchase) {
        if purchase.isOneTime {
            oneTime[purchase.productID]?.removeAll { $0.transactionID == purchase.transactionID }
            if oneTime[purchase.productID]?.isEmpty == true { oneTime[purchase.productID] = nil }
        } else {
            subscriptions[purchase.subscriptionKey] = nil
        }
    }

    /// Moves a one-time purchase from the visible purchases to `refundedOneTime`.
    package mutating func hideRefundedPurchase(_ purchase: Purchase) {
        remove(purchase)
        refundedOneTime = (refundedOneTime ?? []) + [purchase]
    }

    /// Returns the subscription to a product in an environment.
    ///
    /// If there is none, returns the subscription in the other environment.
    package func subscription(
        to product: String,
        preferring environment: String = "PRODUCTION"
    ) -> Purchase? {
        let key = SubscriptionKey(product: product, environment: environment)
        return subscriptions[key]
            ?? subscriptions[
                SubscriptionKey(
                    product: product,
                    environment: key.isSandbox ? "PRODUCTION" : "SANDBOX"
                )
            ]
    }

    /// Removes the purchases in one environment, and returns a customer who has only them.
    ///
    /// Balances belong to no environment and remain.
    mutating func removePurchases(inSandbox isSandbox: Bool) -> Customer {
        var moved = self
        moved.balances = nil
        moved.keepPurchases { $0.subscriptionKey.isSandbox == isSandbox }
        keepPurchases { $0.subscriptionKey.isSandbox != isSandbox }
        return moved
    }

    private mutating func keepPurchases(where isKept: (Purchase) -> Bool) {
        subscriptions = subscriptions.filter { isKept($0.value) }
        oneTime = oneTime.mapValues { $0.filter(isKept) }.filter { !$0.value.isEmpty }
        refundedOneTime = refundedOneTime?.filter(isKept)
        if refundedOneTime?.isEmpty == true { refundedOneTime = nil }
    }

    /// Adds another customer, who is removed, to this one.
    ///
    /// The result keeps the original ID of the older customer, and its own value of an attribute
    /// that both customers have.
    mutating func merge(_ removedCustomer: Customer) {
        if removedCustomer.firstSeen < firstSeen { originalID = removedCustomer.originalID }
        firstSeen = min(firstSeen, removedCustomer.firstSeen)
        ids = removedCustomer.ids + ids
        mergePurchases(from: removedCustomer)
        for member in removedCustomer.attributes.members where attributes[member.key] == nil {
            attributes[member.key] = member.value
        }
    }

    /// Adds amounts, by currency code, to the customer's balances.
    ///
    /// A balance cannot fall below zero.
    mutating func changeBalances(_ amounts: [String: Int64]) {
        var newBalances = balances ?? [:]
        for (code, amount) in amounts {
            newBalances[code] = max(0, (newBalances[code] ?? 0).addingSaturated(amount))
        }
        balances = newBalances
    }

    /// Adds the purchases and the balances of another customer to this one.
    package mutating func mergePurchases(from other: Customer) {
        subscriptions.merge(other.subscriptions) { $0.asOf >= $1.asOf ? $0 : $1 }
        oneTime.merge(other.oneTime, uniquingKeysWith: +)
        if let more = other.refundedOneTime {
            refundedOneTime = (refundedOneTime ?? []) + more
        }
        if let more = other.balances {
            balances = (balances ?? [:]).merging(more) { $0.addingSaturated($1) }
        }
    }
}
