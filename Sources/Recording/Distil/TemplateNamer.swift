internal import Conformance

/// Turns the values of one session into templates and matchers, the same value always into the same.
struct TemplateNamer {
    private let users: SessionUsers
    private let ids: IDSearch
    private let session: ClosedRange<Instant>
    private let calendar: SessionMoments
    /// Values that stand in a later request, so that an answer must give them a name.
    private let reused: Set<String>
    private var nameByValue: [String: String] = [:]
    private var counts: [String: Int] = [:]
    /// The moments that requests said, in milliseconds, by their second.
    private var moments: [Int64: Set<Int64>] = [:]
    /// Names of members as they are written, and without case and punctuation; the same in most bodies.
    private var keys: [String: Key] = [:]
    /// What `{{some.NAME}}` stands for where it is not made up.
    private(set) var values: [String: JSONValue] = [:]

    /// - Parameters:
    ///   - users: Who is who.
    ///   - moments: What the moments of the session are called.
    ///   - session: When the exchanges took place, by a real clock and with some slack.
    ///   - reused: Values that a later request says again.
    init(
        users: SessionUsers,
        moments: SessionMoments,
        session: ClosedRange<Instant>,
        reused: Set<String>
    ) {
        self.session = session
        self.users = users
        ids = IDSearch(users.userByID.keys)
        calendar = moments
        self.reused = reused
    }

    private mutating func some(_ kind: String, _ value: String) -> String {
        if let name = nameByValue[value] { return "{{some.\(name)}}" }
        counts[kind, default: 0] += 1
        let name = kind + String(counts[kind] ?? 1)
        nameByValue[value] = name
        return "{{some.\(name)}}"
    }

    private func known(_ value: String) -> String? {
        nameByValue[value].map { "{{some.\($0)}}" }
    }

    /// Whether an answer that gives the value names it for a later request, so that it matters
    /// whether one says it: a number, a uuid, or what nobody wrote.
    static func isNamed(_ text: String) -> Bool {
        let isNumber = text.utf8.allSatisfy { (48...57).contains($0) || $0 == 0x2d || $0 == 0x2e }
        return isNumber && !text.isEmpty || TemplateValues.isUUID(text) || isRandom(text)
    }

    private func userTemplate(_ id: String) -> String? {
        users.userByID[id].map { user in
            users.anonymous.contains(id) ? "{{anonymous.\(user)}}" : "{{user.\(user)}}"
        }
    }

    // MARK: Requests

    /// A request's value with names in place of what only this session had.
    mutating func request(_ value: JSONValue) -> JSONValue {
        each(value, Self.nowhere) { namer, leaf, key in namer.requestLeaf(leaf, key) }
    }

    /// The value with every leaf named, by its own kind and by the member that it stands in.
    private mutating func each(
        _ value: JSONValue,
        _ key: Key,
        _ name: (inout TemplateNamer, JSONValue, Key) -> JSONValue
    ) -> JSONValue {
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            members.reserveCapacity(object.members.count)
            for member in object.members {
                let key = self.key(member.key)
                let named = each(member.value, key, name)
                members.append(.init(key: key.written, value: named))
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var named: [JSONValue] = []
            for element in elements { named.append(each(element, key, name)) }
            return .array(named)
        case .null, .bool, .number, .string: return name(&self, value, key)
        }
    }

    /// A name of a member: how it is written, and what it says of the value.
    private struct Key {
        let written: String
        /// What has a price or an amount is money.
        let isMoney: Bool
        let isTransaction: Bool
        /// A number under it may be a time.
        let isTime: Bool
        let isID: Bool

        init(_ key: String, written: String) {
            self.written = written
            let normal = SecretNames.normal(key)
            let bytes = Array(normal.utf8)
            isMoney = bytes.holds("price") || bytes.holds("amount")
            isTransaction = bytes.holds("transaction")
            isTime =
                normal.hasSuffix("at") || bytes.holds("time")
                || ["iat", "exp", "date"].contains(normal)
            isID = normal.hasSuffix("id")
        }
    }

    /// What stands below no name.
    private static let nowhere = Key("", written: "")

    private mutating func key(_ key: String) -> Key {
        if nameByValue[key] == nil, let known = keys[key] { return known }
        let found = Key(key, written: text(key))
        if keys.count < Self.keyCountMax { keys[key] = found }
        return found
    }

