internal import Contracts
internal import Providers
internal import Values

/// The first thing that is wrong with a discovered profile, so that few clauses can be tested.
package struct ProfileDefect: Hashable, Sendable {
    package let text: String
    /// The lines of YAML that correct it, with a placeholder for each value that is not known.
    package let lines: [String]

    package init(text: String, lines: [String]) {
        self.text = text
        self.lines = lines
    }

    /// Returns the first thing to correct before the contracts are run; nil if they can be run.
    package static func first(in discovery: BackendDiscovery) -> ProfileDefect? {
        let profile = discovery.profile
        let webhook = PurchaseWebhook(profile, .all)
        let title = webhook.sender.title
        let endpoint = webhook.sender.webhookEndpoint
        let path = profile.endpoints[endpoint]?.path ?? ""
        guard discovery.hasFoundWebhook else {
            return ProfileDefect(
                text: "no route accepts the events of \(title).",
                lines: ["endpoints:", "  \(endpoint): POST /YOUR/PATH"]
            )
        }
        if let status = discovery.webhookStatus, RouteStatuses.refused.contains(status) {
            return ProfileDefect(
                text: "POST \(path) returns \(status): it refuses the secret of \(title).",
                lines: secretLines(discovery)
            )
        }
        if let status = discovery.webhookStatus, !discovery.acceptsEvents {
            return refusedEvent(path: path, title: title, status: status)
        }
        if let users = discovery.doctorChecks.checkResults.first(where: {
            $0.topic == "users" && $0.state == .bad
        }) {
            return ProfileDefect(text: "\(users.text).", lines: [])
        }
        let observability = discovery.doctorChecks.observability
        guard observability.arePushesObservable || observability.areProbeChangesObservable else {
            if let refusal = discovery.doctorChecks.refusedPurchase {
                return refusedPurchase(path: path, status: refusal.status)
            }
            return ProfileDefect(
                text: "a purchase changes no response and leads to no push.",
                lines: ["probes:", "  subscription:", "    get: \"/YOUR/PATH/{{id}}\""]
            )
        }
        return nil
    }

    /// Returns the defect of a route that does not accept a plain event.
    ///
    /// A status from 400 to 499 is about the event. Another one is about the backend, which often
    /// lacks a value of its environment.
    package static func refusedEvent(path: String, title: String, status: Int) -> ProfileDefect {
        let text = "POST \(path) returns \(status) for an event of \(title)."
        guard (400..<500).contains(status) else {
            return ProfileDefect(
                text: text,
                lines: ["start:", "  env:", "    MISSING_VARIABLE: VALUE"]
            )
        }
        return ProfileDefect(
            text: text
                + " Its response is above. Correct the backend: it has to accept events in the "
                + "form in which \(title) sends them.",
            lines: []
        )
    }

    /// Returns the defect of a route that accepts a test event, but no purchase of a user.
    package static func refusedPurchase(path: String, status: Int) -> ProfileDefect {
        ProfileDefect(
            text: "POST \(path) accepts a test event, but returns \(status) for the purchase of a "
                + "user. Its response is above, and the output of the backend may name the reason. "
                + "If the backend does not know the user, set 'users: create' in the profile.",
            lines: []
        )
    }

    /// The lines that give the backend and the sender the same secret.
    private static func secretLines(_ discovery: BackendDiscovery) -> [String] {
        let sharedSecretName = discovery.sharedSecretName
        guard discovery.profile.start != nil, discovery.sharedVariable == nil, let sharedSecretName
        else {
            let name = (sharedSecretName?.rawValue).map { "  \($0): VALUE_OF_THE_BACKEND" }
            return ["secrets:"] + (name.map { [$0] } ?? [])
        }
        return [
            "start:", "  env:",
            "    YOUR_VARIABLE: \"{{secret.\(sharedSecretName.rawValue)}}\"",
        ]
    }
}
