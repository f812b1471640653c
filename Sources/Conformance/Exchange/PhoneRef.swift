/// Which phone of a case an entry of the journal is about, and which load of its page spoke.
///
/// It is a value of the journal's own: nothing of it travels to anybody.
package struct PhoneRef: Hashable, Codable, Sendable {
    /// What the contract calls the phone.
    package var name: String
    /// `1` for the first page that opened on it; nil when it was the phone, its owner, or an app
    /// without pages.
    package var load: String?

    package init(_ name: String, load: String? = nil) {
        self.name = name
        self.load = load
    }

    /// The headers by which journals of before told the phone of a call.
    private static let nameField = "x-assay-phone"
    private static let loadField = "x-assay-load"

    /// Takes the phone out of the headers of a request that an earlier version wrote down.
    ///
    /// - Returns: The phone; nil when no header names one, and then the fields stay as they are.
    static func taken(from fields: inout [HTTPMessage.Field]) -> PhoneRef? {
        guard let name = fields.value(of: nameField) else { return nil }
        let phone = PhoneRef(name, load: fields.value(of: loadField))
        fields.removeAll { [nameField, loadField].contains($0.name.lowercased()) }
        return phone
    }
}
