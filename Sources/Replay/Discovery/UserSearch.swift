internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Searches for a request that creates a user in the backend.
extension BackendDiscovery {
    static let userPathWords = [
        "register", "users", "user", "identify", "customers", "anonymous", "guest", "devices",
        "signup", "sign-up", "accounts",
    ]

    /// Finds a request that creates a user in the backend, and stores it in the profile.
    mutating func findUsers(_ session: ReplaySession) async {
        if profile.creation != .register { return }
        if await canCreateUser(session, .register) {
            note("endpoints: register", "POST /api/user/register creates a user")
            return
        }
        let clock = session.executor.clock
        var refusedRegistration: (path: String, response: HTTPMessage.Response)?
        for route in survey.registrationRoutes {
            let start = clock.now
            // If the backend does not respond, each route takes more than 20 seconds, so the search
            // ends after the first such route.
            defer { if clock.now - start > .seconds(20) { isUnresponsive = true } }
            if isUnresponsive { break }
            var bodies = RequestMembers.bodies(of: route)
            var triedBodies: Set<JSONValue> = []
            while let body = bodies.first {
                bodies.removeFirst()
                guard triedBodies.insert(body).inserted else { continue }
                let endpoint = Profile.Endpoint(method: "POST", path: route.path, body: body)
                for idForm in [profile.idForm, .uuid, .integer].uniqued() {
                    let containsChosenID = body.templatePointersInJSON["id"] != nil
                    guard await canCreateUser(session, .request(endpoint), idForm),
                        await isUserCreated(session, by: route)
                    else {
                        let refusal = RefusedRequests(session: session)
                            .registration(in: name + "-u")
                        if let refusal { refusedRegistration = (route.path, refusal) }
                        if let refusal, let next = RequestMembers.body(after: refusal, of: body) {
                            bodies.insert(next, at: 0)
                            break
                        }
                        if containsChosenID, !isUnresponsive { continue }
                        break
                    }
                    return adoptEndpoint(endpoint, idForm, await registrationResponse(session))
                }
            }
        }
        profile.endpoints["register"] = nil
        profile.creation = .command(["true"])
        if survey.usesTokens, let endpoint = profile.endpoints["protected"] {
            profile.creation = .request(endpoint.asFirstRequest)
            note(
                "users: create",
                "the first request of a user with an ID token is \(endpoint.method) "
                    + "\(endpoint.path)"
            )
            return
        }
        let reason =
            refusedRegistration.map {
                "POST \($0.path) refuses each registration that was tried, the last with "
                    + "\($0.response.bodyExcerpt)"
            } ?? "no route that creates a user was found"
        note(
            "users: create",
            "\(reason), so Assay creates no user before an event; if the backend has such a route, "
                + "write 'users: {create: {post: /…, body: {…}}}'",
            isUnresolved: true
        )
    }

    func canCreateUser(
        _ session: ReplaySession,
        _ creation: Profile.SetupAction,
        _ idForm: UserIDForm? = nil
    ) async -> Bool {
        let executor = executor(session) {
            $0.creation = creation
            $0.idForm = idForm ?? $0.idForm
        }
        var execution = executor.runWithoutSteps(name + "-u")
        return await execution.register("ada") == nil
    }

    /// Returns whether the accepted request to a route has created a user.
    ///
    /// A login that only sends a code creates none, so the response to a login has to contain a
    /// session and an ID that the backend chose.
    private func isUserCreated(
        _ session: ReplaySession,
        by route: SourceSurvey.Route
    ) async -> Bool {
        guard route.isLoginPath else { return true }
        guard let (sentBody, response) = await registrationResponse(session) else { return false }
        let sent = String(decoding: sentBody, as: UTF8.self)
        return RequestMembers.session(in: response) != nil
            && RequestMembers.id(in: response, sentBody: sent) != nil
    }

    /// Returns the body and the response of the last request that created a user; nil if there was
    /// none.
    func registrationResponse(_ session: ReplaySession) async -> (
        sentBody: [UInt8], responseJSON: JSONValue
    )? {
        let calls = session.fakes.journal.read { $0.exchanges(in: name + "-u") }
        guard
            let call = calls.last(where: {
                if case .registration = $0.purpose { true } else { false }
            }),
            let body = call.response?.body, let responseJSON = JSONValue(ifValid: body)
        else { return nil }
        return (call.request.body, responseJSON)
    }

