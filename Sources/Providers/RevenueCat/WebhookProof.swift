package import Conformance

extension WebhookSender {
    /// How old a signature may be, in seconds (RevenueCat fact sheet, section 1.2: the documented
    /// example).
    private static let ageMax: UInt64 = 300

    /// Which of the requests that this sender can make it is; what no secret was given for is not
    /// examined.
    package func proof(of request: HTTPMessage.Request, at now: Instant) -> SenderProof {
        SenderProof(
            authorization: authorization.map { _ in authorizationUse(of: request) },
            signature: signingKey.map { signatureUse(of: request, $0, at: now) }
        )
    }

    private func authorizationUse(of request: HTTPMessage.Request) -> Delivery.Authorization {
        let sent = request[field: "authorization"]
        return Delivery.Authorization.allCases.first { authorizationValue($0) == sent } ?? .wrong
    }

    private func signatureUse(
        of request: HTTPMessage.Request,
        _ key: Secret,
        at now: Instant
    ) -> Delivery.Signature {
        guard let text = request[field: WebhookSignature.fieldName] else { return .missing }
        guard let sent = WebhookSignature(text) else { return .malformed }
        // A signature of another key and one of another body look alike.
        guard sent == WebhookSignature(signing: request.body, key: key.exposed, at: sent.timestamp)
        else { return .wrongKey }
        let age = now.seconds.subtractingSaturated(sent.timestamp)
        if age.magnitude <= Self.ageMax { return .configured }
        return age > 0 ? .stale : .ahead
    }
}
