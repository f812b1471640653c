package import Conformance

/// All subscriptions by id, with what is asked of all of them at once: what is due next, and what
/// somebody holds.
package struct PurchaselyBook: Hashable, Sendable {
    package typealias Subscription = PurchaselyState.Subscription

    private var subscriptions: SharedTable<String, Subscription> = [:]
    private var dues = SharedIndex<Instant, String>()
    /// By user or anonymous id.
    private var holdings = SharedIndex<String, String>()

    package init() {}

    /// All of them, in no order.
    var all: [Subscription] { Array(subscriptions.values) }

    package var count: Int { subscriptions.count }

    package subscript(id: String) -> Subscription? {
        get { subscriptions[id] }
        set {
            if let old = subscriptions[id] { note(old, isThere: false) }
            subscriptions[id] = newValue
            if let newValue { note(newValue, isThere: true) }
        }
    }

    /// What next happens by itself, and to which subscription.
    package var nextDue: (time: Instant, id: String)? { dues.first.map { ($0.key, $0.id) } }

    /// What a user or an anonymous id holds, in the order of the ids.
    package func held(by holder: String) -> [Subscription] {
        holdings.ids(under: holder).compactMap { subscriptions[$0] }
    }

    private mutating func note(_ found: Subscription, isThere: Bool) {
        if let time = found.moment {
            if isThere {
                dues.insert(found.id, under: time)
            } else {
                dues.remove(found.id, under: time)
            }
        }
        for holder in Set([found.userID, found.anonymousID].compactMap { $0 }) {
            if isThere {
                holdings.insert(found.id, under: holder)
            } else {
                holdings.remove(found.id, under: holder)
            }
        }
    }
}

extension PurchaselyState.Subscription {
    /// When something next happens to it by itself; nil when nothing will.
    var moment: Instant? {
        guard !isOneTime else { return nil }
        if status == "PAUSED" { return resume }
        return isActive ? effectiveEnd : nil
    }
}

/// Written as a dictionary of the subscriptions; the rest is found again.
extension PurchaselyBook: Codable {
    package init(from decoder: any Decoder) throws {
        subscriptions = try SharedTable(from: decoder)
        for found in subscriptions.values { note(found, isThere: true) }
    }

    package func encode(to encoder: any Encoder) throws { try subscriptions.encode(to: encoder) }
}
