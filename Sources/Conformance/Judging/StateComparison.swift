/// What the probes answered in the judged run against what they answered in its twins.
package struct StateComparison: Sendable {
    private let evidence: CaseEvidence
    private let subject: ComparableRun
    private let twins: [ComparableRun]
    /// Places that differ between two runs of the same twin.
    private let volatilePlaces: [ComparableRun.View: Set<JSONPointer>]

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
        if let first = twins.first {
            for other in twins.dropFirst() {
                for (view, left) in first.documents {
                    let differences = left.differences(from: other.documents[view] ?? .null)
                    volatilePlaces[view, default: []].formUnion(differences.map(\.pointer))
                }
            }
        }
        self.volatilePlaces = volatilePlaces
    }

    /// Whether any probe could be read in both runs.
    package var isObserved: Bool {
        guard let twin = twins.first else { return false }
        return subject.documents.keys.contains { twin.documents[$0] != nil }
    }

    package var volatile: [String] {
        volatilePlaces.flatMap { view, pointers in pointers.map { "\(view.probe)\($0)" } }.sorted()
    }

    /// Whether nothing steady is left to compare in any document.
    package var isAllVolatile: Bool {
        !volatilePlaces.isEmpty
            && volatilePlaces.values.allSatisfy { $0.contains(JSONPointer()) }
    }

    package func findings(_ relation: Expectation.Relation) -> [Finding] {
        guard let twin = twins.first else { return [] }
        return evidence.plan.subject.users.flatMap { user in
            evidence.profile.probes.compactMap { probe in
                finding(ComparableRun.View(user: user, probe: probe.name), probe, twin, relation)
            }
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
        let differences = expected.differences(from: actual).filter { difference in
            !ignored.contains { difference.pointer.isInside($0) }
        }
        guard !differences.isEmpty else { return nil }
        func list(_ side: (JSONValue?, JSONValue?) -> JSONValue?) -> String {
            differences.prefix(6).map { pointer, left, right in
                let place = pointer.tokens.isEmpty ? "answer" : pointer.description
                return "\(place): \(Self.short(side(left, right)))"
            }.joined(separator: ", ") + (differences.count > 6 ? ", …" : "")
        }
        return Finding(
            .stateDiffers,
            expected: "probe '\(view.probe)' of \(view.user) \(RelationRule.phrase(relation)): "
                + list { left, _ in left },
            actual: list { _, right in right },
            location: evidence.expectation.relationLocation
        )
    }

    /// Mapped fields that were to be compared and that no answer had: absent on both sides is not
    /// alike.
    ///
    /// Where all fields are compared, those may be missing that a plain purchase need not have.
    package var blindFields: [(field: String, reading: Profile.Reading, probe: String)] {
        guard evidence.expectation.compared.contains(.fields) else { return [] }
        let survey = ReadingSurvey(evidence)
        guard survey.couldShow else { return [] }
        let chosen = evidence.expectation.comparedFields
        // What every purchase has is only known to be missing where a plain one was looked at.
        guard !chosen.isEmpty || evidence.sight.places != nil else { return [] }
        let wanted = chosen.isEmpty ? Profile.Reading.ofEveryPurchase : chosen
        return evidence.profile.probes.flatMap { probe in
            probe.readings.filter { field, reading in
                wanted.contains(field) && reading.absent == nil
                    && hasSomething(probe.name)
                    && !survey.hasShown(reading.pointer, by: probe.name)
            }.sorted { $0.key < $1.key }.map { ($0.key, $0.value, probe.name) }
        }
    }

    /// Whether the probe found anything in the judged run or its twin.
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
