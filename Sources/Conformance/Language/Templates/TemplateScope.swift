/// The template names that are available at one place of a contract or profile.
///
/// The code that reads a file calls `problems(in:)` for every string that may contain templates. An
/// unknown name is therefore an error in the file, and never reaches a backend.
package struct TemplateScope: Hashable, Sendable {
    /// The template words that are available at this place, such as `user` in `{{user.ada}}`.
    package let words: [TemplateWord]
    /// The contract's names for its users, deliveries, calls, accounts and axes.
    package let names: TemplateNames

    package init(_ words: [TemplateWord], names: TemplateNames = TemplateNames()) {
        self.words = words
        self.names = names
    }

    /// Creates the scope of a place in a contract.
    package init(_ slot: ContractSlot, names: TemplateNames) {
        self.init(slot.words, names: names)
    }

    /// Creates the scope of a place in a profile.
    package init(_ slot: ProfileSlot) { self.init(slot.words) }

    /// A place in a contract where strings may contain templates.
    package enum ContractSlot: String, Hashable, Sendable, CaseIterable {
        /// A path, body or string that is sent to the backend (keys `send`, `body`, `text`, `raw`,
        /// `set`).
        case request
        /// The value of a request header that is sent to the backend.
        case header
        /// A template value in a call to one of the backend's own routes (key `with`).
        case call
        /// A claim of a token, or a literal token (keys `claims` and `raw` under `token`).
        case claim
        /// The expected content of a response or an effect (keys `response` and `content`).
        case answer
        /// A field of a user's expected state (key `state`).
        case state
        /// The state of a phone, or the expected commands and screen of an app.
        case phone
        /// A fixed value for the template `{{some.NAME}}` (key `values`).
        case value
        /// Every other string of a contract.
        ///
        /// Only templates for the values of `variants` are replaced there.
        case none

        package var words: [TemplateWord] {
            let commonWords: [TemplateWord] = [
                .user, .anonymous, .device, .eventID, .account, .password, .now, .date,
            ]
            switch self {
            case .request: return commonWords + [.some, .long]
            case .header: return commonWords + [.some, .long, .idToken]
            case .call: return commonWords + [.some, .long, .proof]
            case .claim:
                return [
                    .user, .anonymous, .device, .eventID, .account, .password, .seconds, .some,
                    .long, .proof,
                ]
            case .answer: return commonWords + [.some, .long] + TemplateWord.matchers
            case .state: return commonWords + [.eventField]
            case .phone, .value: return commonWords + [.long]
            case .none: return []
            }
        }
    }

    /// A place in a profile where strings may contain templates.
    package enum ProfileSlot: String, Hashable, Sendable, CaseIterable {
        /// The values of the profile keys `target`, `start.command` and `start.env`.
        case start
        /// The path and body of an endpoint.
        case endpoint
        /// The path and body of the login request under the key `session`; later requests use a
        /// value from the login response.
        case login
        /// The path, body or command of the action that creates a user.
        case creation
        /// The path, body or command of the action that creates an account.
        case account
        /// The path, body or command of the action that sets the backend's clock.
        case clock
        /// The path or command of a probe, which shows a user's state.
        case probe
        /// The credentials of a request about a user.
        case userCredential
        /// The credentials of a request that concerns no user.
        case operatorCredential
        /// The path of the request by which the app asks whether the user has access.
        case accessPath
        /// The response to the request by which the app asks whether the user has access.
        case accessAnswer
        /// No templates are filled: the string is sent unchanged. This applies to all strings of a
        /// profile that no other case of this type names.
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
            return names.map { TemplateWord($0, .exactWord, .text, "a template of profiles") }
        }
    }

    // MARK: Lookup

    /// Returns the unknown template names and unclosed braces of a string, in order.
    package func problems(in text: String) -> [TemplateProblem] {
        guard text.contains("{{") else { return [] }
        return Template.tokens(in: text).compactMap { token in
            let name: String
            switch token.kind {
            case .text: return nil
            case .name(let text):
                if allows(text) { return nil }
                name = text
            case .unclosedBraces: name = ""
            }
            let knownNames = self.knownNames
            return TemplateProblem(
                name: name,
                offset: text[..<token.range.lowerBound].count,
                length: text[token.range].count,
                isUnclosed: { if case .unclosedBraces = token.kind { true } else { false } }(),
                knownNames: knownNames,
                nearest: nearest(to: name, among: knownNames)
            )
        }
    }

    /// Whether a template name, such as `user.ada`, is available at this place.
    package func allows(_ name: String) -> Bool {
        names.axes.contains { $0.allows(name) } || words.contains { $0.allows(name, names) }
    }

    /// All available template names as written in a file; `NAME` is a placeholder for a freely
    /// chosen name.
    package var knownNames: [String] {
        names.axes.map(\.name) + words.flatMap { $0.examples(names) }
    }

    /// Returns the available template name that the author probably meant; nil when no name is
    /// similar.
    private func nearest(to name: String, among knownNames: [String]) -> String? {
        // Suggests the same offset for the time word that is available here, for example seconds in
        // place of milliseconds.
        for word in TemplateWord.timeWords where word.allows(name, names) {
            let rest = name.dropFirst(word.word.count)
            if let other = words.first(where: { $0.form == .timeOffset }) {
                return other.word + rest
            }
        }
        // The offset does not count when names are compared.
        let characters = Array(name)
        let offsetStart = characters.indices.dropLast().first {
            "+-".contains(characters[$0]) && characters[$0 + 1].isNumber
        }
        let nameWithoutOffset = String(characters[..<(offsetStart ?? characters.endIndex)])
        let similarName = Suggestion.nearest(to: nameWithoutOffset, among: knownNames).map {
            $0 + name.dropFirst(nameWithoutOffset.count)
        }
        return similarName == name ? nil : similarName
    }
}

