package import Values

/// The planned responses of a provider's fake to the next calls that the backend makes in this
/// case.
///
/// After the planned responses, the fake responds as usual.
package struct ProviderPlan: Hashable, Codable, Sendable {
    package enum PlannedResponse: Hashable, Codable, Sendable {
        case asUsual
        /// The fake responds with this status and the provider's error body.
        case status(Int)
        /// The fake responds with status 200 and a body that reports no recipients.
        case noSubscribers
        /// The fake responds with status 200, a message ID and a list of unknown recipients.
        case invalidAliases
        /// The connection is reset before the fake processes the request.
        case reset
        /// The fake processes the request, and the connection is cut before the response.
        case lostResponse
        /// The fake reads the request and never responds.
        case never
        /// The fake reads the request without processing it, and resets the connection after this
        /// many milliseconds.
        ///
        /// The backend notices this hanging call even if it has no timeout.
        case hangThenReset(Int64)
        /// The fake responds with status 200 and a body that is not JSON.
        case malformed
        /// The fake processes the request, and the connection is cut in the middle of the response
        /// body.
        case truncatedResponse
        /// The fake responds like Firebase with status 400 and this error code.
        ///
        /// The code may report a condition that the fake does not simulate: an exceeded quota,
        /// another project, or a policy.
        case code(String)
        /// The fake processes the request, and the response arrives after this many milliseconds.
        case slow(Int64)
        /// The fake responds with status 429, the provider's error body and a `Retry-After` of this
        /// many milliseconds.
        case tooManyRequests(Int64)

        /// Whether the caller has to wait for the response, so that a backend with few workers does
        /// no other work meanwhile.
        package var keepsCallerWaiting: Bool {
            switch self {
            case .never, .hangThenReset, .slow: true
            case .asUsual, .status, .noSubscribers, .invalidAliases, .reset, .lostResponse,
                .malformed, .truncatedResponse, .code, .tooManyRequests:
                false
            }
        }
    }

    package var provider: Exchange.Party
    package var responses: [PlannedResponse]
    /// Whether the last planned response is repeated for all later calls, instead of the fake's
    /// usual response.
    package var repeatsLastResponse = false
    /// Whether the plan applies to all calls; false: it applies only to calls that change
    /// something, not to calls that only read.
    package var includesReads = false

    package init(
        provider: Exchange.Party,
        responses: [PlannedResponse],
        repeatsLastResponse: Bool = false,
        includesReads: Bool = false
    ) {
        self.provider = provider
        self.responses = responses
        self.repeatsLastResponse = repeatsLastResponse
        self.includesReads = includesReads
    }

    /// Whether the plan ends with a permanent refusal: a 4xx status other than 408 and 429.
    package var endsWithPermanentRefusal: Bool {
        guard repeatsLastResponse, case .status(let status) = responses.last else { return false }
        return (400..<500).contains(status) && status != 408 && status != 429
    }

    /// Removes and returns the planned response to the next call; `asUsual` when no planned
    /// response is left.
    package mutating func next() -> PlannedResponse {
        guard let next = responses.first else { return .asUsual }
        if !(repeatsLastResponse && responses.count == 1) { responses.removeFirst() }
        return next
    }
}

/// The notation of a planned response in contracts, the control API and the command line.
extension ProviderPlan.PlannedResponse {
    /// The default delay of `slow` and `hangThenReset`, in milliseconds.
    package static let defaultDelayMilliseconds: Int64 = 1500

    /// The planned responses that are written as a single word, in the order in which help texts
    /// list them.
    package static let words: [(word: String, response: ProviderPlan.PlannedResponse)] = [
        ("ok", .asUsual), ("reset", .reset), ("lost-response", .lostResponse),
        ("no-response", .never), ("truncated-response", .truncatedResponse),
        ("malformed", .malformed),
        ("no-subscribers", .noSubscribers), ("invalid-aliases", .invalidAliases),
        ("slow", .slow(defaultDelayMilliseconds)),
        ("hang", .hangThenReset(defaultDelayMilliseconds)),
    ]

    /// All notations of planned responses, with examples of their parameters, for error messages.
    package static let notations =
        words.map(\.word) + ["slow 2s", "hang 2s", "busy 3s", "code QUOTA_EXCEEDED", "503"]

    /// Parses the notation of a planned response; nil for any other string.
    ///
    /// A notation is a status from 200 to 599, one of `words`, `slow 2s`, `hang 2s`, `busy 3s`
    /// (whole seconds) or `code QUOTA_EXCEEDED`.
    package init?(notation text: String) {
        if let status = Int(text), (200...599).contains(status), String(status) == text {
            self = .status(status)
            return
        }
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.response
            return
        }
        let wordAndArgument = text.split(separator: " ", maxSplits: 1).map(String.init)
        guard wordAndArgument.count == 2, !wordAndArgument[1].hasPrefix(" "),
            !wordAndArgument[1].hasSuffix(" ")
        else {
            return nil
        }
        if wordAndArgument[0] == "code" {
            self = .code(wordAndArgument[1])
            return
        }
        guard let unsignedDuration = Duration(contractText: wordAndArgument[1]),
            unsignedDuration >= .zero
        else { return nil }
        switch wordAndArgument[0] {
        case "slow": self = .slow(unsignedDuration.milliseconds)
        case "hang": self = .hangThenReset(unsignedDuration.milliseconds)
        // The header `Retry-After` contains whole seconds.
        case "busy" where unsignedDuration.milliseconds % 1000 == 0 && unsignedDuration > .zero:
            self = .tooManyRequests(unsignedDuration.milliseconds)
        default: return nil
        }
    }

    /// The notation of the planned response, as `init(notation:)` parses it.
    package var notation: String {
        switch self {
        case .status(let status): "\(status)"
        case .slow(Self.defaultDelayMilliseconds), .hangThenReset(Self.defaultDelayMilliseconds),
            .asUsual, .noSubscribers,
            .invalidAliases, .reset, .lostResponse, .never, .malformed, .truncatedResponse:
            Self.words.first { $0.response == self }?.word ?? "ok"
        case .slow(let milliseconds): "slow " + Duration.milliseconds(milliseconds).unsignedText
        case .hangThenReset(let milliseconds):
            "hang " + Duration.milliseconds(milliseconds).unsignedText
        case .tooManyRequests(let milliseconds):
            "busy " + Duration.milliseconds(milliseconds).unsignedText
        case .code(let code): "code " + code
        }
    }
}
