internal import Contracts
internal import Providers

/// The first thing that is wrong with a discovered profile, so that few clauses can be tested.
package struct ProfileDefect: Hashable, Sendable {
    package let text: String
    /// The lines of YAML that correct it, with a placeholder for each value that is not known.
    package let lines: [String]

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
            return ProfileDefect(
                text: "POST \(path) returns \(status) for an event of \(title).",
                lines: ["start:", "  env:", "    MISSING_VARIABLE: VALUE"]
            )
        }
        if discovery.doctorChecks.checkResults.contains(where: {
            $0.topic == "users" && $0.state == .bad
        }) {
            return ProfileDefect(
                text: "no request creates a user.",
                lines: [
                    "users:", "  create: {post: /YOUR/PATH, body: {userId: \"{{id}}\"}}",
                ]
            )
        }
        let observability = discovery.doctorChecks.observability
        guard observability.arePushesObservable || observability.areProbeChangesObservable else {
            return ProfileDefect(
                text: "a purchase changes no response and leads to no push.",
                lines: ["probes:", "  subscription:", "    get: \"/YOUR/PATH/{{id}}\""]
            )
        }
        return nil
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
