internal import Contracts
internal import Providers
internal import Redaction
internal import Values

/// The webhook of the backend to which Assay itself sends purchases and test events, before and
/// between the cases.
struct PurchaseWebhook: Sendable {
    /// The provider that seems to send the events.
    let sender: any PurchaseSender.Type
    let method: String
    let path: String
    private let target: WebhookTarget

    /// Finds the webhook in a profile.
    ///
    /// A table of providers without a suited sender is a programming error.
    init(_ profile: Profile, _ providers: ProviderTable) {
        guard
            let sender = providers.purchaseSender(hasEndpoint: { profile.endpoints[$0] != nil })
        else { preconditionFailure("no provider of the table can report a purchase") }
        let endpoint = profile.endpoints[sender.webhookEndpoint]
        self.sender = sender
        method = endpoint?.method ?? "POST"
        path = endpoint?.path ?? "/"
        target = WebhookTarget(of: sender.party, at: "", profile)
    }

    var party: Exchange.Party { sender.party }

    /// Whether the requests contain an `Authorization` header.
    var hasAuthorization: Bool { target.authorization != nil }

    /// Whether the requests contain a signature.
    var hasSignature: Bool { target.signingSecret != nil }

    /// The name of the secret in the profile that becomes the `Authorization` header.
    var authorizationSecretName: String { "\(party)-authorization" }

    /// The environment variable with the `Authorization` header that a started backend gets.
    var authorizationVariable: String { "\(party)_WEBHOOK_AUTH".uppercased() }

    /// The name of the secret in the profile with which the requests are signed.
    var signingSecretName: String { "\(party)-signing" }

    /// The environment variable with the signing secret that a started backend gets.
    var signingVariable: String { "\(party)_WEBHOOK_SECRET".uppercased() }

    /// Returns the signed request for a body, with the endpoint's path unless another one is given.
    func request(
        _ body: [UInt8],
        to path: String? = nil,
        proof: SenderProof = SenderProof(),
        at now: Instant
    ) -> HTTPMessage.Request {
        sender.request(
            body,
            to: (method, path ?? self.path),
            of: target,
            proof: proof,
            at: now
        )
    }
}
