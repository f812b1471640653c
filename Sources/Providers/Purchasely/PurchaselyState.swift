package import Values

/// The fake Purchasely: the subscriptions of anonymous and signed-in users, and the events about
/// these subscriptions.
///
/// Source: Purchasely fact sheet, sections 4 to 7.
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
        @JSONSafeInteger package var renewalCount: Int64 = 0
        package var isActive = true

        package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }

        /// The ID of the current owner of the subscription.
        ///
        /// The events of one owner are delivered one after the other (Purchasely fact sheet,
        /// section 3).
        package var holder: String { userID ?? anonymousID ?? "" }
    }

    /// A webhook event that is ready to be put into the delivery queue.
    package struct Event: Hashable, Codable, Sendable {
        package let id: String
        package let name: String
        /// The IDs of the owners whose events must keep their order.
        ///
        /// For a transfer, these are the previous and the new owner; for any other event, the only
        /// owner.
        package let holders: [String]
        package let subscriptionID: String
        package let body: JSONObject

        package var holder: String { holders.first ?? "" }
    }

    package var settings = PurchaselySettings()
    package var webhook: PurchaselyWebhook?
    package internal(set) var subscriptions = PurchaselyTable()
    var ids: IDSource
    private var outgoing: [Event] = []

    package init(seed: UInt64 = 0) {
        ids = IDSource(seed: seed, text: "purchasely")
    }

    // MARK: Outgoing events

    /// Returns and removes the webhook events created since the last call, in order.
    package mutating func takeEvents() -> [Event] {
        defer { outgoing = [] }
        return outgoing
    }

    /// Returns the webhook events that `takeEvents` will return, without removing them.
    package func peekEvents() -> [Event] { outgoing }

    mutating func emit(_ event: Event) { outgoing.append(event) }

    /// Creates the request of one delivery attempt.
    ///
    /// It has a new signature and the original body.
    package func request(_ body: [UInt8], path: String, at now: Instant) -> HTTPMessage.Request {
        var sender = PurchaselySender(method: "POST", path: path, secret: webhook?.secret)
        sender.sendsDeprecatedSignature = settings.sendsDeprecatedSignature
        return sender.request(body: body, at: now)
    }

    // MARK: Time

    /// The next time at which a subscription changes without an action; nil when there is no such
    /// time.
    package var nextChangeTime: Instant? { subscriptions.nextDueChange?.time }

    /// Returns the expected number of automatic renewals of subscriptions until a time.
    package func renewalCount(by time: Instant) -> Int {
        subscriptions.allSubscriptions.reduce(0) { count, subscription in
            guard subscription.isActive, let next = subscription.nextChangeTime, next <= time else {
                return count
            }
            let periodLength = Self.periodLength(subscription.plan).milliseconds
            return count + 1 + Int((time - next).milliseconds / periodLength)
        }
    }

    /// Renews, ends and unpauses the subscriptions that are due until this time, in the order of
    /// their due times.
    package mutating func advance(to now: Instant) {
        while let dueChange = subscriptions.nextDueChange, dueChange.time <= now,
            let subscription = subscriptions[dueChange.id]
        {
            let time = dueChange.time
            let action: Action =
                switch subscription.status {
                case "PAUSED": .unpause
                case "IN_GRACE_PERIOD": .enterBillingRetry
                case "AUTO_RENEWING" where subscription.purchaseType == "RENEWING_SUBSCRIPTION":
                    .renew
                default: .expire
                }
            do throws(StoreAction.Refusal) {
                try applyAction(subscription, action, JSONObject(), at: time)
            } catch {
                // The automatic change of this subscription failed, so the subscription becomes
                // inactive. Otherwise the loop would try the same change forever.
                subscriptions[subscription.id]?.isActive = false
            }
        }
    }
}
