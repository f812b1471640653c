package import Values

extension FirebaseState {
    /// Describes a call by the accounts that it names, such as `localId ada`, or as a fetch of the
    /// keys that verify ID tokens.
    package static func callText(_ exchange: Exchange) -> String? {
        if call(in: exchange)?.fetchesSigningKeys == true { return "keys that verify ID tokens" }
        let body = exchange.request.bodyJSON
        let accounts = ["localId", "email", "phoneNumber"].compactMap { name -> String? in
            let values = body?[name]?.array ?? body?[name].map { [$0] } ?? []
            let text = values.compactMap(\.string).joined(separator: ", ")
            return text.isEmpty ? nil : "\(name) \(text)"
        }
        if !accounts.isEmpty { return accounts.joined(separator: ", ") }
        return body?["idToken"] == nil ? nil : "the user of an ID token"
    }
}
