internal import Foundation

/// The complete content of a RevenueCat webhook body, for defects that depend on fields that the
/// correct backend ignores.
struct RawEvent {
    private let event: [String: Any]
    /// The JSON keys of the event object and of the body.
    let keys: Set<String>

    init(_ body: Data) {
        // A body that is not JSON has no fields.
        let rootObject = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
        event = rootObject["event"] as? [String: Any] ?? [:]
        keys = Set(event.keys).union(rootObject.keys)
    }

    func text(_ key: String) -> String? { event[key] as? String }
    func number(_ key: String) -> Double? { (event[key] as? NSNumber)?.doubleValue }
    func isObject(_ key: String) -> Bool { event[key] is [String: Any] }
    func isNull(_ key: String) -> Bool { event[key] is NSNull }

    /// Returns whether the event has a type that RevenueCat documents, or has the keys of a
    /// TRANSFER event.
    func isDocumented(_ event: WebhookEvent) -> Bool {
        event.type.hasPrefix("PAYWALL_") || event.type.hasPrefix("PRICE_INCREASE")
            || keys.contains("transferred_to")
            || [
                "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION",
                "EXPERIMENT_ENROLLMENT", "PURCHASE_REDEEMED", "SUBSCRIBER_ALIAS",
            ].contains(event.type)
    }

    static let documentedStores: Set = [
        "APP_STORE", "PLAY_STORE", "AMAZON", "STRIPE", "PROMOTIONAL", "ROKU", "RC_BILLING",
        "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]
    static let documentedCancelReasons: Set = [
        "UNSUBSCRIBE", "BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE",
        "CUSTOMER_SUPPORT", "UNKNOWN",
    ]
    static let documentedPeriodTypes: Set = ["NORMAL", "TRIAL", "INTRO", "PROMOTIONAL", "PREPAID"]

    /// Returns whether the body's first subscriber attribute lists its value before its time; true
    /// without attributes.
    static func hasUsualFieldOrder(_ body: Data) -> Bool {
        let text = String(decoding: body, as: UTF8.self)
        guard let time = text.range(of: "\"updated_at_ms\""),
            let value = text.range(of: "\"value\"")
        else { return true }
        return value.lowerBound < time.lowerBound
    }

    /// Returns the body as it would be written by a JSON library that escapes every non-ASCII
    /// character.
    static func escapingNonASCII(_ body: Data) -> Data {
        let escaped = String(decoding: body, as: UTF8.self).utf16.map { unit in
            unit < 128 ? String(UnicodeScalar(UInt8(unit))) : String(format: "\\u%04x", unit)
        }
        return Data(escaped.joined().utf8)
    }

    /// Returns the maximum nesting depth of arrays in the body.
    static func nestingDepth(_ body: Data) -> Int {
        body.reduce(into: (level: 0, peak: 0)) { count, byte in
            if byte == UInt8(ascii: "[") { count.level += 1 }
            if byte == UInt8(ascii: "]") { count.level -= 1 }
            count.peak = max(count.peak, count.level)
        }.peak
    }
}
