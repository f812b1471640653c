/// What a delivery carried to prove its sender, in the words that a contract has for it.
///
/// Nil: nobody could tell, as no secret was at hand.
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

    /// Whether it says nothing.
    package var isEmpty: Bool { authorization == nil && signature == nil }
}
