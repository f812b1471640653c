/// The fields that a protocol fixes have their value, read through the profile's mapping.
package struct StateRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        evidence.expectation.states.flatMap { state in
            state.fields.compactMap { field -> Finding? in
                // One of several users is enough; what the first one shows is told.
                let findings = state.users.map { finding($0, field, in: evidence) }
                return findings.contains { $0 == nil } ? nil : findings.first ?? nil
            }
        }
    }

    private static func finding(
        _ user: String,
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> Finding? {
        let record = evidence.subject
        if field.name == "exists" { return existence(user, field, in: evidence) }
        guard let (probe, reading) = evidence.profile.probe(reading: field.name) else {
            // Every field is optional; one that is mapped beside it is judged.
            let others = evidence.expectation.states.flatMap(\.fields).map(\.name)
            if others.contains(where: { evidence.profile.probe(reading: $0) != nil }) { return nil }
            return Finding(
                .unobservable,
                expected: "\(field.name) of \(user)",
                actual: "no probe in the profile maps '\(field.name)'",
                remedy: "Add it under 'probes: … read:' in assay.yaml, for example "
                    + "{\(field.name): /\(field.name)}.",
                location: field.location
            )
        }
        let document: JSONValue?
        switch record.state(of: user, probe: probe.name) {
        case .document(let value): document = value
        case .missing: document = nil
        case .unreadable(let text):
            return setupFailed("probe '\(probe.name)' of \(user) answers", text, field)
        case nil:
            return setupFailed(
                "probe '\(probe.name)' of \(user) answers",
                "it was not asked",
                field
            )
        }
        guard let expected = resolve(field, in: evidence) else {
            return setupFailed(
                "an event that says what \(field.name) of \(user) has to be",
                "nothing is said by \(field.value.text)",
                field
            )
        }
        let look = ReadingSurvey.look(at: reading.pointer, in: document)
        let actual: JSONValue
        switch look {
        case .nothing where reading.absent != nil, .lacking where reading.absent != nil:
            actual = reading.absent ?? .null
        case .value(let found):
            guard let read = value(found, reading.meaning, field: field.name, at: record.ended)
            else { return notUnderstood(found, user, field, reading) }
            actual = read
        case .nothing, .lacking:
            let survey = ReadingSurvey(evidence)
            actual = value(.null, reading.meaning, field: field.name, at: record.ended) ?? .null
            // Where nothing is, nothing can be read, and a wrong answer is wrong all the same; a
            // right one proves something only where the place is known to exist.
            let isDoubtful =
                look == .lacking
                || matches(actual, expected, field: field.name)
                    && evidence.sight.places != nil
            if isDoubtful, survey.couldShow, !survey.hasShown(reading.pointer, by: probe.name) {
                return survey.finding(
                    field.name,
                    reading,
                    of: probe.name,
                    expected: "\(field.name) of \(user) is \(text(expected, field: field.name))",
                    at: field.location
                )
            }
        }
        guard !matches(actual, expected, field: field.name) else { return nil }
        return Finding(
            .stateValue,
            expected: "\(field.name) of \(user) is \(text(expected, field: field.name))",
            actual: "\(text(actual, field: field.name)) (\(probe.name)\(reading.pointer))",
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

    private static func notUnderstood(
        _ found: JSONValue,
        _ user: String,
        _ field: StateExpectation.Field,
        _ reading: Profile.Reading
    ) -> Finding {
        Finding(
            .unobservable,
            expected: "\(field.name) of \(user) as true or false",
            actual: "\(reading.pointer) is \(found.text)",
            remedy: "Say what counts, for example {\(field.name): {at: \(reading.pointer), "
                + "is: [\(found.text)]}}.",
            location: field.location
        )
    }

    /// A user exists when the probe `user` finds one; without it, when any probe does.
    private static func existence(
        _ user: String,
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> Finding? {
        let probes = evidence.profile.probes
        let dedicated = probes.first { $0.name == "user" }
        let states = (dedicated.map { [$0] } ?? probes).compactMap {
            evidence.subject.state(of: user, probe: $0.name)
        }
        let isFound = states.contains { if case .document = $0 { true } else { false } }
        let isDecided = isFound || (dedicated != nil && states == [.missing])
        guard isDecided else {
            return Finding(
                .unobservable,
                expected: "whether user \(user) exists",
                actual: dedicated == nil
                    ? "the profile has no probe 'user'" : "the probe 'user' gave no clear answer",
                location: field.location
            )
        }
        let isWanted = field.value.bool ?? true
        guard isFound != isWanted else { return nil }
        return Finding(
            isWanted ? .userMissing : .userUnwanted,
            expected: isWanted ? "user \(user) exists" : "no user \(user)",
            actual: isFound ? "the probe finds one" : "the probe finds none",
            location: field.location
        )
    }

    /// The value in the contract's terms; nil when it cannot be understood.
    private static func value(
        _ found: JSONValue,
        _ meaning: Profile.Reading.Meaning,
        field: String,
        at now: Instant
    ) -> JSONValue? {
        switch meaning {
        case .isAny(let values): return .bool(values.contains(found))
        case .isNone(let values): return .bool(!values.contains(found))
        case .isFuture:
            guard let moment = Masking.instant(found) else { return .bool(false) }
            return .bool(moment > now)
        case .value:
            guard Profile.Reading.flags.contains(field) else { return found }
            switch found {
            case .bool: return found
            case .null: return .bool(false)
            case .number(let number) where number.int64 == 0: return .bool(false)
            case .number(let number) where number.int64 == 1: return .bool(true)
            case .number, .string, .array, .object: return nil
            }
        }
    }

    /// The value that the contract asks for; nil when a template in it stands for nothing.
    ///
    /// A product's name is the id that the profile gives it.
    private static func resolve(
        _ field: StateExpectation.Field,
        in evidence: CaseEvidence
    ) -> JSONValue? {
        guard case .string(let text) = field.value else { return field.value }
        let template = Template(text)
        if let plain = template.plainText {
            let isProduct = field.name == "product" || field.name == "pending-product"
            return .string(isProduct ? evidence.profile.products[plain] ?? plain : plain)
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

    private static func matches(_ actual: JSONValue, _ expected: JSONValue, field: String) -> Bool {
        if actual == expected { return true }
        // One moment has many spellings; a second is the coarsest that databases keep.
        guard field == "expires", let left = Masking.instant(actual),
            let right = Masking.instant(expected)
        else { return false }
        return abs((left - right).milliseconds) < 1000
    }

    private static func text(_ value: JSONValue, field: String) -> String {
        guard field == "expires", let moment = Masking.instant(value) else { return value.text }
        return "\(moment)"
    }
}
