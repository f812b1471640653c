package import Grammar
internal import Values

/// The planned responses of the app's own backend to the app's next calls.
///
/// After the planned responses, the backend responds correctly.
package struct AppBackendPlan: Hashable, Codable, Sendable {
    package enum PlannedResponse: Hashable, Codable, Sendable {
        case ok
        case status(Int)
        /// The connection is reset.
        case reset
        /// The backend reads the request and never responds.
        case never
        /// The backend responds correctly, but only after this time.
        case slow(Duration)
        /// Status 200, with a different user ID in the body than the request contains.
        case otherID
        /// Status 200 without a user ID in the body, with null as the ID, or with the string
        /// `undefined` as the ID.
        case noID, nullID, undefinedID
        /// A login response with the result `claimed`: the account takes the user ID of the phone.
        case claimed
        /// A login response with the result `recovered`: the account already has the ID of this
        /// user.
        case recovered(user: String)
    }

    /// The routes that the app calls, by their endpoint names in the profile.
    package static let routes = ["register", "login", "access"]

    package var responses: [String: [PlannedResponse]] = [:]
    /// Whether the last planned response of a route is repeated for all later calls of the route.
    package var repeatsLastResponse = false
    /// Whether the app's backend is notified of purchases in the store.
    package var isNotifiedOfPurchases = true

    package init() {}

    /// Adds the planned responses of a later step to this plan.
    ///
    /// A route that the later plan does not contain keeps its planned responses.
    package mutating func add(_ laterPlan: AppBackendPlan) {
        responses.merge(laterPlan.responses) { $1 }
        repeatsLastResponse = laterPlan.repeatsLastResponse
        isNotifiedOfPurchases = laterPlan.isNotifiedOfPurchases
    }

    /// Removes and returns the planned response to the next call of a route; nil when no response
    /// is planned.
    package mutating func takeNext(_ route: String) -> PlannedResponse? {
        guard var responses = responses[route], let first = responses.first else { return nil }
        if responses.count > 1 || !repeatsLastResponse { responses.removeFirst() }
        self.responses[route] = responses
        return first
    }
}

extension AppBackendPlan {
    package static let grammar = Construct<AppBackendPlan>(
        "backend",
        "a plan of the app's backend",
        "Planned responses of the app's own backend to the app's next calls. After these "
            + "responses, the backend responds correctly.",
        makeEmptyOwner: { _ in AppBackendPlan() }
    ) {
        routeFields
        Field.flag(
            "forever",
            \.repeatsLastResponse,
            "Repeats the last response of each list for all later calls."
        )
        Field.value(
            "learns-purchases",
            \.isNotifiedOfPurchases,
            .flag,
            default: true,
            "Whether the app's backend is notified of purchases in the store."
        )
    }

    private static var routeFields: [Field<AppBackendPlan>] {
        routes.map { route in
            let responses = Syntax.oneOrMore(PlannedResponse.syntax)
            var shape = KeyShape(
                route,
                responses.shape,
                "The responses to the next calls of '\(route)', one per call."
            )
            shape.fallback = "correct responses"
            return Field(
                shape,
                read: { node, plan, reader in
                    plan.responses[route] = responses.read(node, &reader)
                },
                write: { $0.responses[route].map(responses.write) }
            )
        }
    }
}

extension AppBackendPlan.PlannedResponse {
    private static let words: [(word: String, backendResponse: AppBackendPlan.PlannedResponse)] = [
        ("claimed", .claimed), ("no-response", .never), ("no-id", .noID), ("null-id", .nullID),
        ("ok", .ok), ("other-id", .otherID), ("reset", .reset), ("undefined-id", .undefinedID),
    ]

    /// The values of a response that is written as a mapping, such as `slow: 2s`, collected while
    /// the file is parsed.
    private struct ResponseDraft: Sendable {
        var slow: Duration?
        var recovered: String?
    }

    private static let draftGrammar = Construct<ResponseDraft>(
        "backend-response",
        "a response",
        "A response of the app's own backend with a parameter.",
        makeEmptyOwner: { _ in ResponseDraft() }
    ) {
        Field.optional("slow", \.slow, .unsignedDuration, "Responds correctly after this time.")
        Field.optional(
            "recovered",
            \.recovered,
            .name(.user, .mentions),
            "A login with the result `recovered`: the account already has this user's ID."
        )
    }.alternativeKeys(["slow", "recovered"], example: "slow: 2s")

    fileprivate static let syntax = Syntax<AppBackendPlan.PlannedResponse>(
        .either([
            .count(100...599), .words(words.map(\.word)), .construct(draftGrammar.shape),
        ]),
        read: { node, reader in
            if node.json.int64 != nil { return .status(reader.count(node, in: 100...599)) }
            if case .mapping = node.content {
                let draft = draftGrammar.read(node, &reader)
                return draft?.slow.map(Self.slow) ?? draft?.recovered.map { .recovered(user: $0) }
            }
            let word = reader.word(node, "response (or a status)", among: words.map(\.word))
            return words.first { $0.word == word }?.backendResponse
        },
        write: { backendResponse in
            switch backendResponse {
            case .status(let status): .number(status)
            case .slow(let time): draftGrammar.flow.write(ResponseDraft(slow: time))
            case .recovered(let user): draftGrammar.flow.write(ResponseDraft(recovered: user))
            case .ok, .reset, .never, .otherID, .noID, .nullID, .undefinedID, .claimed:
                .plain(words.first { $0.backendResponse == backendResponse }?.word ?? "ok")
            }
        }
    )
}

extension StepForm {
    static let backend = StepForm(
        "backend",
        AppBackendPlan.grammar.flow,
        "Planned responses of the app's own backend to the app's next calls.",
        embed: { .phone(.backend($0)) },
        extract: { if case .phone(.backend(let plan)) = $0 { plan } else { nil } }
    )
}

extension AppBackendPlan {
    var requiredCapabilities: [RequiredCapability] {
        let responses = responses.sorted { $0.key < $1.key }.flatMap(\.value)
        return responses.map { .backendResponse(RequiredCapability.BackendResponse($0)) }
            + (isNotifiedOfPurchases ? [] : [.unreportedPurchases])
    }

    /// The names of the users whose IDs the planned responses contain.
    var users: [String] {
        responses.values.flatMap { $0 }.compactMap {
            if case .recovered(let user) = $0 { user } else { nil }
        }
    }
}
