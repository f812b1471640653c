internal import Contracts
internal import FakeServers
internal import Grammar
internal import Judging
internal import Providers
internal import Values

/// Searches for the routes of a backend that only some contracts call, and names the databases
/// that the backend writes to.
extension BackendDiscovery {
    /// Finds the route that compares the state of the backend with the state of the services, the
    /// route that signs accounts in, and the route that deletes them.
    mutating func findOtherEndpoints(_ session: ReplaySession) async {
        let routes = survey.routes.filter { ["POST", ""].contains($0.method) && !$0.hasID }
        if profile.endpoints["reconcile"] == nil,
            let found = await RefetchSearch(discovery: self, session: session).route(among: routes)
        {
            if found.isAccepted { profile.endpoints["reconcile"] = found.endpoint }
            note("endpoints: reconcile", found.text, isUnresolved: !found.isAccepted)
        }
        await findLogin(session, routes)
        if profile.endpoints["delete-account"] == nil,
            let found = await DeletionSearch(discovery: self, session: session).route()
        {
            profile.endpoints["delete-account"] = found.endpoint
            note("endpoints: delete-account", found.text, isUnresolved: found.endpoint == nil)
        }
    }

    /// Finds the route that signs an account in with an ID token; notes a route that signs it in
    /// with a password.
    private mutating func findLogin(
        _ session: ReplaySession,
        _ routes: [SourceSurvey.Route]
    ) async {
        guard profile.namesOfDefaultEndpoints.contains("login"),
            let route = routes.first(where: { route in
                ["login", "signin", "sign-in"].contains { route.path.lowercased().contains($0) }
            })
        else { return }
        if survey.usesTokens, await adoptTokenLogin(session, route) { return }
        note(
            "endpoints: login",
            "\(route.location) seems to sign accounts in: POST \(route.path); to test logins, type "
                + "'assay init --add login' and define 'accounts: {create: …}'",
            isUnresolved: true
        )
    }

    /// Stores a login in the profile if the route accepts an ID token, and returns whether it does.
    private mutating func adoptTokenLogin(
        _ session: ReplaySession,
        _ route: SourceSurvey.Route
    ) async -> Bool {
        // A token that cannot be issued leaves the login unknown; the route is then only noted.
        guard let (id, fields) = await executor(session).newTokenUser(name + "-l") else {
            return false
        }
        // Only a login of a phone that has a user sends the ID of this user and its proof.
        let optionalNames = route.bodyNames.filter(RequestMembers.isOfEarlierUser)
        let names = route.bodyNames.filter { !optionalNames.contains($0) }
        var request = HTTPMessage.Request("POST", route.path)
        let values = NamedValues(texts: ["id": id, "device": name + "-l", "platform": "ios"])
        // A body with an unknown template cannot be sent.
        guard let sent = try? values.filled(RequestMembers.body(names).text) else { return false }
        request.fields += fields
        request.fields.append(.init("content-type", "application/json"))
        request.body = Array(sent.utf8)
        let outcome = await session.backend.client.send(request, within: .seconds(10))
        guard case .answered(let response) = outcome, (200..<300).contains(response.status) else {
            return false
        }
        var body = RequestMembers.body(names).object ?? [:]
        for name in optionalNames {
            body[name] = .string(
                RequestMembers.value(of: name) == "{{id}}" ? "{{id}}" : "{{proof}}"
            )
        }
        var endpoint = Profile.Endpoint(
            method: "POST",
            path: route.path,
            body: body.members.isEmpty ? nil : .object(body)
        )
        endpoint.credentials = Profile.Credentials(actor: "{{account}}")
        let document = response.bodyJSON
        endpoint.responseIDPointer = document?.valuePaths.first { document?[$0] == .string(id) }
        profile.endpoints["login"] = endpoint
        profile.namesOfDefaultEndpoints.remove("login")
        note("endpoints: login", "POST \(route.path) signs in the user of an ID token")
        return true
    }

    /// Notes the databases of the owner that the backend writes to during a run.
    mutating func noteDatabases() {
        guard let start = profile.start else { return }
        let names = Set(survey.variables.map(\.name))
        for database in own.databases
        where names.contains(database.variable) && start.environment[database.variable] == nil {
            let scratch = database.name.isEmpty ? "a test database" : "'\(database.name)_assay'"
            note(
                "start: env",
                "each run adds users and subscriptions to \(database.text), which "
                    + "\(database.variable) names; to keep it clean, create \(scratch) and set "
                    + "\(database.variable) here",
                isUnresolved: true
            )
        }
    }
}

