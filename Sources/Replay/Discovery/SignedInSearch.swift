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

    /// Finds a route that rejects a caller without an ID token and accepts a caller with one, and
    /// the request with which an app creates the user of a token.
    mutating func findSignedInProbe(_ session: ReplaySession) async {
        guard survey.usesTokens, let protectedEndpoint = profile.endpoints["protected"] else {
            return
        }
        let executor = executor(session)
        let client = session.backend.client
        profile.endpoints["protected"] = nil
        // The routes that accept the token, but find no user.
        var pathsWithoutUser: [String] = []
        let paths = (ownDataRoutes + [protectedEndpoint.path]).uniqued().prefix(20)
        for (index, path) in paths.enumerated() {
            var request = HTTPMessage.Request("GET", path)
            let anonymousOutcome = await client.send(request, within: .seconds(5))
            guard case .answered(let refusal) = anonymousOutcome,
                RouteStatuses.refused.contains(refusal.status),
                // A route that has seen a token may have created its user, so each route gets
                // another user. Without a token, the route cannot be tried.
                let (id, fields) = await executor.newTokenUser("\(name)-p\(index)")
            else { continue }
            request.fields += fields
            let signedInOutcome = await client.send(request, within: .seconds(5))
            guard case .answered(let response) = signedInOutcome else { continue }
            if (200..<300).contains(response.status), profile.endpoints["protected"] == nil {
                let document = response.bodyJSON
                var endpoint = Profile.Endpoint(method: "GET", path: path)
                endpoint.responseIDPointer = document?.valuePaths.first {
                    document?[$0] == .string(id)
                }
                profile.endpoints["protected"] = endpoint
            }
            if response.status == 404 { pathsWithoutUser.append(path) }
        }
        let search = SignedInCreationSearch(discovery: self, session: session)
        if profile.creation == .register,
            let found = await search.creation(shownBy: pathsWithoutUser)
        {
            found.adopt(in: &profile)
            note("users: create", found.text)
        }
        guard let endpoint = profile.endpoints["protected"] else {
            note(
                "endpoints: protected",
                "no route was found that requires an ID token and accepts one",
                isUnresolved: true
            )
            return
        }
        note(
            "endpoints: protected",
            "\(endpoint.method) \(endpoint.path) requires an ID token and accepts one"
        )
    }
}

