internal import Values

/// Determines why the backend refused webhook deliveries in a recorded session, so that a golden
/// contract makes it refuse them again.
///
/// The contract sends a delivery that was refused for its credentials with the same kind of invalid
/// credentials. A user ID that the backend always refused stays literal. With valid credentials or
/// a new ID the backend would accept the delivery.
struct WebhookRefusals: Sendable {
    /// The credentials with which a golden contract sends a recorded delivery again.
    enum Interpretation: Hashable {
        /// The delivery is sent with the configured, valid credentials.
        case asUsual
        /// The delivery is sent with these credentials.
        case credentials(SenderProof.Authorization, SenderProof.Signature)
        /// The reason why the backend refused the delivery is unknown, so the delivery cannot be
        /// sent again.
        case unknown
    }

    /// The credentials in those deliveries of one provider that the backend accepted.
    private struct AcceptedCredentials {
        var authorizations: Set<String?> = []
        var senderProofs: Set<SenderProof> = []

        func accepts(_ credentialUse: SenderProof.Authorization) -> Bool {
            senderProofs.contains { $0.authorization == credentialUse }
        }
        func accepts(_ credentialUse: SenderProof.Signature) -> Bool {
            senderProofs.contains { $0.signature == credentialUse }
        }
    }

    private var acceptedCredentials: [Exchange.Party: AcceptedCredentials] = [:]

    init(_ exchanges: [Exchange]) {
        for exchange in exchanges where exchange.isAccepted {
            var acceptedCredentials = acceptedCredentials[exchange.from] ?? AcceptedCredentials()
            acceptedCredentials.authorizations.insert(exchange.request[field: "authorization"])
            if let proof = exchange.proof { acceptedCredentials.senderProofs.insert(proof) }
            self.acceptedCredentials[exchange.from] = acceptedCredentials
        }
    }

    /// Returns the credentials with which the backend responds to a delivery as it did in the
    /// recorded session.
    func interpretation(of delivery: Exchange) -> Interpretation {
        guard delivery.isRefused, let status = delivery.response?.status else { return .asUsual }
        let acceptedCredentials = acceptedCredentials[delivery.from] ?? AcceptedCredentials()
        let refusesSender = status == 401 || status == 403
        var (authorization, signature) = (
            authorization(of: delivery, acceptedCredentials),
            signature(of: delivery, acceptedCredentials)
        )
        if !refusesSender {
            // The configured secrets are known to be right only if the backend accepted them once.
            if !acceptedCredentials.accepts(SenderProof.Authorization.configured) {
                authorization = .configured
            }
            if !acceptedCredentials.accepts(SenderProof.Signature.configured) {
                signature = .configured
            }
        }
        switch (authorization, signature) {
        case (let credentialUse?, _) where credentialUse != .configured:
            return .credentials(credentialUse, signature ?? .configured)
        case (_, let credentialUse?) where credentialUse != .configured:
            return .credentials(authorization ?? .configured, credentialUse)
        // A sender that gets 403 was recognized: the refusal is about the request, not the
        // credentials.
        default: return status == 401 ? .unknown : .asUsual
        }
    }

    /// Returns whether the Authorization header of a delivery is right, wrong or missing; nil when
    /// that is unknown.
    private func authorization(of delivery: Exchange, _ acceptedCredentials: AcceptedCredentials)
        -> SenderProof.Authorization?
    {
        let sentAuthorization = delivery.request[field: "authorization"]
        if acceptedCredentials.authorizations.contains(sentAuthorization) { return .configured }
        if let credentialUse = delivery.proof?.authorization { return credentialUse }
        if acceptedCredentials.authorizations.isEmpty { return nil }
        return sentAuthorization == nil ? .missing : .wrong
    }

    private func signature(of delivery: Exchange, _ acceptedCredentials: AcceptedCredentials)
        -> SenderProof.Signature?
    {
        guard let credentialUse = delivery.proof?.signature else { return nil }
        return acceptedCredentials.accepts(credentialUse) ? .configured : credentialUse
    }
}

extension Exchange {
    /// Whether the backend accepted the request, that is, responded with a 2xx status.
    fileprivate var isAccepted: Bool {
        to == .backend && (200..<300).contains(response?.status ?? 0)
    }

    /// Whether the backend refused the request for good: a 4xx status that does not mean busy (408,
    /// 425, 429), conflict (409) or a missing resource (404).
    var isRefused: Bool {
        guard to == .backend, let status = response?.status else { return false }
        return (400..<500).contains(status) && ![404, 408, 409, 425, 429].contains(status)
    }
}
