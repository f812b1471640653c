/// What a provider was asked for, in no provider's own words: what rules compare about attempts,
/// taken or not.
///
/// The provider itself says so of each exchange (`Services.understood`); nothing here reads a body.
package struct ProviderCall: Hashable, Codable, Sendable {
    /// Why the provider turned a call down.
    package enum Refusal: Hashable, Codable, Sendable {
        /// Its form: sent again as it is, it is turned down again.
        case form
        /// Too many calls; the next one is welcome after this long.
        case rate(retryAfter: Duration)
    }

    /// The kind of the effect that it asks for, as `Effect.kind`.
    package var kind: String
    /// The key under which the provider would suppress a second copy.
    package var idempotencyKey: String?
    /// Names that it writes and that another provider's integration keeps up to date.
    package var reservedNames: [String]
    package var refusal: Refusal?

    package init(
        kind: String,
        idempotencyKey: String? = nil,
        reservedNames: [String] = [],
        refusal: Refusal? = nil
    ) {
        self.kind = kind
        self.idempotencyKey = idempotencyKey
        self.reservedNames = reservedNames
        self.refusal = refusal
    }
}
