/// A word that templates may use, with what follows it and the kind of its value.
///
/// | template | stands for |
/// | --- | --- |
/// | `{{user.ada}}`, `{{anonymous.ada}}`, `{{device.ada}}` | the ids of that user |
/// | `{{account.home}}`, `{{password.home}}` | with what an account signs in |
/// | `{{event-id.purchase}}` | the id of the event that this delivery carries |
/// | `{{now}}`, `{{now+30d}}` | milliseconds since 1970; counts from the start of the run |
/// | `{{date}}`, `{{date+30d}}` | the same moment as ISO 8601 text in UTC |
/// | `{{seconds}}`, `{{seconds-1h}}` | in a token: seconds since 1970 by the real clock |
/// | `{{id-token.ada}}` | in a header: what Firebase would have given that user |
/// | `{{first.proof}}` | in a call: the proof that the call `first` was answered |
/// | `{{purchase.expiration_at_ms}}` | in a state: what the event of that delivery said |
/// | `{{some.NAME}}` | one value wherever the name stands: made up in a request, unless the contract gives it under `values` or an answer gave it before; learned in an answer |
/// | `{{long.N}}` | a text of N characters that nobody else has |
/// | `{{any}}`, `{{any.uuid}}`, `{{any.timestamp}}`, `{{any.number}}`, `{{any.text}}` | in an answer: anything of that kind, also inside a text: `ORD-{{any.number}}` |
package struct TemplateWord: Hashable, Sendable {
    /// What follows the word.
    package enum Form: Hashable, Sendable {
        /// Nothing: `any.uuid`.
        case exactly
        /// Nothing, or a span of time: `now-1h`.
        case moment
        /// One of the contract's names: `user.ada`.
        case user, delivery, account
        /// A name of one's own, of letters, digits, `-` and `_`: `some.token1`.
        case ownName
        /// A whole number from 1 to 100,000: `long.101`.
        case count
        /// The word follows the name of a call: `first.proof`.
        case ofCall
        /// A field follows the name of a delivery: `purchase.expiration_at_ms`.
        case fieldOfDelivery
    }

    /// What kind of value it stands for, and its unit.
    package enum Kind: Hashable, Sendable {
        case text
        /// Since 1970, UTC.
        case milliseconds
        /// Since 1970, UTC.
        case seconds
        /// ISO 8601 in UTC.
        case date
        /// Whatever the answer or the event holds.
        case anything
    }

    package let word: String
    package let form: Form
    package let kind: Kind
    /// One sentence for people, without its full stop.
    package let meaning: String

    init(_ word: String, _ form: Form, _ kind: Kind, _ meaning: String) {
        self.word = word
        self.form = form
        self.kind = kind
        self.meaning = meaning
    }

    static let user = TemplateWord("user", .user, .text, "the id of that user")
    static let anonymous = TemplateWord(
        "anonymous",
        .user,
        .text,
        "the id that the SDK made before that user logged in"
    )
    static let device = TemplateWord("device", .user, .text, "the install id of that user's phone")
    static let eventID = TemplateWord(
        "event-id",
        .delivery,
        .text,
        "the id of the event that the delivery carries"
    )
    static let account = TemplateWord("account", .account, .text, "what that account is called")
    static let password = TemplateWord("password", .account, .text, "that account's password")
    static let now = TemplateWord(
        "now",
        .moment,
        .milliseconds,
        "milliseconds since 1970, counted from the start of the run"
    )
    static let date = TemplateWord(
        "date",
        .moment,
        .date,
        "the same moment as 'now', as ISO 8601 text in UTC"
    )
    static let seconds = TemplateWord(
        "seconds",
        .moment,
        .seconds,
        "seconds since 1970 by the real clock, which whoever verifies a token looks at"
    )
    static let idToken = TemplateWord(
        "id-token",
        .user,
        .text,
        "the token that Firebase would have given that user"
    )
    static let some = TemplateWord(
        "some",
        .ownName,
        .anything,
        "one value wherever the name stands, made up or learned"
    )
    static let long = TemplateWord(
        "long",
        .count,
        .text,
        "a text of that many characters that nobody else has"
    )
    static let proof = TemplateWord(
        "proof",
        .ofCall,
        .text,
        "the proof that the call was answered"
    )
    static let eventField = TemplateWord(
        "",
        .fieldOfDelivery,
        .anything,
        "what the event of that delivery says"
    )

    /// What an answer may hold instead of one value.
    static let matchers = ["any", "any.uuid", "any.timestamp", "any.number", "any.text"].map {
        TemplateWord($0, .exactly, .anything, "anything of that kind, also inside a text")
    }

    static let moments = [now, date, seconds]

    // MARK: Reading

    /// Whether the name is this word with what belongs to it.
    func knows(_ name: String, _ names: TemplateNames) -> Bool {
        switch form {
        case .exactly: name == word
        case .moment: Self.offset(in: name, after: word) != nil
        case .user: Self.member(of: name, after: word).map(names.users.contains) ?? false
        case .delivery: Self.member(of: name, after: word).map(names.deliveries.contains) ?? false
        case .account: Self.member(of: name, after: word).map(names.accounts.contains) ?? false
        case .ownName: Self.member(of: name, after: word).map(Self.isName) ?? false
        case .count: Self.member(of: name, after: word).flatMap(Self.count) != nil
        case .ofCall: names.calls.contains { name == "\($0).\(word)" }
        case .fieldOfDelivery:
            names.deliveries.contains { delivery in
                Self.member(of: name, after: delivery).map(Self.isName) ?? false
            }
        }
    }

    /// The word as a person would write it, with every name that the contract has.
    package func examples(_ names: TemplateNames) -> [String] {
        func members(_ list: [String]) -> [String] { list.map { "\(word).\($0)" } }
        return switch form {
        case .exactly, .moment: [word]
        case .user: members(names.users)
        case .delivery: members(names.deliveries)
        case .account: members(names.accounts)
        case .ownName: ["\(word).NAME"]
        case .count: ["\(word).101"]
        case .ofCall: names.calls.map { "\($0).\(word)" }
        case .fieldOfDelivery: names.deliveries.map { "\($0).expiration_at_ms" }
        }
    }

    /// What follows `word.`; nil when the name is not of this word.
    static func member(of name: String, after word: String) -> String? {
        guard name.hasPrefix(word + "."), name.count > word.count + 1 else { return nil }
        return String(name.dropFirst(word.count + 1))
    }

    /// The span in `now+30d`; zero for the bare word; nil when the name is not of this word.
    static func offset(in name: String, after word: String) -> Duration? {
        guard name.hasPrefix(word) else { return nil }
        let rest = name.dropFirst(word.count)
        if rest.isEmpty { return .zero }
        guard rest.first == "+" || rest.first == "-" else { return nil }
        return Duration(contractText: String(rest))
    }

    /// The number in `long.101`, from 1 to 100,000.
    static func count(_ text: String) -> Int? {
        guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int(text),
            (1...100_000).contains(count)
        else { return nil }
        return count
    }

    private static func isName(_ text: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }
}
