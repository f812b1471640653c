internal import Contracts
internal import Providers

extension BackendDiscovery {
    /// The first thing that is wrong with a discovered profile, so that few clauses can be tested.
    package struct ProfileDefect: Hashable, Sendable {
        package let text: String
        /// The lines of YAML that correct it, with a placeholder for each value that is not known.
        package let lines: [String]
    }

    /// The first thing to correct before the contracts are run; nil if they can be run.
    package var defect: ProfileDefect? {
        let webhook = PurchaseWebhook(profile, .all)
        let title = webhook.sender.title
        let endpoint = webhook.sender.webhookEndpoint
        let path = profile.endpoints[endpoint]?.path ?? ""
        guard hasFoundWebhook else {
            return ProfileDefect(
                text: "no route accepts the events of \(title).",
                lines: ["endpoints:", "  \(endpoint): POST /YOUR/PATH"]
            )
        }
        if let status = webhookStatus, RouteStatuses.refused.contains(status) {
            return ProfileDefect(
                text: "POST \(path) returns \(status): it refuses the secret of \(title).",
                lines: secretLines
            )
        }
        if let status = webhookStatus, !acceptsEvents {
            return ProfileDefect(
                text: "POST \(path) returns \(status) for an event of \(title).",
                lines: ["start:", "  env:", "    MISSING_VARIABLE: VALUE"]
            )
        }
        if doctorChecks.checkResults.contains(where: { $0.topic == "users" && $0.state == .bad }) {
            return ProfileDefect(
                text: "no request creates a user.",
                lines: [
                    "users:", "  create: {post: /YOUR/PATH, body: {userId: \"{{id}}\"}}",
                ]
            )
        }
        let observability = doctorChecks.observability
        guard observability.arePushesObservable || observability.areProbeChangesObservable else {
            return ProfileDefect(
                text: "a purchase changes no response and leads to no push.",
                lines: ["probes:", "  subscription:", "    get: \"/YOUR/PATH/{{id}}\""]
            )
        }
        return nil
    }

    /// The lines that give the backend and the sender the same secret.
    private var secretLines: [String] {
        guard profile.start != nil, sharedVariable == nil, let sharedSecretName else {
            let name = (sharedSecretName?.rawValue).map { "  \($0): VALUE_OF_THE_BACKEND" }
            return ["secrets:"] + (name.map { [$0] } ?? [])
        }
        return [
            "start:", "  env:",
            "    YOUR_VARIABLE: \"{{secret.\(sharedSecretName.rawValue)}}\"",
        ]
    }
}
