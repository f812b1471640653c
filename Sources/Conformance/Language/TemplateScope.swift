/// Which names exist in one place of a contract or profile, and what each stands for.
///
/// Reading a file asks for `problems(in:)` wherever a template may stand, so that a name which
/// nothing stands for is an error at its place and never travels to a backend.
package struct TemplateScope: Hashable, Sendable {
    /// The words that exist here.
    package let words: [TemplateWord]
    /// What the contract itself calls its users, deliveries, calls, accounts and axes.
    package let names: TemplateNames

    package init(_ words: [TemplateWord], names: TemplateNames = TemplateNames()) {
        self.words = words
        self.names = names
    }

    /// The scope of a place in a contract.
    package init(_ place: ContractPlace, names: TemplateNames) {
        self.init(place.words, names: names)
    }

    /// The scope of a place in a profile.
    package init(_ place: ProfilePlace) { self.init(place.words) }

    /// A place in a contract where texts may hold templates.
    package enum ContractPlace: String, Hashable, Sendable, CaseIterable {
        /// Path, body or text that is sent: `send`, `body`, `text`, `raw`, `set`.
        case request
        /// The value of a header that is sent.
        case header
        /// A value of one of the app's calls: `with`.
        case call
        /// A claim of a token, or a token's text: `claims`, `token: raw`.
        case claim
        /// What an answer or an effect has to say: `answer`, `says`.
        case answer
        /// A field of the expected state.
        case state
        /// What a phone holds, and what an app is expected to send or show.
        case phone
        /// What `{{some.NAME}}` stands for: `values`.
        case value
        /// Every other text: only axes are replaced there.
        case none

        package var words: [TemplateWord] {
            let story: [TemplateWord] = [
                .user, .anonymous, .device, .eventID, .account, .password, .now, .date,
            ]
            switch self {
            case .request: return story + [.some, .long]
            case .header: return story + [.some, .long, .idToken]
            case .call: return story + [.some, .long, .proof]
            case .claim:
                return [
                    .user, .anonymous, .device, .eventID, .account, .password, .seconds, .some,
                    .long, .proof,
                ]
            case .answer: return story + [.some, .long] + TemplateWord.matchers
            case .state: return story + [.eventField]
            case .phone, .value: return story + [.long]
            case .none: return []
            }
        }
    }

    /// A place in a profile where texts may hold templates.
    package enum ProfilePlace: String, Hashable, Sendable, CaseIterable {
        /// `target`, and `command` and `env` of `start`.
        case start
        /// Path and body of an endpoint.
        case endpoint
        /// Path and body of the login whose answer is reused.
        case login
        /// Path, body or command that creates a user.
        case creation
        /// Path, body or command that creates an account.
        case account
        /// Path, body or command that sets the backend's clock.
        case clock
        /// Path or command of a probe.
        case probe
        /// What proves who asks about a user.
        case userCredential
        /// What proves who asks, where no user is meant.
        case operatorCredential
        /// The path by which the app asks for access.
        case accessPath
        /// The answer that it gets.
        case accessAnswer
        /// Every other text that is sent as it stands.
        case none

        package var words: [TemplateWord] {
            let names: [String] =
                switch self {
                case .start:
                    ["port", "data"]
                        + ["revenuecat", "onesignal", "firebase", "purchasely"].map { "fake.\($0)" }
                        + Profile.SecretName.allCases.map { "secret.\($0.rawValue)" }
                case .endpoint: Call.valueNames + ["account"]
                case .login: []
                case .creation: ["id", "device", "platform", "source", "timestamp"]
                case .account: ["account", "password"]
                case .clock: ["now", "now-ms", "ahead"]
                case .probe, .accessPath: ["id"]
                case .userCredential: ["id", "session"]
                case .operatorCredential: ["session"]
                case .accessAnswer: ["access", "product"]
                case .none: []
                }
            return names.map { TemplateWord($0, .exactly, .text, "the profile's own") }
        }
    }

    // MARK: Questions

    /// Every name in the text that does not exist here, and braces that open none, in order.
    package func problems(in text: String) -> [TemplateProblem] {
        guard text.contains("{{") else { return [] }
        return Template.tokens(in: text).compactMap { token in
            let name: String
            switch token.kind {
            case .text: return nil
            case .name(let text):
                if knows(text) { return nil }
                name = text
            case .unclosed: name = ""
            }
            let known = self.known
            return TemplateProblem(
                name: name,
                offset: text[..<token.range.lowerBound].count,
                length: text[token.range].count,
                isOpen: { if case .unclosed = token.kind { true } else { false } }(),
                known: known,
                nearest: nearest(to: name, among: known)
            )
        }
    }

    /// Whether something is called that here.
    package func knows(_ name: String) -> Bool {
        names.axes.contains { $0.knows(name) } || words.contains { $0.knows(name, names) }
    }

    /// What exists here, as a person would write it; `NAME` stands for a name of one's own.
    package var known: [String] {
        names.axes.map(\.name) + words.flatMap { $0.examples(names) }
    }

    /// What was probably meant.
    private func nearest(to name: String, among known: [String]) -> String? {
        // The same offset with a word that exists here: milliseconds are no seconds.
        for word in TemplateWord.moments where word.knows(name, names) {
            let rest = name.dropFirst(word.word.count)
            if let other = words.first(where: { $0.form == .moment }) { return other.word + rest }
        }
        // An offset of one's own is no reason to be far away.
        let letters = Array(name)
        let cut = letters.indices.dropLast().first {
            "+-".contains(letters[$0]) && letters[$0 + 1].isNumber
        }
        let head = String(letters[..<(cut ?? letters.endIndex)])
        let near = Suggestion.nearest(to: head, among: known).map {
            $0 + name.dropFirst(head.count)
        }
        return near == name ? nil : near
    }
}

/// Something in a text that stands for nothing there.
package struct TemplateProblem: Hashable, Sendable {
    /// What stands between the braces; empty when nothing ends it.
    package let name: String
    /// Characters from the start of the text to the opening braces.
    package let offset: Int
    /// Characters from the opening to the closing braces, both included.
    package let length: Int
    /// The braces are never closed.
    package let isOpen: Bool
    /// What exists there.
    package let known: [String]
    /// What was probably meant; nil when nothing is near.
    package let nearest: String?
}

/// What a contract itself has given names to.
package struct TemplateNames: Hashable, Sendable {
    /// An axis of a contract's variants; it is replaced when the file is read.
    package struct Axis: Hashable, Sendable {
        package let name: String
        package let values: [String]

        package init(name: String, values: [String]) {
            self.name = name
            self.values = values
        }

        /// `{{copies}}`, and `{{copies-1}}` when all of its values are whole numbers.
        package func knows(_ text: String) -> Bool {
            if text == name { return true }
            return !values.isEmpty
                && values.allSatisfy { Self.value(of: text, name, $0) != nil }
        }

        /// What a name stands for where the axis has a value; nil when it is not about this axis.
        package static func value(of text: String, _ axis: String, _ value: String) -> String? {
            if text == axis { return value }
            let rest = text.dropFirst(axis.count)
            guard text.hasPrefix(axis), rest.hasPrefix("+") || rest.hasPrefix("-"),
                let number = Int(value), let offset = Int(rest)
            else { return nil }
            let (sum, isTooLarge) = number.addingReportingOverflow(offset)
            return isTooLarge ? nil : String(sum)
        }
    }

    package var users: [String] = []
    package var deliveries: [String] = []
    /// Calls and requests.
    package var calls: [String] = []
    package var accounts: [String] = []
    package var axes: [Axis] = []

    package init() {}
}
