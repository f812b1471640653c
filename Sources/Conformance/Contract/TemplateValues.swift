/// What the templates of one run stand for, and what its answers have taught.
///
/// | template | stands for |
/// | --- | --- |
/// | `{{user.ada}}`, `{{anonymous.ada}}`, `{{device.ada}}` | the ids of that user |
/// | `{{event-id.purchase}}` | the id of the event that this delivery carries |
/// | `{{now}}`, `{{now+30d}}` | milliseconds since 1970, as RevenueCat writes times |
/// | `{{date}}`, `{{date+30d}}` | the same as ISO 8601 text in UTC |
/// | `{{id-token.ada}}` | in a header: what Firebase would have given that user |
/// | `{{some.NAME}}` | one value wherever the name stands: made up in a request, unless the contract gives it under `values` or an answer gave it before; learned in an answer |
/// | `{{any}}`, `{{any.uuid}}`, `{{any.timestamp}}`, `{{any.number}}`, `{{any.text}}` | in an answer: anything of that kind |
///
/// The runner and the judge fill and learn in the same order, so both know the same values.
package struct TemplateValues: Hashable, Sendable {
    /// Ids may be assigned while the run goes on.
    package var namespace: Namespace
    package let base: Instant
    private var known: [String: JSONValue]
    /// ID tokens by user; the runner has them made, the judge needs none.
    package var tokens: [String: String] = [:]

    package init(namespace: Namespace, base: Instant, given: [String: JSONValue] = [:]) {
        self.namespace = namespace
        self.base = base
        known = given
    }

    /// One place where an answer is not what the pattern says.
    package struct Mismatch: Hashable, Sendable {
        package let pointer: JSONPointer
        package let expected: String
        /// Nil when there is nothing at that place.
        package let actual: String?
    }

    package static let kinds = ["any", "any.uuid", "any.timestamp", "any.number", "any.text"]

    /// Names of the families whose second part is the contract's own.
    package static let families = [
        "user", "anonymous", "device", "event-id", "account", "password", "id-token", "some",
    ]

    /// The users whose ids the texts ask for, in order of appearance.
    package static func users(in texts: [String]) -> [String] {
        var users: [String] = []
        for text in texts {
            for part in text.split(separator: "{{").dropFirst(text.hasPrefix("{{") ? 0 : 1) {
                let words = part.prefix { $0 != "}" }.split(separator: ".", maxSplits: 1)
                guard words.count == 2,
                    ["user", "anonymous", "device", "id-token"].contains(words[0]),
                    !users.contains(String(words[1]))
                else { continue }
                users.append(String(words[1]))
            }
        }
        return users
    }

    // MARK: Filling

    /// The text with every template replaced; what nothing stands for stays as it is.
    package mutating func fill(_ text: String) -> String { fill(text) { $0 } }

    /// A path and query with every template replaced, percent-encoded.
    package mutating func fill(target: String) -> String { fill(target) { $0.percentEncoded } }

    private mutating func fill(_ text: String, _ encode: (String) -> String) -> String {
        guard text.contains("{{") else { return text }
        var output = ""
        var rest = text[...]
        while let open = rest.firstRange(of: "{{"),
            let close = rest[open.upperBound...].firstRange(of: "}}")
        {
            let name = String(rest[open.upperBound..<close.lowerBound])
            output += rest[..<open.lowerBound]
            output += value(of: name).map { encode($0.string ?? $0.text) } ?? "{{\(name)}}"
            rest = rest[close.upperBound...]
        }
        return output + rest
    }

    /// The value with every template in its leaves and keys replaced; a leaf that is one template
    /// takes the kind of what it stands for.
    package mutating func fill(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text):
            if let name = Self.wholeName(text), let value = self.value(of: name) { return value }
            return .string(fill(text))
        case .array(let elements):
            var filled: [JSONValue] = []
            for element in elements { filled.append(fill(element)) }
            return .array(filled)
        case .object(let object):
            var members: [JSONObject.Member] = []
            for member in object.members {
                members.append(.init(key: fill(member.key), value: fill(member.value)))
            }
            return .object(JSONObject(members: members))
        case .null, .bool, .number: return value
        }
    }

    private mutating func value(of name: String) -> JSONValue? {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2 {
            switch parts[0] {
            case "user": return .string(namespace.id(of: parts[1]))
            case "anonymous": return .string(namespace.anonymousID(of: parts[1]))
            case "device": return .string(namespace.installID(of: parts[1]))
            case "event-id": return .string(namespace.eventID(of: parts[1]))
            case "account": return .string(namespace.accountID(of: parts[1]))
            case "password": return .string(namespace.password(of: parts[1]))
            case "id-token": return tokens[parts[1]].map(JSONValue.string)
            case "some":
                let value = known[parts[1]] ?? madeUp(parts[1])
                known[parts[1]] = value
                return value
            default: return nil
            }
        }
        return Self.moment(name, base).map { moment in
            name.hasPrefix("date")
                ? .string(moment.preciseText) : .integer(moment.milliseconds)
        }
    }

    /// The moment that `now+30d` or `date-1h` names.
    private static func moment(_ name: String, _ base: Instant) -> Instant? {
        guard let word = ["now", "date"].first(where: name.hasPrefix) else { return nil }
        let rest = name.dropFirst(word.count)
        if rest.isEmpty { return base }
        guard rest.first == "+" || rest.first == "-" else { return nil }
        return Duration(contractText: String(rest)).map { base + $0 }
    }

    /// A value nobody else has, in the form that the name's letters promise.
    private func madeUp(_ name: String) -> JSONValue {
        switch name.prefix(while: \.isLetter) {
        case "email": .string("\(name)-\(namespace.hex("some", name, count: 8))@example.com")
        case "device", "uuid": .string(namespace.installID(of: "some " + name))
        case "number":
            .integer(Int64(namespace.hex("some", name, count: 7), radix: 16) ?? 1)
        default: .string("\(name)-\(namespace.hex("some", name, count: 24))")
        }
    }

    private static func wholeName(_ text: String) -> String? {
        guard text.hasPrefix("{{"), text.hasSuffix("}}") else { return nil }
        let name = text.dropFirst(2).dropLast(2)
        return name.contains("{{") ? nil : String(name)
    }

    // MARK: Matching

    /// Every place where headers or body are not what the pattern says.
    package mutating func match(
        _ pattern: AnswerPattern,
        _ response: HTTPMessage.Response
    ) -> [Mismatch] {
        var found: [Mismatch] = []
        for field in pattern.fields {
            let actual = response[field: field.name]
            found += match(.string(field.value), .string(actual ?? "")).map {
                Mismatch(
                    pointer: JSONPointer(tokens: ["headers", field.name]),
                    expected: $0.expected,
                    actual: actual.map { JSONValue.string($0).text }
                )
            }
        }
        switch pattern.body {
        case .json(let wanted):
            guard let body = try? JSONValue(parsing: response.body) else {
                found.append(
                    Mismatch(
                        pointer: JSONPointer(),
                        expected: "a JSON body",
                        actual: response.bodyLine
                    )
                )
                break
            }
            found += match(wanted, body)
        case .text(let wanted):
            let actual = String(decoding: response.body, as: UTF8.self)
            found += match(.string(wanted), .string(actual))
        case nil: break
        }
        return found
    }

    /// Every place where the value is not what the pattern says; what it teaches is remembered.
    package mutating func match(
        _ pattern: JSONValue,
        _ actual: JSONValue,
        at pointer: JSONPointer = JSONPointer()
    ) -> [Mismatch] {
        switch (pattern, actual) {
        case (.object(let wanted), .object(let found)):
            var mismatches: [Mismatch] = []
            for member in wanted.members {
                let key = fill(member.key)
                let place = pointer.appending(key)
                if let value = found[key] {
                    mismatches += match(member.value, value, at: place)
                } else {
                    let text = Self.shown(member.value, at: place)
                    mismatches.append(Mismatch(pointer: place, expected: text, actual: nil))
                }
            }
            return mismatches
        case (.array(let wanted), .array(let found)):
            guard wanted.count == found.count else {
                return [
                    Mismatch(
                        pointer: pointer,
                        expected: "\(wanted.count) elements",
                        actual: "\(found.count) elements"
                    )
                ]
            }
            var mismatches: [Mismatch] = []
            for (index, pair) in zip(wanted, found).enumerated() {
                mismatches += match(pair.0, pair.1, at: pointer.appending(String(index)))
            }
            return mismatches
        case (.string(let text), _):
            return matches(text, actual) ? [] : [mismatch(pointer, text, actual)]
        default:
            if pattern == actual { return [] }
            return [
                Mismatch(
                    pointer: pointer,
                    expected: Self.shown(pattern, at: pointer),
                    actual: Self.shown(actual, at: pointer)
                )
            ]
        }
    }

    private func mismatch(
        _ pointer: JSONPointer,
        _ text: String,
        _ actual: JSONValue
    ) -> Mismatch {
        var copy = self
        let filled = copy.fill(JSONValue.string(text))
        let meaning = filled == .string(text) ? "" : " (\(text))"
        return Mismatch(
            pointer: pointer,
            expected: Self.shown(filled, at: pointer) + meaning,
            actual: Self.shown(actual, at: pointer)
        )
    }

    /// A text with one name in it that nothing is known about yet: `sid={{some.cookie1}}; Path=/`.
    private mutating func learn(_ text: String, from actual: String) -> Bool {
        let parts = text.split(separator: "{{some.", omittingEmptySubsequences: false)
        guard parts.count == 2, let close = parts[1].firstRange(of: "}}") else { return false }
        let name = String(parts[1][..<close.lowerBound])
        let (before, after) = (fill(String(parts[0])), fill(String(parts[1][close.upperBound...])))
        guard known[name] == nil, actual.utf8.count >= before.utf8.count + after.utf8.count,
            actual.hasPrefix(before), actual.hasSuffix(after)
        else { return false }
        known[name] = .string(String(actual.dropFirst(before.count).dropLast(after.count)))
        return true
    }

    private mutating func matches(_ text: String, _ actual: JSONValue) -> Bool {
        guard let name = Self.wholeName(text) else {
            if let found = actual.string, learn(text, from: found) { return true }
            return .string(fill(text)) == actual
        }
        switch name {
        case "any": return true
        case "any.text": return actual.string != nil
        case "any.number":
            guard case .number = actual else { return false }
            return true
        case "any.uuid": return actual.string.map(Self.isUUID) ?? false
        case "any.timestamp": return Masking.instant(actual) != nil
        default: break
        }
        if name.hasPrefix("some."), known[String(name.dropFirst(5))] == nil {
            known[String(name.dropFirst(5))] = actual
            return true
        }
        // One moment has many spellings; which kind of value it is has to stay.
        if name.hasPrefix("date"), let moment = Self.moment(name, base) {
            guard let found = actual.string.flatMap({ Instant(iso8601: $0) }) else { return false }
            // A text without a fraction was cut to its second.
            return found == moment
                || found.milliseconds % 1000 == 0 && found.seconds == moment.seconds
        }
        return value(of: name) == actual
    }

    /// 8-4-4-4-12 hexadecimal digits in either case.
    package static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.allSatisfy { $0.isASCII && $0.isHexDigit } }
    }

    /// The value on one line, cut to what fits, and hidden where its name says that it is a secret.
    private static func shown(_ value: JSONValue, at pointer: JSONPointer) -> String {
        let names = pointer.tokens.map(SecretNames.normal).compactMap {
            SecretNames.member($0) ?? SecretNames.header($0)
        }
        if let kind = names.last { return "‹\(kind)›" }
        let text = value.withoutSecrets.text
        return text.count <= 60 ? text : text.prefix(59) + "…"
    }
}
