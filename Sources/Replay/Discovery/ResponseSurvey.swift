internal import Contracts
internal import Judging
internal import Values

/// Finds the fields of a probe's response that show the subscription of a user.
///
/// It compares the responses before and after a purchase. A JSON path is mapped because of its
/// value (the product, the end of the period), or because of its name if the value fits. All other
/// paths stay unmapped, because a name alone proves nothing.
struct ResponseSurvey: Sendable {
    /// The fields that are shown only in a list, as text for the user; nil if there are none.
    private(set) var textAboutLists: String?

    /// The purchase that was made between the two responses.
    struct Purchase: Sendable {
        let product: String
        /// The end of the purchased period; nil if it has none.
        let periodEnd: Instant?
        /// The names of the entitlements that the product unlocks.
        var entitlements: [String] = []
    }

    private(set) var readings: [String: Profile.FieldReading] = [:]
    /// The mapped fields that a person should check, each with the reason.
    private(set) var doubtsByField: [String: String] = [:]

    /// Compares two responses of the same probe.
    ///
    /// - Parameters:
    ///   - before: The response about a user without a purchase; nil if the backend did not know
    ///     the user.
    ///   - after: The response about the user after the purchase.
    ///   - purchase: The purchase.
    init(before: JSONValue?, after: JSONValue, _ purchase: Purchase) {
        let leafValues = Self.leafValues(of: after, purchase)
        for (pointer, name, value) in leafValues {
            let oldValue = before?[pointer]
            let field: String?
            switch value {
            case .string(let text) where text == purchase.product: field = "product"
            case .string(let text) where Self.isEnvironment(name, text): field = "environment"
            case .string, .number: field = Self.isPeriodEnd(value, purchase) ? "expires" : nil
            case .bool(let flag): field = Self.field(ofFlag: name, flag, oldValue)
            case .null:
                field =
                    Self.containsWord(name, ["pending", "nextproduct"]) ? "pending-product" : nil
            case .array, .object: field = nil
            }
            guard let field, isBetter(pointer, name, for: field) else { continue }
            readings[field] = reading(field, pointer, oldValue, before)
        }
        let singleValues = leafValues.filter { $0.0.listDepth == 0 }
        if readings["access"].map({ $0.pointer.listDepth > 0 }) ?? true {
            readings["access"] = accessReading(singleValues, before) ?? readings["access"]
        }
        if readings["access"] == nil { readings["access"] = accessReading(leafValues, before) }
        if readings["access"] == nil {
            readings["access"] = namedAccessReading(leafValues, before, purchase)
        }
        if readings["access"] == nil, let periodEnd = readings["expires"] {
            readings["access"] = Profile.FieldReading(
                pointer: periodEnd.pointer,
                meaning: .isFuture
            )
            doubtsByField["access"] = "only the end of the period shows whether the user has access"
        }
        requireEntitlement(leafValues, before, purchase)
        selectEntitlements(in: after, purchase)
        leaveOutOtherLists()
        selectActiveElement(in: after)
        noteFirstElements()
    }

    /// Returns the strings, numbers, flags and nulls, each with its path and the name in its path.
    ///
    /// Elements of lists that name an entitlement of the purchase come first.
    private static func leafValues(
        of document: JSONValue,
        _ purchase: Purchase
    ) -> [(JSONPointer, String, JSONValue)] {
        let values = document.valuePaths.compactMap {
            pointer -> (JSONPointer, String, JSONValue)? in
            guard let value = document[pointer], value.object == nil, value.array == nil else {
                return nil
            }
            return (pointer, name(of: pointer), value)
        }
        let names = purchase.entitlements.map(JSONValue.string)
        func isAboutPurchase(_ value: (pointer: JSONPointer, String, JSONValue)) -> Bool {
            let element = document[value.pointer.firstElement]?.object
            return value.pointer.firstList != nil
                && element?.members.contains { names.contains($0.value) } == true
        }
        return values.filter(isAboutPurchase) + values.filter { !isAboutPurchase($0) }
    }

    /// Returns whether a JSON path suits a field better than the path that was found earlier.
    ///
    /// A path through a list comes last, because the first element of a list may be about another
    /// purchase of the user.
    private func isBetter(_ pointer: JSONPointer, _ name: String, for field: String) -> Bool {
        guard let earlier = readings[field]?.pointer else { return true }
        let depths = (pointer.listDepth, earlier.listDepth)
        guard depths.0 == depths.1 else { return depths.0 < depths.1 }
        // The first element of a list with a good name is kept.
        let isKept = depths.1 > 0 && Self.isBetterMatch(Self.name(of: earlier), for: field)
        return !isKept && Self.isBetterMatch(name, for: field)
    }

