internal import Grammar
package import Values

/// A member of a JSON request body in Assay's control API (`/assay/v1`): its name, the kind of its
/// value, and its description.
///
/// The same definition serves to check request bodies and to describe the API.
package struct ControlMember: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case text
        /// A string that must be one of these values.
        case choice([String])
        /// Any string, which the operation itself checks.
        ///
        /// The associated values are examples for the description of the API.
        case openChoice([String])
        case flag
        case integer
        /// A number that may have a fraction.
        case number
        case stringList
        /// A list whose elements the operation itself checks.
        case list
        case object
        /// A time as an ISO 8601 string, or as a number of milliseconds since 1970.
        case timestamp
        /// An http URL to which the fakes may send webhook events.
        case address
    }

    package let name: String
    package let kind: Kind
    /// The values of the operation's path parameter for which this member has a meaning.
    ///
    /// If the list is empty, the member applies to all of them.
    package let words: [String]
    private let text: String

    package init(_ name: String, _ kind: Kind, _ summary: String, of words: [String] = []) {
        self.name = name
        self.kind = kind
        self.words = words
        text = summary
    }

    /// The description of the member.
    ///
    /// It begins with the path values to which the member applies, unless these are all values or
    /// more than five.
    package var summary: String {
        words.isEmpty || words.count > 5 ? text : words.joined(separator: ", ") + ": " + text
    }

    /// The member `settle`: the call waits until all due deliveries are finished.
    ///
    /// Its response then contains their outcome.
    package static let settle = ControlMember(
        "settle",
        .flag,
        "Wait until all due events have been delivered."
    )
}

extension ControlMember {
    /// Returns the problem with a value for this member; nil when the value is valid.
    ///
    /// - Parameters:
    ///   - value: The value in the request body. Null means that the member is not set, and is
    ///     always valid.
    ///   - isCallable: Returns whether the fakes may send events to a URL.
    /// - Returns: A sentence that describes the problem, and a hint at what to type instead.
    func problem(
        with value: JSONValue,
        _ isCallable: (String) -> Bool
    ) -> (text: String, hint: String?)? {
        if value.isNull { return nil }
        func typeProblem(_ expectedType: String) -> (String, String?) {
            ("'\(name)' takes \(expectedType), not \(value.kind)", nil)
        }
        switch kind {
        case .text, .openChoice: return value.string == nil ? typeProblem("a string") : nil
        case .choice(let words):
            guard let text = value.string else { return typeProblem("a string") }
            if words.contains(text) { return nil }
            return (
                "'\(name)' is '\(text)', which is not one of " + words.joined(separator: ", "),
                Suggestion.nearest(to: text, among: words).map { "did you mean '\($0)'?" }
            )
        case .flag: return value.bool == nil ? typeProblem("true or false") : nil
        case .integer: return value.int64 == nil ? typeProblem("a whole number") : nil
        case .number:
            if case .number = value { return nil }
            return typeProblem("a number")
        case .stringList:
            guard let list = value.array else { return typeProblem("a list of strings") }
            let nonStringItem = list.first { $0.string == nil }
            return nonStringItem.map {
                ("'\(name)' takes a list of strings, and one is \($0.kind)", nil)
            }
        case .list: return value.array == nil ? typeProblem("a list") : nil
        case .object: return value.object == nil ? typeProblem("an object") : nil
        case .timestamp:
            guard let time = Self.timestamp(value) else {
                return (
                    "'\(name)' takes a time such as 2026-09-24T12:00:00Z, "
                        + "or milliseconds since 1970",
                    nil
                )
            }
            if Instant.acceptedRange.contains(time) { return nil }
            return (
                "'\(name)' is \(time.description), which is not within \(Instant.acceptedRangeText)",
                "a number must be milliseconds since 1970, not seconds or microseconds"
            )
        case .address:
            guard let text = value.string else { return typeProblem("a URL") }
            if isCallable(text) { return nil }
            return (
                "'\(name)' is '\(text)', which is not an http URL on this machine",
                "to allow another host, start assay serve with --allow-host NAME"
            )
        }
    }

    /// Returns the time in a JSON value, which is a number of milliseconds since 1970 or an ISO
    /// 8601 string.
    ///
    /// Returns nil for any other value.
    package static func timestamp(_ value: JSONValue?) -> Instant? {
        if let milliseconds = value?.int64 { return Instant(milliseconds: milliseconds) }
        return value?.string.flatMap(Instant.init(iso8601:))
    }

    /// The JSON Schema of this member, for the description of the control API.
    package var schema: JSONValue {
        let type: JSONObject =
            switch kind {
            case .text: ["type": "string"]
            case .choice(let words): ["type": "string", "enum": .strings(words)]
            case .openChoice(let words): ["type": "string", "examples": .strings(words)]
            case .flag: ["type": "boolean"]
            case .integer: ["type": "integer"]
            case .number: ["type": "number"]
            case .stringList: ["type": "array", "items": ["type": "string"]]
            case .list: ["type": "array"]
            case .object: ["type": "object"]
            case .timestamp: ["type": ["string", "number"]]
            case .address: ["type": "string", "format": "uri"]
            }
        var schema = type
        schema["description"] = .string(summary)
        if !words.isEmpty { schema["x-of"] = .strings(words) }
        return .object(schema)
    }
}

extension [ControlMember] {
    /// Checks that a request body contains only known members, each with a value of the right kind.
    ///
    /// - Parameters:
    ///   - body: The request body.
    ///   - operation: The operation's method and path, for the error message.
    ///   - isCallable: Returns whether the fakes may send events to a URL.
    /// - Throws: A refusal that describes the first invalid member of the body.
    package func checkMembers(
        _ body: JSONObject,
        of operation: String,
        isCallable: (String) -> Bool
    ) throws(ControlRefusal) {
        let memberNames = map(\.name)
        for member in body.members {
            guard let known = first(where: { $0.name == member.key }) else {
                throw ControlRefusal.unknownName(
                    member.key,
                    "member",
                    of: operation,
                    among: memberNames
                )
            }
            if let (text, hint) = known.problem(with: member.value, isCallable) {
                throw ControlRefusal(400, text, hint: hint)
            }
        }
    }
}

extension ControlRefusal {
    /// Returns the error response for an unknown name.
    ///
    /// Its hint suggests the nearest known name and lists all known names.
    package static func unknownName(
        _ name: String,
        _ kindName: String,
        of owner: String,
        among known: [String]
    ) -> ControlRefusal {
        let suggestion = Suggestion.nearest(to: name, among: known).map { "did you mean '\($0)'? " }
        let validNamesText =
            known.isEmpty
            ? "the operation takes no \(kindName)s"
            : "the valid names are " + known.joined(separator: ", ")
        return ControlRefusal(
            400,
            "'\(name)' is not a \(kindName) of \(owner)",
            hint: (suggestion ?? "") + validNamesText
        )
    }
}
