/// The webhook events that the fake Purchasely has created and not sent yet, oldest first.
struct PurchaselyOutbox: Hashable, Codable, Sendable {
    /// The pending events in the order in which they happened.
    private(set) var events: [PurchaselyWebhookEvent] = []

    mutating func add(_ event: PurchaselyWebhookEvent) { events.append(event) }

    /// Returns and removes all pending events.
    mutating func takeEvents() -> [PurchaselyWebhookEvent] {
        defer { events = [] }
        return events
    }
}