    /// Replaces the index of an element by the entitlement of the purchase that it contains.
    ///
    /// A list of entitlements has one such element. Another list may have several, such as a list of
    /// purchases, so it is only read if it shows the access.
    private mutating func selectEntitlements(in after: JSONValue, _ purchase: Purchase) {
        let names = purchase.entitlements.map(JSONValue.string)
        let accessList = readings["access"]?.pointer.firstList
        for (field, reading) in readings {
            guard let list = reading.pointer.firstList,
                list == accessList || Self.containsWord(list.lowercased(), ["entitle"]),
                let element = after[reading.pointer.firstElement]?.object,
                let member = element.members.first(where: { names.contains($0.value) }),
                let name = member.value.string, !member.key.contains("=")
            else { continue }
            let selection = ElementSelection(member: member.key, value: name)
            readings[field]?.pointer = reading.pointer.selecting(selection)
        }
    }

    /// Adds the condition that the list of entitlements contains the entitlement of the purchase, if
    /// the access is read from a field outside of lists.
    ///
    /// Such a field may also be true because of another entitlement.
    private mutating func requireEntitlement(
        _ leafValues: [(JSONPointer, String, JSONValue)],
        _ before: JSONValue?,
        _ purchase: Purchase
    ) {
        guard let before, let access = readings["access"]?.pointer, access.listDepth == 0,
            purchase.entitlements.allSatisfy({ !access.tokens.contains($0) })
        else { return }
        for (pointer, _, value) in leafValues {
            guard let name = value.string, purchase.entitlements.contains(name),
                pointer.listDepth == 1,
                pointer.firstElement.tokens.count == pointer.tokens.count
                    || pointer.memberOfElement?.contains("=") == false,
                let list = pointer.firstList, Self.containsWord(list.lowercased(), ["entitle"])
            else { continue }
            let selection = ElementSelection(member: pointer.memberOfElement ?? "", value: name)
            let selected = pointer.selecting(selection)
            guard before[selected] == nil else { continue }
            readings["access"]?.additionalConditions = [
                Profile.FieldReading(
                    pointer: selected,
                    meaning: .isOneOf([value]),
                    valueIfPathAbsent: false
                )
            ]
            return
        }
    }

    /// Replaces the index of the element that shows the access by its flag, or by the word for an
    /// active subscription.
    ///
    /// Other fields of the element are not selected so, because no element has the flag after the
    /// end of the access.
    private mutating func selectActiveElement(in after: JSONValue) {
        guard let access = readings["access"], access.pointer.firstList != nil,
            let member = access.pointer.memberOfElement, !member.contains("="),
            let value = after[access.pointer]
        else { return }
        switch (access.meaning, value) {
        case (.value, .bool(true)):
            let selection = ElementSelection(member: member, value: "true")
            readings["access"]?.pointer = access.pointer.selecting(selection)
        case (.isOneOf(let values), .string(let text)) where values == [value]:
            let selection = ElementSelection(member: member, value: text)
            readings["access"]?.pointer = access.pointer.selecting(selection)
        default: break
        }
    }

    /// Words in the names of lists that show what a user may use.
    private static let grantWords = ["entitle", "access", "feature", "perk", "benefit", "unlock"]

    /// Returns the reading of a list to which the purchase added a name: an entitlement of the
    /// purchase, or else a name that the backend uses for what it unlocks; nil if there is none.
    private mutating func namedAccessReading(
        _ leafValues: [(JSONPointer, String, JSONValue)],
        _ before: JSONValue?,
        _ purchase: Purchase
    ) -> Profile.FieldReading? {
        let added = leafValues.compactMap { pointer, _, value -> (JSONPointer, String)? in
            guard let name = value.string, pointer.listDepth == 1,
                pointer.firstElement.tokens.count == pointer.tokens.count
            else { return nil }
            let selected = pointer.selecting(ElementSelection(member: "", value: name))
            return before?[selected] == nil ? (selected, name) : nil
        }
        let entitlement = added.filter { purchase.entitlements.contains($0.1) }
            .min { $0.0.tokens.count < $1.0.tokens.count }
        if let (pointer, name) = entitlement {
            return Profile.FieldReading(pointer: pointer, meaning: .isOneOf([.string(name)]))
        }
        let grant = added.first { pointer, _ in
            pointer.parent.map {
                $0.tokens.isEmpty || Self.containsWord(Self.name(of: $0), Self.grantWords)
            }
                ?? false
        }
        guard before != nil, let (pointer, name) = grant else { return nil }
        doubtsByField["access"] = "the purchase added '\(name)', which is taken for the access"
        return Profile.FieldReading(pointer: pointer, meaning: .isOneOf([.string(name)]))
    }

