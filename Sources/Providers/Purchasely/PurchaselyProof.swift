internal import Redaction
package import Values

extension PurchaselySender {
    /// The largest age of a signature that a receiver accepts, in seconds.
    ///
    /// Purchasely leaves this limit to the receiver, but its documentation mentions fifteen minutes
    /// (Purchasely fact sheet, section 2).
    private static let ageMaxInSeconds: UInt64 = 900

    /// Classifies the signature of a request as one of the kinds that this sender can create.
    ///
    /// Without a secret, the signature is not checked.
    package func proof(of request: HTTPMessage.Request, at now: Instant) -> SenderProof {
        SenderProof(signature: secret.map { checkSignature(in: request, $0.exposed, at: now) })
    }

    private func checkSignature(
        in request: HTTPMessage.Request,
        _ key: String,
        at now: Instant
    ) -> SenderProof.Signature {
        guard let code = request[field: PurchaselySignature.fieldName] else {
            let hasDeprecatedSignature =
                request[field: PurchaselySignature.deprecatedFieldName] != nil
            return hasDeprecatedSignature ? .deprecatedOnly : .missing
        }
        guard let text = request[field: PurchaselySignature.timestampFieldName],
            let timestamp = Int64(text), code.utf8.count == 64, code.allSatisfy(\.isHexDigit)
        else { return .malformed }
        // A signature with another key cannot be distinguished from a signature of another body.
        guard code == PurchaselySignature.code(of: request.body, timestamp: text, secret: key)
        else { return .wrongKey }
        let ageInSeconds = now.seconds.subtractingSaturated(timestamp)
        if ageInSeconds.magnitude <= Self.ageMaxInSeconds { return .configured }
        return ageInSeconds > 0 ? .stale : .ahead
    }
}