    /// Stores a request that creates users in the profile, with the location of the user ID in its
    /// response.
    mutating func adoptEndpoint(
        _ endpoint: Profile.Endpoint,
        _ idForm: UserIDForm,
        _ registrationResponse: (sentBody: [UInt8], responseJSON: JSONValue)?
    ) {
        var endpoint = endpoint
        profile.idForm = idForm
        let id = registrationResponse.flatMap { sentBody, response in
            endpoint.keepsSentID(sentBody, response)
                ? nil
                : RequestMembers.id(
                    in: response,
                    sentBody: String(decoding: sentBody, as: UTF8.self)
                )
        }
        if let (pointer, value) = id {
            endpoint.responseIDPointer = pointer
            profile.idForm = UserIDForm(of: value) ?? profile.idForm
        }
        profile.namesOfDefaultEndpoints.remove("register")
        // A registration with the ID of the app is what an app sends at each launch.
        if id == nil, endpoint.body?.templatePointersInJSON["id"] != nil,
            endpoint.body?.templatePointersInJSON["device"] != nil
        {
            endpoint.responseProofPointer = registrationResponse.flatMap {
                RequestMembers.proof(
                    in: $0.responseJSON,
                    sentBody: String(decoding: $0.sentBody, as: UTF8.self)
                )
            }
            profile.endpoints["register"] = endpoint
            note("endpoints: register", "POST \(endpoint.path) registers a user")
            return
        }
        profile.endpoints["register"] = nil
        profile.creation = .request(endpoint)
        note(
            "users: create",
            "POST \(endpoint.path) creates a user"
                + (id.map { " and returns its ID at \($0.0)" } ?? "")
        )
    }
}

extension Profile.Endpoint {
    /// The request with an ID token that an app sends for a user first.
    fileprivate var asFirstRequest: Profile.Endpoint {
        var endpoint = self
        endpoint.responseIDPointer = nil
        endpoint.credentials = Profile.Credentials(actor: "{{id}}")
        return endpoint
    }

    /// Returns whether the response of a registration contains the ID that the request sent.
    ///
    /// Such a backend knows the user by the ID of the app, also if it returns the ID of its own row.
    fileprivate func keepsSentID(_ sentBody: [UInt8], _ response: JSONValue) -> Bool {
        guard let pointer = body?.templatePointersInJSON["id"],
            // A user may have any name, and backends know nobody by it.
            pointer.tokens.last.map(RequestMembers.isID) == true,
            let sentID = JSONValue(ifValid: sentBody)?[pointer]
        else { return false }
        return response.valuePaths.contains { response[$0] == sentID }
    }
}

extension UserIDForm {
    /// The form of an ID that a backend has chosen; nil for a string of no special form.
    init?(of id: JSONValue) {
        switch id {
        case .number: self = .integer
        case .string(let text) where text.isUUID: self = .uuid
        case .string, .null, .bool, .array, .object: return nil
        }
    }
}

extension String {
    fileprivate var isUUID: Bool {
        let uuidParts = split(separator: "-", omittingEmptySubsequences: false)
        return uuidParts.map(\.count) == [8, 4, 4, 4, 12]
            && allSatisfy { $0.isHexDigit || $0 == "-" }
    }
}

extension SourceSurvey {
    /// Words in the paths of routes that neither create nor sign in a user, or that may destroy
    /// data.
    static let pathWordsWithoutUser = [
        "hook", "logout", "password", "delete", "remove", "deactivate", "cancel", "purge", "reset",
        "refund", "ban",
    ]

    /// The routes that may create a user, the most likely one first.
    ///
    /// The last ones are logins, because the first login of a phone may create its user.
    fileprivate var registrationRoutes: [Route] {
        let possibleRoutes = routes.filter { route in
            let path = route.path.lowercased()
            return ["POST", ""].contains(route.method) && !route.hasID
                && !Self.pathWordsWithoutUser.contains { path.contains($0) }
        }
        let registrations = possibleRoutes.filter { route in
            !route.isLoginPath
                && (route.namesRegistration
                    || BackendDiscovery.userPathWords.contains {
                        route.path.lowercased().contains($0)
                    })
        }
        let logins = possibleRoutes.filter { route in
            let values = route.bodyNames.map(RequestMembers.value)
            return route.isLoginPath && values.contains("{{device}}")
                && !route.bodyNames.contains(where: RequestMembers.isPassword)
        }
        let sorted = registrations.sorted { $0.userRank < $1.userRank }
        return Array(sorted.prefix(9) + logins.prefix(3))
    }
}

extension SourceSurvey.Route {
    /// Whether the path names a login.
    fileprivate var isLoginPath: Bool {
        ["login", "signin", "sign-in"].contains(where: path.lowercased().contains)
    }

    /// The position of the route in the order in which the routes are tried.
    ///
    /// A route that reads the ID of a user comes before one that creates an account for a login.
    fileprivate var userRank: Int {
        let words = BackendDiscovery.userPathWords
        let readsID = bodyNames.contains { RequestMembers.value(of: $0) == "{{id}}" }
        let rank = words.firstIndex { path.lowercased().contains($0) } ?? words.count
        return rank + (readsID ? 0 : words.count)
    }
}
