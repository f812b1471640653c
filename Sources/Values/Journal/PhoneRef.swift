/// The phone that a journal entry concerns, and the load of the app's page that sent the request.
///
/// This information exists only in the journal and is never sent to a backend or a provider.
package struct PhoneRef: Hashable, Codable, Sendable {
    /// The phone's name in the contract.
    package var name: String
    /// The number of the page load that sent the request; `1` is the first load.
    ///
    /// Nil when the request came from the phone itself, its owner or an app without pages.
    package var load: String?

    package init(_ name: String, load: String? = nil) {
        self.name = name
        self.load = load
    }

    /// The request header that named the phone in saved runs of older versions.
    private static let nameHeader = "x-assay-phone"
    private static let pageLoadHeader = "x-assay-load"

    /// Removes the headers that name the phone from a request that an older version saved.
    ///
    /// - Returns: The phone; nil when no header names a phone, in which case the fields stay
    ///   unchanged.
    static func extract(from fields: inout [HTTPMessage.Field]) -> PhoneRef? {
        guard let name = fields.value(of: nameHeader) else { return nil }
        let phone = PhoneRef(name, load: fields.value(of: pageLoadHeader))
        fields.removeAll { [nameHeader, pageLoadHeader].contains($0.name.lowercased()) }
        return phone
    }
}
