package import Values

/// The fake Purchasely: the subscriptions of anonymous and signed-in users, and the events about
/// these subscriptions.
///
/// The state is composed of values, each of which holds the data of one subject and keeps its
/// invariants. The operations are static functions of small enumerations, one for each subject.
/// They take the state as their first argument, check the preconditions, change the values, and
/// create the events.
///
/// Source: Purchasely fact sheet, sections 4 to 7.
package struct PurchaselyState: Hashable, Codable, Sendable {
    package var settings = PurchaselySettings()
    package var webhook: PurchaselyWebhook?
    package internal(set) var subscriptions = PurchaselyTable()
    var ids: PurchaselyIDs
    var outbox = PurchaselyOutbox()

    package init(seed: UInt64 = 0) {
        ids = PurchaselyIDs(seed: seed)
    }

    // MARK: Changes and their events

    /// Carries out an action of a user or a store, and sends the events about it.
    ///
    /// - Throws: A refusal that explains the problem; the state is then unchanged.
    package mutating func carryOut(
        _ action: PurchaselyAction,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        try PurchaselyActions.carryOut(&self, action, body, at: now)
    }

    /// Renews, ends and unpauses the subscriptions that are due until this time, in the order of
    /// their due times.
    package mutating func advance(to now: Instant) { PurchaselyRenewals.advance(&self, to: now) }

    /// Returns and removes the webhook events created since the last call, in order.
    package mutating func takeEvents() -> [PurchaselyWebhookEvent] { outbox.takeEvents() }

    /// Creates the request of one delivery attempt.
    ///
    /// It has a new signature and the original body.
    package func request(_ body: [UInt8], path: String, at now: Instant) -> HTTPMessage.Request {
        var sender = PurchaselySender(method: "POST", path: path, secret: webhook?.secret)
        sender.sendsDeprecatedSignature = settings.sendsDeprecatedSignature
        return sender.request(body: body, at: now)
    }
}
