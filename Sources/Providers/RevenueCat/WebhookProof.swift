package import Conformance

extension WebhookSender {
    /// The largest age of a signature that a receiver accepts, in seconds.
    ///
    /// This is the example in RevenueCat's documentation (RevenueCat fact sheet, section 1.2).
    private static let ageMaxInSeconds: UInt64 = 300

    /// Classifies the authorization and the signature of a request as one of the kinds that this
    /// sender can create.
    ///
    /// A proof whose secret is missing is not checked.
    package func proof(of request: HTTPMessage.Request, at now: Instant) -> SenderProof {
        SenderProof(
            authorization: authorization.map { _ in checkAuthorization(of: request) },
            signature: signingKey.map { checkSignature(of: request, $0, at: now) }
        )
    }

    private func checkAuthorization(of request: HTTPMessage.Request) -> Delivery.Authorization {
        let sent = request[field: "authorization"]
        return Delivery.Authorization.allCases.first { authorizationValue($0) == sent } ?? .wrong
    }

    private func checkSignature(
        of request: HTTPMessage.Request,
        _ key: Secret,
        at now: Instant
    ) -> Delivery.Signature {
        guard let text = request[field: WebhookSignature.fieldName] else { return .missing }
        guard let sent = WebhookSignature(text) else { return .malformed }
        // A signature with another key cannot be distinguished from a signature of another body.
        guard sent == WebhookSignature(signing: request.body, key: key.exposed, at: sent.timestamp)
        else { return .wrongKey }
        let age = now.seconds.subtractingSaturated(sent.timestamp)
        if age.magnitude <= Self.ageMaxInSeconds { return .configured }
        return age > 0 ? .stale : .ahead
    }
}
