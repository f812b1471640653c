package import Conformance

/// The fake Purchasely: subscriptions of anonymous and connected users, and the events about them.
///
/// Facts: Purchasely fact sheet, sections 4 to 7.
package struct PurchaselyState: Hashable, Codable, Sendable {
    package struct Subscription: Hashable, Codable, Sendable {
        package let id: String
        package var userID: String?
        package var anonymousID: String?
        package var plan: String
        package var product: String
        package var storeProduct: String
        package var store: String
        package var purchaseType: String
        package var environment: String
        package var offerType: String
        package var previousOfferType: String?
        package var transactionID: String
        package var originalTransactionID: String
        package var purchased: Instant
        package var originallyPurchased: Instant
        package var nextRenewal: Instant?
        package var effectiveEnd: Instant?
        package var graceEnd: Instant?
        package var resume: Instant?
        package var status: String?
        package var price: Double
        package var revenue: Double
        @StoredCount package var renewalCount: Int64 = 0
        package var isActive = true

        package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }

        /// Events of one holder go one after the other (section 3).
        package var holder: String { userID ?? anonymousID ?? "" }
    }

    /// An event that waits to be queued.
    package struct Event: Hashable, Codable, Sendable {
        package let id: String
        package let name: String
        /// Who has it; of a transfer both, so that its events keep their order.
        package let holders: [String]
        package let subscriptionID: String
        package let body: JSONObject

        package var holder: String { holders.first ?? "" }
    }

    package var settings = PurchaselySettings()
    package var webhook: PurchaselyWebhook?
    package internal(set) var subscriptions = PurchaselyBook()
    var ids: IDSource
    private var outgoing: [Event] = []

    package init(seed: UInt64 = 0) {
        ids = IDSource(seed: seed, text: "purchasely")
    }

    // MARK: Events on their way out

    /// The events since the last call, in order.
    package mutating func takeEvents() -> [Event] {
        defer { outgoing = [] }
        return outgoing
    }

    /// The events that `takeEvents` will hand out.
    package func peekEvents() -> [Event] { outgoing }

    mutating func emit(_ event: Event) { outgoing.append(event) }

    /// The request of one attempt: signed anew, the body as it was.
    package func request(_ body: [UInt8], path: String, at now: Instant) -> HTTPMessage.Request {
        var sender = PurchaselySender(method: "POST", path: path, secret: webhook?.secret)
        sender.sendsDeprecated = settings.sendsDeprecatedSignature
        return sender.request(body: body, at: now)
    }

    // MARK: The passing of time

    /// When something next happens by itself; nil when nothing will.
    package var nextMoment: Instant? { subscriptions.nextDue?.time }

    /// Renews, ends and unpauses what is due by then, in the order of its time.
    package func renewalCount(by time: Instant) -> Int {
        subscriptions.all.reduce(0) { count, found in
            guard found.isActive, let next = found.moment, next <= time else { return count }
            let period = Self.period(found.plan).milliseconds
            return count + 1 + Int((time - next).milliseconds / period)
        }
    }

    package mutating func advance(to now: Instant) {
        while let due = subscriptions.nextDue, due.time <= now,
            let found = subscriptions[due.id]
        {
            let time = due.time
            let action: Action =
                switch found.status {
                case "PAUSED": .unpause
                case "IN_GRACE_PERIOD": .enterBillingRetry
                case "AUTO_RENEWING" where found.purchaseType == "RENEWING_SUBSCRIPTION": .renew
                default: .expire
                }
            do throws(StoreAction.Refusal) {
                try change(found, action, JSONObject(), at: time)
            } catch {
                // What cannot go on must not be tried for ever.
                subscriptions[found.id]?.isActive = false
            }
        }
    }
}
