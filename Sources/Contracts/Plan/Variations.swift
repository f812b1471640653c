internal import Grammar
package import Values

/// Generates random edits of an event that a tolerant receiver ignores, such as unknown fields, and
/// shrinks sets of edits that fail.
///
/// Source: RevenueCat fact sheet, sections 1.5, 2 and 7 (traps 21, 22, 32, 39); Purchasely fact
/// sheet, section 5.
package struct VariationGenerator: Sendable {
    private let variation: Variation
    /// The body of the event's webhook before any edit.
    private let body: JSONValue
    /// The JSON path of the event in the webhook's body.
    private let eventPointer: JSONPointer
    private var random: SeededGenerator

    package init(_ variation: Variation, body: JSONValue, random: SeededGenerator) {
        self.variation = variation
        self.body = body
        self.random = random
        eventPointer = body["event"] == nil ? JSONPointer() : JSONPointer(tokens: ["event"])
    }

    /// Returns the edits for the next variation of the event, and whether its keys are reordered.
    package mutating func next() -> (edits: [Delivery.Edit], shufflesKeys: Bool) {
        switch variation {
        case .unknownTypes: ([edit(typeKey, .string(unknownTypeName()))], false)
        case .unknownFields: (unknownFields(), false)
        case .enumValues:
            (randomEdits(of: enumKeys, 1...3) { .string($0.unknownEnumValue()) }, false)
        case .nulls: (randomEdits(of: nullableKeys, 1...6) { _ in .null }, false)
        case .numbers: (randomEdits(of: numberKeys, 1...4) { $0.boundaryNumber() }, false)
        case .sizes: (sizes(), false)
        case .unicode: (randomEdits(of: textKeys, 1...3) { .string($0.unusualText()) }, false)
        case .keyOrder: ([], true)
        }
    }

    // MARK: Paths

    private var hasEventAtTopLevel: Bool { eventPointer.tokens.isEmpty }
    private var typeKey: String { hasEventAtTopLevel ? "event_name" : "type" }
    private var enumKeys: [String] {
        hasEventAtTopLevel
            ? ["store", "offer_type", "device_type", "customer_currency", "store_country"]
            : ["store", "period_type", "country_code", "currency"]
    }
    /// The keys of event members that providers were seen to send as null, or that receivers do not
    /// need.
    private var nullableKeys: [String] {
        hasEventAtTopLevel
            ? ["store_country", "device_type", "customer_currency", "plan_price_in_eur"]
            : [
                "presented_offering_id", "offer_code", "country_code", "currency", "price",
                "price_in_purchased_currency", "tax_percentage", "commission_percentage",
                "takehome_percentage", "metadata", "is_family_share", "entitlement_id",
                "renewal_number", "subscriber_attributes",
            ]
    }
    private var numberKeys: [String] {
        hasEventAtTopLevel
            ? ["plan_price_in_customer_currency", "plan_price_in_eur"]
            : [
                "price", "price_in_purchased_currency", "tax_percentage",
                "commission_percentage", "takehome_percentage", "renewal_number",
            ]
    }
    private var textKeys: [String] {
        hasEventAtTopLevel
            ? ["content_id", "placement", "presentation", "audience"]
            : ["presented_offering_id", "offer_code", "subscriber_attributes/$displayName/value"]
    }

    private func edit(_ key: String, _ value: JSONValue) -> Delivery.Edit {
        let tokens = key.split(separator: "/").map(String.init)
        return Delivery.Edit(
            pointer: JSONPointer(tokens: eventPointer.tokens + tokens),
            value: value
        )
    }

    private mutating func randomEdits(
        of keys: [String],
        _ range: ClosedRange<Int>,
        _ value: (inout VariationGenerator) -> JSONValue
    ) -> [Delivery.Edit] {
        let count = min(keys.count, Int.random(in: range, using: &random))
        let selectedKeys = keys.shuffled(using: &random).prefix(count).sorted()
        return selectedKeys.map { key in edit(key, value(&self)) }
    }

    // MARK: Values

    private mutating func unknownTypeName() -> String {
        let candidateWords = [
            "FUTURE", "LOYALTY", "GIFT", "HOUSEHOLD", "TRIAL", "SEAT", "WIN_BACK",
        ]
        let suffixes = ["_GRANTED", "_STARTED", "_ENDED", "_CHANGED", "_V2", ""]
        let name =
            (candidateWords.randomElement(using: &random) ?? "FUTURE")
            + (suffixes.randomElement(using: &random) ?? "")
        return switch Int.random(in: 0..<5, using: &random) {
        case 0: name.lowercased()
        case 1: "FUTURE_" + String(repeating: "X", count: 60)
        case 2: "FUTURE_ÄNDERUNG_变更"
        default: "FUTURE_" + name
        }
    }

    private mutating func unknownEnumValue() -> String {
        let candidateWords = ["FUTURE", "NEW_KIND", "future-kind", "Zukunft", "X"]
        return candidateWords.randomElement(using: &random) ?? "FUTURE"
    }

    private mutating func unknownFields() -> [Delivery.Edit] {
        var edits: [Delivery.Edit] = []
        for number in 0..<Int.random(in: 1...5, using: &random) {
            let value = randomValue(depth: 0)
            let key = "future_\(number)_\(unknownEnumValue().lowercased())"
            let addsFieldAtTopLevel = Int.random(in: 0..<4, using: &random) == 0
            edits.append(
                addsFieldAtTopLevel
                    ? Delivery.Edit(pointer: JSONPointer(tokens: [key]), value: value)
                    : edit(key, value)
            )
        }
        return edits
    }

    private mutating func randomValue(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth < 3 ? 8 : 6), using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: boundaryNumber()
        case 3, 4: .string(unusualText())
        case 5: .string("")
        case 6:
            .array(
                (0..<Int.random(in: 0...4, using: &random)).map { _ in randomValue(depth: depth + 1)
                }
            )
        default:
            .object(
                JSONObject(
                    members: (0..<Int.random(in: 0...4, using: &random)).map {
                        .init(key: "k\($0)", value: randomValue(depth: depth + 1))
                    }
                )
            )
        }
    }

    private mutating func boundaryNumber() -> JSONValue {
        let candidateTexts = [
            "0", "-0.0", "0.1", "1e-7", "-9.99", "9007199254740993", "2147483648", "1e300",
            "0.30000000000000004", "99999999.99", "12.50",
        ]
        let text = candidateTexts.randomElement(using: &random) ?? "0"
        return JSONValue(ifValid: text) ?? 0
    }

    private mutating func unusualText() -> String {
        let candidateTexts = [
            "Zoë 🦊👩‍👩‍👧‍👦", "שלום עולם", "مرحبا", "日本語テスト", "e\u{301}\u{301}", "\u{202e}desrever",
            "'; DROP TABLE users; --", "\"quoted\" \\ back", "line\nbreak\ttab", "<b>bold</b>",
            "%00%0a{{user}}", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "\u{feff}bom", "NaN",
        ]
        return Template.escaped(candidateTexts.randomElement(using: &random) ?? "x")
    }

    private mutating func sizes() -> [Delivery.Edit] {
        let key = hasEventAtTopLevel ? "content_id" : "offer_code"
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let count = [256, 1024, 4096, 65_536].randomElement(using: &random) ?? 256
            return [edit(key, .string(String(repeating: "x", count: count)))]
        case 1:
            let count = [100, 500, 2000].randomElement(using: &random) ?? 100
            return [
                edit(
                    "future_list",
                    .array((0..<count).map { .integer(Int64($0)) })
                )
            ]
        case 2:
            let count = [50, 200].randomElement(using: &random) ?? 50
            let members = (0..<count).map {
                JSONObject.Member(key: "key_\($0)", value: .string("value \($0)"))
            }
            return [edit("future_object", .object(JSONObject(members: members)))]
        default:
            // Common JSON parsers reject a body with more than 64 levels of nesting in total.
            let depth = [5, 15, 30].randomElement(using: &random) ?? 5
            return [
                edit(
                    "future_depth",
                    (0..<depth).reduce(JSONValue.null) { inner, _ in .array([inner]) }
                )
            ]
        }
    }

    // MARK: Shrinking

    /// Returns smaller sets of edits to try in place of a set that failed, smallest first.
    package static func shrunkEdits(_ edits: [Delivery.Edit]) -> [[Delivery.Edit]] {
        var candidates: [[Delivery.Edit]] = []
        if edits.count > 1 {
            candidates += edits.map { [$0] }
            candidates += edits.indices.map { index in
                var remainingEdits = edits
                remainingEdits.remove(at: index)
                return remainingEdits
            }
        }
        for index in edits.indices {
            for value in shrunkValues(edits[index].value) {
                var copy = edits
                copy[index] = Delivery.Edit(pointer: edits[index].pointer, value: value)
                candidates.append(copy)
            }
        }
        return candidates
    }

    private static func shrunkValues(_ value: JSONValue?) -> [JSONValue] {
        switch value {
        case nil, .null, .bool: []
        case .number(let number): number.int64 == 0 ? [] : [0]
        case .string(let text):
            // An empty string may be treated differently than an unknown value, so it is not tried.
            // A template has no smaller form.
            Template(text).plainText.map { plain in
                plain.count < 2
                    ? []
                    : ["X", .string(Template.escaped(String(plain.prefix(plain.count / 2))))]
            } ?? []
        case .array(let elements):
            elements.isEmpty
                ? []
                : [[], .array(Array(elements.prefix(elements.count / 2)))]
                    + (elements.count == 1 ? shrunkValues(elements[0]).map { .array([$0]) } : [])
        case .object(let object):
            object.members.isEmpty
                ? []
                : [
                    .object(JSONObject()),
                    .object(
                        JSONObject(members: Array(object.members.prefix(object.members.count / 2)))
                    ),
                ]
        }
    }
}
