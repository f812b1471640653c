internal import Contracts
internal import Providers
internal import Values

/// Searches for the route that receives webhooks, and for the route that shows whether the backend
/// is ready.
extension BackendDiscovery {
    /// The webhook that is searched for.
    private var webhook: PurchaseWebhook { PurchaseWebhook(profile, .all) }

    /// The secret with which the sender of webhooks authenticates; nil if a profile has none for
    /// the sender.
    var sharedSecretName: SecretName? { webhook.party.secret("authorization") }

    /// The secret with which the sender signs webhooks; nil if the sender signs none.
    var signingSecretName: SecretName? { webhook.party.secret("signing") }

    /// Whether a route was found that receives the webhooks.
    package var hasFoundWebhook: Bool {
        !profile.namesOfDefaultEndpoints.contains(webhook.sender.webhookEndpoint)
    }

    /// The environment variable from which a profile takes the Authorization value of webhooks, if
    /// the backend is already running and therefore has its own value.
    package var sharedSecretVariable: String { webhook.authorizationVariable }

    /// Whether any file of the backend contains the host or the package of the API that returns
    /// the state of purchases.
    var readsPurchaseState: Bool { survey.calledProviders.contains(webhook.party) }

    var webhookNoteKey: String { "endpoints: \(webhook.sender.webhookEndpoint)" }

    /// The paths that may receive the webhooks: the one in the profile, those in the backend's
    /// files, and common ones.
    private var webhookPaths: [String] {
        let sender = webhook.sender
        let otherSenderPathWords =
            WebhookRoutes.otherSenders
            + ProviderTable.all.names.filter { $0 != webhook.party.name }
        func pathRank(_ path: String) -> Int {
            sender.webhookPathWords.firstIndex { path.lowercased().contains($0) }
                ?? sender.webhookPathWords.count
        }
        let candidates = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID
                && sender.webhookPathWords.contains { path.contains($0) }
                && !otherSenderPathWords.contains { path.contains($0) }
        }.sorted { pathRank($0.path) < pathRank($1.path) }
        let configuredPaths =
            profile.namesOfDefaultEndpoints.contains(sender.webhookEndpoint)
            ? [] : [profile.endpoints[sender.webhookEndpoint]?.path].compactMap(\.self)
        let commonPaths = sender.commonWebhookPaths.filter { $0 != "/" }
        let likelyPaths = WebhookRoutes(survey.routes).routes.map(\.path)
        return (configuredPaths + likelyPaths + candidates.map(\.path) + commonPaths).uniqued()
    }

    /// Finds the route that accepts the webhooks of the sender, and stores it in the profile.
    ///
    /// Returns false when the route rejects the token of the sender.
    @discardableResult
    mutating func findWebhook(_ session: ReplaySession) async -> Bool {
        let webhook = webhook
        let endpoint = webhook.sender.webhookEndpoint
        let trial = WebhookTrial(discovery: self, session: session)
        let bestCandidate = await trial.best(among: Array(webhookPaths.prefix(40)))
        guard let bestCandidate else {
            note(
                webhookNoteKey,
                "no route in the backend's files and no common route accepts "
                    + "\(webhook.sender.title)'s events",
                isUnresolved: true
            )
            return true
        }
        profile.endpoints[endpoint] = Profile.Endpoint(
            method: "POST",
            path: bestCandidate.path
        )
        profile.namesOfDefaultEndpoints.remove(endpoint)
        let isTokenAccepted = !RouteStatuses.refused.contains(bestCandidate.status)
        webhookStatus = bestCandidate.status
        acceptsEvents = (200..<300).contains(bestCandidate.status)
        note(
            webhookNoteKey,
            "POST \(bestCandidate.path) responds to an event with \(bestCandidate.status)"
                + (acceptsEvents ? "" : "; the progress above contains its response"),
            isUnresolved: !acceptsEvents
        )
        if survey.hasCode, !survey.mentionedProviders.contains(webhook.party) {
            note(
                webhookNoteKey,
                "no file mentions \(webhook.sender.title), so POST \(bestCandidate.path) may expect "
                    + "the events of another service",
                isUnresolved: true
            )
        }
        return isTokenAccepted
    }

    /// Notes that the webhook route accepts the purchase of a user, although it has refused a test
    /// event.
    mutating func noteAcceptedPurchase() {
        guard !acceptsEvents, let status = webhookStatus else { return }
        acceptsEvents = true
        webhookStatus = nil
        let key = webhookNoteKey
        notes.removeAll { $0.key == key && $0.isUnresolved }
        let path = profile.endpoints[webhook.sender.webhookEndpoint]?.path ?? ""
        note(
            key,
            "POST \(path) accepts the purchase of a user, but returns \(status) to a test event"
        )
    }

    static let commonReadinessPaths = [
        "/healthz", "/health", "/ping", "/ready", "/readyz", "/livez", "/status", "/api/health",
        "/up", "/",
    ]

    /// Finds a route that shows whether the backend is ready, and stores it in the profile.
    mutating func findReadiness(_ session: ReplaySession) async {
        guard profile.start?.ready == nil else { return }
        let candidates = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["GET", ""].contains(route.method) && !route.hasID
                && ["health", "ping", "ready", "live", "status"].contains { path.contains($0) }
        }.map(\.path)
        for path in (candidates + Self.commonReadinessPaths).uniqued().prefix(30) {
            let outcome = await session.backend.client.send(
                HTTPMessage.Request("GET", path),
                within: .seconds(5)
            )
            if case .failed(.timedOut, _) = outcome { break }
            guard case .answered(let response) = outcome, (200..<300).contains(response.status)
            else { continue }
            profile.start?.ready = Profile.ReadinessCheck(method: "GET", path: path)
            note("start: ready", "GET \(path) returns \(response.status)")
            return
        }
        note("start: ready", "no common health route returns 2xx, so any response means ready")
    }
}

