/// A call of the backend to a provider, in terms that all providers share.
///
/// Rules use it to compare several attempts at one effect, such as a push.
///
/// It describes accepted and rejected calls. Each provider derives the call from an exchange
/// (`Provider.call(in:)`); this type itself never parses a body.
package struct ProviderCall: Hashable, Codable, Sendable {
    /// The reason why the provider rejected a call.
    package enum Refusal: Hashable, Codable, Sendable {
        /// The request is invalid, so that the same request would be rejected again.
        case form
        /// The backend made too many calls; the provider accepts the next call after this time.
        case rate(retryAfter: Duration)
    }

    /// The kind of the requested effect, such as `onesignal.notification` (see `Effect.kind`).
    package var kind: String
    /// The idempotency key by which the provider would drop a duplicate of the request.
    package var idempotencyKey: String?
    /// The names of tags that the call writes although they are maintained by another provider,
    /// such as RevenueCat.
    package var reservedNames: [String]
    package var refusal: Refusal?
    /// Whether the backend fetches the keys with which it verifies ID tokens.
    package var fetchesSigningKeys: Bool

    package init(
        kind: String,
        idempotencyKey: String? = nil,
        reservedNames: [String] = [],
        refusal: Refusal? = nil,
        fetchesSigningKeys: Bool = false
    ) {
        self.kind = kind
        self.idempotencyKey = idempotencyKey
        self.reservedNames = reservedNames
        self.refusal = refusal
        self.fetchesSigningKeys = fetchesSigningKeys
    }
}