/// Searches for the route that compares the state of the backend with the state of the services.
struct RefetchSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    /// A route, and the result of a request to it.
    struct Result {
        let endpoint: Profile.Endpoint
        let isAccepted: Bool
        /// The result as text for the user.
        let text: String
    }

    /// Words in the last part of the path of a route that fetches the state of a user again.
    private static let words = ["reconcile", "resync", "refresh", "restore", "sync"]
    /// Words in the paths of routes that refresh something else.
    private static let otherWords = [
        "token", "session", "auth", "password", "hook", "push", "device", "jwt",
    ]

    /// Returns the first suitable route; nil if there is none.
    ///
    /// A route with another name than "reconcile" is taken only if it makes the backend read from
    /// the API of the services.
    func route(among routes: [SourceSurvey.Route]) async -> Result? {
        let candidates = routes.filter { route in
            let path = route.path.lowercased()
            let last = path.split(separator: "/").last.map(String.init) ?? ""
            return path.contains("reconcile")
                || Self.words.contains(where: last.contains)
                    && !Self.otherWords.contains(where: path.contains)
        }
        for (index, route) in candidates.prefix(4).enumerated() {
            let isNamed = route.path.lowercased().contains("reconcile")
            let result = await result(of: route, "\(discovery.name)-r\(index)")
            if let result, isNamed || result.isAccepted && result.readsState {
                return Result(
                    endpoint: result.endpoint,
                    isAccepted: result.isAccepted,
                    text: result.text
                )
            }
        }
        return nil
    }

    /// Sends a request to a route for a new user; returns nil when it gets no response.
    private func result(
        of route: SourceSurvey.Route,
        _ namespace: String
    ) async -> (endpoint: Profile.Endpoint, isAccepted: Bool, readsState: Bool, text: String)? {
        var execution = discovery.executor(session).runWithoutSteps(namespace)
        // A route about all users needs no user, so a failed registration is ignored.
        _ = await execution.register("ada")
        let endpoint = Profile.Endpoint(
            method: "POST",
            path: route.path,
            body: route.bodyNames.isEmpty ? nil : RequestMembers.body(route.bodyNames)
        )
        var values = NamedValues(texts: execution.requests.templateValues(of: "ada"))
        values.markMissing(.endpoint)
        let exchangeCount = session.fakes.journal.read { $0.exchanges.count }
        let outcome = await session.backend.client.send(
            endpoint.request(from: values),
            within: .seconds(10)
        )
        guard case .answered(let response) = outcome else { return nil }
        let party = discovery.executor(session).purchaseWebhook.party
        let readsState = session.fakes.journal.read {
            $0.exchanges.dropFirst(exchangeCount).contains {
                $0.from == .backend && $0.to == party && $0.request.method == "GET"
            }
        }
        let text =
            "POST \(route.path) (\(route.location)) returns \(response.status)"
            + (readsState ? " and reads the state of the user" : "")
        return (endpoint, (200..<300).contains(response.status), readsState, text)
    }
}

/// Searches for the route with which users delete their accounts.
struct DeletionSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    private static let words = ["me", "account", "user", "users", "profile"]

    /// Returns the first route that deletes the account of a new user; nil if the files show none.
    ///
    /// The endpoint is nil if no route accepts the request. The text describes the result.
    func route() async -> (endpoint: Profile.Endpoint?, text: String)? {
        // Contracts delete only accounts that a phone creates at the token issuer.
        guard discovery.survey.usesTokens else { return nil }
        let routes = discovery.survey.routes.filter { route in
            let last = route.path.lowercased().split(separator: "/").last.map(String.init) ?? ""
            return route.method == "DELETE" && !route.hasID && Self.words.contains(last)
        }
        var refusal: String?
        for (index, route) in routes.prefix(4).enumerated() {
            let status = await status(of: route, "\(discovery.name)-e\(index)")
            if let status, (200..<300).contains(status) {
                return (
                    Profile.Endpoint(method: route.method, path: route.path),
                    "DELETE \(route.path) deletes the user of an ID token"
                )
            }
            refusal =
                refusal
                ?? "DELETE \(route.path) (\(route.location)) seems to delete an account, but "
                + (status.map { "returns \($0)" } ?? "sends no response")
                + "; to test deletions, type 'assay init --add delete-account'"
        }
        return refusal.map { (nil, $0) }
    }

    /// Signs a new user in, and asks a route to delete this user; returns nil if there is no
    /// response.
    private func status(of route: SourceSurvey.Route, _ namespace: String) async -> Int? {
        // Without a token, the route cannot be tried.
        guard let (id, fields) = await discovery.executor(session).newTokenUser(namespace) else {
            return nil
        }
        var requests = [HTTPMessage.Request(route.method, route.path)]
        if !discovery.profile.namesOfDefaultEndpoints.contains("login"),
            let login = discovery.profile.endpoints["login"]
        {
            // A new phone has no earlier user, so the login lacks the members about one.
            let names = (login.body?.object?.members ?? []).map(\.key)
                .filter { !RequestMembers.isOfEarlierUser($0) }
            var values = NamedValues(texts: ["id": id, "device": namespace, "platform": "ios"])
            values.markMissing(.endpoint)
            let signIn = Profile.Endpoint(
                method: login.method,
                path: login.path,
                body: names.isEmpty ? nil : RequestMembers.body(names)
            )
            requests.insert(signIn.request(from: values), at: 0)
        }
        var status: Int?
        for var request in requests {
            request.fields += fields
            let outcome = await session.backend.client.send(request, within: .seconds(10))
            guard case .answered(let response) = outcome else { return nil }
            status = response.status
        }
        return status
    }
}

extension RunExecutor {
    /// Returns the ID of a user of a new namespace, with the headers of an ID token for this user;
    /// nil if no token can be issued.
    func newTokenUser(_ namespace: String) async -> (
        id: String, fields: [HTTPMessage.Field]
    )? {
        let execution = runWithoutSteps(namespace)
        let id = execution.namespace.id(of: "ada")
        // The caller reports that the route was not tried.
        guard
            let fields = try? await execution.requests.credentials(
                Profile.Credentials(actor: id),
                NamedValues([:])
            )
        else { return nil }
        return (id, fields)
    }
}