    /// Removes the fields in a list unless the list is the only place that shows the access.
    private mutating func leaveOutOtherLists() {
        guard let list = readings["access"].map(\.pointer.firstList) else { return }
        let others = readings.filter { _, reading in
            reading.pointer.firstList.map { $0 != list } ?? false
        }
        for field in others.keys { readings[field] = nil }
        let paths = others.map { "\($0.key): \($0.value.pointer)" }.sorted()
        guard !paths.isEmpty else { return }
        textAboutLists =
            "the first element of a list may be about another purchase, so "
            + "\(paths.joined(separator: ", ")) is left out; if it is always the purchase that counts, "
            + "write it here, or select the element, as in /entitlements/id=premium/expires_at"
    }

    /// Adds a doubt if a field is still read from the first element of a list.
    private mutating func noteFirstElements() {
        let fields = readings.filter { $0.value.pointer.firstList != nil }.keys.sorted()
        guard let field = fields.first, let list = readings[field]?.pointer.firstList else {
            return
        }
        doubtsByField[field] =
            "only the first element of the list \(list) is read, which may be about another "
            + "purchase of the user; NAME=VALUE instead of 0 selects an element"
    }

    /// Returns whether the response of a probe changed with the purchase.
    static func isChanged(_ before: JSONValue?, _ after: JSONValue) -> Bool { before != after }

    private func reading(
        _ field: String,
        _ pointer: JSONPointer,
        _ oldValue: JSONValue?,
        _ before: JSONValue?
    ) -> Profile.FieldReading {
        // If the response after the purchase contains the path and the response before it does not,
        // a missing path means "no" or "none".
        let isAbsentBefore = before != nil && oldValue == nil
        return Profile.FieldReading(
            pointer: pointer,
            meaning: .value,
            valueIfPathAbsent: isAbsentBefore
                ? (Profile.FieldReading.booleanFields.contains(field) ? false : .null) : nil
        )
    }

    // MARK: Names

    /// Returns the last part of a JSON path in lowercase, without the separators between words.
    private static func name(of pointer: JSONPointer) -> String {
        (pointer.tokens.last ?? "").lowercased().filter { $0.isLetter || $0.isNumber }
    }

    private static func containsWord(_ name: String, _ words: [String]) -> Bool {
        words.contains { name.contains($0) }
    }

    private static let accessWords = [
        "premium", "access", "active", "entitled", "subscribed", "ispro", "haspro", "paid",
        "unlocked",
        "plus",
    ]

    /// Words in the names of flags about another fact than the access of now, such as
    /// `has_held_paid_entitlement`.
    private static let otherFlagWords = [
        "trial", "sandbox", "grace", "held", "ever", "once", "previous", "histor", "eligib",
    ]

    private static func field(ofFlag name: String, _ flag: Bool, _ oldValue: JSONValue?) -> String?
    {
        if containsWord(name, ["renew"]) { return flag ? "will-renew" : nil }
        if containsWord(name, ["billingissue", "paymentissue", "paymentfailed", "pastdue"]) {
            return flag ? nil : "billing-issue"
        }
        if containsWord(name, ["refund"]) { return flag ? nil : "refunded" }
        if containsWord(name, ["anonymous"]) { return "anonymous" }
        let hadNoAccess = oldValue == .bool(false) || oldValue == nil || oldValue == .null
        return flag && hadNoAccess && !containsWord(name, otherFlagWords) ? "access" : nil
    }

    /// Returns whether a name suits a field so well that its JSON path replaces a path that was
    /// found earlier for the field.
    private static func isBetterMatch(_ name: String, for field: String) -> Bool {
        switch field {
        case "access": accessWords.contains { name.hasSuffix($0) || name.hasPrefix("is" + $0) }
        case "expires": containsWord(name, ["expire", "expir", "until", "ends"])
        default: false
        }
    }

