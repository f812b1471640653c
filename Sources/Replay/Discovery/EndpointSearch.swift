internal import Contracts
internal import FakeServers
internal import Grammar
internal import Judging
internal import Providers
internal import Values

/// Searches for the routes of a backend that only some contracts call, and names the databases
/// that the backend writes to.
extension BackendDiscovery {
    /// Finds the route that compares the state of the backend with the state of the services, and
    /// names the routes that sign accounts in.
    mutating func findOtherEndpoints(_ session: ReplaySession) async {
        let routes = survey.routes.filter { ["POST", ""].contains($0.method) && !$0.hasID }
        if profile.endpoints["reconcile"] == nil,
            let route = routes.first(where: { $0.path.lowercased().contains("reconcile") })
        {
            let request = HTTPMessage.Request("POST", route.path)
            let outcome = await session.backend.client.send(request, within: .seconds(10))
            if case .answered(let response) = outcome {
                let isAccepted = (200..<300).contains(response.status)
                if isAccepted {
                    profile.endpoints["reconcile"] = Profile.Endpoint(
                        method: "POST",
                        path: route.path
                    )
                }
                note(
                    "endpoints: reconcile",
                    "POST \(route.path) (\(route.location)) returns \(response.status)",
                    isUnresolved: !isAccepted
                )
            }
        }
        await findLogin(session, routes)
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
        let execution = executor(session).runWithoutSteps(name + "-l")
        let id = execution.namespace.id(of: "ada")
        // A token that cannot be issued leaves the login unknown; the route is then only noted.
        guard
            let fields = try? await execution.requests.credentials(
                Profile.Credentials(actor: id),
                NamedValues([:])
            )
        else { return false }
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
