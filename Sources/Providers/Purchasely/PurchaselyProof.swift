package import Conformance

extension PurchaselySender {
    /// How old a signature may be, in seconds (Purchasely fact sheet, section 2: left to the
    /// receiver; the documentation speaks of fifteen minutes).
    private static let ageMax: UInt64 = 900

    /// Which of the requests that this sender can make it is; without a secret nothing is examined.
    package func proof(of request: HTTPMessage.Request, at now: Instant) -> SenderProof {
        SenderProof(signature: secret.map { use(in: request, $0.exposed, at: now) })
    }

    private func use(
        in request: HTTPMessage.Request,
        _ key: String,
        at now: Instant
    ) -> Delivery.Signature {
        guard let code = request[field: PurchaselySignature.fieldName] else {
            let isOld = request[field: PurchaselySignature.deprecatedName] != nil
            return isOld ? .deprecatedOnly : .missing
        }
        guard let text = request[field: PurchaselySignature.timestampName],
            let timestamp = Int64(text), code.utf8.count == 64, code.allSatisfy(\.isHexDigit)
        else { return .malformed }
        // A signature of another key and one of another body look alike.
        guard code == PurchaselySignature.code(of: request.body, timestamp: text, secret: key)
        else { return .wrongKey }
        let age = now.seconds.subtractingSaturated(timestamp)
        if age.magnitude <= Self.ageMax { return .configured }
        return age > 0 ? .stale : .ahead
    }
}
