/// The names of entitlements that the code of a backend compares with those of an event.
///
/// Only a purchase that unlocks the right entitlement changes the state of such a backend.
struct EntitlementUses: Sendable {
    /// The number of uses of each name.
    private(set) var counts: [String: Int] = [:]

    init() {}

    init(_ source: SourceText) {
        guard source.text.lowercased().contains("entitlement") else { return }
        for pattern in Self.patterns {
            for match in source.matches(pattern) {
                guard let name = match["name"], Self.isName(name) else { continue }
                counts[name, default: 0] += 1
            }
        }
    }

    /// The name that occurs most often; nil if there is none, or if several names occur equally
    /// often, such as the names of several plans.
    var mostFrequentName: String? {
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard let first = sorted.first, sorted.dropFirst().first?.value != first.value else {
            return nil
        }
        return first.key
    }

    mutating func add(_ other: EntitlementUses) { counts.merge(other.counts, uniquingKeysWith: +) }

    private static let patterns: [Pattern] = [
        // entitlement_id == "pro", ENTITLEMENT = 'pro', entitlementId: "pro"
        #"(?i)\bentitlement(?:_?id|_?name|_?key)?["']?\s*(?::\s*\w+\s*)?(?:[:=!]=?=?)\s*["'](?<name>[^"'\s]{2,60})["']"#,
        // ENTITLEMENT_ID = 'Acme Pro'
        #"(?i)\bentitlement_?(?:id|name|key)["']?\s*(?::\s*\w+\s*)?(?:[:=!]=?=?)\s*["'](?<name>[^"'\s]{2,40}(?: [^"'\s]{1,40}){1,2})["']"#,
        // "pro" in entitlement_ids
        #"(?i)["'](?<name>[^"'\s]{2,60})["']\s+(?:not\s+)?in\s+[\w.\[\]"']*entitlements?(?:_?ids)?\b"#,
        // entitlementIds.includes("pro"), entitlements.get("pro"), entitlementIDs.Contains("pro")
        #"(?i)entitlements?(?:_?ids)?["'\])]*[?!]?\.(?:includes|contains|include\?|has|get|index|indexof)\(\s*["'](?<name>[^"'\s]{2,60})["']"#,
        // entitlements["pro"]
        #"(?i)entitlements["'\])]*\??\.?\[\s*["'](?<name>[^"'\s]{2,60})["']\s*\]"#,
        // contains(entitlementIDs, "pro")
        #"(?i)(?:contains|in_array|elem)\(\s*[\w.>$-]*entitlements?(?:_?ids)?\s*,\s*["'](?<name>[^"'\s]{2,60})["']"#,
        // in_array('pro', $entitlementIds)
        #"(?i)in_array\(\s*["'](?<name>[^"'\s]{2,60})["']\s*,\s*[\w.>$-]*entitlements?(?:_?ids)?"#,
    ]

    /// The members of entitlements and of subscribers in events and in RevenueCat's API, and words
    /// for a missing name.
    private static let otherWords: Set = [
        "active", "all", "none", "null", "free", "string", "text", "data", "items", "customer",
        "subscriber", "id", "ids", "name", "value", "expires_date", "purchase_date",
        "product_identifier", "grace_period_expires_date", "object", "list", "unknown",
    ]

    private static func isName(_ text: String) -> Bool {
        let hasOnlyWords = text.allSatisfy { $0.isLetter || $0.isNumber || "_-.: ".contains($0) }
        return hasOnlyWords && !otherWords.contains(text.lowercased())
            && !text.lowercased().hasPrefix("entitlement")
    }
}
