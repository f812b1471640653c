internal import Conformance

/// Why the backend refused what came in a session, so that a golden contract makes it refuse again.
///
/// A delivery that was refused for its credentials comes with such credentials again, and an id that
/// the backend never took stays what it is: with right ones and with a new id it would be taken.
struct Refusals: Sendable {
    /// What becomes of a delivery.
    enum Reading: Hashable {
        case asUsual
        /// It is sent with these credentials.
        case credentials(Delivery.Authorization, Delivery.Signature)
        /// Nobody can tell what was wrong with it.
        case unknown
    }

    /// What deliveries of one provider carried that the backend took.
    private struct Taken {
        var authorizations: Set<String?> = []
        var proofs: Set<SenderProof> = []

        func knows(_ use: Delivery.Authorization) -> Bool {
            proofs.contains { $0.authorization == use }
        }
        func knows(_ use: Delivery.Signature) -> Bool { proofs.contains { $0.signature == use } }
    }

    private var taken: [Exchange.Party: Taken] = [:]

    init(_ exchanges: [Exchange]) {
        for exchange in exchanges where exchange.isTaken {
            var taken = taken[exchange.from] ?? Taken()
            taken.authorizations.insert(exchange.request[field: "authorization"])
            if let proof = exchange.proof { taken.proofs.insert(proof) }
            self.taken[exchange.from] = taken
        }
    }

    /// How a delivery has to come so that the backend says again what it said.
    func reading(of delivery: Exchange) -> Reading {
        guard delivery.isRefused, let status = delivery.response?.status else { return .asUsual }
        let taken = taken[delivery.from] ?? Taken()
        let isAboutSender = status == 401 || status == 403
        var (authorization, signature) = (
            authorization(of: delivery, taken), signature(of: delivery, taken)
        )
        if !isAboutSender {
            // Whether these are the right secrets is only known where the backend took them.
            if !taken.knows(Delivery.Authorization.configured) { authorization = .configured }
            if !taken.knows(Delivery.Signature.configured) { signature = .configured }
        }
        switch (authorization, signature) {
        case (let use?, _) where use != .configured:
            return .credentials(use, signature ?? .configured)
        case (_, let use?) where use != .configured:
            return .credentials(authorization ?? .configured, use)
        // Whoever is told 403 was recognised: it is about what was asked.
        default: return status == 401 ? .unknown : .asUsual
        }
    }

    /// Nil: nobody knows whether it was the right one.
    private func authorization(of delivery: Exchange, _ taken: Taken) -> Delivery.Authorization? {
        let sent = delivery.request[field: "authorization"]
        if taken.authorizations.contains(sent) { return .configured }
        if let use = delivery.proof?.authorization { return use }
        if taken.authorizations.isEmpty { return nil }
        return sent == nil ? .missing : .wrong
    }

    private func signature(of delivery: Exchange, _ taken: Taken) -> Delivery.Signature? {
        guard let use = delivery.proof?.signature else { return nil }
        return taken.knows(use) ? .configured : use
    }
}

extension Exchange {
    /// Whether the backend took what was sent to it.
    fileprivate var isTaken: Bool {
        to == .backend && (200..<300).contains(response?.status ?? 0)
    }

    /// Whether the backend said that it will never take what was sent to it: it is not busy, in no
    /// conflict with something else, and does not merely miss what others make.
    var isRefused: Bool {
        guard to == .backend, let status = response?.status else { return false }
        return (400..<500).contains(status) && ![404, 408, 409, 425, 429].contains(status)
    }
}
