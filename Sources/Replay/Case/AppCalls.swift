internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

extension CaseExecution {
    /// Compares a response with a pattern of the contract, and stores the values that the pattern
    /// names.
    ///
    /// Returns whether the response matches the pattern.
    mutating func storeValues(from response: HTTPMessage.Response, _ pattern: ResponsePattern?)
        -> Bool
    {
        guard let pattern else { return true }
        return values.match(pattern, response).isEmpty && response.status == pattern.status
    }
}

/// Sends the calls of an app to the backend's own routes, as the profile defines them.
extension CaseExecution {
    /// Sends the calls of one step of the contract.
    ///
    /// Several calls are sent concurrently. If deliveries are being held back, the calls are sent
    /// when the deliveries are released.
    mutating func sendAppCalls(_ calls: [Call]) async {
        var preparedCalls: [PreparedCall] = []
        for call in calls {
            // A missing route is a reason to skip the case, which was reported before the case
            // began.
            guard let endpoint = profile.endpoints[call.route.rawValue] else { continue }
            var values = values(of: call)
            var authorization: [HTTPMessage.Field] = []
            if let spec = call.token {
                let token = await token(spec, of: call)
                switch call.route {
                case .login: values[TemplateScope.ProfileSlot.idTokenName] = .some(token)
                case .protected, .register, .reconcile:
                    authorization =
                        token.map { [HTTPMessage.Field("Authorization", "Bearer " + $0)] } ?? []
                }
            }
            preparedCalls.append(
                PreparedCall(
                    call: call,
                    endpoint: endpoint,
                    values: values,
                    authorization: authorization
                )
            )
        }
        if runProblem != nil { return }
        let isDatabaseFaultPlanned = calls.contains { $0.hasDatabaseFailure == true }
        if isDatabaseFaultPlanned, await injectDatabaseFault() == false { return }
        if deliveries.held.isEmpty {
            if calls.count > 1 {
                await backend.client.openConnections(lanes: calls.count, path: backend.readyPath)
            }
            await requests.send(preparedCalls, firstLaneIndex: 0)
        } else {
            await release([], alongside: preparedCalls)
        }
        if isDatabaseFaultPlanned, await removeDatabaseFault() == false { return }
        for request in preparedCalls {
            requests.registerResponseID(request.call, request.endpoint, at: now)
            storeOwnershipProof(request.call, request.endpoint)
            if request.call.route == .register {
                let response = requests.response(to: request.call)
                requests.storeUserSession(from: response, NamedValues(texts: request.values))
            }
            let returnedID = requests.returnedID(request.call, request.endpoint)
            values.returnedIDs[request.call.name] = returnedID
            if request.call.route == .login, let user = request.call.user, let returnedID {
                namespace.addReturnedID(returnedID, of: user, among: plan.users)
            }
        }
    }

