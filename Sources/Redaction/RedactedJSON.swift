internal import Values

/// The redaction of one JSON document: each value by the names of the members that contain it.
struct RedactedJSON {
    private let redaction: Redaction
    /// Whether the document contained a secret.
    private(set) var isChanged = false

    init(_ redaction: Redaction) { self.redaction = redaction }

    /// Returns the document with its secrets masked.
    mutating func redacted(_ value: JSONValue) -> JSONValue { redacted(value, MemberContext()) }

    /// Information about a JSON value that follows from the names of the members that contain it.
    private struct MemberContext {
        /// The kind of secret that the name of a containing member indicates; nil when none does.
        var kind: String?
        /// Whether the value describes errors in other fields, as in `{"errors": {"password": "too
        /// short"}}`.
        var isErrorDescription = false
        /// Whether the value is the number of a purchase, an order or a user, which is assumed when
        /// its name ends in `id`.
        var isIDNumber = false
        /// Whether the value is a digest or a version, which is not masked although it may look
        /// like a secret.
        var isDigest = false
    }

    private mutating func redacted(_ value: JSONValue, _ context: MemberContext) -> JSONValue {
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            members.reserveCapacity(object.members.count)
            let kindFromSiblingName = kindOfValue(in: object)
            for member in object.members {
                var childContext = self.context(member, context)
                if childContext.kind == nil, Self.valueMemberNames.contains(member.key) {
                    childContext.kind = kindFromSiblingName
                }
                let key = self.key(member.key, context)
                isChanged = isChanged || key != member.key
                members.append(.init(key: key, value: redacted(member.value, childContext)))
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var redactedElements: [JSONValue] = []
            redactedElements.reserveCapacity(elements.count)
            var childContext = context
            for element in elements {
                redactedElements.append(redacted(element, childContext))
                // In a JSON list of headers, each header may be an array such as `["Authorization",
                // "…"]`.
                if elements.count == 2, childContext.kind == nil, let name = element.string {
                    childContext.kind = redaction.kind(name, .headers)
                }
            }
            return .array(redactedElements)
        case .string(let text):
            let isProse = context.isErrorDescription && text.utf8.contains(0x20)
            let kind = isProse ? nil : context.kind
            let redactedValue =
                kind.map { redaction.masked($0, text) }
                ?? (context.isDigest
                    ? redaction.known.maskingSecrets(in: text) : redaction.string(text))
            isChanged = isChanged || redactedValue != text
            return .string(redactedValue)
        case .number(let number):
            let text = number.description
            let known = ["password", "key", "phone", "card", "account"].first { $0 == context.kind }
            let isCardNumber =
                !context.isIDNumber
                && SecretPatterns.cardEnd(in: Array(text.utf8), at: 0) == text.utf8.count
            guard let kind = known ?? (isCardNumber ? "card" : nil) else { return value }
            isChanged = true
            return .string(redaction.masked(kind, text))
        case .bool, .null: return value
        }
    }

    private func context(_ member: JSONObject.Member, _ context: MemberContext) -> MemberContext {
        let isString = if case .string = member.value { true } else { false }
        let key = member.key
        let isCredential = ["password", "key", "token", "secret"].contains(context.kind)
        // RevenueCat's attributes have their value in a member `value`. Everything inside a member
        // that is a credential is secret.
        let inheritedKind = isCredential || key == "value" ? context.kind : nil
        return MemberContext(
            kind: redaction.kind(key, isString ? .stringMembers : .members) ?? inheritedKind,
            isErrorDescription: context.isErrorDescription
                || SecretNames.errorMemberNames.contains(SecretNames.normalizedName(key)),
            isIDNumber: ["id", "Id", "ID"].contains { key.hasSuffix($0) },
            isDigest: isString && Redaction.isDigest(key)
        )
    }

    /// Redacts the name of a JSON member, which may itself be a secret in an object whose keys are
    /// credentials.
    private func key(_ key: String, _ context: MemberContext) -> String {
        guard let kind = context.kind, ["key", "token"].contains(kind), key.utf8.count >= 16,
            SecretPatterns.hasLettersAndDigits(key)
        else { return redaction.text(key) }
        return redaction.masked(kind, key)
    }

    private static let valueMemberNames: Set<String> = ["value", "val", "content", "Value"]
    private static let nameMemberNames: Set<String> = [
        "name", "key", "field", "path", "header", "Name",
    ]

    /// Returns the kind of secret in the value of an object such as
    /// `{"name": "password", "value": …}`.
    ///
    /// An object such as `{"path": "/password", "value": …}` is also recognized.
    private func kindOfValue(in object: JSONObject) -> String? {
        guard (2...8).contains(object.members.count),
            object.members.contains(where: { Self.valueMemberNames.contains($0.key) })
        else { return nil }
        for member in object.members where Self.nameMemberNames.contains(member.key) {
            guard let name = member.value.string?.parts(between: "/").last else { continue }
            if let kind = redaction.kind(name, .stringMembers)
                ?? redaction.kind(name, .headers)
            {
                return kind
            }
        }
        return nil
    }
}
