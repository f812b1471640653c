/// The proof of the sender in a recorded webhook: the state of its Authorization header and of its
/// signature.
///
/// A property is nil when it was not checked, because no secret was available.
package struct SenderProof: Hashable, Sendable {
    package var authorization: Delivery.Authorization?
    package var signature: Delivery.Signature?

    package init(
        authorization: Delivery.Authorization? = nil,
        signature: Delivery.Signature? = nil
    ) {
        self.authorization = authorization
        self.signature = signature
    }

    /// Whether neither the Authorization header nor the signature was checked.
    package var isEmpty: Bool { authorization == nil && signature == nil }
}
