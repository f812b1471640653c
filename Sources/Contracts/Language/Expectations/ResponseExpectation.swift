package import Grammar
internal import Values

/// The response statuses that a contract accepts for a delivery or a call.
package enum ResponseExpectation: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The status must be one of these.
    case statuses([Int])
    /// The status must be 401 or 403: the backend refuses the sender of the request.
    case refused
    /// The status must be 401, 403 or from 500 to 599, or no backend responds: a backend that lacks
    /// its secret accepts no event.
    case failsClosed
    /// The status must be from 400 to 499: the backend rejects the body, and does not ask for a
    /// retry with a 5xx.
    case clientError
    /// The response must be complete, with a status below 500.
    case answered
    /// The status must be from 200 to 299; for calls of the backend's own routes.
    case success
    /// The response must be complete, with a status outside 200 to 299.
    case nonSuccess
    /// The status must be 409: the request asks for something that belongs to another user.
    case conflict
    /// Any outcome is accepted, even a missing response.
    case anyOutcome

    package func accepts(_ status: Int) -> Bool {
        switch self {
        case .statuses(let statuses): statuses.contains(status)
        case .refused: status == 401 || status == 403
        case .failsClosed: status == 401 || status == 403 || (500..<600).contains(status)
        case .clientError: (400..<500).contains(status)
        case .answered: (200..<500).contains(status)
        case .success: (200..<300).contains(status)
        case .nonSuccess: !(200..<300).contains(status)
        case .conflict: status == 409
        case .anyOutcome: true
        }
    }

    package var description: String {
        switch self {
        case .statuses(let statuses): statuses.map(String.init).joined(separator: " or ")
        case .refused: "401 or 403"
        case .failsClosed: "401, 403, a status from 500 to 599 or no response"
        case .clientError: "a status from 400 to 499"
        case .answered: "a status below 500"
        case .success: "a status from 200 to 299"
        case .nonSuccess: "a status outside 200 to 299"
        case .conflict: "409"
        case .anyOutcome: "any outcome"
        }
    }
}

extension ResponseExpectation {
    private static let words: [(word: String, answer: ResponseExpectation)] = [
        ("answered", .answered), ("anything", .anyOutcome), ("conflict", .conflict),
        ("denied", .nonSuccess), ("fails-closed", .failsClosed), ("refused", .refused),
        ("rejected", .clientError), ("success", .success),
    ]

    /// The syntax of expected statuses: a status, a list of statuses, or a word for a group of
    /// statuses.
    package static let syntax = Syntax<ResponseExpectation>(
        .either([
            .count(100...599), .list(.count(100...599), countMin: 1), .words(words.map(\.word)),
        ]),
        read: { node, reader in
            if case .sequence = node.content {
                return Syntax.list(.count(100...599), countMin: 1).read(node, &reader)
                    .map(Self.statuses)
            }
            if node.json.int64 != nil { return .statuses([reader.count(node, in: 100...599)]) }
            let word = reader.word(node, "status word", among: words.map(\.word))
            return words.first { $0.word == word }?.answer
        },
        write: { responses in
            if case .statuses(let statuses) = responses {
                return statuses.count == 1
                    ? .number(statuses[0]) : .row(statuses.map(YAMLNode.number))
            }
            return .plain(words.first { $0.answer == responses }?.word ?? "anything")
        }
    )
}

extension Field where Owner == Expectation {
    static var responses: Field {
        var shape = KeyShape(
            "status",
            ResponseExpectation.syntax.shape,
            "The statuses that satisfy every delivery and call: a number, a list or a word. The "
                + "words are `refused` (401 or 403), `rejected` (4xx), `answered` (below 500), "
                + "`success` (2xx), `denied` (not 2xx), `fails-closed` (401, 403, 5xx or no backend), "
                + "`conflict` (409) and `anything` (even no "
                + "response)."
        )
        shape.fallback = "200"
        return Field(
            shape,
            read: { node, expectation, reader in
                expectation.responses =
                    ResponseExpectation.syntax.read(node, &reader) ?? expectation.responses
                expectation.responseLocation = node.location
            },
            write: { ResponseExpectation.syntax.write($0.responses) }
        )
    }

    static var within: Field {
        .optional(
            "within",
            \.within,
            .signedDuration,
            "The maximum real time that the backend has to respond to a delivery or a call.",
            fallback: "the provider's timeout"
        )
    }

    static var extraObservationTime: Field {
        .optional(
            "watch",
            \.extraObservationTime,
            .signedDuration,
            "Additional real time for which the backend is observed after its state and effects "
                + "have settled.",
            fallback: "none"
        )
    }

    static var secrets: Field {
        .switchWord(
            "secrets",
            \.hidesSecrets,
            "hidden",
            "value of 'secrets'",
            "No response of the backend may contain a secret of the profile."
        )
    }

    static var keyFetchLimit: Field {
        .optional(
            "key-fetches",
            \.signingKeyFetchCountMax,
            CountBounds.maximum(0...100),
            "The maximum number of times that the backend may fetch Firebase's public keys during "
                + "the run."
        )
    }

    static var concurrentRequestMinimum: Field {
        .optional(
            "overlap",
            \.concurrentRequestCountMin,
            .count(2...256),
            "The minimum number of requests that must be in flight to the backend at the same "
                + "time. Only requests that are sent together count."
        )
    }

    static var deletedUsers: Field {
        let users = Syntax.list(Syntax.name(.user, .refers), countMin: 1)
        return Field(
            KeyShape(
                "forgets",
                users.shape,
                "Users whose personal data no probe may show at the end."
            ),
            read: { node, expectation, reader in
                expectation.deletedUserNames = users.read(node, &reader) ?? []
                expectation.deletedUsersLocation = node.location
            },
            write: { $0.deletedUserNames.isEmpty ? nil : users.write($0.deletedUserNames) }
        )
    }
}
