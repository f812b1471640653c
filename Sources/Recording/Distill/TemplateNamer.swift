internal import Contracts
internal import Grammar
internal import Redaction
internal import Values

/// Replaces the recorded values of one session with templates, such as `{{user.ada}}`, and
/// matchers, such as `{{any.uuid}}`.
///
/// Equal values get the same template.
struct TemplateNamer {
    private let users: SessionUsers
    private let idSearch: IDSearch
    private let session: ClosedRange<Instant>
    private let timeline: SessionTimeline
    /// Values that a later request repeats, so that the contract must capture them from a response
    /// under a name.
    private let valuesReusedLater: Set<String>
    private var nameByValue: [String: String] = [:]
    private var captureCountByKind: [String: Int] = [:]
    /// The times that the requests so far contain, in milliseconds since 1970, grouped by second.
    private var sessionTimes: [Int64: Set<Int64>] = [:]
    /// The properties of JSON member names, cached because most bodies have the same member names.
    private var keys: [String: MemberName] = [:]
    /// The values of `{{some.NAME}}` templates that the contract defines, because a run must not
    /// generate other values.
    private(set) var values: [String: JSONValue] = [:]

    /// Creates a namer for the values of one contract.
    ///
    /// - Parameters:
    ///   - users: The users of the session.
    ///   - sessionTimes: Converts the times in the session to offsets from `{{now}}`.
    ///   - session: The period of the exchanges in real time, widened by a few seconds.
    ///   - valuesReusedLater: The values of responses that a later request repeats.
    init(
        users: SessionUsers,
        sessionTimes: SessionTimeline,
        session: ClosedRange<Instant>,
        valuesReusedLater: Set<String>
    ) {
        self.session = session
        self.users = users
        idSearch = IDSearch(users.userByID.keys)
        timeline = sessionTimes
        self.valuesReusedLater = valuesReusedLater
    }

    private mutating func captureTemplate(_ kind: String, _ value: String) -> String {
        if let name = nameByValue[value] { return "{{some.\(name)}}" }
        captureCountByKind[kind, default: 0] += 1
        let name = kind + String(captureCountByKind[kind] ?? 1)
        nameByValue[value] = name
        return "{{some.\(name)}}"
    }

    private func known(_ value: String) -> String? {
        nameByValue[value].map { "{{some.\($0)}}" }
    }

    /// Returns whether a contract captures a value like this from a response for a later request: a
    /// number, a UUID or a random string.
    static func isCapturable(_ text: String) -> Bool {
        let isNumber = text.utf8.allSatisfy { (48...57).contains($0) || $0 == 0x2d || $0 == 0x2e }
        return isNumber && !text.isEmpty || TemplateValues.isUUID(text) || isRandom(text)
    }

    private func userTemplate(_ id: String) -> String? {
        users.userByID[id].map { user in
            users.anonymousIDs.contains(id) ? "{{anonymous.\(user)}}" : "{{user.\(user)}}"
        }
    }

    // MARK: Requests

    /// Returns a JSON value of a request with templates in place of values that are specific to the
    /// session, such as IDs.
    mutating func request(_ value: JSONValue) -> JSONValue {
        mapLeaves(value, Self.emptyMemberName) { namer, leaf, key in
            namer.templatedRequestLeaf(leaf, key)
        }
    }

    /// Returns a JSON value in which a closure has replaced every string, number, Boolean and null.
    ///
    /// The closure gets each of these values with the name of its member.
    private mutating func mapLeaves(
        _ value: JSONValue,
        _ key: MemberName,
        _ name: (inout TemplateNamer, JSONValue, MemberName) -> JSONValue
    ) -> JSONValue {
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            members.reserveCapacity(object.members.count)
            for member in object.members {
                let key = self.key(member.key)
                let templatedValue = mapLeaves(member.value, key, name)
                members.append(.init(key: key.templatedName, value: templatedValue))
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var templatedValue: [JSONValue] = []
            for element in elements { templatedValue.append(mapLeaves(element, key, name)) }
            return .array(templatedValue)
        case .null, .bool, .number, .string: return name(&self, value, key)
        }
    }

    /// The name of a JSON member, and the properties of the value that the name implies.
    private struct MemberName {
        let templatedName: String
        /// Whether the name of the member contains "price" or "amount".
        let isMoneyAmount: Bool
        let isTransactionMember: Bool
        /// Whether a number in a member with this name may be a time.
        let mayBeTime: Bool
        let isIDMember: Bool

        init(_ key: String, templatedName: String) {
            self.templatedName = templatedName
            let normalizedName = SecretNames.normalizedName(key)
            let bytes = Array(normalizedName.utf8)
            isMoneyAmount = bytes.containsText("price") || bytes.containsText("amount")
            isTransactionMember = bytes.containsText("transaction")
            mayBeTime =
                normalizedName.hasSuffix("at") || bytes.containsText("time")
                || ["iat", "exp", "date"].contains(normalizedName)
            isIDMember = normalizedName.hasSuffix("id")
        }
    }

