/// A contract that stands for many runs, which the runner makes up while it works.
package enum Search: Hashable, Codable, Sendable {
    /// Every call that the backend makes in the golden run is disturbed in each of these ways.
    case crashPoints([CrashFault])
    /// The events of the steps come in every order; above five events, in a sample of that size.
    case orders(sampleSize: Int)
    /// The one event of the steps is varied in one way, so many times.
    case generated(Variation, count: Int)

    /// More events than this are not permuted but sampled: 120 orders are enough for one case.
    package static let permutedCountMax = 5
}

/// What happens at one call of the backend to a provider.
package enum CrashFault: String, Hashable, Codable, Sendable, CaseIterable {
    /// The connection is refused by resetting it before the request has any effect.
    case reset
    /// The effect takes place and the connection is cut before the answer.
    case loseAnswer = "lose-answer"
    /// The effect takes place and the connection is cut in the middle of the answer.
    case half
    /// The provider answers 500.
    case serverError = "500"
    /// The provider answers 503.
    case unavailable = "503"
    /// A 200 that is not JSON.
    case malformed
    /// The backend is killed while the call hangs, before it has any effect.
    case killBefore = "kill-before"
    /// The backend is killed while the answer is on its way, after the effect.
    case killAfter = "kill-after"

    package var isKill: Bool { self == .killBefore || self == .killAfter }

    package var answer: ProviderPlan.Answer {
        switch self {
        case .reset: .reset
        case .loseAnswer: .loseAnswer
        case .half: .half
        case .serverError: .status(500)
        case .unavailable: .status(503)
        case .malformed: .malformed
        case .killBefore: .never
        // Longer than any run: the kill comes first.
        case .killAfter: .slow(600_000)
        }
    }
}

/// One way to vary an event without changing what it means to a tolerant receiver.
package enum Variation: String, Hashable, Codable, Sendable, CaseIterable {
    case unknownTypes = "unknown-types"
    case unknownFields = "unknown-fields"
    case enumValues = "enum-values"
    case nulls
    case numbers
    case sizes
    case unicode
    case keyOrder = "key-order"
}
