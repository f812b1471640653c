internal import Conformance
internal import FakeServers
internal import Providers

extension RunExecutor.Progress {
    /// Takes from an answer what its pattern gives a name, and tells whether it looks that way.
    mutating func learn(from response: HTTPMessage.Response, _ pattern: AnswerPattern?) -> Bool {
        guard let pattern else { return true }
        return values.match(pattern, response).isEmpty && response.status == pattern.status
    }
}

/// Requests of the app and its operators: creating users and accounts, and the backend's own
/// routes, the way the profile says.
extension RunExecutor {
    // MARK: Users and accounts

    /// Announces the user; the text says what went wrong.
    func register(_ user: String, _ progress: inout Progress) async -> String? {
        let values = usualValues(of: user, progress)
        switch profile.creation {
        case .command(let words): return await run(words, values)
        case .register:
            guard let endpoint = profile.endpoints["register"] else {
                return "the profile names no endpoint 'register'"
            }
            return await create(.registration(user: user), endpoint, values, user, &progress)
        case .request(let endpoint):
            return await create(.registration(user: user), endpoint, values, user, &progress)
        }
    }

    /// Makes an account; the text says what went wrong.
    func createAccount(_ account: String, _ progress: inout Progress) async -> String? {
        let values: [String: String?] = [
            "account": progress.namespace.accountID(of: account),
            "password": progress.namespace.password(of: account),
        ]
        switch profile.accountCreation {
        case .command(let words): return await run(words, values)
        case .request(let endpoint):
            return await create(
                .registration(user: "account " + account),
                endpoint,
                values,
                nil,
                &progress
            )
        case .register, nil: return "the profile does not say how 'accounts' are created"
        }
    }

