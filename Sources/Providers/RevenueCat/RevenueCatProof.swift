internal import Redaction
package import Values

extension RevenueCatSender {
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
            authorization: authorization.map { _ in authorizationVariant(of: request) },
            signature: signingKey.map { signatureVariant(of: request, $0, at: now) }
        )
    }

    private func authorizationVariant(of request: HTTPMessage.Request) -> SenderProof.Authorization
    {
        let receivedProof = request[field: "authorization"]
        return SenderProof.Authorization.allCases.first { authorizationValue($0) == receivedProof }
            ?? .wrong
    }

    private func signatureVariant(
        of request: HTTPMessage.Request,
        _ key: Secret,
        at now: Instant
    ) -> SenderProof.Signature {
        guard let text = request[field: WebhookSignature.fieldName] else { return .missing }
        guard let receivedProof = WebhookSignature(text) else { return .malformed }
        // A signature with another key cannot be distinguished from a signature of another body.
        guard
            receivedProof
                == WebhookSignature(
                    signing: request.body,
                    key: key.exposed,
                    at: receivedProof.timestamp
                )
        else { return .wrongKey }
        let ageInSeconds = now.seconds.subtractingSaturated(receivedProof.timestamp)
        if ageInSeconds.magnitude <= Self.ageMaxInSeconds { return .configured }
        return ageInSeconds > 0 ? .stale : .ahead
    }
}
