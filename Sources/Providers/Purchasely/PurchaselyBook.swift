package import Conformance

/// All subscriptions by id, with what is asked of all of them at once: what is due next, and what
/// somebody holds.
package struct PurchaselyBook: Hashable, Sendable {
    package typealias Subscription = PurchaselyState.Subscription

    private var subscriptions: SharedTable<String, Subscription> = [:]
    private var dues = SharedOrder<Due>()
    private var holdings = SharedOrder<Holding>()

    /// A moment at which something happens to a subscription by itself.
    package struct Due: Hashable, Comparable, Sendable {
        package let time: Instant
        package let id: String

        package static func < (left: Due, right: Due) -> Bool {
            (left.time, left.id) < (right.time, right.id)
        }
    }

    private struct Holding: Hashable, Comparable {
        let holder: String
        let id: String

        static func < (left: Holding, right: Holding) -> Bool {
            (left.holder, left.id) < (right.holder, right.id)
        }
    }

    package init() {}

    package var count: Int { subscriptions.count }

    package subscript(id: String) -> Subscription? {
        get { subscriptions[id] }
        set {
            if let old = subscriptions[id] { note(old, isThere: false) }
            subscriptions[id] = newValue
            if let newValue { note(newValue, isThere: true) }
        }
    }

    /// What happens next.
    package var nextDue: Due? { dues.first }

    /// What a user or an anonymous id holds, in the order of the ids.
    package func held(by holder: String) -> [Subscription] {
        holdings.run(from: Holding(holder: holder, id: "")) { $0.holder == holder }
            .compactMap { subscriptions[$0.id] }
    }

    private mutating func note(_ found: Subscription, isThere: Bool) {
        if let time = found.moment {
            let due = Due(time: time, id: found.id)
            if isThere { dues.insert(due) } else { dues.remove(due) }
        }
        for holder in Set([found.userID, found.anonymousID].compactMap { $0 }) {
            let holding = Holding(holder: holder, id: found.id)
            if isThere { holdings.insert(holding) } else { holdings.remove(holding) }
        }
    }
}

extension PurchaselyState.Subscription {
    /// When something next happens to it by itself; nil when nothing will.
    fileprivate var moment: Instant? {
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
