/// The proof of the sender in a recorded webhook: the state of its Authorization header and of its
/// signature.
///
/// A property is nil when it was not checked, because no secret was available.
package struct SenderProof: Hashable, Sendable {
    /// The value of the `Authorization` header that the sender of the webhook uses.
    ///
    /// RevenueCat sends the configured text verbatim.
    package enum Authorization: String, Hashable, Codable, Sendable, CaseIterable {
        case configured
        case missing
        case empty
        /// A different value of the same length and form as the configured value.
        case wrong
        /// The configured value with its last character changed.
        case nearMiss = "near-miss"
        /// The configured `Authorization` value without its last character.
        case truncated
        /// The configured `Authorization` value with an additional character at its end.
        case extended
        /// The configured value, with the letter case of the secret part inverted.
        case wrongCase = "wrong-case"
        /// The authentication scheme, such as `Bearer`, without the secret.
        case schemeOnly = "scheme-only"
        /// The secret part without its scheme, or with a scheme if the configured value has none.
        ///
        /// The configured value is the complete header (RevenueCat fact sheet, section 1.1).
        case noScheme = "no-scheme"
        /// The secret part with another scheme.
        case otherScheme = "other-scheme"
        /// The scheme with the word `undefined`, the text of a missing variable in JavaScript.
        case undefinedWord = "undefined"
        /// The scheme with the word `None`, the text of a missing variable in Python.
        case noneWord = "none"
    }

    /// The signature header that the sender of the webhook uses, for example
    /// `X-RevenueCat-Webhook-Signature`.
    package enum Signature: String, Hashable, Codable, Sendable, CaseIterable {
        case configured
        case missing
        /// The signature is made with a different key than the configured key.
        case wrongKey = "wrong-key"
        /// The signature is made with an empty key.
        case emptyKey = "empty-key"
        /// The signature is made for different bytes than the sent body.
        case otherBody = "other-body"
        /// The signature is valid, but a day old.
        case stale
        /// The signature is valid, but its timestamp is a day in the future.
        case ahead
        /// The timestamp is current, but the signature was made for an older timestamp.
        case refreshed
        case malformed
        /// The sender sends only Purchasely's deprecated signature header, which does not cover the
        /// body.
        case deprecatedOnly = "deprecated-only"

        /// The number of seconds between the current time and the timestamp of a stale or future
        /// signature.
        ///
        /// This distance exceeds any receiver's tolerance, which the providers leave to the
        /// receiver (section 1.2 of the RevenueCat fact sheet, section 2 of the Purchasely fact
        /// sheet).
        package static let timestampOffsetInSeconds: Int64 = 86_400
    }

    package var authorization: Authorization?
    package var signature: Signature?

    package init(
        authorization: Authorization? = nil,
        signature: Signature? = nil
    ) {
        self.authorization = authorization
        self.signature = signature
    }

    /// Whether neither the Authorization header nor the signature was checked.
    package var isEmpty: Bool { authorization == nil && signature == nil }
}
