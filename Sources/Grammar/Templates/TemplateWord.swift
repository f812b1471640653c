internal import Values

/// A word that starts a template, with the form of the whole template and the type of its value.
///
/// | template | value |
/// | --- | --- |
/// | `{{user.ada}}`, `{{anonymous.ada}}`, `{{device.ada}}` | an ID of the user `ada` |
/// | `{{account.home}}`, `{{password.home}}` | the name or password of the account `home` |
/// | `{{event-id.purchase}}` | the ID of the event in the delivery `purchase` |
/// | `{{now}}`, `{{now+30d}}` | the start of the run, in milliseconds since 1970, plus an offset |
/// | `{{date}}`, `{{date+30d}}` | the start of the run, plus an offset, as an ISO 8601 string in UTC |
/// | `{{seconds}}`, `{{seconds-1h}}` | in a token: the real time in seconds since 1970 |
/// | `{{id-token.ada}}` | in a header: a Firebase ID token of the user `ada` |
/// | `{{first.proof}}` | in a call: the proof in the response to the call `first` |
/// | `{{first.id}}` | in a step `name`: the user ID in the response to the call `first` |
/// | `{{purchase.expiration_at_ms}}` | in an expected state: a field of the event in the delivery `purchase` |
/// | `{{some.NAME}}` | the same value at every use; set under `values`, learned from a response, or generated |
/// | `{{long.N}}` | a unique string of N characters |
/// | `{{any}}`, `{{any.uuid}}`, `{{any.timestamp}}`, `{{any.number}}`, `{{any.text}}` | in an expected response: any value of this kind, also inside a string: `ORD-{{any.number}}` |
package struct TemplateWord: Hashable, Sendable {
    /// The form of a template: the text that accompanies the template's word.
    package enum Form: Hashable, Sendable {
        /// The template is only the word: `any.uuid`.
        case exactWord
        /// The template is the word with an optional time offset: `now-1h`.
        case timeOffset
        /// The template is the word and a name that the contract defines: `user.ada`.
        case user, delivery, account
        /// The template is the word and a freely chosen name of letters, digits, `-` and `_`:
        /// `some.token1`.
        case freelyChosenName
        /// The template is the word and a whole number from 1 to 100,000: `long.101`.
        case count
        /// The template is the name of a call and the word: `first.proof`.
        case memberOfCall
        /// The template is the name of a delivery and a field of its event:
        /// `purchase.expiration_at_ms`.
        case fieldOfDelivery
    }

    /// The type of a template's value, and the unit of the value.
    package enum Kind: Hashable, Sendable {
        case text
        /// A whole number of milliseconds since 1970 (UTC).
        case milliseconds
        /// A whole number of seconds since 1970 (UTC).
        case seconds
        /// A string in the format ISO 8601, in UTC.
        case date
        /// Any JSON value of a response or an event.
        case anyKind
    }

    package let word: String
    package let form: Form
    package let kind: Kind
    /// A description of the template's value for readers, without a period at the end.
    package let meaning: String

    package init(_ word: String, _ form: Form, _ kind: Kind, _ meaning: String) {
        self.word = word
        self.form = form
        self.kind = kind
        self.meaning = meaning
    }

    package static let user = TemplateWord("user", .user, .text, "the ID of the user")
    package static let anonymous = TemplateWord(
        "anonymous",
        .user,
        .text,
        "the anonymous ID of the user before a login"
    )
    package static let device = TemplateWord(
        "device",
        .user,
        .text,
        "the install ID of the user's phone"
    )
    package static let eventID = TemplateWord(
        "event-id",
        .delivery,
        .text,
        "the ID of the delivery's event"
    )
    package static let account = TemplateWord("account", .account, .text, "the name of the account")
    package static let password = TemplateWord(
        "password",
        .account,
        .text,
        "the password of the account"
    )
    package static let now = TemplateWord(
        "now",
        .timeOffset,
        .milliseconds,
        "the start of the run in milliseconds since 1970, plus an offset"
    )
    package static let date = TemplateWord(
        "date",
        .timeOffset,
        .date,
        "the start of the run, plus an offset, as an ISO 8601 string in UTC"
    )
    package static let seconds = TemplateWord(
        "seconds",
        .timeOffset,
        .seconds,
        "the real time in seconds since 1970, as used to verify tokens"
    )
    package static let idToken = TemplateWord(
        "id-token",
        .user,
        .text,
        "a Firebase ID token of the user"
    )
    package static let some = TemplateWord(
        "some",
        .freelyChosenName,
        .anyKind,
        "the same value at every use, generated or learned"
    )
    package static let long = TemplateWord(
        "long",
        .count,
        .text,
        "a unique string of that many characters"
    )
    package static let proof = TemplateWord(
        "proof",
        .memberOfCall,
        .text,
        "the proof in the response to the call"
    )
    package static let returnedID = TemplateWord(
        "id",
        .memberOfCall,
        .text,
        "the user ID in the response to the call"
    )
    package static let eventField = TemplateWord(
        "",
        .fieldOfDelivery,
        .anyKind,
        "a field of the delivery's event"
    )

    /// Template words that match any value of a kind in a response, such as `any.number`.
    package static let matchers = ["any", "any.uuid", "any.timestamp", "any.number", "any.text"].map
    {
        TemplateWord($0, .exactWord, .anyKind, "any value of this kind, also inside a string")
    }

    static let timeWords = [now, date, seconds]

    // MARK: Reading

    /// Whether a template name, such as `user.ada`, starts with this word and has the form of this
    /// word.
    func allows(_ name: String, _ names: TemplateNames) -> Bool {
        switch form {
        case .exactWord: name == word
        case .timeOffset: Self.offset(in: name, after: word) != nil
        case .user: Self.member(of: name, after: word).map(names.users.contains) ?? false
        case .delivery: Self.member(of: name, after: word).map(names.deliveries.contains) ?? false
        case .account: Self.member(of: name, after: word).map(names.accounts.contains) ?? false
        case .freelyChosenName: Self.member(of: name, after: word).map(Self.isName) ?? false
        case .count: Self.member(of: name, after: word).flatMap(Self.count) != nil
        case .memberOfCall: names.calls.contains { name == "\($0).\(word)" }
        case .fieldOfDelivery:
            names.deliveries.contains { delivery in
                Self.member(of: name, after: delivery).map(Self.isName) ?? false
            }
        }
    }

    /// Returns the templates with this word as written in a file, one for each name of the contract
    /// that can follow the word.
    package func examples(_ names: TemplateNames) -> [String] {
        func memberNames(_ list: [String]) -> [String] { list.map { "\(word).\($0)" } }
        return switch form {
        case .exactWord, .timeOffset: [word]
        case .user: memberNames(names.users)
        case .delivery: memberNames(names.deliveries)
        case .account: memberNames(names.accounts)
        case .freelyChosenName: ["\(word).NAME"]
        case .count: ["\(word).101"]
        case .memberOfCall: names.calls.map { "\($0).\(word)" }
        case .fieldOfDelivery: names.deliveries.map { "\($0).expiration_at_ms" }
        }
    }

    /// Returns the part of a template name after `word.`: `ada` in `user.ada`; nil when the name
    /// does not start with the word.
    package static func member(of name: String, after word: String) -> String? {
        guard name.hasPrefix(word + "."), name.count > word.count + 1 else { return nil }
        return String(name.dropFirst(word.count + 1))
    }

    /// Returns the time offset in a template name such as `now+30d`; zero for the word alone, nil
    /// for any other name.
    package static func offset(in name: String, after word: String) -> Duration? {
        guard name.hasPrefix(word) else { return nil }
        let rest = name.dropFirst(word.count)
        if rest.isEmpty { return .zero }
        guard rest.first == "+" || rest.first == "-" else { return nil }
        return Duration(contractText: String(rest))
    }

    /// Parses the number in a template name such as `long.101`, from 1 to 100,000; nil for any
    /// other text.
    package static func count(_ text: String) -> Int? {
        guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int(text),
            (1...100_000).contains(count)
        else { return nil }
        return count
    }

    private static func isName(_ text: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }
}

extension Template {
    /// Returns the names of the users whose IDs occur as templates in the strings, in order of
    /// appearance.
    package static func users(in texts: [String]) -> [String] {
        var users: [String] = []
        for name in texts.flatMap({ Template($0).names }) {
            let words: [TemplateWord] = [.user, .anonymous, .device, .idToken]
            for user in words.compactMap({ TemplateWord.member(of: name, after: $0.word) })
            where !users.contains(user) {
                users.append(user)
            }
        }
        return users
    }
}
