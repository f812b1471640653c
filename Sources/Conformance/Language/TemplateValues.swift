/// What the templates of one run stand for (`TemplateWord` lists them), and what its answers have
/// taught.
///
/// The runner and the judge fill and learn in the same order, so both know the same values.
package struct TemplateValues: TemplateSource, Hashable, Sendable {
    /// Ids may be assigned while the run goes on.
    package var namespace: Namespace
    package let base: Instant
    private let given: [String: JSONValue]
    private var known: [String: JSONValue] = [:]
    /// ID tokens by user; the runner has them made, the judge needs none.
    package var tokens: [String: String] = [:]
    /// What calls were answered as proof that an id is the device's own, by the call's name.
    package var proofs: [String: String] = [:]
    /// What deliveries said, by their names.
    package var events: [String: JSONValue] = [:]
    /// The real clock, which tokens go by; nil where no token is made.
    package var clock: Instant?

    /// - Parameters:
    ///   - namespace: Whose ids they are.
    ///   - base: The moment that `now` and `date` count from.
    ///   - given: What the contract says that `some` names stand for.
    package init(namespace: Namespace, base: Instant, given: [String: JSONValue] = [:]) {
        self.namespace = namespace
        self.base = base
        self.given = given
    }

    /// One place where an answer is not what the pattern says.
    package struct Mismatch: Hashable, Sendable {
        package let pointer: JSONPointer
        package let expected: String
        /// Nil when there is nothing at that place.
        package let actual: String?
        /// The place as the pattern writes it, with names in its members.
        package var written = JSONPointer()
        /// What there was, secrets and all; nil when there is nothing.
        package var found: JSONValue?
        /// What the names in the pattern's text stand for.
        package var names: [String: String] = [:]

        package init(pointer: JSONPointer, expected: String, actual: String?) {
            self.pointer = pointer
            self.expected = expected
            self.actual = actual
        }
    }

    /// The users whose ids the texts ask for, in order of appearance.
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

    // MARK: Filling

    package mutating func value(of name: String) -> TemplateValue {
        if let moment = moment(name) { return moment }
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
        case "some": .value(remembered(member))
        case "long": TemplateWord.count(member).map { .value(.string(long($0))) } ?? .unknown
        default: ofContract(word, member)
        }
    }

    private static func value(_ value: JSONValue?) -> TemplateValue {
        value.map(TemplateValue.value) ?? .absent
    }

    /// `{{purchase.expiration_at_ms}}` and `{{first.proof}}`: names that begin with the contract's.
    private func ofContract(_ word: String, _ member: String) -> TemplateValue {
        if let event = events[word] { return Self.value(event[member]) }
        if member == "proof" { return Self.value(proofs[word].map(JSONValue.string)) }
        return .unknown
    }

    private func moment(_ name: String) -> TemplateValue? {
        if let offset = TemplateWord.offset(in: name, after: "now") {
            return .value(.integer((base + offset).milliseconds))
        }
        if let offset = TemplateWord.offset(in: name, after: "date") {
            return .value(.string((base + offset).preciseText))
        }
        guard let offset = TemplateWord.offset(in: name, after: "seconds") else { return nil }
        return clock.map { .value(.integer(($0 + offset).seconds)) } ?? .absent
    }

    private func isKnown(_ name: String) -> Bool { known[name] != nil || given[name] != nil }

    private mutating func remembered(_ name: String) -> JSONValue {
        if let value = known[name] { return value }
        // Nothing stands for itself.
        known[name] = .null
        let value = given[name].map { fill($0) } ?? madeUp(name)
        known[name] = value
        return value
    }

    private func long(_ count: Int) -> String {
        let id = namespace.name + "-"
        return count > id.count
            ? id + String(repeating: "x", count: count - id.count)
            : namespace.hex("long", "\(count)", count: count)
    }

    /// A value nobody else has, in the form that the name's letters promise.
    private func madeUp(_ name: String) -> JSONValue {
        switch name.prefix(while: \.isLetter) {
        case "email": .string("\(name)-\(namespace.hex("some", name, count: 8))@example.com")
        case "device", "uuid": .string(namespace.installID(of: "some " + name))
        case "phone": .string("+49151" + digits("some " + name, count: 8))
        case "card": .string("4242424242424242")
        case "address": .string("203.0.113.\(1 + (Int(digits(name, count: 3)) ?? 0) % 254)")
        // As strict backends want it: letters of both cases, a digit and a sign.
        case "password": .string("Pw-\(name)-\(namespace.hex("some", name, count: 16))")
        case "number":
            .integer(Int64(namespace.hex("some", name, count: 7), radix: 16) ?? 1)
        default: .string("\(name)-\(namespace.hex("some", name, count: 24))")
        }
    }

    /// Decimal digits of chance, the first of them no zero.
    private func digits(_ name: String, count: Int) -> String {
        let hex = namespace.hex("some digits", name, count: count)
        return String(
            hex.utf8.enumerated().map { index, byte in
                let value = Int(byte) % 10
                return Character(String(index == 0 && value == 0 ? 7 : value))
            }
        )
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
            found += match(.string(field.value), .string(actual ?? "")).map { inner in
                let place = JSONPointer(tokens: ["headers", field.name])
                var mismatch = Mismatch(
                    pointer: place,
                    expected: inner.expected,
                    actual: actual.map { JSONValue.string($0).text }
                )
                (mismatch.written, mismatch.names) = (place, inner.names)
                mismatch.found = actual.map(JSONValue.string)
                return mismatch
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
        match(pattern, actual, at: pointer, written: pointer)
    }

    private mutating func match(
        _ pattern: JSONValue,
        _ actual: JSONValue,
        at pointer: JSONPointer,
        written: JSONPointer
    ) -> [Mismatch] {
        func mismatch(_ expected: String, _ text: String) -> Mismatch {
            var mismatch = Mismatch(pointer: pointer, expected: expected, actual: text)
            (mismatch.written, mismatch.found) = (written, actual)
            return mismatch
        }
        switch (pattern, actual) {
        case (.object(let wanted), .object(let found)):
            var mismatches: [Mismatch] = []
            for member in wanted.members {
                let key = fill(member.key)
                let place = pointer.appending(key)
                let written = written.appending(member.key)
                if let value = found[key] {
                    mismatches += match(member.value, value, at: place, written: written)
                } else {
                    let text = Self.shown(member.value, at: place)
                    var missing = Mismatch(pointer: place, expected: text, actual: nil)
                    missing.written = written
                    mismatches.append(missing)
                }
            }
            return mismatches
        case (.array(let wanted), .array(let found)):
            guard wanted.count == found.count else {
                return [mismatch("\(wanted.count) elements", "\(found.count) elements")]
            }
            var mismatches: [Mismatch] = []
            for (index, pair) in zip(wanted, found).enumerated() {
                let (place, written) = (
                    pointer.appending(String(index)), written.appending(String(index))
                )
                mismatches += match(pair.0, pair.1, at: place, written: written)
            }
            return mismatches
        case (.string(let text), _):
            if matches(text, actual) { return [] }
            var copy = self
            let filled = copy.fill(JSONValue.string(text))
            let meaning = filled == .string(text) ? "" : " (\(text))"
            var found = mismatch(
                Self.shown(filled, at: pointer) + meaning,
                Self.shown(actual, at: pointer)
            )
            found.names = known(text)
            return [found]
        default:
            if pattern == actual { return [] }
            return [mismatch(Self.shown(pattern, at: pointer), Self.shown(actual, at: pointer))]
        }
    }

    /// What the names in a text stand for, but those that nothing is known of.
    private func known(_ text: String) -> [String: String] {
        var copy = self
        var found: [String: String] = [:]
        for piece in Template(text).pieces {
            guard case .name(let name) = piece, let value = copy.known(piece) else { continue }
            if value != "{{\(name)}}" { found[name] = value }
        }
        return found
    }

    /// A text with one name in it that nothing is known about yet: `sid={{some.cookie1}}; Path=/`.
    private mutating func learn(_ template: Template, from actual: String) -> Bool {
        let open = template.pieces.indices.filter { remembering(template.pieces[$0]) != nil }
        guard open.count == 1, let name = remembering(template.pieces[open[0]]), !isKnown(name)
        else { return false }
        let before = fill(template.pieces[..<open[0]])
        let after = fill(template.pieces[(open[0] + 1)...])
        guard actual.utf8.count >= before.utf8.count + after.utf8.count,
            actual.hasPrefix(before), actual.hasSuffix(after)
        else { return false }
        known[name] = .string(String(actual.dropFirst(before.count).dropLast(after.count)))
        return true
    }

    /// A text with matchers in it, and what stands for the names that nothing is known about yet.
    private mutating func learn(_ match: TextMatch, from actual: String) -> Bool {
        guard let captured = match.captures(in: actual) else { return false }
        for (name, text) in captured {
            guard let some = remembering(.name(name)) else { continue }
            known[some] = .string(text)
        }
        return true
    }

    /// The text that a piece stands for; nil for a name that an answer is to teach.
    private mutating func known(_ piece: Template.Piece) -> String? {
        if case .text(let text) = piece { return text }
        if let name = remembering(piece), !isKnown(name) { return nil }
        return fill([piece])
    }

    /// The `NAME` of a piece that is `{{some.NAME}}`.
    private func remembering(_ piece: Template.Piece) -> String? {
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
            if let found = actual.string, learn(template, from: found) { return true }
            if let match = TextMatch(template, known: { piece in known(piece) }) {
                return actual.string.map { learn(match, from: $0) } ?? false
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
        case "any.timestamp": return Masking.instant(actual) != nil
        default: break
        }
        if let some = remembering(.name(name)), !isKnown(some) {
            known[some] = actual
            return true
        }
        // One moment has many spellings; which kind of value it is has to stay.
        if let offset = TemplateWord.offset(in: name, after: TemplateWord.date.word) {
            let moment = base + offset
            guard let found = actual.string.flatMap({ Instant(iso8601: $0) }) else { return false }
            // A text without a fraction was cut to its second.
            return found == moment
                || found.milliseconds % 1000 == 0 && found.seconds == moment.seconds
        }
        return value(of: name) == .value(actual)
    }

    /// 8-4-4-4-12 hexadecimal digits in either case.
    package static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        return zip(0..., text.utf8).allSatisfy { index, byte in
            switch byte {
            case 48...57, 65...70, 97...102: ![8, 13, 18, 23].contains(index)
            default: byte == UInt8(ascii: "-") && [8, 13, 18, 23].contains(index)
            }
        }
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
