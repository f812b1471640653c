package import Values

/// A webhook event that is ready to be put into the delivery queue.
package struct PurchaselyWebhookEvent: Hashable, Codable, Sendable {
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
