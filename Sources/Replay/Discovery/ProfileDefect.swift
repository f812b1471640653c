package import Contracts
internal import Providers

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
            return missingUser(users.text, profile)
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

    /// Returns the defect that no user can be created.
    ///
    /// - Parameters:
    ///   - problem: The result of the check, without a period.
    ///   - profile: The discovered profile. If it has a request that creates a user, the request is
    ///     not the problem, but its response is.
    /// - Returns: The defect, with lines to add only if the profile has no such request.
    package static func missingUser(_ problem: String, _ profile: Profile) -> ProfileDefect {
        let isUndefined =
            profile.creation == .register
            && profile.namesOfDefaultEndpoints.contains("register")
        guard isUndefined else { return ProfileDefect(text: "\(problem).", lines: []) }
        return ProfileDefect(
            text: "no request creates a user.",
            lines: ["users:", "  create: {post: /YOUR/PATH, body: {userId: \"{{id}}\"}}"]
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
