/// What must follow: absolutes where a protocol fixes the value, relations everywhere else.
package struct Expectation: Hashable, Sendable {
    /// Another run of the same backend that this one must not differ from.
    package enum Relation: String, Hashable, Sendable, CaseIterable {
        /// Every event was delivered once.
        case once
        /// Users were registered first and events came in the order they happened.
        case inOrder = "in-order"
        /// Nothing failed, nothing was lost and nobody restarted.
        case undisturbed
        /// None of the steps took place, only what was given.
        case before
        /// Every event named its user by the registered id.
        case direct
        /// No event was edited: nothing unknown, nothing missing, nothing huge.
        case plain
    }

    package enum Aspect: String, Hashable, Sendable, CaseIterable {
        /// Whole answers of the probes.
        case state
        /// What the profile maps of them; whole answers where it maps nothing.
        case fields
        case effects
    }

    package var answers: AnswerExpectation
    package var answersLocation: SourceLocation?
    /// Longest wait for an answer, in real time.
    package var within: Duration?
    package var relation: Relation?
    package var relationLocation: SourceLocation?
    package var compared: Set<Aspect>
    package var effects: [EffectExpectation]
    package var states: [StateExpectation]
    /// How many copies must have been in flight at one moment.
    package var overlapMin: Int?

    package init(answers: AnswerExpectation) {
        self.answers = answers
        compared = [.state, .effects]
        effects = []
        states = []
    }

    /// Whether judging needs to look behind the answers.
    package var needsSettling: Bool {
        relation != nil || !effects.isEmpty || !states.isEmpty
    }
}

/// Which statuses satisfy a delivery.
package enum AnswerExpectation: Hashable, Sendable, CustomStringConvertible {
    /// Exactly these.
    case statuses([Int])
    /// 401 or 403: the sender is refused.
    case refused
    /// Any 4xx: the body is refused, and a retry is not asked for by a 5xx.
    case rejected
    /// Any complete answer below 500.
    case answered
    /// Whatever comes, even nothing.
    case anything

    package func accepts(_ status: Int) -> Bool {
        switch self {
        case .statuses(let statuses): statuses.contains(status)
        case .refused: status == 401 || status == 403
        case .rejected: (400..<500).contains(status)
        case .answered: (200..<500).contains(status)
        case .anything: true
        }
    }

    package var description: String {
        switch self {
        case .statuses(let statuses): statuses.map(String.init).joined(separator: " or ")
        case .refused: "401 or 403"
        case .rejected: "a status from 400 to 499"
        case .answered: "any answer below 500"
        case .anything: "anything"
        }
    }
}

package struct EffectExpectation: Hashable, Sendable {
    package var kind: String
    /// Only effects that reach this user count; nil counts all of the case.
    package var user: String?
    package var countMin: Int
    package var countMax: Int?
    /// Every attempt of one effect must carry the same idempotency key.
    package var hasSteadyKey: Bool
    package var location: SourceLocation

    package init(
        kind: String,
        user: String?,
        countMin: Int,
        countMax: Int?,
        hasSteadyKey: Bool,
        location: SourceLocation
    ) {
        self.kind = kind
        self.user = user
        self.countMin = countMin
        self.countMax = countMax
        self.hasSteadyKey = hasSteadyKey
        self.location = location
    }
}

package struct StateExpectation: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: JSONValue
        package var location: SourceLocation

        package init(name: String, value: JSONValue, location: SourceLocation) {
            self.name = name
            self.value = value
            self.location = location
        }
    }

    package var user: String
    package var fields: [Field]

    package init(user: String, fields: [Field]) {
        self.user = user
        self.fields = fields
    }
}
