/// The backend does not differ from itself: the judged run ends like its twin.
///
/// This oracle knows nothing about the backend. It compares whole probe answers, with ids replaced
/// by names and with places masked that differ between two runs of the same twin, and the multiset
/// of effects.
package struct RelationRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard let relation = evidence.expectation.relation, let twin = evidence.twins.first
        else { return [] }
        if let failure = twinFailure(twin) { return [failure] }
        var findings: [Finding] = []
        var isObserved = false
        if !evidence.expectation.compared.isDisjoint(with: [.state, .fields]) {
            let comparison = StateComparison(evidence)
            findings += comparison.findings(relation)
            isObserved = comparison.isObserved
            if comparison.isAllVolatile, findings.isEmpty {
                findings.append(
                    Finding(
                        .allVolatile,
                        expected: "something steady in the probes' answers",
                        actual: "two runs of the same twin differ everywhere: "
                            + comparison.volatile.joined(separator: ", ")
                    )
                )
            }
        }
        if evidence.expectation.compared.contains(.effects) {
            findings += effectFindings(in: evidence, twin, relation)
            isObserved = isObserved || evidence.sight.seesEffects
        }
        if !isObserved, findings.isEmpty {
            findings.append(
                Finding(
                    .unobservable,
                    expected: "the run ends \(phrase(relation))",
                    actual: "neither a probe nor a push shows anything of it",
                    location: evidence.expectation.relationLocation
                )
            )
        }
        return findings
    }

    /// The relation in words, to follow "ends".
    static func phrase(_ relation: Expectation.Relation) -> String {
        switch relation {
        case .once: "as if every event had come once"
        case .inOrder: "as if everything had come in order"
        case .undisturbed: "as if nothing had been disturbed"
        case .before: "as if the steps had not taken place"
        case .direct: "as if the events had named the registered id"
        case .plain: "as if the events had been plain"
        }
    }

    private static func twinFailure(_ twin: RunRecord) -> Finding? {
        for delivery in twin.plan.deliveries {
            for attempt in twin.attempts(of: delivery.name) where attempt.response?.status != 200 {
                let answer = attempt.response.map { "\($0.status)" } ?? "no answer"
                return Finding(
                    attempt.response?.status == 429 ? .throttled : .twinFailed,
                    expected: "200 for '\(delivery.name)' in the undisturbed twin",
                    actual: answer
                )
            }
        }
        return nil
    }

    private static func effectFindings(
        in evidence: CaseEvidence,
        _ twin: RunRecord,
        _ relation: Expectation.Relation
    ) -> [Finding] {
        let expected = bag(twin)
        let actual = bag(evidence.subject)
        let location = evidence.expectation.relationLocation
        var findings: [Finding] = []
        for address in Set(expected.keys).union(actual.keys).sorted(by: { $0.text < $1.text }) {
            let theirs = expected[address] ?? []
            let mine = actual[address] ?? []
            let evidenceNumbers = mine.map(\.sequence)
            if theirs.count != mine.count {
                findings.append(
                    Finding(
                        mine.count < theirs.count ? .effectMissing : .effectExtra,
                        expected: "\(theirs.count) \(address.text), \(phrase(relation))",
                        actual: "\(mine.count)",
                        location: location,
                        evidence: evidenceNumbers
                    )
                )
                continue
            }
            let others = evidence.twins.dropFirst().map { bag($0)[address] ?? [] }
            let contents = Set(theirs.map(\.content))
            let isSteady = others.allSatisfy { Set($0.map(\.content)) == contents }
            if isSteady, sorted(theirs) != sorted(mine) {
                findings.append(
                    Finding(
                        .effectDiffers,
                        expected: sorted(theirs).joined(separator: "; "),
                        actual: sorted(mine).joined(separator: "; "),
                        location: location,
                        evidence: evidenceNumbers
                    )
                )
            }
        }
        return findings
    }

    private struct Address: Hashable {
        let kind: String
        let recipients: [String]

        var text: String { "\(kind) to \(recipients.joined(separator: ", "))" }
    }

    private struct MaskedEffect {
        let content: JSONValue
        let sequence: Int
    }

    private static func bag(_ record: RunRecord) -> [Address: [MaskedEffect]] {
        let masking = Masking(record)
        var bag: [Address: [MaskedEffect]] = [:]
        for (effect, exchange) in record.effects {
            let address = Address(
                kind: effect.kind,
                recipients: effect.recipients.map(masking.replaceIDs).sorted()
            )
            bag[address, default: []].append(
                MaskedEffect(
                    content: masking.apply(effect.content),
                    sequence: exchange.sequence
                )
            )
        }
        return bag
    }

    private static func sorted(_ effects: [MaskedEffect]) -> [String] {
        effects.map(\.content.text).sorted()
    }
}