    private func run(_ words: [String], _ values: [String: String?]) async -> String? {
        do {
            let known = NamedValues(texts: values)
            let filled = try words.map { try known.filled($0) }
            _ = try await CommandRunner.output(of: filled, within: .seconds(30))
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func create(
        _ purpose: Exchange.Purpose,
        _ endpoint: Profile.Endpoint,
        _ values: [String: String?],
        _ user: String?,
        _ progress: inout Progress
    ) async -> String? {
        let (sequence, outcome) = await send(
            endpoint,
            values,
            purpose: purpose,
            fields: [],
            lane: 0,
            progress
        )
        world.journal.complete(sequence, outcome)
        switch outcome {
        case .answered(let response) where (200..<300).contains(response.status):
            guard let user else { return nil }
            return note(response, of: endpoint, user, &progress)
        case .answered(let response):
            return "\(endpoint.method) \(endpoint.path) answered \(response.status)"
        case .failed(_, let text): return "\(endpoint.method) \(endpoint.path): \(text)"
        case .pending, .answerLost, .requestCut: return "no answer"
        }
    }

    /// Takes the id that the backend chose and the proof that it handed out.
    private func note(
        _ response: HTTPMessage.Response,
        of endpoint: Profile.Endpoint,
        _ user: String,
        _ progress: inout Progress
    ) -> String? {
        let answer = try? JSONValue(parsing: response.body)
        if let proof = endpoint.answerProof.flatMap({ answer?[$0]?.string }),
            progress.proofs[user] == nil
        {
            progress.proofs[user] = proof
        }
        // The guide's register answers the id that it was given; others choose one.
        guard case .request = profile.creation, let pointer = endpoint.answerID else { return nil }
        switch answer?[pointer] {
        case .string(let id): progress.namespace.assign(id, to: user)
        case .number(let id): progress.namespace.assign(id.description, to: user)
        case let other:
            return "\(endpoint.method) \(endpoint.path) answered no id at \(pointer): "
                + (other?.text ?? "nothing there")
        }
        return nil
    }

    private func usualValues(of user: String, _ progress: Progress) -> [String: String?] {
        [
            "id": progress.namespace.id(of: user),
            "device": progress.namespace.installID(of: user), "platform": "ios", "source": "new",
            "timestamp": world.now.description,
        ]
    }

    // MARK: Calls

    /// Makes the calls, at the same moment when there are several.
    func make(_ calls: [Call], _ progress: inout Progress) async {
        var requests: [(call: Call, endpoint: Profile.Endpoint, values: [String: String?])] = []
        for call in calls {
            // An obstacle has said that the route is missing before the case began.
            guard let endpoint = profile.endpoints[call.route.rawValue] else { continue }
            requests.append((call, endpoint, values(of: call, &progress)))
        }
        let prepared = requests
        let tokens = calls.map { authorization($0, &progress) }
        let snapshot = progress
        if calls.count > 1 {
            await backend.client.warm(lanes: calls.count, path: backend.readyPath)
        }
        await withTaskGroup(of: Void.self) { group in
            for (index, request) in prepared.enumerated() {
                group.addTask {
                    let (sequence, outcome) = await self.send(
                        request.endpoint,
                        request.values,
                        purpose: .appCall(request.call.name),
                        fields: tokens[index],
                        lane: index,
                        snapshot
                    )
                    self.world.journal.complete(sequence, outcome)
                }
            }
        }
        for request in prepared { noteProof(request.call, request.endpoint, &progress) }
    }

    /// The answer without its content encoding, as recordings hold it.
    private static func decoded(_ outcome: Exchange.Outcome) -> Exchange.Outcome {
        guard case .answered(var response) = outcome,
            let encoding = response[field: "content-encoding"],
            let plain = BodyDecoding.plain(response.body, encoding: encoding, max: 16 << 20)
        else { return outcome }
        response.body = plain
        response.fields.removeAll { $0.name.lowercased() == "content-encoding" }
        return .answered(response)
    }

    /// What a signed-in app of that user holds, when Firebase knows the user.
    private func token(of user: String, _ progress: Progress) -> String? {
        seed(user, progress)
        return forge.text(TokenSpec(), user: progress.namespace.id(of: user), at: world.now)
    }

    /// Sends a request that the contract writes out, and learns from its answer what later ones say.
    func make(_ request: AppRequest, within: Duration, _ progress: inout Progress) async {
        progress.values.namespace = progress.namespace
        for user in TemplateValues.users(in: request.fields.map(\.value)) {
            progress.values.tokens[user] = token(of: user, progress)
        }
        let target = progress.values.fill(target: request.target)
        let body: [UInt8] =
            switch request.body {
            case .json(let value): progress.values.fill(value).bytes
            case .text(let text): Array(progress.values.fill(text).utf8)
            case nil: []
            }
        var fields: [HTTPMessage.Field] = []
        for field in request.fields {
            fields.append(HTTPMessage.Field(field.name, progress.values.fill(field.value)))
        }
        if case .json = request.body, fields.value(of: "content-type") == nil {
            fields.append(HTTPMessage.Field("content-type", "application/json"))
        }
        let message = HTTPMessage.Request(request.method, target, fields: fields, body: body)
        // A read may come before the work is done that the recorded one saw: it is asked again
        // while time alone could mend it.
        let isRead = request.method == "GET" && request.answer != nil
        let patience = patience(shortPatience(progress.latency))
        var pause: Duration = .milliseconds(2)
        while true {
            let sequence = world.journal.begin(
                exchange(.app, .appCall(request.name), message, progress)
            )
            let outcome = Self.decoded(await backend.client.send(message, within: within))
            world.journal.complete(sequence, outcome)
            guard case .answered(let response) = outcome else { return }
            var learned = progress
            let isMatch = learned.learn(from: response, request.answer)
            if isMatch || !isRead || patience.isOver || Task.isCancelled {
                progress = learned
                return
            }
            await patience.pause(pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    private func noteProof(
        _ call: Call,
        _ endpoint: Profile.Endpoint,
        _ progress: inout Progress
    ) {
        guard let pointer = endpoint.answerProof else { return }
        let exchange = world.journal.read {
            $0.exchanges(in: progress.namespace.name, from: progress.firstSequence)
        }.last { if case .appCall(call.name) = $0.purpose { true } else { false } }
        let answer = (exchange?.response?.body).flatMap { try? JSONValue(parsing: $0) }
        progress.values.proofs[call.name] = answer?[pointer]?.string
        if call.route == .register, let user = call.user, progress.proofs[user] == nil {
            progress.proofs[user] = answer?[pointer]?.string
        }
    }

    private func values(of call: Call, _ progress: inout Progress) -> [String: String?] {
        var values: [String: String?] = call.user.map { usualValues(of: $0, progress) } ?? [:]
        values["id"] = values["id"] ?? .some(nil)
        values["proof"] = .some(call.user.flatMap { progress.proofs[$0] })
        if let account = call.account {
            values["account"] = progress.namespace.accountID(of: account)
            values["password"] = progress.namespace.password(of: account)
        }
        progress.values.namespace = progress.namespace
        for (name, value) in call.values.sorted(by: { $0.key < $1.key }) {
            values[name] = .some(value.flatMap { progress.values.fillIfPresent($0) })
        }
        return values
    }

    private func authorization(_ call: Call, _ progress: inout Progress) -> [HTTPMessage.Field] {
        guard var spec = call.token, call.route == .protected else { return [] }
        progress.values.namespace = progress.namespace
        progress.values.clock = world.now
        for (name, value) in spec.claims.sorted(by: { $0.key < $1.key }) {
            spec.claims[name] = .some(value.map { progress.values.fill($0) })
        }
        spec.raw = spec.raw.map { progress.values.fill($0) }
        let user = call.user.map { progress.namespace.id(of: $0) } ?? ""
        guard let token = forge.text(spec, user: user, at: world.now) else { return [] }
        return [HTTPMessage.Field("Authorization", "Bearer " + token)]
    }

    // MARK: Requests

    func send(
        _ endpoint: Profile.Endpoint,
        _ values: [String: String?],
        purpose: Exchange.Purpose,
        fields: [HTTPMessage.Field],
        lane: Int,
        _ progress: Progress
    ) async -> (sequence: Int, outcome: Exchange.Outcome) {
        let request = endpoint.request(values, idForm: profile.idForm, fields: fields)
        let sequence = world.journal.begin(exchange(.app, purpose, request, progress))
        let outcome = await backend.client.send(request, lane: lane, within: .seconds(30))
        return (sequence, outcome)
    }
}
