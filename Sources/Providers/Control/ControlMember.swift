package import Conformance

/// A member of the body that an operation of the control API takes: the one place that says its
/// name, its kind and what it means, for those who read bodies and those who describe them.
package struct ControlMember: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case text
        /// One of these texts.
        case choice([String])
        /// A text that the operation reads itself; these are the usual ones.
        case open([String])
        case flag
        case integer
        /// With a fraction, perhaps.
        case number
        case texts
        /// Of whatever the operation reads itself.
        case list
        case object
        /// A time in ISO 8601, or milliseconds.
        case moment
        /// An http URL that events may be sent to.
        case address
    }

    package let name: String
    package let kind: Kind
    /// Which words in the path's brace it says something about; empty: all of them.
    package let words: [String]
    private let text: String

    package init(_ name: String, _ kind: Kind, _ summary: String, of words: [String] = []) {
        self.name = name
        self.kind = kind
        self.words = words
        text = summary
    }

    /// What it means; with the words it is for, where those are few enough to be read.
    package var summary: String {
        words.isEmpty || words.count > 5 ? text : words.joined(separator: ", ") + ": " + text
    }

    /// Who waits until it is delivered sees in the answer what became of it.
    package static let settle = ControlMember(
        "settle",
        .flag,
        "Wait until what is due is delivered."
    )
}

extension ControlMember {
    /// What is wrong with a value, as the rest of a sentence; nil when it fits.
    ///
    /// - Parameters:
    ///   - value: What the body gives; null stands for nothing and always fits.
    ///   - isCallable: Whether events may be sent to a URL.
    /// - Returns: The problem, and what to type next.
    func problem(
        with value: JSONValue,
        _ isCallable: (String) -> Bool
    ) -> (text: String, hint: String?)? {
        if value.isNull { return nil }
        func wrong(_ wanted: String) -> (String, String?) {
            ("'\(name)' takes \(wanted), not \(value.kind)", nil)
        }
        switch kind {
        case .text, .open: return value.string == nil ? wrong("a text") : nil
        case .choice(let words):
            guard let text = value.string else { return wrong("a text") }
            if words.contains(text) { return nil }
            return (
                "'\(name)' is '\(text)', which is none of " + words.joined(separator: ", "),
                Suggestion.nearest(to: text, among: words).map { "did you mean '\($0)'?" }
            )
        case .flag: return value.bool == nil ? wrong("true or false") : nil
        case .integer: return value.int64 == nil ? wrong("a whole number") : nil
        case .number:
            if case .number = value { return nil }
            return wrong("a number")
        case .texts:
            guard let list = value.array else { return wrong("a list of texts") }
            let other = list.first { $0.string == nil }
            return other.map { ("'\(name)' takes a list of texts, and one is \($0.kind)", nil) }
        case .list: return value.array == nil ? wrong("a list") : nil
        case .object: return value.object == nil ? wrong("an object") : nil
        case .moment:
            guard let time = Self.moment(value) else {
                return (
                    "'\(name)' takes a time such as 2026-09-24T12:00:00Z, or milliseconds", nil
                )
            }
            if Instant.given.contains(time) { return nil }
            return (
                "'\(name)' is \(time.description), which is not within \(Instant.givenText)",
                "a number is milliseconds since 1970, not seconds or microseconds"
            )
        case .address:
            guard let text = value.string else { return wrong("a URL") }
            if isCallable(text) { return nil }
            return (
                "'\(name)' is '\(text)', which is no http URL on this machine",
                "another host needs assay serve --allow-host NAME"
            )
        }
    }

    /// The time that a value names; nil when it names none.
    package static func moment(_ value: JSONValue?) -> Instant? {
        if let milliseconds = value?.int64 { return Instant(milliseconds: milliseconds) }
        return value?.string.flatMap(Instant.init(iso8601:))
    }

    /// As JSON Schema says it.
    package var schema: JSONValue {
        let type: JSONObject =
            switch kind {
            case .text: ["type": "string"]
            case .choice(let words): ["type": "string", "enum": .strings(words)]
            case .open(let words): ["type": "string", "examples": .strings(words)]
            case .flag: ["type": "boolean"]
            case .integer: ["type": "integer"]
            case .number: ["type": "number"]
            case .texts: ["type": "array", "items": ["type": "string"]]
            case .list: ["type": "array"]
            case .object: ["type": "object"]
            case .moment: ["type": ["string", "number"]]
            case .address: ["type": "string", "format": "uri"]
            }
        var schema = type
        schema["description"] = .string(summary)
        if !words.isEmpty { schema["x-of"] = .strings(words) }
        return .object(schema)
    }
}

extension [ControlMember] {
    /// Refuses a body with a member that the operation does not know, or of another kind.
    ///
    /// - Parameters:
    ///   - body: What was sent.
    ///   - operation: Its method and path, for the message.
    ///   - isCallable: Whether events may be sent to a URL.
    /// - Throws: What is wrong with the first member that does not fit.
    package func check(
        _ body: JSONObject,
        of operation: String,
        isCallable: (String) -> Bool
    ) throws(ControlRefusal) {
        let names = map(\.name)
        for member in body.members {
            guard let known = first(where: { $0.name == member.key }) else {
                throw ControlRefusal.unknown(member.key, "member", of: operation, among: names)
            }
            if let (text, hint) = known.problem(with: member.value, isCallable) {
                throw ControlRefusal(400, text, hint: hint)
            }
        }
    }
}

extension ControlRefusal {
    /// A name that nobody knows, with the nearest that is known and all others.
    package static func unknown(
        _ name: String,
        _ what: String,
        of owner: String,
        among known: [String]
    ) -> ControlRefusal {
        let near = Suggestion.nearest(to: name, among: known).map { "did you mean '\($0)'? " }
        let all =
            known.isEmpty ? "it takes none" : "there are " + known.joined(separator: ", ")
        return ControlRefusal(
            400,
            "'\(name)' is no \(what) of \(owner)",
            hint: (near ?? "") + all
        )
    }
}