/// What the probes answered in the judged run against what they answered in its twins.
package struct StateComparison: Sendable {
    /// A user seen through a probe.
    private struct View: Hashable {
        let user: String
        let probe: Profile.Probe
    }

    private let evidence: CaseEvidence
    private let views: [View]
    /// Places that differ between two runs of the same twin.
    private let volatilePlaces: [View: Set<JSONPointer>]

    package init(_ evidence: CaseEvidence) {
        self.evidence = evidence
        let views = evidence.plan.subject.users.flatMap { user in
            evidence.profile.probes.map { View(user: user, probe: $0) }
        }
        self.views = views
        var volatilePlaces: [View: Set<JSONPointer>] = [:]
        if let first = evidence.twins.first {
            for other in evidence.twins.dropFirst() {
                for view in views {
                    let left = Self.document(view, in: first, of: evidence) ?? .null
                    let right = Self.document(view, in: other, of: evidence) ?? .null
                    volatilePlaces[view, default: []]
                        .formUnion(left.differences(from: right).map(\.pointer))
                }
            }
        }
        self.volatilePlaces = volatilePlaces
    }

    /// Whether any probe could be read in both runs.
    package var isObserved: Bool {
        guard let twin = evidence.twins.first else { return false }
        return views.contains {
            Self.document($0, in: evidence.subject, of: evidence) != nil
                && Self.document($0, in: twin, of: evidence) != nil
        }
    }

    package var volatile: [String] {
        volatilePlaces.flatMap { view, pointers in
            pointers.map { "\(view.probe.name)\($0)" }
        }.sorted()
    }

    /// Whether nothing steady is left to compare in any document.
    package var isAllVolatile: Bool {
        !volatilePlaces.isEmpty
            && volatilePlaces.values.allSatisfy { $0.contains(JSONPointer()) }
    }

    package func findings(_ relation: Expectation.Relation) -> [Finding] {
        guard let twin = evidence.twins.first else { return [] }
        return views.compactMap { view in
            guard let expected = Self.document(view, in: twin, of: evidence),
                let actual = Self.document(view, in: evidence.subject, of: evidence)
            else { return nil }
            let volatile = volatilePlaces[view] ?? []
            let differences = expected.differences(from: actual).filter { difference in
                !volatile.contains { difference.pointer.isInside($0) }
                    && !view.probe.ignored.contains { difference.pointer.isInside($0) }
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
                expected: "probe '\(view.probe.name)' of \(view.user) "
                    + "\(RelationRule.phrase(relation)): " + list { left, _ in left },
                actual: list { _, right in right },
                location: evidence.expectation.relationLocation
            )
        }
    }

    /// The masked answer, or what the profile maps of it; a user or row that is missing compares
    /// as null.
    private static func document(
        _ view: View,
        in record: RunRecord,
        of evidence: CaseEvidence
    ) -> JSONValue? {
        let readings = view.probe.readings
        let mapsAny = evidence.profile.probes.contains { !$0.readings.isEmpty }
        switch record.state(of: view.user, probe: view.probe.name) {
        case .document(let value):
            let masked = Masking(record).apply(value)
            guard evidence.expectation.compared.contains(.fields), mapsAny else { return masked }
            return .object(
                JSONObject(
                    members: readings.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: masked[$0.value.pointer] ?? .null)
                    }
                )
            )
        case .missing: return .null
        case .unreadable, nil: return nil
        }
    }

    private static func short(_ value: JSONValue?) -> String {
        guard let value else { return "absent" }
        let text = value.text
        return text.count <= 60 ? text : String(text.prefix(57)) + "…"
    }
}
