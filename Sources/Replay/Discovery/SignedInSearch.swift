internal import Contracts
internal import Grammar
internal import Judging
internal import Providers
internal import Values

/// Searches for a route of the backend that requires an ID token.
extension BackendDiscovery {
    static let ownDataWords = [
        "me", "profile", "account", "subscription", "entitlement", "access", "status", "user",
        "premium", "plan", "membership", "billing",
    ]

    /// The paths of routes that seem to show the caller's own data.
    var ownDataRoutes: [String] {
        survey.routes.filter { route in
            let last = route.path.split(separator: "/").last.map { $0.lowercased() } ?? ""
            return ["GET", ""].contains(route.method) && !route.hasID
                && Self.ownDataWords.contains { last.contains($0) }
        }.map(\.path).uniqued()
    }

    /// Finds a route that rejects a caller without an ID token and accepts a caller with one.
    mutating func findSignedInProbe(_ session: ReplaySession) async {
        guard survey.usesTokens, let protectedEndpoint = profile.endpoints["protected"] else {
            return
        }
        let execution = executor(session).runWithoutSteps(name + "-p")
        let id = execution.namespace.id(of: "ada")
        let credentials = Profile.Credentials(actor: id)
        let client = session.backend.client
        for path in (ownDataRoutes + [protectedEndpoint.path]).uniqued().prefix(20) {
            var request = HTTPMessage.Request("GET", path)
            let anonymousOutcome = await client.send(request, within: .seconds(5))
            guard case .answered(let refusal) = anonymousOutcome,
                RouteStatuses.refused.contains(refusal.status),
                // Without credentials, the route cannot be tried, so it is not a candidate.
                let fields = try? await execution.requests.credentials(
                    credentials,
                    NamedValues([:])
                )
            else { continue }
            request.fields += fields
            let signedInOutcome = await client.send(request, within: .seconds(5))
            guard case .answered(let acceptedResponse) = signedInOutcome,
                (200..<300).contains(acceptedResponse.status)
            else {
                continue
            }
            let document = acceptedResponse.bodyJSON
            var endpoint = Profile.Endpoint(method: "GET", path: path)
            endpoint.responseIDPointer = document?.valuePaths.first { document?[$0] == .string(id) }
            profile.endpoints["protected"] = endpoint
            note("endpoints: protected", "GET \(path) requires an ID token and accepts one")
            return
        }
        profile.endpoints["protected"] = nil
        note(
            "endpoints: protected",
            "no route was found that requires an ID token and accepts one",
            isUnresolved: true
        )
    }
}
