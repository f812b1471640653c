/// What was recorded happens again: every answer looks as its pattern says, and the providers were
/// told the same.
///
/// Source: clause G-01, which every golden contract proves (see the page Goldens).
package struct GoldenRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let record = evidence.subject
        let plan = record.plan
        let isGolden =
            !plan.requests.isEmpty || plan.deliveries.contains { $0.answerPattern != nil }
            || evidence.expectation.effects.contains { $0.says != nil }
        guard isGolden else { return [] }
        var values = TemplateValues(
            namespace: record.namespace,
            base: record.base,
            given: plan.values
        )
        var findings: [Finding] = []
        for step in plan.steps {
            switch step {
            case .request(let request):
                _ = values.fill(target: request.target)
                if case .json(let body) = request.body { _ = values.fill(body) }
                findings += self.findings(request, &values, in: evidence)
            case .deliver(let delivery):
                if case .body(let body) = delivery.subject { _ = values.fill(body) }
                guard let pattern = delivery.answerPattern,
                    let attempt = record.attempts(of: delivery.name).last,
                    let response = attempt.response
                else { continue }
                findings += differences(
                    delivery.name,
                    pattern,
                    response,
                    attempt.sequence,
                    &values
                )
            default: continue
            }
        }
        let effects = evidence.expectation.effects.filter { $0.says != nil }
        return findings + effects.compactMap { effect($0, values, in: record) }
    }

    // MARK: Answers

    private static func findings(
        _ request: AppRequest,
        _ values: inout TemplateValues,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let pattern = request.answer else { return [] }
        guard let exchange = evidence.subject.answer(to: request.name) else {
            return [
                Finding(
                    .setupFailed,
                    expected: "request '\(request.name)' is made",
                    actual: "it was not made",
                    location: pattern.location
                )
            ]
        }
        guard let response = exchange.response else {
            let text =
                if case .failed(_, let text) = exchange.outcome { text } else { "no answer" }
            return [
                Finding(
                    .noAnswer,
                    expected: "\(pattern.status) for '\(request.name)'",
                    actual: text,
                    location: pattern.location,
                    evidence: [exchange.sequence]
                )
            ]
        }
        guard response.status == pattern.status else {
            var finding = Finding(
                .answerStatus,
                expected: "\(pattern.status) for '\(request.name)'",
                actual: "\(response.status)",
                location: pattern.location,
                evidence: [exchange.sequence]
            )
            finding.nearMiss = [
                "\(exchange.request.method) \(exchange.request.target)", bodyText(response.body),
            ]
            return [finding]
        }
        return differences(request.name, pattern, response, exchange.sequence, &values)
    }

    private static func differences(
        _ name: String,
        _ pattern: AnswerPattern,
        _ response: HTTPMessage.Response,
        _ sequence: Int,
        _ values: inout TemplateValues
    ) -> [Finding] {
        var found: [TemplateValues.Mismatch] = []
        for field in pattern.fields {
            let actual = response[field: field.name]
            let mismatches = values.match(.string(field.value), .string(actual ?? ""))
            found += mismatches.map {
                .init(
                    pointer: JSONPointer(tokens: ["headers", field.name]),
                    expected: $0.expected,
                    actual: actual.map { JSONValue.string($0).text }
                )
            }
        }
        switch pattern.body {
        case .json(let wanted):
            if let body = try? JSONValue(parsing: response.body) {
                found += values.match(wanted, body)
            } else {
                found.append(
                    .init(
                        pointer: JSONPointer(),
                        expected: "a JSON body",
                        actual: bodyText(response.body)
                    )
                )
            }
        case .text(let wanted):
            let actual = String(decoding: response.body, as: UTF8.self)
            found += values.match(.string(wanted), .string(actual))
        case nil: break
        }
        guard let first = found.first else { return [] }
        var finding = Finding(
            .answerDiffers,
            expected: "\(first.expected) at \(place(first.pointer)) of the answer to '\(name)'",
            actual: first.actual ?? "nothing there",
            location: pattern.places[first.pointer.description] ?? pattern.location,
            evidence: [sequence]
        )
        finding.nearMiss = lines(found)
        return [finding]
    }

    // MARK: Effects

    private static func effect(
        _ expected: EffectExpectation,
        _ values: TemplateValues,
        in record: RunRecord
    ) -> Finding? {
        guard let says = expected.says else { return nil }
        let id = expected.user.map(record.namespace.id(of:))
        let candidates = record.effects.filter { $0.effect.kind == expected.kind }
        let judged = candidates.map { effect, exchange in
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
            return (mismatches: mismatches, exchange: exchange)
        }
        let matching = judged.filter(\.mismatches.isEmpty)
        let max = expected.countMax ?? .max
        guard matching.count < expected.countMin || matching.count > max else { return nil }
        var finding = Finding(
            .effectContent,
            expected: "\(expected.countMin) \(expected.kind)"
                + (expected.user.map { " to \($0)" } ?? "") + " that says \(says.text.prefix(200))",
            actual: "\(matching.count) of \(candidates.count)",
            location: expected.location,
            evidence: candidates.map(\.exchange.sequence),
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

    private static func bodyText(_ body: [UInt8]) -> String {
        guard let text = String(validating: body, as: UTF8.self) else {
            return "\(body.count) bytes that are no text"
        }
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count <= 200 ? line : line.prefix(199) + "…"
    }
}
