internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

/// The requests of one run to the backend, with the namespace and the time of the run at this
/// moment.
///
/// Every request is recorded in the journal.
struct CaseRequests: Sendable {
    let run: RunExecutor
    let namespace: Namespace
    /// The current time in the contract.
    let now: Instant
    /// The longest wait for a response of the backend, in real time.
    let within: Duration
    /// The journal's sequence number at which the run began.
    let firstSequence: Int

    /// Returns the entry of the journal for a request to the backend.
    func exchange(
        _ from: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request
    ) -> Exchange {
        Exchange(
            from: from,
            to: .backend,
            namespace: namespace.name,
            purpose: purpose,
            at: now,
            request: request
        )
    }

    // MARK: Calls

    /// Returns the values of the templates in a request about a user.
    func templateValues(of user: String) -> [String: String?] {
        [
            "id": namespace.id(of: user),
            "device": namespace.installID(of: user), "platform": "ios", "source": "new",
            "timestamp": run.backendNow.description,
        ]
    }

    /// Sends a request to an endpoint of the profile, and returns its number in the journal.
    func send(
        _ endpoint: Profile.Endpoint,
        _ values: [String: String?],
        purpose: Exchange.Purpose,
        fields: [HTTPMessage.Field],
        lane: Int
    ) async -> (sequence: Int, outcome: Exchange.Outcome) {
        let proofs: [HTTPMessage.Field]
        var values = values
        do {
            // The contract's headers for this call override the profile's headers for all calls.
            proofs = try await credentials(endpoint.credentials, NamedValues(texts: values))
                .filter { proof in !fields.contains { $0.name.lowercased() == proof.name } }
            if endpoint.templateNames.contains(TemplateScope.ProfileSlot.idTokenName) {
                var namedValues = NamedValues(texts: values)
                addIDToken(to: &namedValues)
                values = namedValues.values.mapValues { $0?.string }
            }
        } catch {
            let request = endpoint.request(values, idForm: run.profile.idForm, fields: fields)
            let sequence = run.fakes.journal.begin(exchange(.app, purpose, request))
            return (sequence, .failed(.closed, "\(error)"))
        }
        let request = endpoint.request(values, idForm: run.profile.idForm, fields: fields + proofs)
        let sequence = run.fakes.journal.begin(exchange(.app, purpose, request))
        // A contract with a time limit above one minute applies this limit to each call too.
        let responseTimeLimit = within > .seconds(60) ? within : .seconds(30)
        let outcome = await run.backend.client.send(request, lane: lane, within: responseTimeLimit)
        return (sequence, outcome)
    }

    /// Sends all calls concurrently, each over separate connections.
    func send(_ calls: [PreparedCall], firstLaneIndex: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, request) in calls.enumerated() {
                group.addTask {
                    let (sequence, outcome) = await send(
                        request.endpoint,
                        request.values,
                        purpose: .appCall(request.call.name),
                        fields: request.authorization,
                        lane: firstLaneIndex + index
                    )
                    run.fakes.journal.complete(sequence, outcome)
                }
            }
        }
    }

    // MARK: Fakes

    /// Plans responses of a fake in this run.
    func schedule(_ plan: ProviderPlan) {
        run.fakes.schedule(plan, namespace: namespace.name)
        // Requests for signing keys name no user, so the fake cannot assign them to a namespace.
        // The plan therefore also applies to the empty namespace.
        if run.fakes.providers[plan.provider]?.tokenIssuer != nil {
            run.fakes.schedule(plan, namespace: "")
        }
    }

    func rotateKeys() {
        let issuer = run.fakes.providers.tokenIssuer
        run.fakes.edit("") { services, now in issuer?.rotateKeys(&services, at: now) }
    }

    // MARK: Users in the fake that issues tokens

    /// Creates the user in the fake that issues tokens, for backends that look up the user of a
    /// session.
    func seed(_ user: String) { seed(uid: namespace.id(of: user)) }

    func seed(uid: String) {
        let issuer = run.fakes.providers.tokenIssuer
        run.fakes.edit(namespace.name) { services, now in
            issuer?.addUser(uid, project: run.profile.tokenProject, &services, at: now)
        }
    }

    func change(_ user: String, _ change: AccountChange) {
        seed(user)
        let id = namespace.id(of: user)
        let issuer = run.fakes.providers.tokenIssuer
        run.fakes.edit(namespace.name) { services, now in
            issuer?.change(id, change, project: run.profile.tokenProject, &services, at: now)
        }
    }

    /// Returns an ID token for the app of a signed-in user, after creating the user in the fake
    /// that issues tokens.
    func token(of user: String) -> String? {
        seed(user)
        return run.tokenForge.text(TokenSpec(), user: namespace.id(of: user), at: run.backendNow)
    }
}

/// A call of an app to the backend that is ready to be sent.
struct PreparedCall: Sendable {
    let call: Call
    let endpoint: Profile.Endpoint
    let values: [String: String?]
    let authorization: [HTTPMessage.Field]
}
