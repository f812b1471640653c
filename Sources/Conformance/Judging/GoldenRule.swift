/// What was recorded happens again: every answer looks as its pattern says, and the providers were
/// told the same.
///
/// Source: clause G-01, which every golden contract proves (decision 0019).
package struct GoldenRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let record = evidence.subject
        let plan = record.plan
        let isGolden =
            !plan.requests.isEmpty || plan.deliveries.contains { $0.answerPattern != nil }
            || evidence.expectation.effects.contains { $0.says != nil }
        guard isGolden else { return [] }
        let seen = walk(record)
        let findings = seen.steps.flatMap { step in
            step.findings(evidence.plan.contract.location)
        }
        let effects = evidence.expectation.effects.filter { $0.says != nil }
        return findings + effects.compactMap { effect($0, seen.values, in: record) }
    }

    /// One step that says what its answer must look like, and what came.
    private struct Answered {
        let name: String
        let pattern: AnswerPattern
        let exchange: Exchange?
        let mismatches: [TemplateValues.Mismatch]
        /// Statuses of deliveries are judged where all deliveries are.
        let isRequest: Bool

        func findings(_ contractPlace: SourceLocation) -> [Finding] {
            guard let exchange else {
                guard isRequest else { return [] }
                return [
                    Finding(
                        .setupFailed,
                        expected: "request '\(name)' is made",
                        actual: "it was not made",
                        location: pattern.location
                    )
                ]
            }
            func finding(_ code: FindingCode, _ actual: String) -> Finding {
                Finding(
                    code,
                    expected: "\(pattern.status) for '\(name)'",
                    actual: actual,
                    location: pattern.location,
                    evidence: [exchange.sequence]
                )
            }
            guard let response = exchange.response else {
                guard isRequest else { return [] }
                let text =
                    if case .failed(_, let text) = exchange.outcome { text } else { "no answer" }
                return [finding(.noAnswer, text)]
            }
            guard response.status == pattern.status else {
                guard isRequest else { return [] }
                var found = finding(.answerStatus, "\(response.status)")
                found.nearMiss = [
                    "\(exchange.request.method) \(exchange.request.target)", response.bodyLine,
                ]
                return [found]
            }
            guard let first = mismatches.first else { return [] }
            let place = GoldenRule.place(first.pointer)
            var found = Finding(
                .answerDiffers,
                expected: "\(first.expected) at \(place) of the answer to '\(name)'",
                actual: first.actual ?? "nothing there",
                location: pattern.places[first.pointer.description] ?? pattern.location,
                evidence: [exchange.sequence]
            )
            found.nearMiss = GoldenRule.lines(mismatches)
            return [found]
        }
    }

    /// The names of the steps whose answers are not what their patterns say.
    package static func differingSteps(of record: RunRecord) -> Set<String> {
        Set(
            walk(record).steps.filter {
                !$0.mismatches.isEmpty || $0.exchange?.response?.status != $0.pattern.status
            }.map(\.name)
        )
    }

    /// One place where a run is not what a golden contract says.
    package struct Difference: Hashable, Sendable {
        package enum Owner: Hashable, Sendable {
            /// The answer to the step of that name.
            case answer(String)
            /// What the message at that position of the contract says.
            case message(Int)
        }

        package let owner: Owner
        package let expected: String
        /// Nil when there is nothing at that place.
        package let actual: String?
        /// Nil when it is not one place: another status, no answer, another number of messages.
        package let mismatch: TemplateValues.Mismatch?

        init(_ owner: Owner, expected: String, actual: String?) {
            (self.owner, self.expected, self.actual) = (owner, expected, actual)
            mismatch = nil
        }

        init(_ owner: Owner, _ mismatch: TemplateValues.Mismatch) {
            (self.owner, self.mismatch) = (owner, mismatch)
            (expected, actual) = (mismatch.expected, mismatch.actual)
        }
    }

    /// Every place where a run is not what its golden contract says, the messages held against
    /// those that come closest.
    package static func differences(in evidence: CaseEvidence) -> [Difference] {
        let seen = walk(evidence.subject)
        var found = seen.steps.flatMap { step -> [Difference] in
            let owner = Difference.Owner.answer(step.name)
            let status = step.exchange?.response?.status
            guard status == step.pattern.status else {
                let actual = status.map { "\($0)" } ?? "no answer"
                return [Difference(owner, expected: "\(step.pattern.status)", actual: actual)]
            }
            return step.mismatches.map { Difference(owner, $0) }
        }
        for (index, effect) in evidence.expectation.effects.enumerated() {
            guard let judged = held(effect, seen.values, in: evidence.subject) else { continue }
            let matching = judged.count { $0.mismatches.isEmpty }
            guard matching < effect.countMin || matching > effect.countMax ?? .max else { continue }
            let closest = judged.map(\.mismatches).filter { !$0.isEmpty }
                .min { $0.count < $1.count }
            if let closest, matching < effect.countMin {
                found += closest.map { Difference(.message(index), $0) }
            } else {
                let (wanted, told) = ("\(effect.countMin) messages", "\(matching) of them")
                found.append(Difference(.message(index), expected: wanted, actual: told))
            }
        }
        return found
    }

    /// Goes through the steps as the runner did, filling and learning in the same order.
    private static func walk(
        _ record: RunRecord
    ) -> (steps: [Answered], values: TemplateValues) {
        var values = TemplateValues(
            namespace: record.namespace,
            base: record.base,
            given: record.plan.values
        )
        var steps: [Answered] = []
        for step in record.plan.steps {
            let name: String
            let pattern: AnswerPattern?
            let exchange: Exchange?
            switch step {
            case .request(let request):
                _ = values.fill(target: request.target)
                for field in request.fields { _ = values.fill(field.value) }
                switch request.body {
                case .json(let body): _ = values.fill(body)
                case .text(let text): _ = values.fill(text)
                case nil: break
                }
                (name, pattern) = (request.name, request.answer)
                exchange = record.answer(to: request.name)
            case .deliver(let delivery):
                if case .body(let body) = delivery.subject { _ = values.fill(body) }
                (name, pattern) = (delivery.name, delivery.answerPattern)
                exchange = record.attempts(of: delivery.name).last
            default: continue
            }
            guard let pattern else { continue }
            steps.append(
                Answered(
                    name: name,
                    pattern: pattern,
                    exchange: exchange,
                    mismatches: exchange?.response.map { values.match(pattern, $0) } ?? [],
                    isRequest: { if case .request = step { true } else { false } }()
                )
            )
        }
        return (steps, values)
    }

    // MARK: Effects

    private typealias Held = (mismatches: [TemplateValues.Mismatch], exchange: Exchange)

    /// Every message of that kind, held against what one should say; nil where nothing is said.
    private static func held(
        _ expected: EffectExpectation,
        _ values: TemplateValues,
        in record: RunRecord
    ) -> [Held]? {
        guard let says = expected.says else { return nil }
        let id = expected.user.map(record.namespace.id(of:))
        return record.effects.filter { $0.effect.kind == expected.kind }.map { effect, exchange in
            var values = values
            var mismatches = values.match(says, effect.content)
            if let id, !effect.recipients.contains(id) {
                let reached = effect.recipients.joined(separator: ", ")
                mismatches.insert(
                    .init(
                        pointer: JSONPointer(tokens: ["to"]),
                        expected: "\(expected.user ?? "") (\(id))",
                        actual: reached.isEmpty ? "nobody" : reached
                    ),
                    at: 0
                )
            }
            if let audience = expected.audience,
                !audience.isReached(by: effect, in: record.namespace)
            {
                mismatches.insert(
                    .init(
                        pointer: JSONPointer(tokens: ["audience"]),
                        expected: audience.text,
                        actual: reached(effect, record)
                    ),
                    at: 0
                )
            }
            return (mismatches, exchange)
        }
    }

    /// Whom a message reached, users by their names.
    private static func reached(_ effect: Effect, _ record: RunRecord) -> String {
        let names = effect.recipients.map { id in
            record.plan.users.first { record.namespace.id(of: $0) == id }
                ?? (id == Audience.everyone ? "a segment" : id)
        }
        return names.isEmpty ? "nobody" : names.joined(separator: ", ")
    }

    private static func effect(
        _ expected: EffectExpectation,
        _ values: TemplateValues,
        in record: RunRecord
    ) -> Finding? {
        guard let says = expected.says, let judged = held(expected, values, in: record) else {
            return nil
        }
        let matching = judged.filter(\.mismatches.isEmpty)
        let max = expected.countMax ?? .max
        guard matching.count < expected.countMin || matching.count > max else { return nil }
        var finding = Finding(
            .effectContent,
            expected: "\(expected.countMin) \(expected.kind)"
                + ((expected.user ?? expected.audience?.text).map { " to \($0)" } ?? "")
                + " that says \(says.text.prefix(200))",
            actual: "\(matching.count) of \(judged.count)",
            location: expected.location,
            evidence: judged.map(\.exchange.sequence),
            isFinal: matching.count > expected.countMin
        )
        let closest = judged.filter { !$0.mismatches.isEmpty }
            .min { $0.mismatches.count < $1.mismatches.count }
        if let closest, matching.count < expected.countMin {
            finding.nearMiss =
                ["\(closest.exchange.request.method) \(closest.exchange.request.target)"]
                + lines(closest.mismatches, lineMax: 11)
        }
        return finding
    }

    // MARK: Near misses

    /// The first differing places, each with what was expected and what was there.
    private static func lines(
        _ mismatches: [TemplateValues.Mismatch],
        lineMax: Int = 12
    ) -> [String] {
        let room = (lineMax - 1) / 3
        var lines = mismatches.prefix(room).flatMap { mismatch in
            [
                place(mismatch.pointer), "  - \(mismatch.expected)",
                "  + \(mismatch.actual ?? "nothing there")",
            ]
        }
        if mismatches.count > room {
            lines.append("… and \(mismatches.count - room) more places")
        }
        return lines
    }

    private static func place(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the top" : pointer.description
    }
}