    /// The empty member name, for values that are not in a JSON object.
    private static let emptyMemberName = MemberName("", templatedName: "")

    private mutating func key(_ key: String) -> MemberName {
        if nameByValue[key] == nil, let known = keys[key] { return known }
        let newMemberName = MemberName(key, templatedName: text(key))
        if keys.count < Self.cachedNameMax { keys[key] = newMemberName }
        return newMemberName
    }

    /// The maximum number of cached member names.
    ///
    /// The number is limited because a backend may use IDs as member names.
    private static let cachedNameMax = 1024

    private mutating func rememberTime(_ instant: Instant) {
        sessionTimes[instant.seconds, default: []].insert(instant.milliseconds)
    }

    private mutating func templatedRequestLeaf(_ value: JSONValue, _ key: MemberName) -> JSONValue {
        switch value {
        case .string(let text): return .string(request(text, key))
        case .number(let number):
            if let instant = Self.milliseconds(value), isNearSession(instant) {
                rememberTime(instant)
                return .string(template("now", instant))
            }
            if key.isMoneyAmount, number.double != 0 {
                let template = captureTemplate("amount", number.description)
                if let name = nameByValue[number.description] { values[name] = value }
                return .string(template)
            }
            return known(number.description).map(JSONValue.string) ?? value
        case .null, .bool, .array, .object: return value
        }
    }

    private mutating func request(_ text: String, _ key: MemberName) -> String {
        if let template = userTemplate(text) ?? known(text) { return template }
        if key.isTransactionMember, text.utf8.count > 5 {
            return captureTemplate("transaction", text)
        }
        if TemplateValues.isUUID(text) { return captureTemplate("uuid", text) }
        if let instant = Self.date(text), isNearSession(instant) {
            rememberTime(instant)
            return template("date", instant, isTruncated: instant.milliseconds % 1000 == 0)
        }
        return self.text(text)
    }

    /// Returns a string with templates in place of user IDs and secrets.
    ///
    /// The contract keeps the prefix of a secret, such as `rk_live_`, only if a request contains
    /// the secret first. The backend chooses the secrets that first appear in its responses.
    mutating func text(_ text: String, isResponse: Bool = false) -> String {
        if let template = userTemplate(text) ?? known(text) { return template }
        // Braces in the recorded string are escaped, so that they do not start a template.
        var output = Template.escaped(text)
        for placeholder in Placeholder.all(in: text) {
            let isNewPlaceholder = nameByValue[placeholder.text] == nil
            let template =
                users.userByToken[placeholder.text].map { "{{id-token.\($0)}}" }
                ?? captureTemplate(Self.kind(placeholder.kind), placeholder.text)
            if isNewPlaceholder, !isResponse, let prefix = placeholder.prefix,
                let name = nameByValue[placeholder.text]
            {
                values[name] = .string(prefix + "{{some.\(name)-rest}}")
            }
            output = output.replacing(placeholder.text, with: template)
        }
        return idSearch.replaced(in: output, by: userTemplate)
    }

    /// Returns the path and query of a request with templates in place of IDs.
    mutating func target(_ target: String) -> String {
        var output = ""
        var currentPart = ""
        let separators = "/?&=".unicodeScalars
        for scalar in (target + "/").unicodeScalars {
            guard separators.contains(scalar) else {
                currentPart.unicodeScalars.append(scalar)
                continue
            }
            let decodedPart = currentPart.percentDecoded
            if let template = userTemplate(decodedPart) ?? known(decodedPart) {
                output += template
            } else if TemplateValues.isUUID(decodedPart) {
                output += captureTemplate("uuid", decodedPart)
            } else {
                output += Placeholder.all(in: decodedPart).isEmpty ? currentPart : text(decodedPart)
            }
            currentPart = ""
            output.unicodeScalars.append(scalar)
        }
        return String(output.dropLast())
    }

    /// Assigns the ID of a webhook event to the delivery that contains the event.
    mutating func name(eventID: String, of delivery: String) {
        deliveriesByEventID[eventID] = delivery
    }

    private var deliveriesByEventID: [String: String] = [:]

    func eventTemplate(_ id: String) -> String? {
        deliveriesByEventID[id].map { "{{event-id.\($0)}}" }
    }

    // MARK: Responses

    /// Returns a JSON value that a contract expects in a response, with matchers in place of values
    /// that vary from run to run.
    mutating func answer(_ value: JSONValue) -> JSONValue {
        mapLeaves(value, Self.emptyMemberName) { namer, leaf, key in namer.responseLeaf(leaf, key) }
    }

