internal import Contracts
internal import Grammar
internal import Judging
internal import Providers
internal import Redaction
internal import Values

/// Searches for the login of a backend with its own sessions, such as JSON Web Tokens that it signs
/// itself.
struct UserSessionSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    private static let loginPathWords = ["login", "signin", "sign-in", "sessions", "token"]
    private static let otherPathWords = [
        "refresh", "logout", "google", "apple", "facebook", "hook", "password",
    ]

    /// The headers with which a user proves a session.
    static let headers = [
        "authorization": "Bearer {{\(TemplateScope.ProfileSlot.userSessionName)}}"
    ]

    /// The credentials of a user with a session.
    static var credentials: Profile.Credentials {
        Profile.Credentials(headers: headers.mapValues { Secret($0) })
    }

    /// Reports the login of a discovery if a probe needs it, or else removes it from the profile.
    static func conclude(_ discovery: inout BackendDiscovery) {
        guard let login = discovery.profile.userSession else { return }
        let isNeeded = discovery.profile.probes.contains {
            $0.credentials?.usesUserSession == true
        }
        guard isNeeded else {
            discovery.profile.userSession = nil
            return
        }
        discovery.note(
            "users: login",
            "POST \(login.endpoint.path) signs in a user and returns a session at \(login.token)"
        )
    }

    /// Returns a request that signs in a created user, with the location of the session in its
    /// response; nil if there is none.
    ///
    /// The request that creates users is tried last, because some backends sign in a phone with the
    /// request that registers it.
    func login() async -> Profile.Session? {
        guard !discovery.survey.usesTokens, !discovery.isUnresponsive,
            let creation = creationEndpoint
        else { return nil }
        let routes = discovery.survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID
                && Self.loginPathWords.contains { path.contains($0) }
                && !Self.otherPathWords.contains { path.contains($0) }
        }
        // The code does not always show the members, which are usually those of the registration.
        let requests = routes.prefix(6).flatMap { route in
            [RequestMembers.body(route.bodyNames), creation.body].compactMap(\.self).uniqued()
                .map { Profile.Endpoint(method: "POST", path: route.path, body: $0) }
        }
        let logins =
            requests + [Profile.Endpoint(method: "POST", path: creation.path, body: creation.body)]
        for (index, login) in logins.enumerated() {
            if let token = await sessionPointer(login, "\(discovery.name)-n\(index)") {
                return Profile.Session(endpoint: login, token: token)
            }
        }
        return nil
    }

    private var creationEndpoint: Profile.Endpoint? {
        switch discovery.profile.creation {
        case .register: discovery.profile.endpoints["register"]
        case .request(let endpoint): endpoint
        case .command: nil
        }
    }

    /// Returns the location of the session in the response to a login of a new user; nil if the
    /// login fails or returns none.
    private func sessionPointer(
        _ login: Profile.Endpoint,
        _ namespace: String
    ) async -> JSONPointer? {
        var execution = discovery.executor(session).runWithoutSteps(namespace)
        guard await execution.register("ada") == nil else { return nil }
        var values = NamedValues(texts: execution.requests.templateValues(of: "ada"))
        values.markMissing(.userLogin)
        let outcome = await session.backend.client.send(
            login.request(from: values),
            within: .seconds(10)
        )
        guard case .answered(let response) = outcome, (200..<300).contains(response.status),
            let document = response.bodyJSON
        else { return nil }
        return RequestMembers.session(in: document)
    }
}
