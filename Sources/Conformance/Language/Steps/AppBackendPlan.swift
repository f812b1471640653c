/// How the app's backend answers its next calls; afterwards as a correct one does.
package struct AppBackendPlan: Hashable, Codable, Sendable {
    package enum Answer: Hashable, Codable, Sendable {
        case ok
        case status(Int)
        /// The connection breaks.
        case reset
        /// It is read and never answered.
        case never
        /// It is answered after this long.
        case slow(Duration)
        /// 200, and the body names another id.
        case otherID
        /// 200, and the body names no id, null, or the text that a missing value becomes.
        case noID, nullID, undefinedID
        /// A login that ends in `claimed`: the account takes the id that the phone has.
        case claimed
        /// A login that ends in `recovered`: the account has this user's id already.
        case recovered(user: String)
    }

    /// The app's routes, by the name that the profile gives its endpoints.
    package static let routes = ["register", "login", "access"]

    package var answers: [String: [Answer]] = [:]
    /// The last answer of a list stays in force.
    package var isPermanent = false
    /// Whether the store's purchases reach the backend at all.
    package var learnsPurchases = true

    package init() {}

    /// Plans add up: a route that a later one does not name stays as planned.
    package mutating func add(_ later: AppBackendPlan) {
        answers.merge(later.answers) { $1 }
        isPermanent = later.isPermanent
        learnsPurchases = later.learnsPurchases
    }

    /// What is planned for the next call of a route; nil: nothing.
    package mutating func takeNext(_ route: String) -> Answer? {
        guard var answers = answers[route], let first = answers.first else { return nil }
        if answers.count > 1 || !isPermanent { answers.removeFirst() }
        self.answers[route] = answers
        return first
    }
}

extension AppBackendPlan {
    package static let grammar = Construct<AppBackendPlan>(
        "backend",
        "a plan of the app's backend",
        "How the app's own backend answers its next calls; afterwards as a correct one does.",
        blank: { _ in AppBackendPlan() }
    ) {
        routeFields
        Field.flag("forever", \.isPermanent, "The last answer of each list stays in force.")
        Field.value(
            "learns-purchases",
            \.learnsPurchases,
            .flag,
            default: true,
            "The store's purchases reach the backend."
        )
    }

    private static var routeFields: [Field<AppBackendPlan>] {
        routes.map { route in
            let answers = Syntax.oneOrMore(Answer.syntax)
            var shape = KeyShape(
                route,
                answers.shape,
                "The answers to its next calls of '\(route)', one a call."
            )
            shape.fallback = "as a correct one"
            return Field(
                shape,
                read: { node, plan, reader in
                    plan.answers[route] = answers.read(node, &reader)
                },
                write: { $0.answers[route].map(answers.write) }
            )
        }
    }
}

extension AppBackendPlan.Answer {
    private static let words: [(word: String, answer: AppBackendPlan.Answer)] = [
        ("claimed", .claimed), ("never", .never), ("no-id", .noID), ("null-id", .nullID),
        ("ok", .ok), ("other-id", .otherID), ("reset", .reset), ("undefined-id", .undefinedID),
    ]

    /// An answer of several words, while it is read.
    private struct Draft: Sendable {
        var slow: Duration?
        var recovered: String?
    }

    private static let drafts = Construct<Draft>(
        "backend-answer",
        "an answer",
        "An answer of the app's own backend that needs more than a word.",
        blank: { _ in Draft() }
    ) {
        Field.optional("slow", \.slow, .span, "It is answered after this long.")
        Field.optional(
            "recovered",
            \.recovered,
            .name(.user, .mentions),
            "A login that ends in `recovered`: the account has this user's id already."
        )
    }.oneOf(["slow", "recovered"], example: "slow: 2s")

    fileprivate static let syntax = Syntax<AppBackendPlan.Answer>(
        .either([
            .count(100...599), .words(words.map(\.word)), .construct(drafts.shape),
        ]),
        read: { node, reader in
            if node.json.int64 != nil { return .status(reader.count(node, in: 100...599)) }
            if case .mapping = node.content {
                let draft = drafts.read(node, &reader)
                return draft?.slow.map(Self.slow) ?? draft?.recovered.map { .recovered(user: $0) }
            }
            let word = reader.word(node, "answer (or a status)", among: words.map(\.word))
            return words.first { $0.word == word }?.answer
        },
        write: { answer in
            switch answer {
            case .status(let status): .number(status)
            case .slow(let time): drafts.flow.write(Draft(slow: time))
            case .recovered(let user): drafts.flow.write(Draft(recovered: user))
            case .ok, .reset, .never, .otherID, .noID, .nullID, .undefinedID, .claimed:
                .plain(words.first { $0.answer == answer }?.word ?? "ok")
            }
        }
    )
}

extension StepForm {
    static let backend = StepForm(
        "backend",
        AppBackendPlan.grammar.flow,
        "How the app's own backend answers its next calls.",
        embed: { .phone(.backend($0)) },
        extract: { if case .phone(.backend(let plan)) = $0 { plan } else { nil } }
    )
}

extension AppBackendPlan {
    var demands: [Demand] {
        let answers = answers.sorted { $0.key < $1.key }.flatMap(\.value)
        return answers.map { .answer(Demand.BackendAnswer($0)) }
            + (learnsPurchases ? [] : [.untoldPurchases])
    }

    /// The users whose ids it names.
    var users: [String] {
        answers.values.flatMap { $0 }.compactMap {
            if case .recovered(let user) = $0 { user } else { nil }
        }
    }
}