    /// Sends a request that the contract contains literally, and stores values from its response
    /// for later requests.
    mutating func sendAppCalls(_ request: AppRequest) async {
        values.namespace = namespace
        for user in Template.users(in: request.fields.map(\.value)) {
            values.tokens[user] = requests.token(of: user)
        }
        let target = values.fill(target: request.target)
        let body: [UInt8] =
            switch request.body {
            case .json(let value): values.fill(value).bytes
            case .text(let text): Array(values.fill(text).utf8)
            case nil: []
            }
        var fields: [HTTPMessage.Field] = []
        for field in request.fields {
            fields.append(HTTPMessage.Field(field.name, values.fill(field.value)))
        }
        if case .json = request.body, fields.value(of: "content-type") == nil {
            fields.append(HTTPMessage.Field("content-type", "application/json"))
        }
        let message = HTTPMessage.Request(request.method, target, fields: fields, body: body)
        // The request may come earlier than in the recording, before the backend has finished its
        // work. A read is therefore repeated while waiting may help.
        let isRead = request.method == "GET" && request.answer != nil
        let settleTimeout = run.settleTimeout(run.shortSettleTimeout(latency))
        var pause: Duration = .milliseconds(2)
        while true {
            let sequence = fakes.journal.begin(
                requests.exchange(.app, .appCall(request.name), message)
            )
            let outcome = await backend.client.send(message, within: within).withDecodedBody
            fakes.journal.complete(sequence, outcome)
            guard case .answered(let response) = outcome else { return }
            var updatedExecution = self
            let isExpectedResponse = updatedExecution.storeValues(from: response, request.answer)
            if isExpectedResponse || !isRead || settleTimeout.isOver || Task.isCancelled {
                self = updatedExecution
                return
            }
            await settleTimeout.pause(pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    private mutating func storeOwnershipProof(_ call: Call, _ endpoint: Profile.Endpoint) {
        guard let pointer = endpoint.responseProofPointer else { return }
        let proof = requests.response(to: call)?[pointer]?.string
        values.proofs[call.name] = proof
        guard call.route == .register, let user = call.user, let proof else { return }
        // A device keeps the latest proof that it received. It does not receive a proof that was
        // issued to another device.
        if call.values["device"] == nil || proofs[user] == nil { proofs[user] = proof }
    }

    /// Returns the values for the templates in the endpoint of a call.
    func values(of call: Call) -> [String: String?] {
        var values: [String: String?] = call.user.map { requests.templateValues(of: $0) } ?? [:]
        values["id"] = values["id"] ?? .some(nil)
        // A proof belongs to one device (S-26), so another device does not have it (S-24).
        let isOtherDevice = call.route == .register && call.values["device"] != nil
        values["proof"] = .some(isOtherDevice ? nil : call.user.flatMap { proofs[$0] })
        if let account = call.account {
            values["account"] = namespace.accountID(of: account)
            values["password"] = namespace.password(of: account)
        }
        var templateValues = self.values
        templateValues.namespace = namespace
        for (name, value) in call.values.sorted(by: { $0.key < $1.key }) {
            values[name] = .some(value.flatMap { templateValues.fillIfPresent($0) })
        }
        return values
    }

    /// Returns the ID token that the contract defines for a call; nil for no token.
    ///
    /// It is a token of the call's account, or else of its user.
    private mutating func token(_ spec: TokenSpec, of call: Call) async -> String? {
        var spec = spec
        let execution = self
        let trials = TokenTrials(requests: requests, call: call) { execution.values(of: call) }
        if let earlierCall = spec.callWithExpiredToken,
            let expiring = expiringTokens.tokens[earlierCall]
        {
            if let text = await expiringTokens.waitUntilExpired(expiring.end, trials) {
                runProblem = runProblem ?? .faultNotApplied(text)
            }
            return expiring.token
        }
        var end: Int64?
        if spec.expires == .soon {
            let soon = await expiringTokens.nearlyExpiredEnd(trials)
            spec.claims.merge(trials.claims(endingAt: soon)) { existing, _ in existing }
            end = soon
        }
        values.namespace = namespace
        values.clock = run.backendNow
        for (name, value) in spec.claims.sorted(by: { $0.key < $1.key }) {
            spec.claims[name] = .some(value.map { values.fill($0) })
        }
        spec.raw = spec.raw.map { values.fill($0) }
        let uid =
            call.account.map { namespace.accountID(of: $0) }
            ?? call.user.map { namespace.id(of: $0) } ?? ""
        let tokenForge = run.tokenForge
        if spec.signing == .withdrawnKey, tokenForge.withdrawnKey == nil {
            runProblem =
                runProblem
                ?? .faultNotApplied(
                    "the token needs a withdrawn signing key, and there is none; run the step "
                        + "'firebase: rotate-keys' twice before this call"
                )
        }
        guard let token = tokenForge.text(spec, user: uid, at: run.backendNow) else { return nil }
        if let end { expiringTokens.tokens[call.name] = (token, end) }
        return token
    }
}

extension Exchange.Outcome {
    /// The response with its body decoded and without `Content-Encoding`, as recordings store it.
    fileprivate var withDecodedBody: Exchange.Outcome {
        guard case .answered(var response) = self,
            let encoding = response[field: "content-encoding"],
            let decodedBody = BodyDecoding.decodedBody(
                response.body,
                encoding: encoding,
                max: 16 << 20
            )
        else { return self }
        response.body = decodedBody
        response.fields.removeAll { $0.name.lowercased() == "content-encoding" }
        return .answered(response)
    }
}

extension CaseRequests {
    /// Registers the user ID that the backend returned to a call with the fakes.
    ///
    /// A backend may choose the ID of an account itself, and sends later pushes to this ID.
    fileprivate func registerResponseID(
        _ call: Call,
        _ endpoint: Profile.Endpoint,
        at now: Instant
    ) {
        guard let id = returnedID(call, endpoint) else { return }
        run.fakes.open(namespace.name, ids: [id], at: now)
    }

    /// Returns the user ID in the last response to a call; nil without one.
    fileprivate func returnedID(_ call: Call, _ endpoint: Profile.Endpoint) -> String? {
        guard let pointer = endpoint.responseIDPointer, let response = lastResponse(to: call),
            (200..<300).contains(response.status)
        else { return nil }
        let id: String? =
            switch response.bodyJSON?[pointer] {
            case .string(let id): id
            case .number(let id): id.description
            default: nil
            }
        return id?.isEmpty == false ? id : nil
    }

    /// Returns the JSON of the last response to a call; nil without one.
    fileprivate func response(to call: Call) -> JSONValue? {
        lastResponse(to: call)?.bodyJSON
    }

    private func lastResponse(to call: Call) -> HTTPMessage.Response? {
        run.fakes.journal.read {
            $0.exchanges(in: namespace.name, from: firstSequence)
        }.last { if case .appCall(call.name) = $0.purpose { true } else { false } }?.response
    }
}
