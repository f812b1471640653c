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

    /// The ways in which a user may prove a session: the standard header, and those that the code
    /// reads.
    static func credentials(for survey: SourceSurvey) -> [Profile.Credentials] {
        let session = "{{\(TemplateScope.ProfileSlot.userSessionName)}}"
        let headers =
            [("authorization", "Bearer " + session)]
            + survey.sessionHeaders.names.prefix(2).map { ($0, session) }
        return headers.map { name, value in
            Profile.Credentials(headers: [name: Secret(value)])
        }
    }

    /// Reports the sessions of a discovery if a probe needs them, or else removes them from the
    /// profile.
    static func conclude(_ discovery: inout BackendDiscovery) {
        guard let userSession = discovery.profile.userSession else { return }
        let isNeeded = discovery.profile.probes.contains {
            $0.credentials?.usesUserSession == true
        }
        guard isNeeded else {
            discovery.profile.userSession = nil
            return
        }
        switch userSession {
        case .login(let login):
            discovery.note(
                "users: login",
                "POST \(login.endpoint.path) signs in a user and returns a session at \(login.token)"
            )
        case .creation(let token):
            discovery.note("users: token", "the creation of a user returns a session at \(token)")
        }
    }

    /// Finds the sessions of users, and stores the way to get one in the profile of a discovery.
    static func addSessions(to discovery: inout BackendDiscovery, _ session: ReplaySession) async {
        guard discovery.profile.userSession == nil, !discovery.survey.usesTokens,
            !discovery.isUnresponsive
        else { return }
        let search = UserSessionSearch(discovery: discovery, session: session)
        guard let creation = search.creationEndpoint else { return }
        if let login = await search.login(after: creation) {
            discovery.profile.userSession = .login(login)
        } else if let token = await search.token(from: creation) {
            discovery.profile.userSession = .creation(token: token)
        }
    }

    /// Returns a request that signs in a created user, with the location of the session in its
    /// response; nil if there is none.
    ///
    /// The request that creates users is tried last, because some backends sign in a phone with the
    /// request that registers it.
    private func login(after creation: Profile.Endpoint) async -> Profile.Session? {
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

    /// Returns the location of a session in the response to the request that creates a user; nil if
    /// it contains none.
    private func token(from creation: Profile.Endpoint) async -> JSONPointer? {
        let execution = discovery.executor(session).runWithoutSteps(discovery.name + "-nt")
        let values = NamedValues(texts: execution.requests.templateValues(of: "ada"))
        return await response(to: creation, values, .creation).flatMap(RequestMembers.session)
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
        let values = NamedValues(texts: execution.requests.templateValues(of: "ada"))
        guard let document = await response(to: login, values, .userLogin) else { return nil }
        // A registration that creates a second user signs in nobody whom a case knows.
        if login.path == creationEndpoint?.path,
            let id = creationEndpoint?.responseIDPointer.flatMap({ document[$0]?.idText }),
            id != execution.namespace.id(of: "ada")
        {
            return nil
        }
        return RequestMembers.session(in: document)
    }

    /// Sends a request, and returns the JSON of a successful response.
    private func response(
        to endpoint: Profile.Endpoint,
        _ values: NamedValues,
        _ slot: TemplateScope.ProfileSlot
    ) async -> JSONValue? {
        var values = values
        values.markMissing(slot)
        let outcome = await session.backend.client.send(
            endpoint.request(from: values),
            within: .seconds(10)
        )
        guard case .answered(let response) = outcome, (200..<300).contains(response.status) else {
            return nil
        }
        return response.bodyJSON
    }
}

extension JSONValue {
    /// The user ID that a string or a number contains; nil for any other value.
    fileprivate var idText: String? {
        switch self {
        case .string(let text): text
        case .number(let number): number.description
        case .null, .bool, .array, .object: nil
        }
    }
}