    /// A backend may use ids as names of members.
    private static let keyCountMax = 1024

    private mutating func remember(_ moment: Instant) {
        moments[moment.seconds, default: []].insert(moment.milliseconds)
    }

    private mutating func requestLeaf(_ value: JSONValue, _ key: Key) -> JSONValue {
        switch value {
        case .string(let text): return .string(request(text, key))
        case .number(let number):
            if let moment = Self.milliseconds(value), isWithinReach(moment) {
                remember(moment)
                return .string(template("now", moment))
            }
            if key.isMoney, number.double != 0 {
                let template = some("amount", number.description)
                if let name = nameByValue[number.description] { values[name] = value }
                return .string(template)
            }
            return known(number.description).map(JSONValue.string) ?? value
        case .null, .bool, .array, .object: return value
        }
    }

    private mutating func request(_ text: String, _ key: Key) -> String {
        if let template = userTemplate(text) ?? known(text) { return template }
        if key.isTransaction, text.utf8.count > 5 { return some("transaction", text) }
        if TemplateValues.isUUID(text) { return some("uuid", text) }
        if let moment = Self.date(text), isWithinReach(moment) {
            remember(moment)
            return template("date", moment, isCut: moment.milliseconds % 1000 == 0)
        }
        return self.text(text)
    }

    /// A text with the ids and secrets in it replaced; a secret that an answer gives first is
    /// whatever the backend makes it.
    mutating func text(_ text: String, isAnswer: Bool = false) -> String {
        if let template = userTemplate(text) ?? known(text) { return template }
        // What braces the session itself had are meant.
        var output = Template.escaped(text)
        for placeholder in Placeholder.all(in: text) {
            let isNew = nameByValue[placeholder.text] == nil
            let template =
                users.ownerOfToken[placeholder.text].map { "{{id-token.\($0)}}" }
                ?? some(Self.kind(placeholder.kind), placeholder.text)
            if isNew, !isAnswer, let prefix = placeholder.prefix,
                let name = nameByValue[placeholder.text]
            {
                values[name] = .string(prefix + "{{some.\(name)-rest}}")
            }
            output = output.replacing(placeholder.text, with: template)
        }
        return ids.replaced(in: output, by: userTemplate)
    }

    /// Path and query with names in place of ids.
    mutating func target(_ target: String) -> String {
        var output = ""
        var part = ""
        let separators = "/?&=".unicodeScalars
        for scalar in (target + "/").unicodeScalars {
            guard separators.contains(scalar) else {
                part.unicodeScalars.append(scalar)
                continue
            }
            let plain = part.percentDecoded
            if let template = userTemplate(plain) ?? known(plain) {
                output += template
            } else if TemplateValues.isUUID(plain) {
                output += some("uuid", plain)
            } else {
                output += Placeholder.all(in: plain).isEmpty ? part : text(plain)
            }
            part = ""
            output.unicodeScalars.append(scalar)
        }
        return String(output.dropLast())
    }

    /// The id of the event in a delivery belongs to the delivery.
    mutating func name(eventID: String, of delivery: String) {
        eventIDs[eventID] = delivery
    }

    private var eventIDs: [String: String] = [:]

    func eventTemplate(_ id: String) -> String? { eventIDs[id].map { "{{event-id.\($0)}}" } }

    // MARK: Answers

    /// An answer's value: literal where it means something, a matcher where it differs by itself.
    mutating func answer(_ value: JSONValue) -> JSONValue {
        each(value, Self.nowhere) { namer, leaf, key in namer.answerLeaf(leaf, key) }
    }

    private mutating func answerLeaf(_ value: JSONValue, _ key: Key) -> JSONValue {
        switch value {
        case .string(let text): return .string(answer(text))
        case .number(let number):
            if let moment = Self.milliseconds(value), isWithinReach(moment) {
                return .string(
                    moments[moment.seconds]?.contains(moment.milliseconds) == true
                        && isExpressible(moment)
                        ? template("now", moment) : "{{any.timestamp}}"
                )
            }
            if key.isTime, Self.isEpochSeconds(value, base) { return .string("{{any.timestamp}}") }
            if let template = known(number.description), number.description.count > 2 {
                return .string(template)
            }
            if key.isID, number.int64 != nil {
                return .string(
                    reused.contains(number.description)
                        ? some("number", number.description) : "{{any.number}}"
                )
            }
            return value
        case .null, .bool, .array, .object: return value
        }
    }

