internal import Foundation

/// A RevenueCat event, reduced to what this backend uses.
///
/// Everything that is not used is not
/// looked at, so unknown fields, types and values pass through.
struct WebhookEvent: Sendable {
    let id: String
    let type: String
    let timestamp: Int64
    let appUserID: String?
    let originalAppUserID: String?
    let aliases: [String]
    let productID: String?
    let newProductID: String?
    let store: String?
    let isSandbox: Bool
    let purchasedAt: Int64?
    let expiresAt: Int64?
    let graceEndsAt: Int64?
    let cancelReason: String?
    let transactionID: String?
    let hasEntitlements: Bool
    /// What only defects look at.
    let period: String?
    let offerCode: String?
    let renewalNumber: Double?
    /// The members of each subscriber attribute, in the order in which they stand in the body.
    let attributeKeys: [[String]]
    let transferredFrom: [String]
    let transferredTo: [String]
    /// Keys and nulls of the raw event, for the defects that trip over them.
    let keys: Set<String>
    let nullKeys: Set<String>

    /// The body is no event: not JSON, or without `event`, `id` or `type`.
    struct Malformed: Error {}

    init(body: Data) throws(Malformed) {
        guard let root = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let event = root["event"] as? [String: Any],
            let id = event["id"] as? String, !id.isEmpty,
            let type = event["type"] as? String, !type.isEmpty
        else { throw Malformed() }
        self.id = id
        self.type = type
        func text(_ key: String) -> String? { event[key] as? String }
        func milliseconds(_ key: String) -> Int64? { (event[key] as? NSNumber)?.int64Value }
        func texts(_ key: String) -> [String] { event[key] as? [String] ?? [] }
        timestamp = milliseconds("event_timestamp_ms") ?? 0
        appUserID = text("app_user_id")
        originalAppUserID = text("original_app_user_id")
        aliases = texts("aliases")
        productID = text("product_id")
        newProductID = text("new_product_id")
        store = text("store")
        isSandbox = text("environment") == "SANDBOX"
        purchasedAt = milliseconds("purchased_at_ms")
        expiresAt = milliseconds("expiration_at_ms")
        graceEndsAt = milliseconds("grace_period_expiration_at_ms")
        cancelReason = text("cancel_reason")
        transactionID = text("transaction_id")
        period = text("period_type")
        offerCode = text("offer_code")
        renewalNumber = (event["renewal_number"] as? NSNumber)?.doubleValue
        attributeKeys = Self.attributeKeys(String(decoding: body, as: UTF8.self))
        hasEntitlements = !texts("entitlement_ids").isEmpty
        transferredFrom = texts("transferred_from")
        transferredTo = texts("transferred_to")
        keys = Set(event.keys).union(root.keys)
        nullKeys = Set(event.filter { $0.value is NSNull }.keys)
    }

    /// A grant of the team's own.
    var isPromotion: Bool { store == "PROMOTIONAL" }

    /// Whether the event reports something about a purchase; all other types are acknowledged
    /// and change nothing.
    var concernsPurchase: Bool {
        [
            "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "EXPIRATION",
            "BILLING_ISSUE", "PRODUCT_CHANGE", "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_EXTENDED",
            "NON_RENEWING_PURCHASE", "REFUND_REVERSED", "TEMPORARY_ENTITLEMENT_GRANT",
        ].contains(type)
    }

    private static func attributeKeys(_ body: String) -> [[String]] {
        guard let start = body.range(of: "\"updated_at_ms\""),
            let value = body.range(of: "\"value\"")
        else { return [] }
        return [
            value.lowerBound < start.lowerBound
                ? ["value", "updated_at_ms"] : ["updated_at_ms", "value"]
        ]
    }
}
