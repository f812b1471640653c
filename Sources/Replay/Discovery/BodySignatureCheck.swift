internal import Contracts
internal import FakeServers
internal import Providers
internal import Redaction
internal import Values

/// Finds out whether a webhook expects a signature of the body in `Authorization`.
///
/// RevenueCat sends the configured text there, the same one with every event; a signature of the
/// body has a header of its own (RevenueCat fact sheet, sections 1.1 and 1.2). No real event passes
/// such a check.
struct BodySignatureCheck {
    /// A signature in `Authorization` that the backend accepted.
    struct Form: CustomStringConvertible {
        /// The service that sends the events.
        let sender: String
        let description: String
    }

    let executor: RunExecutor
    /// The name of a namespace for test events.
    let name: String

    /// Returns the first signature that the webhook accepts; nil if it accepts none.
    func acceptedForm() async -> Form? {
        let webhook = executor.purchaseWebhook
        guard webhook.hasAuthorization else { return nil }
        let request = executor.testEvent(name, path: webhook.path, proof: SenderProof())
        for candidate in candidates(for: request.body) {
            var signedRequest = request
            signedRequest.fields.removeAll { $0.name.lowercased() == "authorization" }
            signedRequest.fields.append(HTTPMessage.Field("authorization", candidate.value))
            let outcome = await executor.backend.client.send(signedRequest, within: .seconds(10))
            if case .answered(let response) = outcome, (200..<300).contains(response.status) {
                return Form(sender: webhook.sender.title, description: candidate.description)
            }
        }
        return nil
    }

    private func candidates(for body: [UInt8]) -> [(value: String, description: String)] {
        let prefixes = ["", "sha256=", "Bearer ", "HMAC "]
        return keys.flatMap { key, keyName in
            let code = Digest.authenticationCode(body, key: key)
            let spellings = [(Digest.hex(code), "hex"), (Base64.text(code), "Base64")]
            return spellings.flatMap { text, spelling in
                prefixes.map { prefix in
                    let prefixText = prefix.isEmpty ? "" : ", after '\(prefix)'"
                    return (
                        prefix + text,
                        "the HMAC-SHA256 of the body with the key '\(keyName)' in Authorization "
                            + "(\(spelling)\(prefixText))"
                    )
                }
            }
        }
    }

    /// The secrets that a backend may use as the key, with their names in the profile.
    private var keys: [(key: String, name: String)] {
        let webhook = executor.purchaseWebhook
        let secrets = executor.profile.secrets
        let authorization = secrets.first { $0.key.rawValue == webhook.authorizationSecretName }
        let signing = secrets.first { $0.key.rawValue == webhook.signingSecretName }
        return [authorization, signing].compactMap(\.self).flatMap { entry in
            let value = entry.value.exposed
            let withoutScheme = value.split(separator: " ").last.map(String.init) ?? value
            return (withoutScheme == value ? [value] : [value, withoutScheme]).map {
                ($0, entry.key.rawValue)
            }
        }
    }
}
