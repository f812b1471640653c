internal import Foundation

/// A Purchasely event, reduced to the fields that this backend uses.
struct ReceivedPurchaselyEvent: Sendable {
    let id: String
    let name: String
    var timestamp: Int64
    let userID: String?
    /// The ID of the user who has the subscription, with or without an account (P-06).
    var subscriberID: String
    let subscriptionID: String
    let plan: String
    /// The status of the subscription.
    ///
    /// It does not determine the effect of the event (P-07).
    let status: String?
    let isSandbox: Bool
    /// The actual end of access.
    ///
    /// The theoretical next renewal is in a different field of the event (P-09).
    var expiresAt: Int64?

    /// The error for a body that is not an event, because it is not JSON, or lacks `event_id`,
    /// `event_name` or a user.
    struct MalformedEventError: Error {}

    init(body: Data) throws(MalformedEventError) {
        // A body that is not JSON is not an event.
        guard let event = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let id = event["event_id"] as? String, let name = event["event_name"] as? String
        else { throw MalformedEventError() }
        func text(_ key: String) -> String? { event[key] as? String }
        func milliseconds(_ key: String) -> Int64? { (event[key] as? NSNumber)?.int64Value }
        userID = text("user_id")
        guard let subscriberID = text("user_id") ?? text("anonymous_user_id") else {
            throw MalformedEventError()
        }
        self.id = id
        self.name = name
        self.subscriberID = subscriberID
        timestamp = milliseconds("event_created_at_ms") ?? 0
        subscriptionID =
            text("purchasely_subscription_id") ?? text("purchasely_one_time_purchase_id") ?? ""
        plan = text("plan") ?? ""
        status = text("subscription_status")
        isSandbox = text("environment") == "SANDBOX"
        expiresAt = milliseconds("effective_next_renewal_at_ms")
    }
}
