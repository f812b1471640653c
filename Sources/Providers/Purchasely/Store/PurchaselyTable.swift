package import Values

/// A table of all subscriptions in the fake Purchasely, by subscription ID.
///
/// Its indexes find the next subscription that is due, and the subscriptions of a user.
package struct PurchaselyTable: Hashable, Sendable {
    private var subscriptions: SharedTable<String, PurchaselySubscription> = [:]
    private var idsByDueTime = SharedIndex<Instant, String>()
    /// The IDs of subscriptions, by the user ID or the anonymous ID that owns them.
    private var idsByOwner = SharedIndex<String, String>()

    package init() {}

    /// All subscriptions, in no particular order.
    var allSubscriptions: [PurchaselySubscription] { Array(subscriptions.values) }

    package var count: Int { subscriptions.count }

    package subscript(id: String) -> PurchaselySubscription? {
        get { subscriptions[id] }
        set {
            if let old = subscriptions[id] { updateIndexes(old, isIndexed: false) }
            subscriptions[id] = newValue
            if let newValue { updateIndexes(newValue, isIndexed: true) }
        }
    }

    /// The time of the next automatic change of a subscription, and the ID of that subscription;
    /// nil when there is none.
    package var nextDueChange: (time: Instant, id: String)? {
        idsByDueTime.first.map { ($0.key, $0.id) }
    }

    /// Returns the subscriptions that a user ID or an anonymous ID owns, sorted by subscription ID.
    package func subscriptionsOwned(by holder: String) -> [PurchaselySubscription] {
        idsByOwner.ids(under: holder).compactMap { subscriptions[$0] }
    }

    private mutating func updateIndexes(_ subscription: PurchaselySubscription, isIndexed: Bool) {
        if let time = subscription.nextChangeTime {
            if isIndexed {
                idsByDueTime.insert(subscription.id, under: time)
            } else {
                idsByDueTime.remove(subscription.id, under: time)
            }
        }
        for holder in Set([subscription.userID, subscription.anonymousID].compactMap { $0 }) {
            if isIndexed {
                idsByOwner.insert(subscription.id, under: holder)
            } else {
                idsByOwner.remove(subscription.id, under: holder)
            }
        }
    }
}

/// Saves only the subscriptions, as a dictionary by ID.
///
/// The indexes are rebuilt when a saved table is loaded.
extension PurchaselyTable: Codable {
    /// - Throws: A decoding error for a subscription that is not stored under its own ID. An
    ///   automatic change would not find such a subscription, and would stay due forever.
    package init(from decoder: any Decoder) throws {
        subscriptions = try SharedTable(from: decoder)
        for id in subscriptions.keys where subscriptions[id]?.id != id {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "a subscription is not stored under its own ID"
                )
            )
        }
        for subscription in subscriptions.values { updateIndexes(subscription, isIndexed: true) }
    }

    package func encode(to encoder: any Encoder) throws { try subscriptions.encode(to: encoder) }
}
