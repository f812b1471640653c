internal import Contracts
internal import Grammar
internal import Judging
internal import Providers
internal import Redaction
internal import Values

/// Searches for the login of a backend with its own sessions, such as JSON Web Tokens that it signs
/// itself.
extension BackendDiscovery {
    private static let loginPathWords = ["login", "signin", "sign-in", "sessions", "token"]
    private static let otherLoginWords = [
        "refresh", "logout", "google", "apple", "facebook", "hook", "password",
    ]

    /// The headers with which a user proves a session.
    static let userSessionHeaders = [
        "authorization": "Bearer {{\(TemplateScope.ProfileSlot.userSessionName)}}"
    ]

    /// The credentials of a user with a session.
    static var userSessionCredentials: Profile.Credentials {
        var credentials = Profile.Credentials()
        credentials.headers = userSessionHeaders.mapValues { Secret($0) }
        return credentials
    }

    /// Finds a request that signs in a created user and returns a session, and stores it in the
    /// profile.
    ///
    /// The request that creates users is tried last, because some backends sign in a phone with the
    /// request that registers it.
    mutating func findUserSession(_ session: ReplaySession) async {
        guard profile.userSession == nil, !survey.usesTokens, !isUnresponsive,
            let creation = creationEndpoint
        else { return }
        let routes = survey.routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID && !route.bodyNames.isEmpty
                && Self.loginPathWords.contains { path.contains($0) }
                && !Self.otherLoginWords.contains { path.contains($0) }
        }
        let logins =
            routes.prefix(6).map {
                Profile.Endpoint(
                    method: "POST",
                    path: $0.path,
                    body: RequestMembers.body($0.bodyNames)
                )
            } + [Profile.Endpoint(method: "POST", path: creation.path, body: creation.body)]
        for (index, login) in logins.enumerated() {
            guard let token = await sessionPointer(login, session, name + "-n\(index)") else {
                continue
            }
            profile.userSession = Profile.Session(endpoint: login, token: token)
            return
        }
    }

    /// Reports the login if a probe needs it, or else removes it from the profile.
    mutating func noteUserSession() {
        guard let login = profile.userSession else { return }
        guard profile.probes.contains(where: { $0.credentials?.usesUserSession == true }) else {
            profile.userSession = nil
            return
        }
        note(
            "users: login",
            "POST \(login.endpoint.path) signs in a user and returns a session at \(login.token)"
        )
    }

    private var creationEndpoint: Profile.Endpoint? {
        switch profile.creation {
        case .register: profile.endpoints["register"]
        case .request(let endpoint): endpoint
        case .command: nil
        }
    }

    /// Returns the location of the session in the response to a login of a new user; nil if the
    /// login fails or returns none.
    private func sessionPointer(
        _ login: Profile.Endpoint,
        _ session: ReplaySession,
        _ namespace: String
    ) async -> JSONPointer? {
        var execution = executor(session).runWithoutSteps(namespace)
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
