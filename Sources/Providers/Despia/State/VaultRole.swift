package import Grammar

/// The role of an entry in the vault (the phone's key-value store).
///
/// The profile defines the key of each role.
package enum VaultRole: String, Hashable, Codable, Sendable, CaseIterable {
    case id, lock
}

extension VaultRole {
    /// The syntax of a vault role that is the key of a mapping.
    package static let key = Syntax<String>.key(among: allCases.map(\.rawValue))
        .mapped(to: { Self(rawValue: $0) ?? .id }, from: \.rawValue)
}
