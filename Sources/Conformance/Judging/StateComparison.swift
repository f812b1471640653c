/// Compares the probe responses of a run with those of its baseline runs (the same case without
/// faults).
package struct StateComparison: Sendable {
    private let evidence: CaseEvidence
    private let subject: ComparableRun
    private let twins: [ComparableRun]
    /// The JSON paths whose values differ between two equal baseline runs, for each user and probe.
    private let volatilePlaces: [ComparableRun.View: Set<JSONPointer>]
    /// The objects whose keys differ between two equal baseline runs, because the backend generates
    /// new keys in each run.
    private let drawnKeys: [ComparableRun.View: Set<JSONPointer>]

    package init(_ evidence: CaseEvidence) {
        self.init(
            evidence,
            subject: ComparableRun(evidence.subject, evidence),
            twins: evidence.twins.map { ComparableRun($0, evidence) }
        )
    }

    init(_ evidence: CaseEvidence, subject: ComparableRun, twins: [ComparableRun]) {
        self.evidence = evidence
        self.subject = subject
        self.twins = twins
        var volatilePlaces: [ComparableRun.View: Set<JSONPointer>] = [:]
        var drawnKeys: [ComparableRun.View: Set<JSONPointer>] = [:]
        if let first = twins.first {
            for other in twins.dropFirst() {
                for (view, left) in first.documents {
                    let differences = left.differences(from: other.documents[view] ?? .null)
                    volatilePlaces[view, default: []].formUnion(differences.map(\.pointer))
                    let gone = differences.filter { $0.right == nil }.compactMap(\.pointer.parent)
                    let new = differences.filter { $0.left == nil }.compactMap(\.pointer.parent)
                    drawnKeys[view, default: []].formUnion(Set(gone).intersection(new))
                }
            }
        }
        self.volatilePlaces = volatilePlaces
        self.drawnKeys = drawnKeys
    }

    /// Whether the judged run may add values, as long as the values of the baseline run remain.
    private var isAdditive: Bool {
        let compared = evidence.expectation.compared
        return compared.contains(.kept) && compared.isDisjoint(with: [.state, .fields])
    }

    /// Whether at least one probe could be read both in the judged run and in the baseline run.
    package var isObserved: Bool {
        guard let twin = twins.first else { return false }
        return subject.documents.keys.contains { twin.documents[$0] != nil }
    }

    /// The JSON paths whose values differ between equal runs, except the paths that the profile
    /// ignores.
    package var volatile: [String] {
        let probes = evidence.profile.probes
        return volatilePlaces.flatMap { view, pointers in
            let ignored = probes.first { $0.name == view.probe }?.ignored ?? []
            let names = pointers.filter { pointer in !ignored.contains { pointer.isInside($0) } }
                .map { "\(view.probe)\(isDrawn($0, view) ? "\($0.parent ?? $0)/*" : "\($0)")" }
            return Set(names)
        }.sorted()
    }

    /// Whether the last component of the path is a key for which the backend generates a new value
    /// in each run.
    private func isDrawn(_ place: JSONPointer, _ view: ComparableRun.View) -> Bool {
        place.parent.map { drawnKeys[view]?.contains($0) ?? false } ?? false
    }

    /// Whether every value in the probe responses differs between equal runs, so that nothing can
    /// be compared.
    package var isAllVolatile: Bool {
        guard let twin = twins.first, !volatilePlaces.isEmpty else { return false }
        return twin.documents.allSatisfy { view, document in
            let volatile = volatilePlaces[view] ?? []
            return !document.isNull
                && document.leaves.allSatisfy { leaf in volatile.contains { leaf.isInside($0) } }
        }
    }

    package func findings(_ relation: Expectation.Relation) -> [Finding] {
        guard let twin = twins.first else { return [] }
        return evidence.plan.subject.users.flatMap { user in
            evidence.profile.probes.compactMap { probe in
                let view = ComparableRun.View(user: user, probe: probe.name)
                return unsteady(view, probe) ?? unread(view, twin, relation)
                    ?? finding(view, probe, twin, relation)
            }
        }
    }

    /// Reports equal baseline runs that ended with different values in a field that the profile
    /// maps.
    ///
    /// Such a backend gives different results for equal input, so that comparisons with the judged
    /// run prove nothing.
    private func unsteady(_ view: ComparableRun.View, _ probe: Profile.Probe) -> Finding? {
        let documents = twins.compactMap { $0.documents[view] }
        let places = ComparableRun.mappedPlaces(of: probe, evidence).filter { place in
            Set(documents.map { $0[place] }).count > 1
        }.sorted { $0.description < $1.description }
        guard !places.isEmpty else { return nil }
        let texts = documents.map { document in
            places.map { "\($0): \(Self.short(document[$0]))" }.joined(separator: ", ")
        }
        var shown: [String] = []
        for text in texts where !shown.contains(text) { shown.append(text) }
        return Finding(
            .unsteady,
            expected: "probe '\(view.probe)' of \(view.user) returns the same values in equal runs",
            actual: shown.joined(separator: " and "),
            location: evidence.expectation.relationLocation
        )
    }

    /// Reports a probe whose response could be read in only one of the judged run and the baseline
    /// run, or in neither.
    private func unread(
        _ view: ComparableRun.View,
        _ twin: ComparableRun,
        _ relation: Expectation.Relation
    ) -> Finding? {
        let expected =
            "probe '\(view.probe)' of \(view.user) responds \(RelationRule.phrase(relation))"
        let location = evidence.expectation.relationLocation
        switch (subject.unreadable[view], twin.unreadable[view]) {
        case (nil, nil): return nil
        case (let reason?, nil):
            guard twin.documents[view] != nil else { return nil }
            // A probe that sometimes fails without the fault gives no information about the fault.
            if twins.contains(where: { $0.unsteadyViews.contains(view) }) {
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
                .twinFailed,
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
        _ view: ComparableRun.View,
        _ probe: Profile.Probe,
        _ twin: ComparableRun,
        _ relation: Expectation.Relation
    ) -> Finding? {
        guard let expected = twin.documents[view], let actual = subject.documents[view]
        else { return nil }
        let ignored = Array(volatilePlaces[view] ?? []) + probe.ignored
        let texts = isAdditive ? actual.texts : []
        let differences = expected.differences(from: actual).filter { difference in
            let isOfOne = difference.left == nil || difference.right == nil
            return !ignored.contains { difference.pointer.isInside($0) }
                && !(isOfOne && isDrawn(difference.pointer, view))
                && !(isAdditive && difference.left?.texts.isSubset(of: texts) ?? true)
        }
        guard !differences.isEmpty else { return nil }
        func list(_ side: (JSONValue?, JSONValue?) -> JSONValue?) -> String {
            differences.prefix(6).map { pointer, left, right in
                let place = pointer.tokens.isEmpty ? "response" : pointer.description
                return "\(place): \(Self.short(side(left, right)))"
            }.joined(separator: ", ") + (differences.count > 6 ? ", …" : "")
        }
        return Finding(
            .stateDiffers,
            expected: "probe '\(view.probe)' of \(view.user) returns, "
                + "\(RelationRule.phrase(relation)): "
                + list { left, _ in left },
            actual: list { _, right in right },
            location: evidence.expectation.relationLocation
        )
    }

    /// The mapped fields to be compared whose paths no probe response contained.
    ///
    /// Two missing values must not count as equal. When all fields are compared, only those that
    /// every purchase has are included.
    package var blindFields: [(field: String, reading: Profile.Reading, probe: String)] {
        guard evidence.expectation.compared.contains(.fields) else { return [] }
        let survey = ReadingSurvey(evidence)
        guard survey.couldShow else { return [] }
        let chosen = evidence.expectation.comparedFields
        // Without a plain purchase before the first case, a field that every purchase has may be
        // missing for a good reason.
        guard !chosen.isEmpty || evidence.sight.places != nil else { return [] }
        let wanted = chosen.isEmpty ? Profile.Reading.ofEveryPurchase : chosen
        return evidence.profile.probes.flatMap { probe in
            probe.readings.filter { wanted.contains($0.key) && hasSomething(probe.name) }
                .sorted { $0.key < $1.key }.flatMap { field, reading in
                    reading.conditions.filter {
                        $0.absent == nil && !survey.hasShown($0.pointer, by: probe.name)
                    }.map { (field, $0, probe.name) }
                }
        }
    }

    /// Whether the probe of that name returned any state in the judged run or in a baseline run.
    private func hasSomething(_ probe: String) -> Bool {
        ([subject] + twins).contains { run in
            run.documents.contains { $0.key.probe == probe && !$0.value.isNull }
        }
    }

    private static func short(_ value: JSONValue?) -> String {
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
    fileprivate var leaves: [JSONPointer] { leaves(JSONPointer()) }

    private func leaves(_ place: JSONPointer) -> [JSONPointer] {
        let inner: [JSONPointer] =
            switch self {
            case .object(let object):
                object.members.flatMap { $0.value.leaves(place.appending($0.key)) }
            case .array(let array):
                array.enumerated().flatMap { $0.element.leaves(place.appending("\($0.offset)")) }
            case .null, .bool, .number, .string: []
            }
        return inner.isEmpty ? [place] : inner
    }
}
