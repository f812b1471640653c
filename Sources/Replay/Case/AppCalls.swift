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

/// Sends the requests of an app and of its operators, as the profile defines them.
///
/// These requests create users and accounts, or call the backend's own routes.
extension CaseExecution {
    // MARK: Users and accounts

    /// Registers a user with the backend.
    ///
    /// Returns an error message on failure; nil on success.
    mutating func register(_ user: String) async -> String? {
        let values = templateValues(of: user)
        switch profile.creation {
        case .command(let commandWords, let pointer):
            return await runProgram(commandWords, values, id: pointer, user)
        case .register:
            guard let endpoint = profile.endpoints["register"] else {
                return "the profile has no endpoint 'register'"
            }
            return await sendCreationRequest(.registration(user: user), endpoint, values, user)
        case .request(let endpoint):
            // A user whose ID is known registers under this ID, and does not get another one
            // (S-21).
            if profile.backendChoosesIDs, namedUsers.contains(user) {
                guard let registerEndpoint = profile.registerEndpointAcceptingIDs else {
                    return "the profile has no endpoint 'register' that takes an ID"
                }
                return await sendCreationRequest(
                    .registration(user: user),
                    registerEndpoint,
                    values,
                    nil
                )
            }
            return await sendCreationRequest(.registration(user: user), endpoint, values, user)
        }
    }

    /// Creates an account in the backend.
    ///
    /// Returns an error message on failure; nil on success.
    mutating func createAccount(_ account: String) async -> String? {
        let values: [String: String?] = [
            "account": namespace.accountID(of: account),
            "password": namespace.password(of: account),
        ]
        switch profile.accountCreation {
        case .command(let commandWords, _): return await runProgram(commandWords, values)
        case .request(let endpoint):
            return await sendCreationRequest(
                .registration(user: "account " + account),
                endpoint,
                values,
                nil
            )
        case .register, nil: return "the profile does not define how 'accounts' are created"
        }
    }