/// An unknown template name, or an unclosed template, in a string.
package struct TemplateProblem: Hashable, Sendable {
    /// The template name between the braces; empty when the template is not closed.
    package let name: String
    /// The number of characters from the start of the string to the opening braces.
    package let offset: Int
    /// The number of characters from the opening to the closing braces, including both.
    package let length: Int
    /// Whether the opening braces of the template are never closed.
    package let isUnclosed: Bool
    /// The template names that are available at the place of the string.
    package let knownNames: [String]
    /// The available template name that the author probably meant; nil when no name is similar.
    package let nearest: String?
}

/// The names that a contract defines, which its templates may contain.
package struct TemplateNames: Hashable, Sendable {
    /// One axis of a contract's key `variants`: a name with its list of values.
    ///
    /// Templates with this name, such as `{{copies}}`, are replaced when the file is read.
    package struct Axis: Hashable, Sendable {
        package let name: String
        package let values: [String]

        package init(name: String, values: [String]) {
            self.name = name
            self.values = values
        }

        /// Whether a template name belongs to the axis: `copies`, and also `copies-1` when all
        /// values are whole numbers.
        package func allows(_ text: String) -> Bool {
            if text == name { return true }
            return !values.isEmpty
                && values.allSatisfy { Self.value(of: text, name, $0) != nil }
        }

        /// Returns the value of a template name, such as `copies-1`, when the axis has the given
        /// value; nil when the name does not belong to the axis.
        package static func value(of text: String, _ axis: String, _ value: String) -> String? {
            if text == axis { return value }
            let rest = text.dropFirst(axis.count)
            guard text.hasPrefix(axis), rest.hasPrefix("+") || rest.hasPrefix("-"),
                let number = Int(value), let offset = Int(rest)
            else { return nil }
            let (sum, hasOverflowed) = number.addingReportingOverflow(offset)
            return hasOverflowed ? nil : String(sum)
        }
    }

    package var users: [String] = []
    package var deliveries: [String] = []
    /// The names of the contract's calls and literal requests.
    package var calls: [String] = []
    package var accounts: [String] = []
    package var axes: [Axis] = []

    package init() {}
}
