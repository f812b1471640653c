internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Finds a webhook that accepts purchases without any proof of their sender.
///
/// A profile without a secret has no cases about wrong secrets. No event of the run carries a proof
/// then, so an accepted event shows that the backend accepts every caller.
struct UnprotectedWebhook {
    let executor: RunExecutor

    static let remedy =
        "Compare the whole Authorization header with a secret before reading anything else, and set "
        + "the secret under 'secrets' in assay.yaml. If a gateway in front of the backend does this, "
        + "write 'features: {except: [authorization]}'."

    /// Whether the requests of the run carry no proof, although the profile does not declare that
    /// another program checks the sender.
    static func isWithoutProof(_ executor: RunExecutor) -> Bool {
        let webhook = executor.purchaseWebhook
        return !webhook.hasAuthorization && !webhook.hasSignature
            && !executor.profile.unsupportedFeatures.contains(.authorization)
    }

    /// Returns one failed case if the webhook accepted an event without a proof; empty otherwise.
    ///
    /// The case counts only in a run that selects cases about authorization.
    func failures(alongside results: [CaseResult]) -> [CaseResult] {
        let webhook = executor.purchaseWebhook
        guard Self.isWithoutProof(executor),
            results.contains(where: {
                $0.outcome == .notApplicable
                    && $0.contract.allRequiredFeatures.contains(.authorization)
            })
        else { return [] }
        let accepted = executor.fakes.journal.read { journal in
            journal.exchanges.first { exchange in
                exchange.to == .backend && exchange.from == webhook.party
                    && exchange.isEvent && (200..<300).contains(exchange.response?.status ?? 0)
            }
        }
        guard let accepted, let response = accepted.response else { return [] }
        let finding = Finding(
            .unauthenticatedAccepted,
            expected: "401 or 403 for an event that proves nothing about its sender",
            actual: "\(response.status) from \(webhook.method) \(webhook.path), and the profile "
                + "gives no secret",
            remedy: Self.remedy,
            evidence: [accepted.sequence]
        )
        var result = CaseResult(
            contract: RunInvariant.webhookIsProtected.contract,
            verdict: .failed,
            findings: [finding],
            timeline: [accepted.shortened],
            base: executor.base
        )
        // Every case sends such events, so no case is listed for a rerun.
        result.replayedCaseIDs = []
        return [result]
    }
}

extension Exchange {
    /// Whether the exchange delivers an event to the backend.
    fileprivate var isEvent: Bool {
        switch purpose {
        case .delivery, .sentinel: true
        default: false
        }
    }
}
