package import Conformance

/// The switches of the fake Purchasely.
package struct PurchaselySettings: Hashable, Codable, Sendable {
    package enum TransferOrder: String, Hashable, Codable, Sendable {
        case deactivateFirst = "deactivate-first"
        case activateFirst = "activate-first"
    }

    /// No order is promised (fact sheet, section 7).
    package var transferOrder = TransferOrder.deactivateFirst
    /// Whether 404 counts as handled: the documentation contradicts itself (section 3).
    package var takes404 = false
    /// The old header beside the new one.
    package var sendsDeprecatedSignature = false
    /// Bodies of version 2, which had two names for what grants and what revokes (section 8).
    package var sendsVersion2: Bool?
    /// Only these events are sent, as the console toggles them; empty: all.
    package var events: [String] = []
    /// The console's currency, which names some of the members.
    package var currency = "EUR"
    package var bundleID = "com.example.app"

    package init() {}
}

/// Where Purchasely sends its events.
package struct PurchaselyWebhook: Hashable, Sendable {
    package var url: String
    package var secret: Secret?

    package init(url: String, secret: Secret?) {
        self.url = url
        self.secret = secret.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension PurchaselyWebhook: Codable {
    /// The secret is configuration and never saved.
    private enum CodingKeys: String, CodingKey { case url }
}
