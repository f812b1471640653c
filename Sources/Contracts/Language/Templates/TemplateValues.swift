package import Grammar
package import Providers
internal import Redaction
package import Values

/// The values of the templates in one run of a contract, including values learned from responses.
///
/// `TemplateWord` lists the templates. The runner and the judge replace templates and learn values
/// in the same order, so both have the same values.
package struct TemplateValues: TemplateSource, Hashable, Sendable {
    /// The unique IDs of the run's users, devices and events; the backend may assign user IDs
    /// during the run.
    package var namespace: Namespace
    package let base: Instant
    private let given: [String: JSONValue]
    private var known: [String: JSONValue] = [:]
    /// The ID tokens of signed-in users, by the user's name; the runner creates these tokens, and
    /// the judge needs none.
    package var tokens: [String: String] = [:]
    /// The proofs that a user ID belongs to a device, taken from the responses to calls, by the
    /// call's name.
    package var proofs: [String: String] = [:]
    /// The user IDs in the responses to calls, by the call's name.
    package var returnedIDs: [String: String] = [:]
    /// The bodies of the delivered events, by the delivery's name.
    package var events: [String: JSONValue] = [:]
    /// The current real time, from which `{{seconds}}` in tokens counts; nil when no token is
    /// created.
    package var clock: Instant?

    /// - Parameters:
    ///   - namespace: The unique IDs of the run's users, devices and events.
    ///   - base: The start of the run, from which the templates `now` and `date` count.
    ///   - given: The fixed values that the contract sets for `{{some.NAME}}` templates, by `NAME`.
    package init(namespace: Namespace, base: Instant, given: [String: JSONValue] = [:]) {
        self.namespace = namespace
        self.base = base
        self.given = given
    }

    /// One difference between a response and the expected pattern.
    package struct Mismatch: Hashable, Sendable {
        package let pointer: JSONPointer
        package let expected: String
        /// The value in the response; nil when the response does not contain the location.
        package let actual: String?
        /// The location in the pattern as written in the contract; its keys may contain templates.
        package var pointerInContract = JSONPointer()
        /// The unredacted value in the response, including secrets; nil when the response does not
        /// contain the location.
        package var found: JSONValue?
        /// The values of the templates in the expected string, by template name.
        package var names: [String: String] = [:]

        package init(pointer: JSONPointer, expected: String, actual: String?) {
            self.pointer = pointer
            self.expected = expected
            self.actual = actual
        }
    }

    // MARK: Filling

    package mutating func value(of name: String) -> TemplateValue {
        if let timeValue = timeValue(name) { return timeValue }
        guard let dot = name.firstIndex(of: ".") else { return .unknown }
        let (word, member) = (String(name[..<dot]), String(name[name.index(after: dot)...]))
        return switch word {
        case "user": .value(.string(namespace.id(of: member)))
        case "anonymous": .value(.string(namespace.anonymousID(of: member)))
        case "device": .value(.string(namespace.installID(of: member)))
        case "event-id": .value(.string(namespace.eventID(of: member)))
        case "account": .value(.string(namespace.accountID(of: member)))
        case "password": .value(.string(namespace.password(of: member)))
        case "id-token": Self.value(tokens[member].map(JSONValue.string))
        case "some": .value(fixedOrGeneratedValue(member))
        case "long": TemplateWord.count(member).map { .value(.string(longText($0))) } ?? .unknown
        default: valueOfNamedItem(word, member)
        }
    }

    private static func value(_ value: JSONValue?) -> TemplateValue {
        value.map(TemplateValue.value) ?? .absent
    }

    /// Returns the value of a template that starts with a name of the contract, such as
    /// `{{purchase.expiration_at_ms}}` or `{{first.proof}}`.
    private func valueOfNamedItem(_ word: String, _ member: String) -> TemplateValue {
        if let event = events[word] { return Self.value(event[member]) }
        if member == "proof" { return Self.value(proofs[word].map(JSONValue.string)) }
        if member == TemplateWord.returnedID.word {
            return Self.value(returnedIDs[word].map(JSONValue.string))
        }
        return .unknown
    }

    private func timeValue(_ name: String) -> TemplateValue? {
        if let offset = TemplateWord.offset(in: name, after: "now") {
            return .value(.integer((base + offset).milliseconds))
        }
        if let offset = TemplateWord.offset(in: name, after: "date") {
            return .value(.string((base + offset).preciseText))
        }
        guard let offset = TemplateWord.offset(in: name, after: "seconds") else { return nil }
        return clock.map { .value(.integer(($0 + offset).seconds)) } ?? .absent
    }

    private func hasValue(_ name: String) -> Bool { known[name] != nil || given[name] != nil }

    private mutating func fixedOrGeneratedValue(_ name: String) -> JSONValue {
        if let value = known[name] { return value }
        // Ends the recursion when a value refers to itself.
        known[name] = .null
        let value = given[name].map { fill($0) } ?? generatedValue(name)
        known[name] = value
        return value
    }

    private func longText(_ count: Int) -> String {
        let id = namespace.name + "-"
        return count > id.count
            ? id + String(repeating: "x", count: count - id.count)
            : namespace.hex("long", "\(count)", count: count)
    }

    /// Returns a generated, mostly unique value for `{{some.NAME}}`.
    ///
    /// The form of the value depends on the first letters of `NAME`: `email1` gets an email
    /// address.
    private func generatedValue(_ name: String) -> JSONValue {
        switch name.prefix(while: \.isLetter) {
        case "email": .string("\(name)-\(namespace.hex("some", name, count: 8))@example.com")
        case "device", "uuid": .string(namespace.installID(of: "some " + name))
        case "phone": .string("+49151" + generatedDigits("some " + name, count: 8))
        case "card": .string("4242424242424242")
        case "address":
            .string("203.0.113.\(1 + (Int(generatedDigits(name, count: 3)) ?? 0) % 254)")
        // Strict backends require letters of both cases, a digit and a symbol.
        case "password": .string("Pw-\(name)-\(namespace.hex("some", name, count: 16))")
        case "number":
            .integer(Int64(namespace.hex("some", name, count: 7), radix: 16) ?? 1)
        default: .string("\(name)-\(namespace.hex("some", name, count: 24))")
        }
    }

    /// Returns pseudorandom decimal digits, of which the first is not zero.
    private func generatedDigits(_ name: String, count: Int) -> String {
        let hex = namespace.hex("some digits", name, count: count)
        return String(
            hex.utf8.enumerated().map { index, byte in
                let value = Int(byte) % 10
                return Character(String(index == 0 && value == 0 ? 7 : value))
            }
        )
    }

    // MARK: Matching

    /// Returns every difference between a response's headers or body and the pattern.
    package mutating func match(
        _ pattern: ResponsePattern,
        _ response: HTTPMessage.Response
    ) -> [Mismatch] {
        var found: [Mismatch] = []
        for field in pattern.fields {
            let actual = response[field: field.name]
            found += match(.string(field.value), .string(actual ?? "")).map { innerMismatch in
                let responsePointer = JSONPointer(tokens: ["headers", field.name])
                var mismatch = Mismatch(
                    pointer: responsePointer,
                    expected: innerMismatch.expected,
                    actual: actual.map { JSONValue.string($0).text }
                )
                (mismatch.pointerInContract, mismatch.names) = (
                    responsePointer, innerMismatch.names
                )
                mismatch.found = actual.map(JSONValue.string)
                return mismatch
            }
        }
        switch pattern.body {
        case .json(let wanted):
            guard let body = response.bodyJSON else {
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

    /// Returns every difference between a JSON value and the pattern, and stores the template
    /// values that it learns.
    package mutating func match(
        _ pattern: JSONValue,
        _ actual: JSONValue,
        at pointer: JSONPointer = JSONPointer()
    ) -> [Mismatch] {
        match(pattern, actual, at: pointer, pointerInContract: pointer)
    }

    private mutating func match(
        _ pattern: JSONValue,
        _ actual: JSONValue,
        at pointer: JSONPointer,
        pointerInContract: JSONPointer
    ) -> [Mismatch] {
        func mismatch(_ expected: String, _ text: String) -> Mismatch {
            var mismatch = Mismatch(pointer: pointer, expected: expected, actual: text)
            (mismatch.pointerInContract, mismatch.found) = (pointerInContract, actual)
            return mismatch
        }
        switch (pattern, actual) {
        case (.object(let wanted), .object(let found)):
            return wanted.members.flatMap { member in
                match(member, in: found, at: pointer, pointerInContract: pointerInContract)
            }
        case (.array(let wanted), .array(let found)):
            guard wanted.count == found.count else {
                return [mismatch("\(wanted.count) elements", "\(found.count) elements")]
            }
            return zip(wanted, found).enumerated().flatMap { index, pair in
                match(
                    pair.0,
                    pair.1,
                    at: pointer.appending(String(index)),
                    pointerInContract: pointerInContract.appending(String(index))
                )
            }
        case (.string(let text), _):
            if matches(text, actual) { return [] }
            var copy = self
            let filled = copy.fill(JSONValue.string(text))
            let meaning = filled == .string(text) ? "" : " (\(text))"
            var found = mismatch(
                Self.redactedText(filled, at: pointer) + meaning,
                Self.redactedText(actual, at: pointer)
            )
            found.names = known(text)
            return [found]
        default:
            if pattern == actual { return [] }
            return [
                mismatch(
                    Self.redactedText(pattern, at: pointer),
                    Self.redactedText(actual, at: pointer)
                )
            ]
        }
    }

    /// Matches one member of a pattern with the member of an object that has the same name.
    private mutating func match(
        _ member: JSONObject.Member,
        in object: JSONObject,
        at pointer: JSONPointer,
        pointerInContract: JSONPointer
    ) -> [Mismatch] {
        let key = fill(member.key)
        let responsePointer = pointer.appending(key)
        let pointerInContract = pointerInContract.appending(member.key)
        if let value = object[key] {
            return match(
                member.value,
                value,
                at: responsePointer,
                pointerInContract: pointerInContract
            )
        }
        var mismatch = Mismatch(
            pointer: responsePointer,
            expected: Self.redactedText(member.value, at: responsePointer),
            actual: nil
        )
        mismatch.pointerInContract = pointerInContract
        return [mismatch]
    }

    /// Returns the already known values of the templates in a string, by template name.
    private func known(_ text: String) -> [String: String] {
        var copy = self
        var found: [String: String] = [:]
        for piece in Template(text).pieces {
            guard case .name(let name) = piece, let value = copy.known(piece) else { continue }
            if value != "{{\(name)}}" { found[name] = value }
        }
        return found
    }

    /// Learns the value of the only unknown name in a template, such as `sid={{some.cookie1}};
    /// Path=/`, from a string.
    ///
    /// Returns whether the string matched the template.
    private mutating func learnValues(_ template: Template, from actual: String) -> Bool {
        let unknownNameIndices = template.pieces.indices.filter {
            valueName(template.pieces[$0]) != nil
        }
        guard unknownNameIndices.count == 1,
            let name = valueName(template.pieces[unknownNameIndices[0]]), !hasValue(name)
        else { return false }
        let before = fill(template.pieces[..<unknownNameIndices[0]])
        let after = fill(template.pieces[(unknownNameIndices[0] + 1)...])
        guard actual.utf8.count >= before.utf8.count + after.utf8.count,
            actual.hasPrefix(before), actual.hasSuffix(after)
        else { return false }
        known[name] = .string(String(actual.dropFirst(before.count).dropLast(after.count)))
        return true
    }

    /// Learns the values of the unknown names in a pattern with matchers, such as `{{any.number}}`,
    /// from a string.
    ///
    /// Returns whether the string matched the pattern.
    private mutating func learnValues(_ match: TextPattern, from actual: String) -> Bool {
        guard let captured = match.captures(in: actual) else { return false }
        for (name, text) in captured {
            guard let some = valueName(.name(name)) else { continue }
            known[some] = .string(text)
        }
        return true
    }

    /// Returns the string for one piece of a template; nil for a `{{some.NAME}}` whose value is not
    /// known yet.
    private mutating func known(_ piece: Template.Piece) -> String? {
        if case .text(let text) = piece { return text }
        if let name = valueName(piece), !hasValue(name) { return nil }
        return fill([piece])
    }

    /// Returns the `NAME` when a piece of a template is `{{some.NAME}}`; nil for any other piece.
    private func valueName(_ piece: Template.Piece) -> String? {
        guard case .name(let name) = piece else { return nil }
        return TemplateWord.member(of: name, after: TemplateWord.some.word)
    }

    private mutating func fill(_ pieces: ArraySlice<Template.Piece>) -> String {
        var output = ""
        for piece in pieces {
            switch piece {
            case .text(let text): output += text
            case .name(let name): output += fill("{{\(name)}}")
            }
        }
        return output
    }

    private mutating func matches(_ text: String, _ actual: JSONValue) -> Bool {
        let template = Template(text)
        guard let name = template.wholeName else {
            if let found = actual.string, learnValues(template, from: found) { return true }
            if let match = TextPattern(template, known: { piece in known(piece) }) {
                return actual.string.map { learnValues(match, from: $0) } ?? false
            }
            return .string(fill(text)) == actual
        }
        switch name {
        case "any": return true
        case "any.text": return actual.string != nil
        case "any.number":
            guard case .number = actual else { return false }
            return true
        case "any.uuid": return actual.string.map(Self.isUUID) ?? false
        case "any.timestamp": return Instant(timeValue: actual) != nil
        default: break
        }
        if let some = valueName(.name(name)), !hasValue(some) {
            known[some] = actual
            return true
        }
        // A time has many notations, so the times are compared; the value must still be a string.
        if let offset = TemplateWord.offset(in: name, after: TemplateWord.date.word) {
            let timeValue = base + offset
            guard let found = actual.string.flatMap({ Instant(iso8601: $0) }) else { return false }
            // The backend may return a time without a fraction of a second; then only the whole
            // seconds are compared.
            return found == timeValue
                || found.milliseconds % 1000 == 0 && found.seconds == timeValue.seconds
        }
        return value(of: name) == .value(actual)
    }

    /// Whether a string is a UUID: 8-4-4-4-12 hexadecimal digits in either case.
    package static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        return zip(0..., text.utf8).allSatisfy { index, byte in
            switch byte {
            case 48...57, 65...70, 97...102: ![8, 13, 18, 23].contains(index)
            default: byte == UInt8(ascii: "-") && [8, 13, 18, 23].contains(index)
            }
        }
    }

    /// Returns a JSON value on one line for messages, truncated to 60 characters.
    ///
    /// The value is hidden when its key is the name of a secret.
    private static func redactedText(_ value: JSONValue, at pointer: JSONPointer) -> String {
        let names = pointer.tokens.map(SecretNames.normalizedName).compactMap {
            SecretNames.member($0) ?? SecretNames.header($0)
        }
        if let kind = names.last { return "‹\(kind)›" }
        let text = value.withoutSecrets.text
        return text.count <= 60 ? text : text.prefix(59) + "…"
    }
}
