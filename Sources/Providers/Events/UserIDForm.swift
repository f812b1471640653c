/// The form of user IDs that the backend accepts.
package enum UserIDForm: String, Hashable, Codable, Sendable, CaseIterable {
    case string, uuid, integer, firebase
}