    /// Runs a program of the profile that creates a user or an account.
    ///
    /// - Parameters:
    ///   - commandWords: The program and its arguments, with templates such as `{{id}}`.
    ///   - values: The values of the templates.
    ///   - pointer: The JSON path of the user's ID in the output of the program; nil when Assay
    ///     chose the ID.
    ///   - user: The name, in the contract, of the user that the program creates.
    /// - Returns: An error message; nil on success.
    private mutating func runProgram(
        _ commandWords: [String],
        _ values: [String: String?],
        id pointer: JSONPointer? = nil,
        _ user: String = ""
    ) async -> String? {
        let output: [UInt8]
        do {
            let namedValues = NamedValues(texts: values)
            let filled = try commandWords.map { try namedValues.filled($0) }
            output = try await CommandRunner.output(
                of: filled,
                within: .seconds(30),
                in: profile.folder
            )
        } catch {
            return "\(error)"
        }
        guard let pointer else { return nil }
        let outputLines = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isNewline)
        let text = outputLines.last.map(String.init) ?? ""
        // A printed number is valid JSON; a printed word that is not JSON is the ID itself.
        let outputJSON = JSONValue(ifValid: output) ?? .string(text)
        switch outputJSON[pointer] {
        case .string(let id) where !id.isEmpty: namespace.assign(id, to: user)
        case .number(let id): namespace.assign(id.description, to: user)
        case let other:
            let printedText = other?.text ?? "nothing"
            return "'\(commandWords[0])' printed no user ID at \"\(pointer)\": found \(printedText)"
        }
        return nil
    }

    private mutating func sendCreationRequest(
        _ purpose: Exchange.Purpose,
        _ endpoint: Profile.Endpoint,
        _ values: [String: String?],
        _ user: String?
    ) async -> String? {
        let (sequence, outcome) = await send(
            endpoint,
            values,
            purpose: purpose,
            fields: [],
            lane: 0
        )
        fakes.journal.complete(sequence, outcome)
        switch outcome {
        case .answered(let response) where (200..<300).contains(response.status):
            guard let user else { return nil }
            return storeAssignedID(response, of: endpoint, user)
        case .answered(let response):
            return "\(endpoint.method) \(endpoint.path) returned \(response.status)"
        case .failed(_, let text): return "\(endpoint.method) \(endpoint.path): \(text)"
        case .pending, .answerLost, .requestCut:
            return "\(endpoint.method) \(endpoint.path): no response"
        }
    }

    /// Stores the user ID and the proof of ownership from a response that created a user.
    ///
    /// Returns an error message if the backend chooses IDs, but the response contains none.
    private mutating func storeAssignedID(
        _ response: HTTPMessage.Response,
        of endpoint: Profile.Endpoint,
        _ user: String
    ) -> String? {
        let answer = response.bodyJSON
        if let proof = endpoint.responseProofPointer.flatMap({ answer?[$0]?.string }) {
            proofs[user] = proof
        }
        // The register route of the identity guide returns the ID that it was given. Other routes
        // choose one.
        guard case .request = profile.creation, let pointer = endpoint.responseIDPointer else {
            return nil
        }
        switch answer?[pointer] {
        case .string(let id): namespace.assign(id, to: user)
        case .number(let id): namespace.assign(id.description, to: user)
        case let other:
            return "\(endpoint.method) \(endpoint.path) returned no user ID at \(pointer): found "
                + (other?.text ?? "nothing")
        }
        return nil
    }

    private func templateValues(of user: String) -> [String: String?] {
        [
            "id": namespace.id(of: user),
            "device": namespace.installID(of: user), "platform": "ios", "source": "new",
            "timestamp": run.backendNow.description,
        ]
    }

    // MARK: Calls

    /// A call of an app to the backend that is ready to be sent.
    struct PreparedCall: Sendable {
        let call: Call
        let endpoint: Profile.Endpoint
        let values: [String: String?]
        let authorization: [HTTPMessage.Field]
    }

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
            let values = values(of: call)
            preparedCalls.append(
                PreparedCall(
                    call: call,
                    endpoint: endpoint,
                    values: values,
                    authorization: await authorization(call)
                )
            )
        }
        if runProblem != nil { return }
        let isDatabaseFaultPlanned = calls.contains { $0.hasDatabaseFailure == true }
        if isDatabaseFaultPlanned, await injectDatabaseFault() == false { return }
        if held.isEmpty {
            if calls.count > 1 {
                await backend.client.openConnections(lanes: calls.count, path: backend.readyPath)
            }
            await send(preparedCalls, firstLaneIndex: 0)
        } else {
            await release([], alongside: preparedCalls)
        }
        if isDatabaseFaultPlanned, await removeDatabaseFault() == false { return }
        for request in preparedCalls { storeOwnershipProof(request.call, request.endpoint) }
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
                    fakes.journal.complete(sequence, outcome)
                }
            }
        }
    }

    /// Returns the response with its body decoded and without `Content-Encoding`, as recordings
    /// store it.
    private static func outcomeWithDecodedBody(_ outcome: Exchange.Outcome) -> Exchange.Outcome {
        guard case .answered(var response) = outcome,
            let encoding = response[field: "content-encoding"],
            let decodedBody = BodyDecoding.decodedBody(
                response.body,
                encoding: encoding,
                max: 16 << 20
            )
        else { return outcome }
        response.body = decodedBody
        response.fields.removeAll { $0.name.lowercased() == "content-encoding" }
        return .answered(response)
    }

    /// Returns an ID token for the app of a signed-in user, after creating the user in the fake of
    /// Firebase.
    private func token(of user: String) -> String? {
        seed(user)
        return run.tokenForge.text(TokenSpec(), user: namespace.id(of: user), at: run.backendNow)
    }

    /// Sends a request that the contract contains literally, and stores values from its response
    /// for later requests.
    mutating func sendAppCalls(_ request: AppRequest) async {
        values.namespace = namespace
        for user in Template.users(in: request.fields.map(\.value)) {
            values.tokens[user] = token(of: user)
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
                exchange(.app, .appCall(request.name), message)
            )
            let outcome = Self.outcomeWithDecodedBody(
                await backend.client.send(message, within: within)
            )
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
        let exchange = fakes.journal.read {
            $0.exchanges(in: namespace.name, from: firstSequence)
        }.last { if case .appCall(call.name) = $0.purpose { true } else { false } }
        let answer = (exchange?.response?.body).flatMap { JSONValue(ifValid: $0) }
        let proof = answer?[pointer]?.string
        values.proofs[call.name] = proof
        guard call.route == .register, let user = call.user, let proof else { return }
        // A device keeps the latest proof that it received. It does not receive a proof that was
        // issued to another device.
        if call.values["device"] == nil || proofs[user] == nil { proofs[user] = proof }
    }

    mutating func values(of call: Call) -> [String: String?] {
        var values: [String: String?] = call.user.map { templateValues(of: $0) } ?? [:]
        values["id"] = values["id"] ?? .some(nil)
        // A proof belongs to one device (S-26), so another device does not have it (S-24).
        let isOtherDevice = call.route == .register && call.values["device"] != nil
        values["proof"] = .some(isOtherDevice ? nil : call.user.flatMap { proofs[$0] })
        if let account = call.account {
            values["account"] = namespace.accountID(of: account)
            values["password"] = namespace.password(of: account)
        }
        self.values.namespace = namespace
        for (name, value) in call.values.sorted(by: { $0.key < $1.key }) {
            values[name] = .some(value.flatMap { self.values.fillIfPresent($0) })
        }
        return values
    }

    private mutating func authorization(_ call: Call) async -> [HTTPMessage.Field] {
        guard var spec = call.token, call.route == .protected else { return [] }
        if let earlierCall = spec.callWithExpiredToken,
            let (token, end) = expiringTokens[earlierCall]
        {
            await waitUntilTokenExpires(end, call)
            return [HTTPMessage.Field("Authorization", "Bearer " + token)]
        }
        var end: Int64?
        if spec.expires == .soon {
            let soon = await nearlyExpiredEnd(call)
            spec.claims.merge(claims(endingAt: soon)) { existing, _ in existing }
            end = soon
        }
        values.namespace = namespace
        values.clock = run.backendNow
        for (name, value) in spec.claims.sorted(by: { $0.key < $1.key }) {
            spec.claims[name] = .some(value.map { values.fill($0) })
        }
        spec.raw = spec.raw.map { values.fill($0) }
        let user = call.user.map { namespace.id(of: $0) } ?? ""
        let tokenForge = run.tokenForge
        if spec.signing == .withdrawnKey, tokenForge.withdrawnKey == nil {
            runProblem =
                runProblem
                ?? .faultNotApplied(
                    "the token needs a withdrawn signing key, and there is none; run the step "
                        + "'firebase: rotate-keys' twice before this call"
                )
        }
        guard let token = tokenForge.text(spec, user: user, at: run.backendNow) else { return [] }
        if let end { expiringTokens[call.name] = (token, end) }
        return [HTTPMessage.Field("Authorization", "Bearer " + token)]
    }

    // MARK: Requests

    func send(
        _ endpoint: Profile.Endpoint,
        _ values: [String: String?],
        purpose: Exchange.Purpose,
        fields: [HTTPMessage.Field],
        lane: Int
    ) async -> (sequence: Int, outcome: Exchange.Outcome) {
        let proofs: [HTTPMessage.Field]
        do {
            // The contract's headers for this call override the profile's headers for all calls.
            proofs = try await credentials(endpoint.credentials, NamedValues(texts: values))
                .filter { proof in !fields.contains { $0.name.lowercased() == proof.name } }
        } catch {
            let request = endpoint.request(values, idForm: profile.idForm, fields: fields)
            let sequence = fakes.journal.begin(exchange(.app, purpose, request))
            return (sequence, .failed(.closed, "\(error)"))
        }
        let request = endpoint.request(values, idForm: profile.idForm, fields: fields + proofs)
        let sequence = fakes.journal.begin(exchange(.app, purpose, request))
        // A contract with a time limit above one minute applies this limit to each call too.
        let responseTimeLimit = within > .seconds(60) ? within : .seconds(30)
        let outcome = await backend.client.send(request, lane: lane, within: responseTimeLimit)
        return (sequence, outcome)
    }
}