    private mutating func responseLeaf(_ value: JSONValue, _ key: MemberName) -> JSONValue {
        switch value {
        case .string(let text): return .string(answer(text))
        case .number(let number):
            if let instant = Self.milliseconds(value), isNearSession(instant) {
                return .string(
                    sessionTimes[instant.seconds]?.contains(instant.milliseconds) == true
                        && isExpressible(instant)
                        ? template("now", instant) : "{{any.timestamp}}"
                )
            }
            if key.mayBeTime, Self.isEpochSeconds(value, base) {
                return .string("{{any.timestamp}}")
            }
            if let template = known(number.description), number.description.count > 2 {
                return .string(template)
            }
            if key.isIDMember, number.int64 != nil {
                return .string(
                    valuesReusedLater.contains(number.description)
                        ? captureTemplate("number", number.description) : "{{any.number}}"
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
        if let instant = Self.date(text), isNearSession(instant) {
            // Dates are often truncated to whole seconds. A truncated date within the session may
            // also come from the backend's clock, for which there is no template.
            let known = sessionTimes[instant.seconds, default: []].sorted()
            let isTruncated = instant.milliseconds % 1000 == 0
            if isTruncated, session.contains(instant) { return "{{any.timestamp}}" }
            let knownTime =
                known.first { $0 == instant.milliseconds } ?? (isTruncated ? known.first : nil)
            guard let knownTime = knownTime.map(Instant.init(milliseconds:)),
                isTruncated || isExpressible(knownTime)
            else { return "{{any.timestamp}}" }
            return template("date", knownTime, isTruncated: isTruncated)
        }
        if TemplateValues.isUUID(text) {
            return valuesReusedLater.contains(text) ? captureTemplate("uuid", text) : "{{any.uuid}}"
        }
        if Placeholder.all(in: text).isEmpty, Self.date(text) == nil, Self.isRandom(text) {
            return valuesReusedLater.contains(text)
                ? captureTemplate("token", text) : "{{any.text}}"
        }
        return responseText(text)
    }

    /// Returns a string of a response with templates in place of IDs and secrets.
    ///
    /// Dates that are not in ISO 8601, such as `24 Nov 2026`, become matchers.
    mutating func responseText(_ text: String) -> String {
        Template(self.text(text, isResponse: true)).pieces.map { piece in
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

    /// Returns whether a time is close enough to `{{now}}` to be written as an offset from it.
    ///
    /// A time more than about thirty years away means "never" or "always" and stays literal.
    private func isNearSession(_ instant: Instant) -> Bool {
        (instant - base).milliseconds.magnitude < 1_000_000_000_000 - 1000
    }

    /// Returns whether the offset of a time from `{{now}}` can be written with millisecond
    /// precision.
    private func isExpressible(_ instant: Instant) -> Bool {
        let offset = timeline.offset(of: instant, isTruncated: false).milliseconds
        return offset.magnitude < 1_000_000_000 || offset % 1000 == 0
    }

    private var base: Instant { timeline.base }

    /// Returns the template of a time, such as `{{now+30d}}`.
    ///
    /// The offset is in whole seconds when the time was truncated to whole seconds, or when
    /// milliseconds would need too many digits.
    private func template(_ word: String, _ instant: Instant, isTruncated: Bool = false) -> String {
        let offset = timeline.offset(
            of: instant,
            isTruncated: isTruncated || !isExpressible(instant)
        )
        return offset == .zero ? "{{\(word)}}" : "{{\(word)\(offset.contractText)}}"
    }

    /// Converts a number of milliseconds since 1970 to a time; nil for other values, and for times
    /// outside of the years 2001 to 2100.
    static func milliseconds(_ value: JSONValue) -> Instant? {
        guard let number = value.int64, (1_000_000_000_000..<4_102_444_800_000).contains(number)
        else { return nil }
        return Instant(milliseconds: number)
    }

    /// Returns whether a value is a number of seconds since 1970 within ten years of the session.
    private static func isEpochSeconds(_ value: JSONValue, _ base: Instant) -> Bool {
        let tenYearsInSeconds: Int64 = 10 * 366 * 86_400
        return value.int64.map {
            $0.subtractingSaturated(base.seconds).magnitude < tenYearsInSeconds
        }
            ?? false
    }

    static func date(_ text: String) -> Instant? {
        guard (19...40).contains(text.utf8.count), text.dropFirst(4).first == "-" else {
            return nil
        }
        return Instant(iso8601: text)
    }

    // MARK: Patterns

    private static func kind(_ kind: String) -> String { kind == "authorization" ? "token" : kind }

    /// Returns whether a string looks random: at least 16 bytes, no spaces, and at least four
    /// changes between digits and other characters.
    static func isRandom(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count >= 16, !bytes.contains(UInt8(ascii: " ")) else { return false }
        var letterDigitChangeCount = 0
        var wasPreviousDigit = false
        for (index, byte) in bytes.enumerated() {
            let isDigit = (48...57).contains(byte)
            if index > 0, isDigit != wasPreviousDigit { letterDigitChangeCount += 1 }
            wasPreviousDigit = isDigit
        }
        return letterDigitChangeCount >= 4
    }
}