/// Sends a test event to routes that may receive webhooks.
private struct WebhookTrial {
    let discovery: BackendDiscovery
    let session: ReplaySession

    /// Returns the best route with the status of its response; nil if no path has a route.
    func best(among paths: [String]) async -> (path: String, status: Int)? {
        let executor = discovery.executor(session)
        var bestCandidate: (path: String, status: Int)?
        var timeoutCount = 0
        let declaredRoutes = WebhookRoutes(discovery.survey.routes).routes
        let declaredPaths = Set(declaredRoutes.map(\.path))
        let namedPaths = Set(
            declaredRoutes.filter { WebhookRoutes.score($0) >= WebhookRoutes.namedScore }
                .map(\.path)
        )
        for (index, path) in paths.enumerated() {
            let outcome = await executor.sendTestEvent(
                discovery.name + "-t",
                path: path,
                proof: SenderProof()
            )
            if case .failed(.timedOut, _) = outcome { timeoutCount += 1 }
            // If the backend does not respond, the whole search would take minutes, so it ends at
            // the second timeout.
            if timeoutCount > 1 { break }
            let next = index + 1 < paths.count ? "; next: POST \(paths[index + 1])" : ""
            guard case .answered(let response) = outcome,
                !RouteStatuses.unserved.contains(response.status)
            else {
                if index < 5 {
                    discovery.onProgress("TEST event to POST \(path): \(outcome.summary)\(next)")
                }
                continue
            }
            discovery.onProgress(
                "TEST event to POST \(path): "
                    + (response.status < 400 ? "\(response.status)" : response.bodyExcerpt)
            )
            // A declared route that fails is likelier than a later one that refuses the sender.
            let isBetter =
                bestCandidate.map { best in
                    response.status.webhookRank > best.status.webhookRank
                        && (best.status < 500 || response.status < 300
                            || !declaredPaths.contains(best.path))
                } ?? true
            if isBetter { bestCandidate = (path, response.status) }
            // A route that the files declare exists, even if it rejects the sender. A route that
            // names the sender is the right one, even if it refuses the event.
            let isRight =
                RouteStatuses.refused.contains(response.status) && declaredPaths.contains(path)
                || namedPaths.contains(path)
            if isRight { bestCandidate = (path, response.status) }
            if (200..<300).contains(response.status) || isRight { break }
        }
        return bestCandidate
    }
}

extension Int {
    /// The order of response statuses: a route that accepts an event is better than one that
    /// rejects the sender.
    fileprivate var webhookRank: Int {
        switch self {
        case 200..<300: 3
        case 401, 403: 2
        default: 1
        }
    }
}

extension Exchange.Outcome {
    /// The status of the response, or the reason why there is none.
    fileprivate var summary: String {
        switch self {
        case .answered(let response): "\(response.status)"
        case .failed(_, let text): text
        case .pending, .answerLost, .requestCut: "no response"
        }
    }
}
