/// Which statuses satisfy a delivery.
package enum AnswerExpectation: Hashable, Codable, Sendable, CustomStringConvertible {
    /// Exactly these.
    case statuses([Int])
    /// 401 or 403: the sender is refused.
    case refused
    /// Any 4xx: the body is refused, and a retry is not asked for by a 5xx.
    case rejected
    /// Any complete answer below 500.
    case answered
    /// Any 2xx, for routes of the backend's own.
    case success
    /// Any complete answer but a 2xx.
    case denied
    /// 409: what is asked for belongs to somebody else.
    case conflict
    /// Whatever comes, even nothing.
    case anything

    package func accepts(_ status: Int) -> Bool {
        switch self {
        case .statuses(let statuses): statuses.contains(status)
        case .refused: status == 401 || status == 403
        case .rejected: (400..<500).contains(status)
        case .answered: (200..<500).contains(status)
        case .success: (200..<300).contains(status)
        case .denied: !(200..<300).contains(status)
        case .conflict: status == 409
        case .anything: true
        }
    }

    package var description: String {
        switch self {
        case .statuses(let statuses): statuses.map(String.init).joined(separator: " or ")
        case .refused: "401 or 403"
        case .rejected: "a status from 400 to 499"
        case .answered: "any answer below 500"
        case .success: "a status from 200 to 299"
        case .denied: "any status but 200 to 299"
        case .conflict: "409"
        case .anything: "anything"
        }
    }
}

extension AnswerExpectation {
    private static let words: [(word: String, answer: AnswerExpectation)] = [
        ("answered", .answered), ("anything", .anything), ("conflict", .conflict),
        ("denied", .denied), ("refused", .refused), ("rejected", .rejected), ("success", .success),
    ]

    /// A status, several, or what they have in common.
    package static let syntax = Syntax<AnswerExpectation>(
        .either([
            .count(100...599), .list(.count(100...599), countMin: 1), .words(words.map(\.word)),
        ]),
        read: { node, reader in
            if case .sequence = node.content {
                return Syntax.list(.count(100...599), countMin: 1).read(node, &reader)
                    .map(Self.statuses)
            }
            if node.json.int64 != nil { return .statuses([reader.count(node, in: 100...599)]) }
            let word = reader.word(node, "answer (or a status)", among: words.map(\.word))
            return words.first { $0.word == word }?.answer
        },
        write: { answers in
            if case .statuses(let statuses) = answers {
                return statuses.count == 1
                    ? .number(statuses[0]) : .row(statuses.map(Written.number))
            }
            return .plain(words.first { $0.answer == answers }?.word ?? "anything")
        }
    )
}

extension Field where Owner == Expectation {
    static var answers: Field {
        var shape = KeyShape(
            "answers",
            AnswerExpectation.syntax.shape,
            "Which statuses satisfy every delivery and call: one, several, `refused` (401 or 403), "
                + "`rejected` (4xx), `answered` (below 500), `success` (2xx), `denied` (no 2xx), "
                + "`conflict` (409) or `anything`."
        )
        shape.fallback = "200"
        return Field(
            shape,
            read: { node, expectation, reader in
                expectation.answers =
                    AnswerExpectation.syntax.read(node, &reader) ?? expectation.answers
                expectation.answersLocation = node.location
            },
            write: { AnswerExpectation.syntax.write($0.answers) }
        )
    }

    static var within: Field {
        .optional(
            "within",
            \.within,
            .moment,
            "The longest wait for an answer, in real time.",
            fallback: "the provider's own timeout"
        )
    }

    static var watch: Field {
        .optional(
            "watch",
            \.watch,
            .moment,
            "How long the run is watched, in real time, after everything has settled.",
            fallback: "no longer than it takes to settle"
        )
    }

    static var secrets: Field {
        .wish(
            "secrets",
            \.hidesSecrets,
            "hidden",
            "wish",
            "No secret of the profile stands in any answer of the backend."
        )
    }

    static var keyFetches: Field {
        .optional(
            "key-fetches",
            \.keyFetchesMax,
            Bounds.most(0...100),
            "How often the backend may fetch Firebase's keys during the run."
        )
    }

    static var overlap: Field {
        .optional(
            "overlap",
            \.overlapMin,
            .count(2...256),
            "How many requests that are released together must have been in flight at one moment."
        )
    }

    static var forgets: Field {
        let users = Syntax.list(Syntax.name(.user, .refers), countMin: 1)
        return Field(
            KeyShape("forgets", users.shape, "Of these users no probe shows anything personal."),
            read: { node, expectation, reader in
                expectation.forgotten = users.read(node, &reader) ?? []
                expectation.forgottenLocation = node.location
            },
            write: { $0.forgotten.isEmpty ? nil : users.write($0.forgotten) }
        )
    }
}
