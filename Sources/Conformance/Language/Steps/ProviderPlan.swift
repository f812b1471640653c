/// How a provider's fake answers the backend's next calls in this case; afterwards as usual.
package struct ProviderPlan: Hashable, Codable, Sendable {
    package enum Answer: Hashable, Codable, Sendable {
        case asUsual
        /// This status with the provider's own error body.
        case status(Int)
        /// 200, and the body says that nobody was reached.
        case noSubscribers
        /// 200 with an id, and the body lists recipients it does not know.
        case invalidAliases
        /// The connection is reset before the request has any effect.
        case reset
        /// The effect takes place and the connection is cut before the answer.
        case loseAnswer
        /// The request is read and never answered.
        case never
        /// The request is read, has no effect, and after this many milliseconds the connection is
        /// reset: a provider that hangs, and a caller who learns of it without its own timeout.
        case hang(Int64)
        /// A 200 whose body is not JSON.
        case malformed
        /// The effect takes place and the connection is cut in the middle of the answer's body.
        case half
        /// Firebase's 400 with this code, for codes that depend on what a fake has not: quotas,
        /// other projects, policies.
        case code(String)
        /// The effect takes place and the answer comes after this many milliseconds.
        case slow(Int64)
        /// 429 with the provider's own error body, and a `Retry-After` of this many milliseconds.
        case busy(Int64)
    }

    package var provider: Exchange.Party
    package var answers: [Answer]
    /// The last answer stays in force instead of the usual one.
    package var isPermanent = false
    /// Calls that only read are part of the plan too; by default it counts those that change
    /// something.
    package var includesReads = false

    package init(
        provider: Exchange.Party,
        answers: [Answer],
        isPermanent: Bool = false,
        includesReads: Bool = false
    ) {
        self.provider = provider
        self.answers = answers
        self.isPermanent = isPermanent
        self.includesReads = includesReads
    }

    /// Whether it ends in a refusal that no later call changes: neither a failure nor a wish for less.
    package var refusesForGood: Bool {
        guard isPermanent, case .status(let status) = answers.last else { return false }
        return (400..<500).contains(status) && status != 408 && status != 429
    }

    /// The answer to the next call; the usual one when the plan is used up.
    package mutating func next() -> Answer {
        guard let next = answers.first else { return .asUsual }
        if !(isPermanent && answers.count == 1) { answers.removeFirst() }
        return next
    }
}

/// One spelling of a planned answer, for contracts, the control API and the command line.
extension ProviderPlan.Answer {
    /// How long `slow` and `hang` take when nothing is said, in milliseconds.
    package static let usualDelay: Int64 = 1500

    /// The answers that are one word, in the order in which lists show them.
    package static let words: [(word: String, answer: ProviderPlan.Answer)] = [
        ("ok", .asUsual), ("reset", .reset), ("lose-answer", .loseAnswer), ("never", .never),
        ("half", .half), ("malformed", .malformed), ("no-subscribers", .noSubscribers),
        ("invalid-aliases", .invalidAliases), ("slow", .slow(usualDelay)),
        ("hang", .hang(usualDelay)),
    ]

    /// What can be said, for error messages.
    package static let spellings =
        words.map(\.word) + ["slow 2s", "hang 2s", "busy 3s", "code QUOTA_EXCEEDED", "503"]

    /// A status from 200 to 599, one of `words`, `slow 2s`, `hang 2s`, `busy 3s` (whole seconds) or
    /// `code QUOTA_EXCEEDED`; nil for anything else.
    package init?(spelling text: String) {
        if let status = Int(text), (200...599).contains(status), String(status) == text {
            self = .status(status)
            return
        }
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.answer
            return
        }
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2, !parts[1].hasPrefix(" "), !parts[1].hasSuffix(" ") else {
            return nil
        }
        if parts[0] == "code" {
            self = .code(parts[1])
            return
        }
        guard let span = Duration(contractText: parts[1]), span >= .zero else { return nil }
        switch parts[0] {
        case "slow": self = .slow(span.milliseconds)
        case "hang": self = .hang(span.milliseconds)
        // The header counts seconds.
        case "busy" where span.milliseconds % 1000 == 0 && span > .zero:
            self = .busy(span.milliseconds)
        default: return nil
        }
    }

    /// The text that `init(spelling:)` reads back.
    package var spelling: String {
        switch self {
        case .status(let status): "\(status)"
        case .slow(Self.usualDelay), .hang(Self.usualDelay), .asUsual, .noSubscribers,
            .invalidAliases, .reset, .loseAnswer, .never, .malformed, .half:
            Self.words.first { $0.answer == self }?.word ?? "ok"
        case .slow(let milliseconds): "slow " + Duration.milliseconds(milliseconds).unsignedText
        case .hang(let milliseconds): "hang " + Duration.milliseconds(milliseconds).unsignedText
        case .busy(let milliseconds): "busy " + Duration.milliseconds(milliseconds).unsignedText
        case .code(let code): "code " + code
        }
    }
}
