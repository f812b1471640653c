package import Values

/// The keys with which the fake Firebase signs ID tokens and session cookies.
///
/// Two keys of each kind are published at most: the key that signs and the key before it. The
/// previous key stays published for tokens still in use, as in production.
package struct FirebaseKeys: Hashable, Codable, Sendable {
    /// The published keys for ID tokens, newest first.
    private(set) var tokenKeys: [SigningKey] = []
    /// The published keys for session cookies, newest first.
    private(set) var cookieKeys: [SigningKey] = []
    /// The latest key for ID tokens that is no longer published; nil when none was withdrawn.
    private(set) var withdrawnKey: SigningKey?

    /// Creates new keys that sign tokens and cookies from now on.
    package mutating func rotate(at now: Instant) {
        // Key generation fails only without memory or random numbers. The earlier keys then stay.
        if let key = try? SigningKey(at: now) {
            if tokenKeys.count > 1 { withdrawnKey = tokenKeys.last }
            tokenKeys = [key] + tokenKeys.prefix(1)
        }
        // As for the token keys, the earlier keys stay after a failure.
        if let key = try? SigningKey(at: now) { cookieKeys = [key] + cookieKeys.prefix(1) }
    }

    /// The IDs of the published keys for ID tokens.
    ///
    /// The first key signs new tokens.
    package var tokenKeyIDs: [String] { tokenKeys.map(\.keyID) }

    /// Returns the key that signs ID tokens; nil when tokens are unsigned.
    ///
    /// The first call creates the key.
    mutating func tokenKey(_ tokens: FirebaseSettings.Tokens, at now: Instant) -> SigningKey? {
        guard tokens == .rs256 else { return nil }
        if tokenKeys.isEmpty { rotate(at: now) }
        return tokenKeys.first
    }

    /// Returns the key that signs session cookies; nil when tokens are unsigned.
    ///
    /// The first call creates the key.
    mutating func cookieKey(_ tokens: FirebaseSettings.Tokens, at now: Instant) -> SigningKey? {
        guard tokens == .rs256 else { return nil }
        if cookieKeys.isEmpty { rotate(at: now) }
        return cookieKeys.first
    }
}
