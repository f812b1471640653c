/// RevenueCat's rules for app user IDs.
package enum AppUserID {
    /// Placeholder IDs that RevenueCat's SDK and service refuse.
    ///
    /// Programs send such strings when no user is known (section 5.1 of the RevenueCat fact sheet).
    package static let blockedIDs: Set<String> = [
        "", "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "\u{0}", "unidentified",
        "undefined", "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]",
        "\"\"",
    ]

    package static func isBlocked(_ id: String) -> Bool { blockedIDs.contains(id) }
}
