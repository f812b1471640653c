internal import Foundation

/// A RevenueCat event, reduced to the fields that this backend uses.
///
/// Other fields are not parsed, so unknown fields, types and values cause no errors.
struct WebhookEvent: Codable, Sendable {
    var id: String
    var type: String
    var timestamp: Int64
    var appUserID: String?
    var originalAppUserID: String?
    var aliases: [String]
    var productID: String?
    var newProductID: String?
    var store: String?
    var isSandbox: Bool
    var purchasedAt: Int64?
    var expiresAt: Int64?
    var graceEndsAt: Int64?
    var cancelReason: String?
    /// The names of the entitlements that the product unlocks.
    var entitlements: [String]
    var isFamilyShared: Bool
    var transferredFrom: [String]
    var transferredTo: [String]

    /// The error for a body that is not an event, because it is not JSON, or lacks `event`, `id` or
    /// `type`.
    struct MalformedEventError: Error {}

    init(body: Data) throws(MalformedEventError) {
        // A body that is not JSON is not an event.
        guard let rootObject = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let event = rootObject["event"] as? [String: Any],
            let id = event["id"] as? String, !id.isEmpty,
            let type = event["type"] as? String, !type.isEmpty
        else { throw MalformedEventError() }
        self.id = id
        self.type = type
        func text(_ key: String) -> String? { event[key] as? String }
        func milliseconds(_ key: String) -> Int64? { (event[key] as? NSNumber)?.int64Value }
        func strings(_ key: String) -> [String] { event[key] as? [String] ?? [] }
        timestamp = milliseconds("event_timestamp_ms") ?? 0
        appUserID = text("app_user_id")
        originalAppUserID = text("original_app_user_id")
        aliases = strings("aliases")
        productID = text("product_id")
        newProductID = text("new_product_id")
        store = text("store")
        isSandbox = text("environment") == "SANDBOX"
        purchasedAt = milliseconds("purchased_at_ms")
        expiresAt = milliseconds("expiration_at_ms")
        graceEndsAt = milliseconds("grace_period_expiration_at_ms")
        cancelReason = text("cancel_reason")
        isFamilyShared = event["is_family_share"] as? Bool ?? false
        entitlements = strings("entitlement_ids")
        transferredFrom = strings("transferred_from")
        transferredTo = strings("transferred_to")
    }

    /// Whether the purchase is a promotional grant by the developer.
    var isPromotion: Bool { store == "PROMOTIONAL" }

    /// Whether the event concerns a purchase.
    ///
    /// Events of all other types are acknowledged and change nothing.
    var concernsPurchase: Bool {
        [
            "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "EXPIRATION",
            "BILLING_ISSUE", "PRODUCT_CHANGE", "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_EXTENDED",
            "NON_RENEWING_PURCHASE", "REFUND_REVERSED", "TEMPORARY_ENTITLEMENT_GRANT",
        ].contains(type)
    }
}
