internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Finds out whether a purchase has no effect that Assay could see, because the profile has no probe
/// and the backend sends no push.
///
/// Without this check, each case that needs an effect would be inconclusive.
struct InvisiblePurchase {
    let executor: RunExecutor
    /// The namespaces of two plain purchases.
    let namespaceNames: [String]
    /// The effects that the two purchases showed.
    let observability: RunRecord.Observability

    /// Returns the problem and its remedy; nil if the profile has a probe, or if a purchase has led
    /// to a push.
    func problem() async -> String? {
        guard executor.profile.probes.isEmpty, executor.profile.effectSources.isEmpty,
            !observability.arePushesObservable, !(await sendsPush())
        else { return nil }
        let route = await readRoute()
        return
            (await forgedEventProblem() ?? "")
            + "No case could be judged: the profile has no probe, and a purchase leads to no push. "
            + (route.map { "\($0) returns JSON for the buyer and nothing for an unknown user. " }
                ?? "'assay init' looks for such a route in the backend's files. ")
            + "Add a read-only route that shows a user's subscription to assay.yaml:\n"
            + Self.example(route)
    }

    /// Returns a sentence about a webhook that accepts an event without any secret (S-01); nil if it
    /// refuses the event.
    ///
    /// The response alone shows this violation, so a run without a probe must not hide it.
    private func forgedEventProblem() async -> String? {
        let proof = SenderProof(authorization: .missing, signature: .missing)
        let webhook = executor.purchaseWebhook
        let outcome = await executor.sendTestEvent(
            namespaceNames[0] + "-f",
            path: webhook.path,
            proof: proof
        )
        guard case .answered(let response) = outcome, (200..<300).contains(response.status) else {
            return nil
        }
        return "\(webhook.method) \(webhook.path) accepts an event without any secret, so anyone "
            + "can grant access (clause S-01); try 'verify --only S-01'.\n"
    }

    /// Whether the backend sends a push for one of the purchases within the settle timeout.
    private func sendsPush() async -> Bool {
        guard executor.profile.canShowMessages else { return false }
        let settleTimeout = executor.settleTimeout(executor.profile.settleTimeout)
        while true {
            let isPushSent = executor.fakes.journal.read { journal in
                namespaceNames.contains { name in
                    journal.exchanges(in: name).contains { !$0.effects.isEmpty }
                }
            }
            if isPushSent { return true }
            if settleTimeout.isOver || Task.isCancelled { return false }
            await settleTimeout.pause(.milliseconds(100))
        }
    }

    /// Returns the first common path that returns a JSON object for the buyer, and another response
    /// for an unknown user; nil if there is none.
    private func readRoute() async -> String? {
        let namespace = executor.runWithoutSteps(namespaceNames[0]).namespace
        for path in ProbeSearch.commonProbePaths {
            func document(_ user: String) async -> JSONValue? {
                let target = path.replacing("{{id}}", with: namespace.id(of: user))
                let outcome = await executor.backend.client.send(
                    HTTPMessage.Request("GET", target),
                    within: .seconds(5)
                )
                guard case .answered(let response) = outcome, response.status == 200,
                    let document = response.bodyJSON, document.object != nil
                else { return nil }
                return document.leavingOut(id: namespace.id(of: user))
            }
            if let buyer = await document("sentinel"), await document("nobody") != buyer {
                return "GET \(path)"
            }
        }
        return nil
    }

    private static func example(_ route: String?) -> String {
        """
        probes:
          subscription:
            get: "\(route?.dropFirst(4) ?? "/users/{{id}}/subscription")"
            read:
              access: /access
        """
    }
}