    private static func isPeriodEnd(_ value: JSONValue, _ purchase: Purchase) -> Bool {
        guard let end = purchase.periodEnd, let valueTime = Instant(timeValue: value) else {
            return false
        }
        return (valueTime - end).milliseconds.magnitude < 1000
    }

    private static func isEnvironment(_ name: String, _ text: String) -> Bool {
        containsWord(name, ["environment"]) && ["SANDBOX", "PRODUCTION"].contains(text)
    }

    // MARK: Words for access

    // A database without a type for flags stores 0 and 1.
    private static let zero = JSONValue.number(JSONNumber(0))
    private static let one = JSONValue.number(JSONNumber(1))

    private static let noAccessWords: Set<String> = [
        "free", "none", "inactive", "basic", "no", "expired", "unsubscribed", "",
    ]

    private static let activeWords: Set<String> = ["active", "subscribed", "entitled", "granted"]

    /// Finds a flag of 0 and 1 or a string that changed with the purchase, such as a subscription
    /// level or a status, and returns it as the reading for the field `access`.
    private mutating func accessReading(
        _ leafValues: [(JSONPointer, String, JSONValue)],
        _ before: JSONValue?
    ) -> Profile.FieldReading? {
        let flag = leafValues.first { pointer, name, value in
            value == Self.one && [Self.zero, .null, nil].contains(before?[pointer])
                && Self.containsWord(name, Self.accessWords)
                && !Self.containsWord(name, Self.otherFlagWords)
        }
        if let flag { return Profile.FieldReading(pointer: flag.0, meaning: .isOneOf([Self.one])) }
        for (pointer, name, value) in leafValues {
            guard let text = value.string, text.count < 30 else { continue }
            let isStatus = Self.containsWord(name, ["status", "state"])
            guard let oldValue = before?[pointer] else {
                // A purchase that was not shown before, such as the first element of a list.
                guard before != nil, isStatus, readings["expires"] == nil,
                    Self.activeWords.contains(text.lowercased())
                else { continue }
                doubtsByField["access"] = "values other than '\(text)' may also give access"
                return Profile.FieldReading(
                    pointer: pointer,
                    meaning: .isOneOf([value]),
                    valueIfPathAbsent: false
                )
            }
            guard oldValue != value,
                oldValue.isNull
                    || Self.noAccessWords.contains(oldValue.string?.lowercased() ?? "-"),
                isStatus
                    || Self.containsWord(
                        name,
                        ["tier", "plan", "level", "role", "membership", "subscription"]
                    )
            else { continue }
            if isStatus {
                doubtsByField["access"] = "values other than '\(text)' may also give access"
                return Profile.FieldReading(pointer: pointer, meaning: .isOneOf([value]))
            }
            let noAccessValues: [JSONValue] = oldValue.isNull ? [.null] : [oldValue, .null]
            return Profile.FieldReading(pointer: pointer, meaning: .isNoneOf(noAccessValues))
        }
        return nil
    }
}

extension JSONPointer {
    private static func isIndex(_ component: String) -> Bool {
        !component.isEmpty && component.allSatisfy(\.isNumber)
    }

    /// The number of lists on the path whose elements are named by their index.
    fileprivate var listDepth: Int { tokens.count(where: Self.isIndex) }

    private var firstIndex: Int? { tokens.firstIndex(where: Self.isIndex) }

    /// The path of the first list on the path; nil if there is none.
    fileprivate var firstList: String? {
        firstIndex.map { JSONPointer(tokens: Array(tokens[..<$0])).description }
    }

    /// The path of the element of the first list; the whole path without a list.
    fileprivate var firstElement: JSONPointer {
        JSONPointer(tokens: firstIndex.map { Array(tokens[...$0]) } ?? tokens)
    }

    /// The member of the element of the first list that the path names; nil if it names the element
    /// itself or a value further inside.
    fileprivate var memberOfElement: String? {
        guard let firstIndex, firstIndex + 2 == tokens.count else { return nil }
        return tokens.last
    }

    /// Returns the path whose first index is replaced by a selection.
    fileprivate func selecting(_ selection: ElementSelection) -> JSONPointer {
        var tokens = tokens
        if let firstIndex { tokens[firstIndex] = selection.description }
        return JSONPointer(tokens: tokens)
    }
}
