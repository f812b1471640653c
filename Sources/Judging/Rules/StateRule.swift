package import Contracts
internal import Grammar
internal import Providers
package import Values

/// Judges that the fields of users, such as `active`, have the values that the contract expects.
///
/// The profile maps each field to a path in a probe's response.
package struct StateRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let findings = evidence.expectation.states.flatMap { state in
            leadingFirst(state.fields).compactMap { field -> Finding? in
                // When a contract names several users, one with the expected value is enough.
                // Otherwise the finding about the first user is reported.
                let findings = state.users.map { finding($0, field, in: evidence) }
                return findings.contains { $0 == nil } ? nil : findings.first ?? nil
            }
        }
        if findings.isEmpty, let doubtfulResult = invisiblePurchaseReason(in: evidence) {
            return [doubtfulResult]
        }
        return findings
    }

    /// The fields whose deviation explains more than a deviation of another field: without the right
    /// product, the flags are those of another subscription.
    private static let leadingFields: Set = ["exists", "access", "product", "expires"]

    /// Returns fields with those that explain more at the beginning.
    private static func leadingFirst(_ fields: [StateExpectation.Field]) -> [StateExpectation.Field]
    {
        fields.filter { leadingFields.contains($0.name) }
            + fields.filter { !leadingFields.contains($0.name) }
    }

    /// Reports a correct state as inconclusive when no purchase has a visible result in this
    /// backend.
    private static func invisiblePurchaseReason(in evidence: CaseEvidence) -> Finding? {
        // These three fields do not depend on a purchase.
        let purchaseFields = Set(Profile.FieldReading.names).subtracting([
            "anonymous", "account", "source",
        ])
        let fields = evidence.expectation.states.flatMap(\.fields)
        guard let field = fields.first(where: { purchaseFields.contains($0.name) }),
            let invisiblePurchaseReason = evidence.observability.invisiblePurchaseReason
        else { return nil }
        return Finding(
            .unobservable,
            expected: "\(field.name) is \(field.value.text), in a backend that shows purchases",
            actual: invisiblePurchaseReason,
            location: field.location
        )
    }

    private static func finding(
        _ user: String,
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> Finding? {
        if field.name == "exists" { return existenceFinding(user, field, in: evidence) }
        guard let (probe, reading) = evidence.profile.probe(reading: field.name) else {
            return unmappedFinding(user, field, in: evidence)
        }
        let document: JSONValue?
        let expectedResponseText = "probe '\(probe.name)' of \(user) responds"
        switch evidence.subject.state(of: user, probe: probe.name) {
        case .document(let value): document = value
        case .missing: document = nil
        case .unreadable(let text): return setupFailed(expectedResponseText, text, field)
        case nil: return setupFailed(expectedResponseText, "the probe was not sent", field)
        }
        guard let expected = expectedValue(field, in: evidence) else {
            return setupFailed(
                "an event that determines \(field.name) of \(user)",
                "\(field.value.text) has no value",
                field
            )
        }
        return finding(
            user,
            of: (field, probe.name, reading),
            expected,
            in: document,
            evidence
        )
    }

    /// Returns the difference between the expected value of a field and its value in the response
    /// of a probe.
    private static func finding(
        _ user: String,
        of mapping: (
            field: StateExpectation.Field, probe: String, reading: Profile.FieldReading
        ),
        _ expected: JSONValue,
        in document: JSONValue?,
        _ evidence: CaseEvidence
    ) -> Finding? {
        let (field, probe, reading) = mapping
        let expectedText = "\(field.name) of \(user) is \(text(expected, field: field.name))"
        func mismatchFinding(_ actual: JSONValue) -> Finding? {
            if matches(actual, expected, field: field.name, in: evidence) { return nil }
            let valuePaths = Set(reading.conditions.map { "\(probe)\($0.pointer)" }).sorted()
            let difference = ValueDifference(
                path: valuePaths.first ?? probe,
                expected: text(expected, field: field.name, otherThan: actual),
                actual: text(actual, field: field.name, otherThan: expected)
            )
            var finding = Finding(
                .wrongStateValue,
                expected: "\(field.name) of \(user) is \(difference.expected)",
                actual: "\(difference.actual) (\(valuePaths.joined(separator: ", ")))",
                location: field.location,
                evidence: probeSequences(of: user, probe, in: evidence)
            )
            finding.firstDifference = difference
            return finding
        }
        if reading.hasCombinedConditions {
            let conditionResult = conditionResult(of: reading, document) { condition in
                self.conditionResult(
                    (field, probe, condition),
                    user,
                    document,
                    expectedText,
                    in: evidence
                )
            }
            switch conditionResult {
            case .known(let isFulfilled): return mismatchFinding(.bool(isFulfilled))
            case .doubtful(let finding): return finding
            }
        }
        let lookUp = ProbePathSurvey.lookUp(at: reading.pointer, in: document)
        if case .value(let found) = lookUp {
            let now = evidence.subject.lastProbeTime
            return value(found, reading.meaning, field: field.name, at: now).map(mismatchFinding)
                ?? uninterpretableFinding(found, user, field, reading)
        }
        if let valueIfPathAbsent = reading.valueIfPathAbsent {
            return mismatchFinding(valueIfPathAbsent)
        }
        return absentPathFinding(of: mapping, lookUp, expected, expectedText, in: evidence)
            ?? mismatchFinding(valueWhenAbsent(field, reading, in: evidence))
    }

    /// Returns the sequence number of the last probe of a user, whose response was judged.
    private static func probeSequences(
        of user: String,
        _ probe: String,
        in evidence: CaseEvidence
    ) -> [Int] {
        let purpose = Exchange.Purpose.probe(name: probe, user: user)
        return evidence.subject.exchanges.last { $0.purpose == purpose }.map { [$0.sequence] } ?? []
    }

    // MARK: Combined conditions

    /// The truth of a condition in the profile's mapping.
    ///
    /// It is doubtful when the value was not observed.
    private enum ConditionResult {
        case known(Bool)
        case doubtful(Finding)
    }

    /// Returns the truth of a mapping that combines several conditions with `and` or `or`.
    ///
    /// A doubtful condition makes the result doubtful only when the other conditions do not decide
    /// it.
    private static func conditionResult(
        of reading: Profile.FieldReading,
        _ document: JSONValue?,
        _ evaluate: (Profile.FieldReading) -> ConditionResult
    ) -> ConditionResult {
        let first = evaluate(reading)
        if let others = reading.additionalConditions {
            let all = [first] + others.map { conditionResult(of: $0, document, evaluate) }
            return combinedResult(all, by: false)
        }
        if let others = reading.alternativeConditions {
            let all = [first] + others.map { conditionResult(of: $0, document, evaluate) }
            return combinedResult(all, by: true)
        }
        return first
    }

    /// Returns `value` if any of the conditions has this value.
    ///
    /// Otherwise returns the first doubtful condition; if there is none, the opposite of `value`.
    private static func combinedResult(_ conditionResults: [ConditionResult], by value: Bool)
        -> ConditionResult
    {
        var doubtfulResult: ConditionResult?
        for conditionResult in conditionResults {
            switch conditionResult {
            case .known(value): return .known(value)
            case .known: continue
            case .doubtful: doubtfulResult = doubtfulResult ?? conditionResult
            }
        }
        return doubtfulResult ?? .known(!value)
    }

    /// Returns the truth of one condition of a mapping in a probe's response.
    private static func conditionResult(
        _ mappedField: (
            field: StateExpectation.Field, probe: String, reading: Profile.FieldReading
        ),
        _ user: String,
        _ document: JSONValue?,
        _ expectedText: String,
        in evidence: CaseEvidence
    ) -> ConditionResult {
        let (field, _, reading) = mappedField
        let lookUp = ProbePathSurvey.lookUp(at: reading.pointer, in: document)
        if case .value(let found) = lookUp {
            let now = evidence.subject.lastProbeTime
            let value = value(found, reading.meaning, field: field.name, at: now)
            return value?.bool.map { .known($0) }
                ?? .doubtful(uninterpretableFinding(found, user, field, reading))
        }
        if let valueIfPathAbsent = reading.valueIfPathAbsent {
            return .known(valueIfPathAbsent.bool ?? false)
        }
        let valueWhenAbsent = valueWhenAbsent(field, reading, in: evidence)
        return absentPathFinding(
            of: mappedField,
            lookUp,
            valueWhenAbsent,
            expectedText,
            in: evidence
        ).map {
            .doubtful($0)
        }
            ?? .known(valueWhenAbsent.bool ?? false)
    }

    // MARK: Missing values

    /// Returns the value of a field when its path is missing in the response, which the mapping
    /// treats like null.
    private static func valueWhenAbsent(
        _ field: StateExpectation.Field,
        _ reading: Profile.FieldReading,
        in evidence: CaseEvidence
    ) -> JSONValue {
        value(.null, reading.meaning, field: field.name, at: evidence.subject.lastProbeTime)
            ?? .null
    }

    /// Returns a finding when the profile probably maps a path that never exists; nil when there is
    /// another reason for the missing path.
    ///
    /// When the whole row of the user is missing, a wrong value is a failure in any case. A value
    /// that matches "missing" proves something only when the path is known to exist.
    private static func absentPathFinding(
        of mappedField: (
            field: StateExpectation.Field, probe: String, reading: Profile.FieldReading
        ),
        _ lookUp: ProbePathSurvey.PathLookup,
        _ expected: JSONValue,
        _ expectedText: String,
        in evidence: CaseEvidence
    ) -> Finding? {
        let (field, probe, reading) = mappedField
        let actual = valueWhenAbsent(field, reading, in: evidence)
        let isDoubtful =
            lookUp == .memberMissing
            || matches(actual, expected, field: field.name, in: evidence)
                && evidence.observability.valuePaths != nil
        let survey = ProbePathSurvey(evidence)
        guard isDoubtful, survey.canJudgeAbsence, !survey.hasContained(reading.pointer, by: probe)
        else {
            return nil
        }
        return survey.finding(
            field.name,
            reading,
            of: probe,
            expected: expectedText,
            at: field.location
        )
    }

    /// Reports a field that the profile maps in no probe, unless the profile maps another field of
    /// the case.
    ///
    /// Mappings are optional, and a case is judged by the fields that have one.
    private static func unmappedFinding(
        _ user: String,
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> Finding? {
        let others = evidence.expectation.states.flatMap(\.fields).map(\.name)
        if others.contains(where: { evidence.profile.probe(reading: $0) != nil }) { return nil }
        return Finding(
            .unobservable,
            expected: "\(field.name) of \(user)",
            actual: "no probe in the profile maps '\(field.name)'",
            remedy: "Add the field under 'probes: … read:' in assay.yaml, for example "
                + "{\(field.name): /\(field.name)}.",
            location: field.location
        )
    }

    private static func setupFailed(
        _ expected: String,
        _ actual: String,
        _ field: StateExpectation.Field
    ) -> Finding {
        Finding(.setupFailed, expected: expected, actual: actual, location: field.location)
    }

    private static func uninterpretableFinding(
        _ found: JSONValue,
        _ user: String,
        _ field: StateExpectation.Field,
        _ reading: Profile.FieldReading
    ) -> Finding {
        Finding(
            .unobservable,
            expected: "\(field.name) of \(user) as true or false",
            actual: "\(reading.pointer) is \(found.text)",
            remedy: "List the values that mean true: {\(field.name): {at: \(reading.pointer), "
                + "is: [\(found.text)]}}.",
            location: field.location
        )
    }

    /// Judges whether a user exists or does not exist, as the contract expects.
    private static func existenceFinding(
        _ user: String,
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> Finding? {
        let shouldUserExist = field.value.bool ?? true
        let existence = UserExistence(
            of: user,
            in: evidence.subject,
            evidence,
            countsRefusedLookups: !shouldUserExist
        )
        switch existence {
        case .unknown(let reason):
            return Finding(
                .unobservable,
                expected: "a probe shows whether user \(user) exists",
                actual: reason,
                location: field.location
            )
        case .found where !shouldUserExist, .missing where shouldUserExist:
            return Finding(
                shouldUserExist ? .userMissing : .unexpectedUser,
                expected: shouldUserExist
                    ? "user \(user) exists" : "user \(user) does not exist",
                actual: shouldUserExist
                    ? "the probe does not find the user" : "the probe finds the user",
                location: field.location
            )
        case .found, .missing: return nil
        }
    }

    /// Converts a value in a probe's response to the value that a contract compares; returns nil
    /// when the mapping defines no meaning for it.
    package static func value(
        _ found: JSONValue,
        _ meaning: Profile.FieldReading.Meaning,
        field: String,
        at now: Instant
    ) -> JSONValue? {
        switch meaning {
        case .isOneOf(let values): return .bool(values.contains(found))
        case .isNoneOf(let values): return .bool(!values.contains(found))
        case .isFuture:
            guard let parsedTime = Instant(timeValue: found) else { return .bool(false) }
            return .bool(parsedTime > now)
        case .value:
            guard Profile.FieldReading.booleanFields.contains(field) else { return found }
            switch found {
            case .bool: return found
            case .null: return .bool(false)
            case .number(let number) where number.int64 == 0: return .bool(false)
            case .number(let number) where number.int64 == 1: return .bool(true)
            case .number, .string, .array, .object: return nil
            }
        }
    }

    /// Returns the value that the contract expects, with its templates filled in; nil when a
    /// template has no value.
    ///
    /// The name of a product is replaced by the product ID that the profile defines for it.
    private static func expectedValue(
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> JSONValue? {
        guard case .string(let text) = field.value else { return field.value }
        let template = Template(text)
        if let plain = template.plainText {
            return .string(
                isProduct(field.name) ? evidence.profile.products[plain] ?? plain : plain
            )
        }
        let record = evidence.subject
        var values = TemplateValues(namespace: record.namespace, base: record.base)
        for name in template.names {
            let delivery = String(name.prefix { $0 != "." })
            values.events[delivery] = record.event(of: delivery)
        }
        guard let name = template.wholeName else {
            return values.fillIfPresent(text).map(JSONValue.string)
        }
        guard case .value(let value) = values.value(of: name) else { return nil }
        return value
    }

    /// Whether the values of a field are product IDs.
    private static func isProduct(_ field: String) -> Bool {
        field == "product" || field == "pending-product"
    }

    /// Returns whether a value is the expected one.
    ///
    /// A backend may show a product under any ID by which a service names it, such as the ID that
    /// only RevenueCat's REST v2 uses.
    ///
    /// Times are compared in any format. They are equal if they differ by less than the resolution
    /// of the actual value, so that a time in milliseconds must be exact (S-32).
    private static func matches(
        _ actual: JSONValue,
        _ expected: JSONValue,
        field: String,
        in evidence: CaseEvidence
    ) -> Bool {
        if actual == expected { return true }
        if isProduct(field), let actualID = actual.string, let expectedID = expected.string {
            return ProviderTable.all.productIDs(idInEvent: expectedID).contains(actualID)
        }
        guard field == "expires", let actualTime = Instant(timeValue: actual),
            let expectedTime = Instant(timeValue: expected)
        else { return false }
        let resolution = max(
            Instant.resolution(ofTimeValue: actual),
            receivedResolution(of: expectedTime, in: evidence.subject)
        )
        return (actualTime - expectedTime).milliseconds.magnitude < resolution.milliseconds
    }

    /// Returns the resolution with which the backend received a time from a service that it called.
    ///
    /// RevenueCat's REST v1 returns times in whole seconds (RevenueCat fact sheet, section 4.1), so
    /// a backend that reads it does not know the milliseconds.
    private static func receivedResolution(of time: Instant, in record: RunRecord) -> Duration {
        let wholeSeconds = time.description
        let hasReceivedWholeSeconds = record.exchanges.contains { exchange in
            exchange.purpose == .call
                && exchange.response?.body.containsText(wholeSeconds) ?? false
        }
        return hasReceivedWholeSeconds ? .seconds(1) : .milliseconds(1)
    }

    /// Returns the value of a field as text, which differs from the text of another value.
    ///
    /// A time has milliseconds only if the other time is in the same second.
    private static func text(
        _ value: JSONValue,
        field: String,
        otherThan other: JSONValue = .null
    ) -> String {
        guard field == "expires", let parsedTime = Instant(timeValue: value) else {
            return value.text
        }
        let isSameSecond = Instant(timeValue: other)?.description == parsedTime.description
        return isSameSecond ? parsedTime.preciseText : parsedTime.description
    }
}