    private mutating func answer(_ text: String) -> String {
        if let template = userTemplate(text) ?? eventTemplate(text) ?? known(text) {
            return template
        }
        if let moment = Self.date(text), isWithinReach(moment) {
            // Texts are often cut to whole seconds; one that was cut and lies within the session may
            // as well be the backend's clock, which no name can stand for.
            let known = moments[moment.seconds, default: []].sorted()
            let isCut = moment.milliseconds % 1000 == 0
            if isCut, session.contains(moment) { return "{{any.timestamp}}" }
            let same = known.first { $0 == moment.milliseconds } ?? (isCut ? known.first : nil)
            guard let same = same.map(Instant.init(milliseconds:)), isCut || isExpressible(same)
            else { return "{{any.timestamp}}" }
            return template("date", same, isCut: isCut)
        }
        if TemplateValues.isUUID(text) {
            return reused.contains(text) ? some("uuid", text) : "{{any.uuid}}"
        }
        if Placeholder.all(in: text).isEmpty, Self.date(text) == nil, Self.isRandom(text) {
            return reused.contains(text) ? some("token", text) : "{{any.text}}"
        }
        return answerText(text)
    }

    /// A text of an answer with the ids and secrets in it replaced; dates in words match any.
    mutating func answerText(_ text: String) -> String {
        Template(self.text(text, isAnswer: true)).pieces.map { piece in
            switch piece {
            case .text(let text):
                DateSpans.replaced(
                    in: Template.escaped(text),
                    around: session.lowerBound.year,
                    by: "{{any.text}}"
                )
            case .name(let name): "{{\(name)}}"
            }
        }.joined()
    }

    // MARK: Times

    /// Whether a name can stand for it: what lies thirty years away means never, or always, and says
    /// so however late the golden is replayed.
    private func isWithinReach(_ moment: Instant) -> Bool {
        (moment - base).milliseconds.magnitude < 1_000_000_000_000 - 1000
    }

    /// Whether the offset from the base can be written to the millisecond.
    private func isExpressible(_ moment: Instant) -> Bool {
        let offset = calendar.offset(of: moment, isCut: false).milliseconds
        return offset.magnitude < 1_000_000_000 || offset % 1000 == 0
    }

    private var base: Instant { calendar.base }

    /// The offset from the base, in whole seconds where the text was cut to them and where
    /// milliseconds would be too many digits.
    private func template(_ word: String, _ moment: Instant, isCut: Bool = false) -> String {
        let offset = calendar.offset(of: moment, isCut: isCut || !isExpressible(moment))
        return offset == .zero ? "{{\(word)}}" : "{{\(word)\(offset.contractText)}}"
    }

    /// A number of milliseconds between 2001 and 2100.
    static func milliseconds(_ value: JSONValue) -> Instant? {
        guard let number = value.int64, (1_000_000_000_000..<4_102_444_800_000).contains(number)
        else { return nil }
        return Instant(milliseconds: number)
    }

    /// A number of seconds not far from the session.
    private static func isEpochSeconds(_ value: JSONValue, _ base: Instant) -> Bool {
        let tenYears: Int64 = 10 * 366 * 86_400
        return value.int64.map { $0.subtractingSaturated(base.seconds).magnitude < tenYears }
            ?? false
    }

    static func date(_ text: String) -> Instant? {
        guard (19...40).contains(text.utf8.count), text.dropFirst(4).first == "-" else {
            return nil
        }
        return Instant(iso8601: text)
    }

    // MARK: Looks

    private static func kind(_ kind: String) -> String { kind == "authorization" ? "token" : kind }

    /// Long, without blanks, and of digits and letters in no order a person would choose.
    static func isRandom(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count >= 16, !bytes.contains(UInt8(ascii: " ")) else { return false }
        var changes = 0
        var wasDigit = false
        for (index, byte) in bytes.enumerated() {
            let isDigit = (48...57).contains(byte)
            if index > 0, isDigit != wasDigit { changes += 1 }
            wasDigit = isDigit
        }
        return changes >= 4
    }
}