/// Searches for the request with which an app creates the user of an ID token.
struct SignedInCreationSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    /// Words in the paths of routes that an app calls after a user has signed in, the most likely
    /// one first.
    private static let pathWords = [
        "sync", "register", "signup", "sign-up", "bootstrap", "onboard", "users", "user", "session",
        "login", "signin", "sign-in", "verify", "auth", "account", "profile", "me",
    ]
    private static let routeCountMax = 8

    /// A request that creates the user of an ID token.
    struct Found {
        let endpoint: Profile.Endpoint
        /// The location of the user's ID in the response; nil if the response does not contain it.
        let id: JSONPointer?
        /// The path of a route that shows the user's own data only after the creation.
        let ownDataPath: String
        /// Whether the request is refused without a token, and accepted each time with one.
        let requiresToken: Bool

        /// The request as text for the user.
        var text: String {
            "POST \(endpoint.path) with an ID token creates a user: only then GET \(ownDataPath) "
                + "returns 200"
        }

        /// Stores the request in a profile, also as a route that requires a token if the profile has
        /// no other.
        func adopt(in profile: inout Profile) {
            var creation = endpoint
            creation.credentials = Profile.Credentials(actor: "{{id}}")
            profile.creation = .request(creation)
            profile.endpoints["register"] = nil
            guard requiresToken, profile.endpoints["protected"] == nil else { return }
            var protected = endpoint
            protected.responseIDPointer = id
            profile.endpoints["protected"] = protected
        }
    }

    /// Searches for a request after which a route knows the user of a token.
    ///
    /// - Parameter paths: The routes that accept the token of a new user, but find no user.
    /// - Returns: The first such request; nil if there is none.
    func creation(shownBy paths: [String]) async -> Found? {
        guard !paths.isEmpty else { return nil }
        let executor = discovery.executor(session)
        for (index, route) in routes.prefix(Self.routeCountMax).enumerated() {
            let namespace = "\(discovery.name)-c\(index)"
            guard let (id, fields) = await executor.newTokenUser(namespace) else { return nil }
            let values = ["id": id, "device": namespace, "platform": "ios"]
            guard let (endpoint, created) = await accepted(route, values, fields) else { continue }
            let anonymousStatus = await response(to: endpoint, values)?.status ?? 0
            // A route that accepts a user only once refuses good tokens later.
            let repeatedStatus = await response(to: endpoint, values, fields)?.status ?? 0
            let showsToken =
                RouteStatuses.refused.contains(anonymousStatus)
                && (200..<300).contains(repeatedStatus)
            for path in paths.prefix(3) {
                let ownData = await response(HTTPMessage.Request("GET", path), fields)
                guard let ownData, (200..<300).contains(ownData.status) else { continue }
                let document = created.bodyJSON
                return Found(
                    endpoint: endpoint,
                    id: document?.valuePaths.first {
                        document?[$0] == .string(id)
                            && ($0.tokens.last ?? "").lowercased().hasSuffix("id")
                    },
                    ownDataPath: path,
                    requiresToken: showsToken
                )
            }
        }
        return nil
    }

    /// The largest number of bodies that are tried at a route.
    private static let bodyCountMax = 4

    /// Returns the first request to a route that is accepted, with its response; nil if each is
    /// refused.
    private func accepted(
        _ route: SourceSurvey.Route,
        _ values: [String: String],
        _ fields: [HTTPMessage.Field]
    ) async -> (endpoint: Profile.Endpoint, response: HTTPMessage.Response)? {
        var body = route.bodyNames.isEmpty ? nil : RequestMembers.body(route.bodyNames)
        for _ in 0..<Self.bodyCountMax {
            let endpoint = Profile.Endpoint(method: "POST", path: route.path, body: body)
            guard let response = await response(to: endpoint, values, fields) else { return nil }
            if (200..<300).contains(response.status) { return (endpoint, response) }
            // A request without a body may be refused for this reason alone.
            guard let sent = body else {
                body = .object([:])
                continue
            }
            guard let next = RequestMembers.body(after: response, of: sent), next != sent else {
                return nil
            }
            body = next
        }
        return nil
    }

    private func response(
        to endpoint: Profile.Endpoint,
        _ texts: [String: String],
        _ fields: [HTTPMessage.Field] = []
    ) async -> HTTPMessage.Response? {
        var values = NamedValues(texts: texts)
        values.markMissing(.endpoint)
        return await response(endpoint.request(from: values), fields)
    }

    /// The routes that may create the user, the most likely one first.
    private var routes: [SourceSurvey.Route] {
        func rank(_ route: SourceSurvey.Route) -> Int? {
            let path = route.path.lowercased()
            let otherWords = SourceSurvey.pathWordsWithoutUser + ["push", "notification", "device"]
            guard !otherWords.contains(where: path.contains) else {
                return nil
            }
            let lastPart = path.split(separator: "/").last ?? ""
            let words = lastPart.split { !$0.isLetter }.map(String.init)
            return Self.pathWords.firstIndex { word in
                word == lastPart || words.contains(word)
            }
        }
        return discovery.survey.routes
            .filter { ["POST", ""].contains($0.method) && !$0.hasID }
            .compactMap { route in rank(route).map { (route: route, rank: $0) } }
            .sorted { $0.rank < $1.rank }.map(\.route)
    }

    private func response(
        _ request: HTTPMessage.Request,
        _ fields: [HTTPMessage.Field] = []
    ) async -> HTTPMessage.Response? {
        var request = request
        request.fields += fields
        let outcome = await session.backend.client.send(request, within: .seconds(10))
        guard case .answered(let response) = outcome else { return nil }
        return response
    }
}
