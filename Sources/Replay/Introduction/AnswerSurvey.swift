internal import Conformance

/// What a probe's answer means, told by what a purchase changed in it.
///
/// A place is taken for what its value says (the product, the end of the period) or for what its name says and
/// its value allows. What is left over is not mapped: nothing is guessed from a name alone.
struct AnswerSurvey: Sendable {
    /// What was bought.
    struct Purchase: Sendable {
        let product: String
        /// The end of its period.
        let ends: Instant?
    }

    private(set) var readings: [String: Profile.Reading] = [:]
    /// What somebody should look at again, by the field.
    private(set) var doubts: [String: String] = [:]

    /// - Parameters:
    ///   - before: What it answered about somebody who has bought nothing; nil: nobody is there.
    ///   - after: The same behind the purchase.
    ///   - purchase: The purchase.
    init(before: JSONValue?, after: JSONValue, _ purchase: Purchase) {
        let leaves = after.places.compactMap { pointer -> (JSONPointer, String, JSONValue)? in
            guard let value = after[pointer], value.object == nil, value.array == nil else {
                return nil
            }
            return (pointer, Self.name(of: pointer), value)
        }
        for (pointer, name, value) in leaves {
            let old = before?[pointer]
            let field: String?
            switch value {
            case .string(let text) where text == purchase.product: field = "product"
            case .string(let text) where Self.isEnvironment(name, text): field = "environment"
            case .string, .number: field = Self.isEnd(value, purchase) ? "expires" : nil
            case .bool(let flag): field = Self.field(ofFlag: name, flag, old)
            case .null:
                field = Self.has(name, ["pending", "nextproduct"]) ? "pending-product" : nil
            case .array, .object: field = nil
            }
            guard let field, readings[field] == nil || Self.isBetter(name, for: field) else {
                continue
            }
            readings[field] = reading(field, pointer, old, before)
        }
        if readings["access"] == nil { readings["access"] = status(leaves, before) }
        if readings["access"] == nil, let ends = readings["expires"] {
            readings["access"] = Profile.Reading(pointer: ends.pointer, meaning: .isFuture)
            doubts["access"] = "nothing but the end of the period tells whether there is access"
        }
    }

    /// Whether the answer changed with the purchase.
    static func isChanged(_ before: JSONValue?, _ after: JSONValue) -> Bool { before != after }

    private func reading(
        _ field: String,
        _ pointer: JSONPointer,
        _ old: JSONValue?,
        _ before: JSONValue?
    ) -> Profile.Reading {
        // An answer that left the place out said "no" or "none" by it.
        let isLeftOut = before != nil && old == nil
        return Profile.Reading(
            pointer: pointer,
            meaning: .value,
            absent: isLeftOut ? (Profile.Reading.flags.contains(field) ? false : .null) : nil
        )
    }

    // MARK: Names

    /// The last part of a place, in lower case and without marks between words.
    private static func name(of pointer: JSONPointer) -> String {
        (pointer.tokens.last ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
    }

    private static func has(_ name: String, _ words: [String]) -> Bool {
        words.contains { name.contains($0) }
    }

    private static let accessWords = [
        "premium", "access", "active", "entitled", "subscribed", "ispro", "haspro", "paid",
        "unlocked",
        "plus",
    ]

    private static func field(ofFlag name: String, _ flag: Bool, _ old: JSONValue?) -> String? {
        if has(name, ["renew"]) { return flag ? "will-renew" : nil }
        if has(name, ["billingissue", "paymentissue", "paymentfailed", "pastdue"]) {
            return flag ? nil : "billing-issue"
        }
        if has(name, ["refund"]) { return flag ? nil : "refunded" }
        if has(name, ["anonymous"]) { return "anonymous" }
        let wasNot = old == .bool(false) || old == nil || old == .null
        return flag && wasNot && !has(name, ["trial", "sandbox", "grace"]) ? "access" : nil
    }

    /// Whether a second place of the same field is the one that is meant.
    private static func isBetter(_ name: String, for field: String) -> Bool {
        switch field {
        case "access": accessWords.contains { name.hasSuffix($0) || name.hasPrefix("is" + $0) }
        case "expires": has(name, ["expire", "expir", "until", "ends"])
        default: false
        }
    }

    private static func isEnd(_ value: JSONValue, _ purchase: Purchase) -> Bool {
        guard let end = purchase.ends, let moment = Masking.instant(value) else { return false }
        return (moment - end).milliseconds.magnitude < 1000
    }

    private static func isEnvironment(_ name: String, _ text: String) -> Bool {
        has(name, ["environment"]) && ["SANDBOX", "PRODUCTION"].contains(text)
    }

    // MARK: Words for access

    private static let noWords: Set<String> = [
        "free", "none", "inactive", "basic", "no", "expired", "unsubscribed", "",
    ]

    /// A text that changed with the purchase: a level that is not the free one, or a status.
    private mutating func status(
        _ leaves: [(JSONPointer, String, JSONValue)],
        _ before: JSONValue?
    ) -> Profile.Reading? {
        for (pointer, name, value) in leaves {
            guard let text = value.string, text.count < 30, let old = before?[pointer],
                old != value, old.isNull || Self.noWords.contains(old.string?.lowercased() ?? "-"),
                Self.has(name, ["tier", "plan", "level", "status", "state", "role", "membership"])
            else { continue }
            if Self.has(name, ["status", "state"]) {
                doubts["access"] = "other words than '\(text)' may give access as well"
                return Profile.Reading(pointer: pointer, meaning: .isAny([value]))
            }
            let none: [JSONValue] = old.isNull ? [.null] : [old, .null]
            return Profile.Reading(pointer: pointer, meaning: .isNone(none))
        }
        return nil
    }
}
