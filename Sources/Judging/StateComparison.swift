package import Contracts
internal import Providers
internal import Values

/// Compares the probe responses of a run with those of its baseline runs (the same case without
/// faults).
package struct StateComparison: Sendable {
    private let evidence: CaseEvidence
    private let subject: ComparableRun
    private let baselines: [ComparableRun]
    /// The JSON paths whose values differ between two equal baseline runs, for each user and probe.
    private let volatilePathsByUserProbe: [ComparableRun.UserProbe: Set<JSONPointer>]
    /// The objects whose keys differ between two equal baseline runs, because the backend generates
    /// new keys in each run.
    private let generatedKeys: [ComparableRun.UserProbe: Set<JSONPointer>]

    package init(_ evidence: CaseEvidence) {
        self.init(
            evidence,
            subject: ComparableRun(evidence.subject, evidence),
            baselines: evidence.baselines.map { ComparableRun($0, evidence) }
        )
    }

    init(_ evidence: CaseEvidence, subject: ComparableRun, baselines: [ComparableRun]) {
        self.evidence = evidence
        self.subject = subject
        self.baselines = baselines
        var volatilePathsByUserProbe: [ComparableRun.UserProbe: Set<JSONPointer>] = [:]
        var generatedKeys: [ComparableRun.UserProbe: Set<JSONPointer>] = [:]
        if let first = baselines.first {
            for other in baselines.dropFirst() {
                for (userProbe, left) in first.documents {
                    let differences = left.differences(from: other.documents[userProbe] ?? .null)
                    volatilePathsByUserProbe[userProbe, default: []].formUnion(
                        differences.map(\.pointer)
                    )
                    let parentsOfRemoved = differences.filter { $0.right == nil }.compactMap(
                        \.pointer.parent
                    )
                    let parentsOfAdded = differences.filter { $0.left == nil }.compactMap(
                        \.pointer.parent
                    )
                    generatedKeys[userProbe, default: []].formUnion(
                        Set(parentsOfRemoved).intersection(parentsOfAdded)
                    )
                }
            }
        }
        self.volatilePathsByUserProbe = volatilePathsByUserProbe
        self.generatedKeys = generatedKeys
    }

    /// Whether the judged run may add values, as long as the values of the baseline run remain.
    private var allowsAddedValues: Bool {
        let compared = evidence.expectation.compared
        return compared.contains(.kept) && compared.isDisjoint(with: [.state, .fields])
    }

    /// Whether at least one probe could be read both in the judged run and in the baseline run.
    package var isStateObserved: Bool {
        guard let baseline = baselines.first else { return false }
        return subject.documents.keys.contains { baseline.documents[$0] != nil }
    }

    /// The JSON paths whose values differ between equal runs, except the paths that the profile
    /// ignores.
    package var volatilePaths: [String] {
        let probes = evidence.profile.probes
        return volatilePathsByUserProbe.flatMap { userProbe, pointers in
            let ignoredPointers = probes.first { $0.name == userProbe.probe }?.ignoredPointers ?? []
            let names = pointers.filter { pointer in
                !ignoredPointers.contains { pointer.isInside($0) }
            }
            .map {
                "\(userProbe.probe)\(isUnderGeneratedKey($0, userProbe) ? "\($0.parent ?? $0)/*" : "\($0)")"
            }
            return Set(names)
        }.sorted()
    }

    /// Whether the last component of the path is a key for which the backend generates a new value
    /// in each run.
    private func isUnderGeneratedKey(_ path: JSONPointer, _ userProbe: ComparableRun.UserProbe)
        -> Bool
    {
        path.parent.map { generatedKeys[userProbe]?.contains($0) ?? false } ?? false
    }

    /// Whether every value in the probe responses differs between equal runs, so that nothing can
    /// be compared.
    package var areAllComparedValuesVolatile: Bool {
        guard let baseline = baselines.first, !volatilePathsByUserProbe.isEmpty else {
            return false
        }
        return baseline.documents.allSatisfy { userProbe, document in
            let volatilePaths = volatilePathsByUserProbe[userProbe] ?? []
            return !document.isNull
                && document.leafPaths.allSatisfy { leaf in
                    volatilePaths.contains { leaf.isInside($0) }
                }
        }
    }

    package func findings(_ relation: Expectation.BaselineRelation) -> [Finding] {
        guard let baseline = baselines.first else { return [] }
        return evidence.plan.subject.users.flatMap { user in
            evidence.profile.probes.compactMap { probe in
                let userProbe = ComparableRun.UserProbe(user: user, probe: probe.name)
                return unstableState(userProbe, probe) ?? unreadableFinding(
                    userProbe,
                    baseline,
                    relation
                )
                    ?? finding(userProbe, probe, baseline, relation)
            }
        }
    }

    /// Reports equal baseline runs that ended with different values in a field that the profile
    /// maps.
    ///
    /// Such a backend gives different results for equal input, so that comparisons with the judged
    /// run prove nothing.
    private func unstableState(_ userProbe: ComparableRun.UserProbe, _ probe: Profile.Probe)
        -> Finding?
    {
        let documents = baselines.compactMap { $0.documents[userProbe] }
        let valuePaths = ComparableRun.comparedPaths(
            of: probe,
            for: userProbe.user,
            evidence
        ).filter { path in
            Set(documents.map { $0[path] }).count > 1
        }.sorted { $0.description < $1.description }
        guard !valuePaths.isEmpty else { return nil }
        let texts = documents.map { document in
            valuePaths.map { "\($0): \(Self.abbreviatedText(document[$0]))" }.joined(
                separator: ", "
            )
        }
        var distinctTexts: [String] = []
        for text in texts where !distinctTexts.contains(text) { distinctTexts.append(text) }
        return Finding(
            .unstableState,
            expected:
                "probe '\(userProbe.probe)' of \(userProbe.user) returns the same values in equal runs",
            actual: distinctTexts.joined(separator: " and "),
            location: evidence.expectation.relationLocation
        )
    }

    /// Reports a probe whose response could be read in only one of the judged run and the baseline
    /// run, or in neither.
    private func unreadableFinding(
        _ userProbe: ComparableRun.UserProbe,
        _ baseline: ComparableRun,
        _ relation: Expectation.BaselineRelation
    ) -> Finding? {
        let expected =
            "probe '\(userProbe.probe)' of \(userProbe.user) responds \(RelationRule.comparisonPhrase(relation))"
        let location = evidence.expectation.relationLocation
        switch (subject.unreadable[userProbe], baseline.unreadable[userProbe]) {
        case (nil, nil): return nil
        case (let reason?, nil):
            guard baseline.documents[userProbe] != nil else { return nil }
            // If a probe sometimes fails in a run without the fault, its failure in the judged run
            // says nothing about the fault.
            if baselines.contains(where: { $0.unreliableProbes.contains(userProbe) }) {
                return Finding(
                    .unobservable,
                    expected: expected,
                    actual: "\(reason); the probe also failed at times in the baseline run",
                    location: location
                )
            }
            return Finding(.stateDiffers, expected: expected, actual: reason, location: location)
        case (nil, let reason?):
            return Finding(
                .baselineFailed,
                expected: expected,
                actual: "\(reason), in the baseline run",
                location: location
            )
        case (let reason?, .some):
            return Finding(
                .unobservable,
                expected: expected,
                actual: "\(reason), in the judged run and in the baseline run",
                location: location
            )
        }
    }

    private func finding(
        _ userProbe: ComparableRun.UserProbe,
        _ probe: Profile.Probe,
        _ baseline: ComparableRun,
        _ relation: Expectation.BaselineRelation
    ) -> Finding? {
        guard let expected = baseline.documents[userProbe],
            let actual = subject.documents[userProbe]
        else { return nil }
        let ignoredPointers =
            Array(volatilePathsByUserProbe[userProbe] ?? []) + probe.ignoredPointers
        let texts = allowsAddedValues ? actual.texts : []
        let comparedPaths =
            isReadInCaseWithFault
            ? ComparableRun.comparedPaths(of: probe, for: userProbe.user, evidence) : nil
        let differences = expected.differences(from: actual).filter { difference in
            let isOneSided = difference.left == nil || difference.right == nil
            return !ignoredPointers.contains { difference.pointer.isInside($0) }
                && !(isOneSided && isUnderGeneratedKey(difference.pointer, userProbe))
                && !(allowsAddedValues && difference.left?.texts.isSubset(of: texts) ?? true)
                && (comparedPaths.map { Self.isSignificant(difference, for: $0) } ?? true)
        }
        guard let first = differences.first else { return nil }
        func differenceList(_ side: (JSONValue?, JSONValue?) -> JSONValue?) -> String {
            differences.prefix(6).map { pointer, left, right in
                let path = pointer.tokens.isEmpty ? "response" : pointer.description
                return "\(path): \(Self.abbreviatedText(side(left, right)))"
            }.joined(separator: ", ") + (differences.count > 6 ? ", …" : "")
        }
        var finding = Finding(
            .stateDiffers,
            expected: "probe '\(userProbe.probe)' of \(userProbe.user) returns, "
                + "\(RelationRule.comparisonPhrase(relation)): "
                + differenceList { left, _ in left },
            actual: differenceList { _, right in right },
            location: evidence.expectation.relationLocation
        )
        finding.firstDifference = ValueDifference(
            path: "\(userProbe.probe)\(first.pointer)",
            expected: Self.abbreviatedText(first.left),
            actual: Self.abbreviatedText(first.right)
        )
        return finding
    }

    /// Whether the backend read a customer from the provider in a case with a fault.
    ///
    /// Such a backend restores what the customer owns, but not what it has stored about the event,
    /// such as the event's ID.
    private var isReadInCaseWithFault: Bool {
        let plan = evidence.plan.subject
        guard plan.hasRestart || plan.hasFaults else { return false }
        return evidence.subject.exchanges.contains { exchange in
            exchange.from == .backend && exchange.request.method == "GET"
                && ProviderTable.all[exchange.to]?.sender != nil
                && (200..<300).contains(exchange.response?.status ?? 0)
        }
    }

    /// Whether a difference is about a mapped field, and is more than the milliseconds that
    /// RevenueCat's REST v1 leaves out (RevenueCat fact sheet, section 4.1).
    private static func isSignificant(
        _ difference: (pointer: JSONPointer, left: JSONValue?, right: JSONValue?),
        for comparedPaths: [JSONPointer]
    ) -> Bool {
        let isMapped = comparedPaths.contains { $0.mayOverlap(difference.pointer) }
        guard let left = difference.left.flatMap(Instant.init(timeValue:)),
            let right = difference.right.flatMap(Instant.init(timeValue:))
        else { return isMapped }
        let hasWholeSecond = [left, right].contains { $0.milliseconds % 1000 == 0 }
        let isSameSecond = left.milliseconds / 1000 == right.milliseconds / 1000
        return isMapped && !(hasWholeSecond && isSameSecond)
    }

    /// The mapped fields to be compared whose paths no probe response contained.
    ///
    /// Two missing values must not count as equal. When all fields are compared, only those that
    /// every purchase has are included.
    package var unobservedFields: [(field: String, reading: Profile.FieldReading, probe: String)] {
        guard evidence.expectation.compared.contains(.fields) else { return [] }
        let survey = ProbePathSurvey(evidence)
        guard survey.canJudgeAbsence else { return [] }
        let selectedFields = evidence.expectation.comparedFields
        // A field that every purchase has may be missing for a good reason when no plain purchase
        // was made before the first case.
        guard !selectedFields.isEmpty || evidence.observability.valuePaths != nil else { return [] }
        let requiredFields =
            selectedFields.isEmpty ? Profile.FieldReading.fieldsOfEveryPurchase : selectedFields
        return evidence.profile.probes.flatMap { probe in
            probe.readings.filter {
                requiredFields.contains($0.key) && hasReturnedState(probe.name)
            }
            .sorted { $0.key < $1.key }.flatMap { field, reading in
                reading.conditions.filter {
                    $0.valueIfPathAbsent == nil && !survey.hasContained($0.pointer, by: probe.name)
                }.map { (field, $0, probe.name) }
            }
        }
    }

    /// Whether the probe of that name returned any state in the judged run or in a baseline run.
    private func hasReturnedState(_ probe: String) -> Bool {
        ([subject] + baselines).contains { run in
            run.documents.contains { $0.key.probe == probe && !$0.value.isNull }
        }
    }

    private static func abbreviatedText(_ value: JSONValue?) -> String {
        guard let value else { return "absent" }
        let text = value.text
        return text.count <= 60 ? text : String(text.prefix(57)) + "…"
    }
}

extension JSONValue {
    /// All different strings inside the JSON value; keys are not included.
    var texts: Set<String> {
        switch self {
        case .string(let text): [text]
        case .array(let elements): elements.reduce(into: []) { $0.formUnion($1.texts) }
        case .object(let object): object.members.reduce(into: []) { $0.formUnion($1.value.texts) }
        case .null, .bool, .number: []
        }
    }

    /// The JSON paths of all scalars and empty containers inside the value.
    fileprivate var leafPaths: [JSONPointer] { leafPaths(JSONPointer()) }

    private func leafPaths(_ path: JSONPointer) -> [JSONPointer] {
        let childPaths: [JSONPointer] =
            switch self {
            case .object(let object):
                object.members.flatMap { $0.value.leafPaths(path.appending($0.key)) }
            case .array(let array):
                array.enumerated().flatMap { $0.element.leafPaths(path.appending("\($0.offset)")) }
            case .null, .bool, .number, .string: []
            }
        return childPaths.isEmpty ? [path] : childPaths
    }
}
