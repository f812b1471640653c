internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// Checks of `assay doctor` that send what a case would send first, so that a mistake in the
/// profile is found before it looks like a failure of the backend.
struct RouteChecks {
    let executor: RunExecutor
    let name: String
    let observability: RunRecord.Observability

    /// Returns the question whether the profile maps a stored flag as `access`; nil if `access`
    /// is false for a purchase that ended before the event was sent, or is not mapped.
    func accessQuestion() async -> String? {
        let profile = executor.profile
        guard profile.probe(reading: "access") != nil, profile.probe(reading: "expires") != nil
        else { return nil }
        var purchase = EventSpec(type: .documented(.initialPurchase), user: "ada")
        purchase.expires = (executor.backendNow - executor.base) / 2
        let record = await executor.run(
            RunPlan(
                steps: [
                    .register(user: "ada"),
                    .deliver(Delivery(name: "purchase", subject: .event(purchase))),
                ],
                users: ["ada"],
                observesFinalState: true
            ),
            in: name + "-e",
            observability: observability,
            within: .seconds(60)
        ) { _ in .settled }
        return StoredAccessFlag.question(about: record, profile)
    }

    /// Returns the problem of the endpoint `protected` if it does not accept a registered user with
    /// a valid token; nil if it does, or if the profile names no such endpoint.
    func protectedRouteProblem() async -> String? {
        let profile = executor.profile
        guard profile.requests.useIDTokens,
            let endpoint = profile.endpoints[Call.Route.protected.rawValue]
        else { return nil }
        var call = Call(name: "me", route: .protected)
        (call.user, call.token) = ("ada", TokenSpec())
        let record = await executor.run(
            RunPlan(
                steps: [.register(user: "ada"), .call([call])],
                users: ["ada"],
                observesFinalState: false
            ),
            in: name + "-m",
            observability: observability,
            within: .seconds(60)
        ) { _ in .settled }
        guard let response = record.exchange(ofCall: "me")?.response,
            !(200..<300).contains(response.status)
        else { return nil }
        return "\(endpoint.method) \(endpoint.path) returns \(response.bodyExcerpt) for a "
            + "registered user with a valid ID token"
    }
}
