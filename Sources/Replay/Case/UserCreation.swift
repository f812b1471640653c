internal import Contracts
internal import FakeServers
internal import Grammar
internal import Providers
internal import Values

/// Creates users and accounts in the backend, as the profile defines it.
struct UserCreation: Sendable {
    let requests: CaseRequests

    private var run: RunExecutor { requests.run }

    /// Registers a user with the backend.
    ///
    /// - Parameters:
    ///   - user: The name of the user in the contract.
    ///   - isKnown: Whether an earlier step has named the user, so that the backend may know it.
    /// - Returns: The result of the registration.
    func register(_ user: String, isKnown: Bool) async -> UserCreationResult {
        let values = requests.templateValues(of: user)
        switch run.profile.creation {
        case .command(let commandWords, let pointer):
            return await runProgram(commandWords, values, id: pointer)
        case .register:
            guard let endpoint = run.profile.endpoints["register"] else {
                return .failed("the profile has no endpoint 'register'")
            }
            return await sendCreationRequest(.registration(user: user), endpoint, values)
        case .request(let endpoint):
            // A user whose ID is known registers under this ID, and does not get another one
            // (S-21).
            if run.profile.backendChoosesIDs, isKnown {
                guard let registerEndpoint = run.profile.registerEndpointAcceptingIDs else {
                    return .failed("the profile has no endpoint 'register' that takes an ID")
                }
                return await sendCreationRequest(
                    .registration(user: user),
                    registerEndpoint,
                    values,
                    storesID: false
                )
            }
            return await sendCreationRequest(.registration(user: user), endpoint, values)
        }
    }

    /// Creates an account in the backend.
    func createAccount(_ account: String) async -> UserCreationResult {
        let accountID = requests.namespace.accountID(of: account)
        let values: [String: String?] = [
            "account": accountID, "password": requests.namespace.password(of: account),
        ]
        if run.profile.requests.loginTakesIDToken {
            // The backend may use the uid as the user's ID, in calls to every provider.
            run.fakes.open(requests.namespace.name, ids: [accountID], at: requests.now)
            requests.seed(uid: accountID)
            if run.profile.accountCreation == nil { return .created() }
        }
        switch run.profile.accountCreation {
        case .command(let commandWords, _): return await runProgram(commandWords, values)
        case .request(let endpoint):
            return await sendCreationRequest(
                .registration(user: "account " + account),
                endpoint,
                values,
                storesID: false
            )
        case .register, nil:
            return .failed("the profile does not define how 'accounts' are created")
        }
    }

    /// Runs a program of the profile that creates a user or an account.
    ///
    /// - Parameters:
    ///   - commandWords: The program and its arguments, with templates such as `{{id}}`.
    ///   - values: The values of the templates.
    ///   - pointer: The JSON path of the user's ID in the output of the program; nil when Assay
    ///     chose the ID.
    /// - Returns: The result of the program.
    private func runProgram(
        _ commandWords: [String],
        _ values: [String: String?],
        id pointer: JSONPointer? = nil
    ) async -> UserCreationResult {
        let output: [UInt8]
        do {
            var namedValues = NamedValues(texts: values)
            if commandWords.contains(where: {
                Template($0).names.contains(TemplateScope.ProfileSlot.idTokenName)
            }) {
                requests.addIDToken(to: &namedValues)
            }
            output = try await run.output(of: run.filledCommand(commandWords, namedValues))
        } catch {
            return .failed("\(error)")
        }
        guard let pointer else { return .created() }
        let outputLines = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isNewline)
        let text = outputLines.last.map(String.init) ?? ""
        // A printed number is valid JSON; a printed word that is not JSON is the ID itself.
        let outputJSON = JSONValue(ifValid: output) ?? .string(text)
        switch outputJSON[pointer] {
        case .string(let id) where !id.isEmpty: return .created(id: id)
        case .number(let id): return .created(id: id.description)
        case let other:
            let printedText = other?.text ?? "nothing"
            return .failed(
                "'\(commandWords[0])' printed no user ID at \"\(pointer)\": found \(printedText)"
            )
        }
    }

    private func sendCreationRequest(
        _ purpose: Exchange.Purpose,
        _ endpoint: Profile.Endpoint,
        _ values: [String: String?],
        storesID: Bool = true
    ) async -> UserCreationResult {
        let (sequence, outcome) = await requests.send(
            endpoint,
            values,
            purpose: purpose,
            fields: [],
            lane: 0
        )
        run.fakes.journal.complete(sequence, outcome)
        switch outcome {
        case .answered(let response) where (200..<300).contains(response.status):
            requests.storeUserSession(from: response.bodyJSON, NamedValues(texts: values))
            return storesID ? result(response, of: endpoint) : .created()
        case .answered(let response):
            return .failed("\(endpoint.method) \(endpoint.path) returned \(response.status)")
        case .failed(_, let text): return .failed("\(endpoint.method) \(endpoint.path): \(text)")
        case .pending, .answerLost, .requestCut:
            return .failed("\(endpoint.method) \(endpoint.path): no response")
        }
    }

    /// Returns the user ID and the proof of ownership from a response that created a user.
    ///
    /// The creation has failed if the backend chooses IDs, but the response contains none.
    private func result(
        _ response: HTTPMessage.Response,
        of endpoint: Profile.Endpoint
    ) -> UserCreationResult {
        let answer = response.bodyJSON
        var result = UserCreationResult()
        result.proof = endpoint.responseProofPointer.flatMap { answer?[$0]?.string }
        // The register route of the identity guide returns the ID that it was given. Other routes
        // choose one.
        guard case .request = run.profile.creation, let pointer = endpoint.responseIDPointer else {
            return result
        }
        switch answer?[pointer] {
        case .string(let id): result.id = id
        case .number(let id): result.id = id.description
        case let other:
            result.problem =
                "\(endpoint.method) \(endpoint.path) returned no user ID at \(pointer): found "
                + (other?.text ?? "nothing")
        }
        return result
    }
}

/// The result of the creation of a user or an account in the backend.
struct UserCreationResult: Sendable {
    /// The ID that the backend chose for the user; nil when the user keeps its ID.
    var id: String?
    /// The proof, issued by the backend, that the device owns the user ID.
    var proof: String?
    /// An error message; nil on success.
    var problem: String?

    static func created(id: String? = nil) -> UserCreationResult { UserCreationResult(id: id) }

    static func failed(_ problem: String) -> UserCreationResult {
        UserCreationResult(problem: problem)
    }
}
