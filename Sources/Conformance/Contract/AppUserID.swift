/// The ids under which RevenueCat knows people.
package enum AppUserID {
    /// Ids that RevenueCat's SDK and service refuse, because programs write them when they mean
    /// nobody (RevenueCat fact sheet, section 5.1).
    package static let blocked: Set<String> = [
        "", "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "\u{0}", "unidentified",
        "undefined", "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]",
        "\"\"",
    ]

    package static func isBlocked(_ id: String) -> Bool { blocked.contains(id) }
}
