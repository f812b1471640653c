package import Redaction

/// The switches of the fake Purchasely.
package struct PurchaselySettings: Hashable, Codable, Sendable {
    package enum TransferOrder: String, Hashable, Codable, Sendable {
        case deactivateFirst = "deactivate-first"
        case activateFirst = "activate-first"
    }

    /// The order in which a transfer sends its ACTIVATE and DEACTIVATE events.
    ///
    /// Purchasely guarantees no order (Purchasely fact sheet, section 7).
    package var transferOrder = TransferOrder.deactivateFirst
    /// Whether the sender counts a response with status 404 as success.
    ///
    /// The documentation contradicts itself (Purchasely fact sheet, section 3).
    package var takes404 = false
    /// Whether webhooks carry the deprecated signature header in addition to the current one.
    package var sendsDeprecatedSignature = false
    /// Whether webhook bodies have the format of version 2.
    ///
    /// If nil or false, they have the format of version 3. Version 2 has only one event name for
    /// granting access and one for revoking it (Purchasely fact sheet, section 8).
    package var sendsVersion2: Bool?
    /// The names of the only events that are sent, as selected in Purchasely's console.
    ///
    /// If the list is empty, all events are sent.
    package var events: [String] = []
    /// The currency that Purchasely's console is set to.
    ///
    /// It is part of the names of some members.
    package var currency = "EUR"
    package var bundleID = "com.example.app"

    package init() {}
}

/// The destination of Purchasely's webhook events, with the secret that signs them.
package struct PurchaselyWebhook: Hashable, Sendable {
    package var url: String
    package var secret: Secret?

    package init(url: String, secret: Secret?) {
        self.url = url
        self.secret = secret.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension PurchaselyWebhook: Codable {
    /// The members of the saved state.
    ///
    /// The secret is not among them, because it is configuration.
    private enum CodingKeys: String, CodingKey { case url }
}
