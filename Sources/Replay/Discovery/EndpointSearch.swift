internal import Contracts
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
        guard profile.namesOfDefaultEndpoints.contains("login"),
            let route = routes.first(where: { route in
                ["login", "signin", "sign-in"].contains { route.path.lowercased().contains($0) }
            })
        else { return }
        note(
            "endpoints: login",
            "\(route.location) seems to sign accounts in: POST \(route.path); to test logins, define "
                + "'endpoints: {login: …}' and 'accounts: {create: …}'",
            isUnresolved: true
        )
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
