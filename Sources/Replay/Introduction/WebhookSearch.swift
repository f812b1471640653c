internal import Conformance
internal import FakeServers
internal import Providers

/// Which route takes events, and which says that the backend is there.
extension Introduction {
    static let sharedSecret = Profile.SecretName.revenueCatAuthorization
    /// Where a profile for a backend that runs already finds that secret.
    package static let sharedVariable = "REVENUECAT_WEBHOOK_AUTH"

    /// Whether any of its files names the host that tells a subscriber's state.
    var mayAskForState: Bool { survey.called.contains(.revenueCat) }

    static let webhookKey = "endpoints: revenuecat-webhook"
    static let hookWords = [
        "revenuecat", "webhook", "hook", "rc", "purchases", "billing", "event", "subscription",
    ]
    static let otherSenders =
        ["stripe", "apple", "google", "paypal", "github", "slack"]
        + Services.providers.map(\.party.description).filter { $0 != hookWords[0] }

    /// Finds the route that takes events; whether it takes its sender's too.
    @discardableResult
    mutating func findWebhook(_ session: ReplaySession) async -> Bool {
        let named = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID
                && Self.hookWords.contains { path.contains($0) }
                && !Self.otherSenders.contains { path.contains($0) }
        }.sorted { Self.rank($0.path) < Self.rank($1.path) }
        let usual = Examination.usualPaths.filter { $0 != "/" }
        let own =
            profile.guessed.contains("revenuecat-webhook")
            ? [] : [profile.endpoints["revenuecat-webhook"]?.path].compactMap(\.self)
        let executor = executor(session)
        var found: (path: String, status: Int)?
        var hangCount = 0
        for path in (own + named.map(\.path) + usual).uniqued().prefix(40) {
            let outcome = await executor.test(name + "-t", path: path, authorization: .configured)
            if case .failed(.timedOut, _) = outcome { hangCount += 1 }
            // Whoever lets every call hang would be asked for minutes.
            if hangCount > 1 { break }
            guard case .answered(let response) = outcome,
                !RouteAnswer.unserved.contains(response.status)
            else { continue }
            let isBetter = found.map { Self.value(response.status) > Self.value($0.status) } ?? true
            if isBetter { found = (path, response.status) }
            if (200..<300).contains(response.status) { break }
        }
        guard let found else {
            note(
                Self.webhookKey,
                "no route of its files, and none of the usual ones, takes events",
                isOpen: true
            )
            return true
        }
        profile.endpoints["revenuecat-webhook"] = Profile.Endpoint(method: "POST", path: found.path)
        profile.guessed.remove("revenuecat-webhook")
        let isTaken = !RouteAnswer.refused.contains(found.status)
        takesEvents = (200..<300).contains(found.status)
        note(
            Self.webhookKey,
            "POST \(found.path) answers an event with \(found.status)",
            isOpen: !takesEvents
        )
        return isTaken
    }

    static func rank(_ path: String) -> Int {
        hookWords.firstIndex { path.lowercased().contains($0) } ?? hookWords.count
    }

    static func value(_ status: Int) -> Int {
        switch status {
        case 200..<300: 3
        case 401, 403: 2
        default: 1
        }
    }

    static let usualReadiness = [
        "/healthz", "/health", "/ping", "/ready", "/readyz", "/livez", "/status", "/api/health",
        "/",
    ]

    /// Finds a route that says that the backend is there.
    mutating func findReadiness(_ session: ReplaySession) async {
        guard profile.start?.ready == nil else { return }
        let named = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["GET", ""].contains(route.method) && !route.hasID
                && ["health", "ping", "ready", "live", "status"].contains { path.contains($0) }
        }.map(\.path)
        for path in (named + Self.usualReadiness).uniqued().prefix(30) {
            let outcome = await session.backend.client.send(
                HTTPMessage.Request("GET", path),
                within: .seconds(5)
            )
            if case .failed(.timedOut, _) = outcome { break }
            guard case .answered(let response) = outcome, (200..<300).contains(response.status)
            else { continue }
            profile.start?.ready = Profile.Ready(method: "GET", path: path)
            note("start: ready", "GET \(path) answers \(response.status)")
            return
        }
        note("start: ready", "any answer counts: no usual route answers 2xx")
    }
}
