internal import Contracts
internal import FakeServers
internal import Providers
internal import Values

/// Finds out which secret or login of the profile the backend rejects.
///
/// Without it, each case would report the same refusal as a failure of the backend.
struct CallerRefusals {
    let executor: RunExecutor
    /// A namespace name for test events.
    let name: String

    /// A proof of the sender that the backend may reject.
    private struct Proof {
        let title: String
        let secretName: String
        let variable: String
        /// The same request, in which only this proof is wrong.
        let wrongProof: SenderProof
    }

    private var proofs: [Proof] {
        let webhook = executor.purchaseWebhook
        var proofs: [Proof] = []
        if webhook.hasAuthorization {
            proofs.append(
                Proof(
                    title: "Authorization value",
                    secretName: webhook.authorizationSecretName,
                    variable: webhook.authorizationVariable,
                    wrongProof: SenderProof(authorization: .wrong, signature: .configured)
                )
            )
        }
        if webhook.hasSignature {
            proofs.append(
                Proof(
                    title: "signature",
                    secretName: webhook.signingSecretName,
                    variable: webhook.signingVariable,
                    wrongProof: SenderProof(authorization: .configured, signature: .wrongKey)
                )
            )
        }
        return proofs
    }

    /// Returns the reason why the webhook refuses events, and the remedy.
    ///
    /// The webhook gets one test event for each proof, in which only this proof is wrong. The
    /// backend rejects the configured value of a proof if the response to a wrong value is the same
    /// as before, but the response to a wrong value of the other proof is different. If all
    /// responses are the same, they do not show which value the backend rejects.
    ///
    /// - Returns: For example "with the profile's own signature" and "set the same value …".
    func webhookRefusal() async -> (reason: String, remedy: String) {
        if let form = await BodySignatureCheck(executor: executor, name: name).acceptedForm() {
            return (
                "with the profile's own Authorization value, but accepts \(form)",
                "compare the whole header with the configured value: \(form.sender) sends the same "
                    + "text with every event, so that no real event passes this check"
            )
        }
        let allProofs = proofs
        var proofs = allProofs
        if allProofs.count > 1 {
            let refusal = await response(to: SenderProof())
            var unchanged: [Proof] = []
            for proof in allProofs where await response(to: proof.wrongProof) == refusal {
                unchanged.append(proof)
            }
            if !unchanged.isEmpty { proofs = unchanged }
        }
        guard let first = proofs.first else {
            let name = executor.purchaseWebhook.authorizationSecretName
            return (
                "without Authorization, because the profile gives no secret",
                "write 'secrets: {\(name): \"…\"}' in assay.yaml with the value that the backend "
                    + "expects (a backend started by Assay gets it as "
                    + "\(executor.purchaseWebhook.authorizationVariable))"
            )
        }
        let reason =
            proofs.count > 1
            ? "with the profile's own \(proofs.map(\.title).joined(separator: " and ")), and does "
                + "not show which of them it rejects"
            : allProofs.count > 1
                ? "because it rejects the profile's own \(first.title)"
                : "with the profile's own \(first.title)"
        return (reason, remedy(proofs.map(\.secretName), proofs.map(\.variable)))
    }

    private func remedy(_ secretNames: [String], _ variables: [String]) -> String {
        let isOne = secretNames.count == 1
        return "set the same value\(isOne ? "" : "s") in the backend and under 'secrets: "
            + "\(secretNames.joined(separator: ", "))' in the profile (a backend started by Assay "
            + "gets \(isOne ? "it" : "them") as \(variables.joined(separator: " and ")))"
    }

    /// The status and the body of the response to a test event; nil without a response.
    private func response(to proof: SenderProof) async -> [UInt8]? {
        let outcome = await executor.sendTestEvent(
            name,
            path: executor.purchaseWebhook.path,
            proof: proof
        )
        guard case .answered(let response) = outcome else { return nil }
        return Array("\(response.status) ".utf8) + response.body
    }

    /// Returns a message if the login of the profile returns no session token; nil if it returns
    /// one, or if no request uses it.
    func sessionRefusal() async -> String? {
        guard executor.profile.requests.credentials.contains(where: \.usesSession) else {
            return nil
        }
        do {
            _ = try await executor.runWithoutSteps(name).requests.session()
            return nil
        } catch {
            return "\(error); correct 'session' in assay.yaml"
        }
    }

    /// Finds the probes that no case could read: each response refuses the caller, the route does
    /// not exist, or the command fails.
    ///
    /// A probe that returns 404 may not know the user yet, so that status is not a refusal.
    ///
    /// - Parameter exchanges: Exchanges in which the probes were read before and after a purchase.
    /// - Returns: A message for each of these probes, sorted by their names.
    static func probeProblems(_ exchanges: [Exchange]) -> [String] {
        let reads = Dictionary(
            grouping: exchanges.compactMap { exchange -> (String, Exchange)? in
                if case .probe(let name, _) = exchange.purpose { (name, exchange) } else { nil }
            },
            by: \.0
        )
        return reads.sorted { $0.key < $1.key }.compactMap { name, reads in
            let exchanges = reads.map(\.1)
            return refusal(of: name, exchanges) ?? failure(of: name, exchanges)
        }
    }

    private static func refusal(of probe: String, _ exchanges: [Exchange]) -> String? {
        let refusedStatuses = RouteStatuses.refused.union(RouteStatuses.unserved).subtracting([404])
        let answered = exchanges.filter { $0.response != nil }
        guard let last = answered.last, let response = last.response,
            answered.allSatisfy({ refusedStatuses.contains($0.response?.status ?? 0) })
        else { return nil }
        return
            "the probe '\(probe)', \(last.request.method) \(last.request.target), returns "
            + "\(response.bodyExcerpt) before and after a purchase; correct its path or its "
            + "'headers' under 'probes' in assay.yaml"
    }

    private static func failure(of probe: String, _ exchanges: [Exchange]) -> String? {
        guard let last = exchanges.last, case .failed(_, let reason) = last.outcome,
            exchanges.allSatisfy({ $0.response == nil })
        else { return nil }
        let isCommand = last.request.method == Exchange.commandMethod
        return isCommand
            ? "the command of the probe '\(probe)' fails before and after a purchase: "
                + "\(last.request.target): \(reason); correct 'command' under 'probes: \(probe)' in "
                + "assay.yaml, and type it in a shell to see its whole output"
            : "the probe '\(probe)', \(last.request.method) \(last.request.target), gets no response "
                + "before and after a purchase: \(reason); correct it under 'probes' in assay.yaml"
    }
}
