/// What must follow: absolutes where a protocol fixes the value, relations everywhere else.
package struct Expectation: Hashable, Codable, Sendable {
    /// Another run of the same backend that this one must not differ from.
    package enum Relation: String, Hashable, Codable, Sendable, CaseIterable {
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

    package enum Aspect: String, Hashable, Codable, Sendable, CaseIterable {
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
    /// The only mapped fields that are compared; empty: all of them.
    package var comparedFields: [String] = []
    package var effects: [EffectExpectation]
    package var states: [StateExpectation]
    /// How many copies must have been in flight at one moment.
    package var overlapMin: Int?
    /// Which ids the backend's own routes answer.
    package var calls: [CallExpectation] = []
    /// Calls whose answers must not be told apart.
    package var alike: [String] = []
    /// Calls of which only so many may succeed; the others are denied below 500.
    package var race: RaceExpectation?
    /// No secret of the profile stands in any answer of the backend.
    package var hidesSecrets = false
    /// How often the backend may fetch Firebase's keys during the run.
    package var keyFetchesMax: Int?
    /// How long the run is watched, in real time, after everything has settled.
    package var watch: Duration?
    /// Users of whom no probe shows anything personal any more.
    package var forgotten: [String] = []
    package var forgottenLocation: SourceLocation?
    /// What must be true of the app, in a device scenario.
    package var app: AppExpectation?

    package init(answers: AnswerExpectation) {
        self.answers = answers
        compared = [.state, .effects]
        effects = []
        states = []
    }

    /// Whether judging needs to look behind the answers.
    package var needsSettling: Bool {
        relation != nil || !effects.isEmpty || !states.isEmpty || watch != nil || !forgotten.isEmpty
    }
}

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

package struct EffectExpectation: Hashable, Codable, Sendable {
    package var kind: String
    /// Only effects that reach this user count; nil counts all of the case.
    package var user: String?
    package var countMin: Int
    package var countMax: Int?
    /// Every attempt of one effect must carry the same idempotency key.
    package var hasSteadyKey: Bool
    /// Nobody but the users of the case is addressed, in the provider's documented way.
    package var isPersonal = false
    /// What this user is told must differ from what the other one is told.
    package var unlike: String?
    /// How many more there may be than in the twin.
    package var addedMax: Int?
    /// How many calls the backend may make for it, accepted or not.
    package var attemptsMax: Int?
    /// After a 429, the next attempt comes no earlier than `Retry-After`.
    package var obeysRetryAfter = false
    /// Only effects whose content matches this pattern count.
    package var says: JSONValue?
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

package struct StateExpectation: Hashable, Codable, Sendable {
    package struct Field: Hashable, Codable, Sendable {
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

    /// `ada|bob` is satisfied by either of them.
    package var users: [String] { user.split(separator: "|").map(String.init) }

    package init(user: String, fields: [Field]) {
        self.user = user
        self.fields = fields
    }
}

/// The id in the answer to a call of the backend's own, where the profile says it stands.
package struct CallExpectation: Hashable, Codable, Sendable {
    package var call: String
    /// Whose id the answer names.
    package var user: String
    package var location: SourceLocation

    package init(call: String, user: String, location: SourceLocation) {
        self.call = call
        self.user = user
        self.location = location
    }
}

/// Several calls want what only some can have.
package struct RaceExpectation: Hashable, Codable, Sendable {
    package var calls: [String]
    package var winnerCount: Int
    package var location: SourceLocation

    package init(calls: [String], winnerCount: Int, location: SourceLocation) {
        self.calls = calls
        self.winnerCount = winnerCount
        self.location = location
    }
}
