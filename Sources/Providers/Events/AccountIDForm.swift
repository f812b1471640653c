/// The form of the IDs of accounts that are not email addresses.
package enum AccountIDForm: String, Hashable, Codable, Sendable {
    /// A uid of Firebase: 28 letters and digits (Firebase fact sheet, section 1).
    case uid
}
