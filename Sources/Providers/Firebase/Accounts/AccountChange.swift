/// A change of a user by an administrator of the Firebase project: the user's sessions are revoked,
/// or the user is disabled.
package enum AccountChange: String, Hashable, Codable, Sendable, CaseIterable {
    case revoke, disable
}
