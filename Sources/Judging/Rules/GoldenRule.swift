package import Contracts
internal import Grammar
internal import Providers
internal import Redaction
internal import Values

/// Judges a golden contract, which replays a recording: every response matches its recorded
/// pattern, and the providers get the same messages.
///
/// Source: clause G-01, which every golden contract proves (decision record 0019).
package struct GoldenRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let record = evidence.subject
        let plan = record.plan
        let isGolden =
            !plan.requests.isEmpty || plan.deliveries.contains { $0.responsePattern != nil }
            || evidence.expectation.effects.contains { $0.expectedContent != nil }
        guard isGolden else { return [] }
        let matchResult = matchResponses(record)
        let findings = matchResult.steps.flatMap { step in
            step.findings(evidence.plan.contract.location)
        }
        let effects = evidence.expectation.effects.filter { $0.expectedContent != nil }
        return findings + effects.compactMap { effect($0, matchResult.values, in: record) }
    }

    /// A step of the contract that has an expected response, together with the response that it
    /// got.
    private struct GoldenStep {
        let name: String
        let pattern: ResponsePattern
        let exchange: Exchange?
        let mismatches: [TemplateValues.Mismatch]
        /// Whether the step is a request.
        ///
        /// For a delivery, `ResponseRule` judges the status.
        let isRequest: Bool

        func findings(_ contractLocation: SourceLocation) -> [Finding] {
            guard let exchange else {
                guard isRequest else { return [] }
                return [
                    Finding(
                        .setupFailed,
                        expected: "request '\(name)' is sent to the backend",
                        actual: "the request was not sent",
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
                    if case .failed(_, let text) = exchange.outcome { text } else { "no response" }
                return [finding(.noResponse, text)]
            }
            guard response.status == pattern.status else {
                guard isRequest else { return [] }
                var found = finding(.responseStatus, "\(response.status)")
                found.nearMiss = [
                    "\(exchange.request.method) \(exchange.request.target)", response.bodyLine,
                ]
                return [found]
            }
            guard let first = mismatches.first else { return [] }
            let pathDescription = GoldenRule.pathDescription(first.pointer)
            var found = Finding(
                .responseDiffers,
                expected: "\(first.expected) at \(pathDescription) of the response to '\(name)'",
                actual: first.actual ?? "no value at this path",
                location: pattern.sourceLocations[first.pointer.description] ?? pattern.location,
                evidence: [exchange.sequence]
            )
            found.nearMiss = GoldenRule.differenceLines(mismatches)
            return [found]
        }
    }

    /// Returns the names of the steps whose responses do not match their patterns.
    package static func namesOfDifferingSteps(of record: RunRecord) -> Set<String> {
        Set(
            matchResponses(record).steps.filter {
                !$0.mismatches.isEmpty || $0.exchange?.response?.status != $0.pattern.status
            }.map(\.name)
        )
    }

    /// A difference between a run and the golden contract that it replays.
    package struct Difference: Hashable, Sendable {
        package enum DifferingPart: Hashable, Sendable {
            /// The difference is in the response to the step of that name.
            case answer(String)
            /// The difference is in the message that the contract expects at that position.
            case message(Int)
        }

        package let part: DifferingPart
        package let expected: String
        /// The value in the run; nil when the run has no such value.
        package let actual: String?
        /// The differing value with its JSON path; nil when the status or the number of messages
        /// differs, or the response is missing.
        package let mismatch: TemplateValues.Mismatch?

        init(_ part: DifferingPart, expected: String, actual: String?) {
            (self.part, self.expected, self.actual) = (part, expected, actual)
            mismatch = nil
        }

        init(_ part: DifferingPart, _ mismatch: TemplateValues.Mismatch) {
            (self.part, self.mismatch) = (part, mismatch)
            (expected, actual) = (mismatch.expected, mismatch.actual)
        }
    }

    /// Returns every difference between a run and the golden contract that it replays.
    ///
    /// Each expected message is compared with the most similar message of the run.
    package static func differences(in evidence: CaseEvidence) -> [Difference] {
        let matchResult = matchResponses(evidence.subject)
        var found = matchResult.steps.flatMap { step -> [Difference] in
            let part = Difference.DifferingPart.answer(step.name)
            let status = step.exchange?.response?.status
            guard status == step.pattern.status else {
                let actual = status.map { "\($0)" } ?? "no response"
                return [Difference(part, expected: "\(step.pattern.status)", actual: actual)]
            }
            return step.mismatches.map { Difference(part, $0) }
        }
        for (index, effect) in evidence.expectation.effects.enumerated() {
            guard
                let messageComparisons = compareMessages(
                    effect,
                    matchResult.values,
                    in: evidence.subject
                )
            else {
                continue
            }
            let matching = messageComparisons.count { $0.mismatches.isEmpty }
            guard matching < effect.countMin || matching > effect.countMax ?? .max else { continue }
            let closestMatch = messageComparisons.map(\.mismatches).filter { !$0.isEmpty }
                .min { $0.count < $1.count }
            if let closestMatch, matching < effect.countMin {
                found += closestMatch.map { Difference(.message(index), $0) }
            } else {
                let (expectedCountText, actualCountText) = (
                    "messages: \(effect.countMin)", "messages: \(matching)"
                )
                found.append(
                    Difference(
                        .message(index),
                        expected: expectedCountText,
                        actual: actualCountText
                    )
                )
            }
        }
        return found
    }

    /// Matches each response of a run with its pattern, in the order of the steps.
    ///
    /// The template values (generated IDs and times) are computed again in the same order as in the
    /// run.
    private static func matchResponses(
        _ record: RunRecord
    ) -> (steps: [GoldenStep], values: TemplateValues) {
        var values = TemplateValues(
            namespace: record.namespace,
            base: record.base,
            given: record.plan.values
        )
        var steps: [GoldenStep] = []
        for step in record.plan.steps {
            let name: String
            let pattern: ResponsePattern?
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
                exchange = record.exchange(ofCall: request.name)
            case .deliver(let delivery):
                if case .body(let body) = delivery.subject { _ = values.fill(body) }
                (name, pattern) = (delivery.name, delivery.responsePattern)
                exchange = record.attempts(of: delivery.name).last
            default: continue
            }
            guard let pattern else { continue }
            steps.append(
                GoldenStep(
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

    private typealias MessageComparison = (
        mismatches: [TemplateValues.Mismatch], exchange: Exchange
    )

    /// Compares every message of the expected kind with the content that the contract expects;
    /// returns nil when the contract expects no specific content.
    private static func compareMessages(
        _ expected: EffectExpectation,
        _ values: TemplateValues,
        in record: RunRecord
    ) -> [MessageComparison]? {
        guard let expectedContent = expected.expectedContent else { return nil }
        let id = expected.user.map(record.namespace.id(of:))
        return record.effects.filter { $0.effect.kind == expected.kind }.map { effect, exchange in
            var values = values
            var mismatches = values.match(expectedContent, effect.content)
            if let user = expected.user, let id,
                !effect.reaches(record.namespace.ids(of: user))
            {
                let recipientNames = effect.recipients.joined(separator: ", ")
                mismatches.insert(
                    .init(
                        pointer: JSONPointer(tokens: ["to"]),
                        expected: "\(expected.user ?? "") (\(id))",
                        actual: recipientNames.isEmpty ? "no user" : recipientNames
                    ),
                    at: 0
                )
            }
            if let audience = expected.audience,
                !audience.isReachedExactly(by: effect, in: record.namespace)
            {
                mismatches.insert(
                    .init(
                        pointer: JSONPointer(tokens: ["audience"]),
                        expected: audience.text,
                        actual: recipientNames(effect, record)
                    ),
                    at: 0
                )
            }
            return (mismatches, exchange)
        }
    }

    /// Returns the recipients of a message for a report, with the users' names instead of their
    /// IDs.
    private static func recipientNames(_ effect: Effect, _ record: RunRecord) -> String {
        let names = effect.recipients.map { id in
            record.plan.users.first { record.namespace.id(of: $0).isExactly(id) }
                ?? (id == Effect.everyoneRecipientID ? "a segment" : id)
        }
        return names.isEmpty ? "no user" : names.joined(separator: ", ")
    }

    private static func effect(
        _ expected: EffectExpectation,
        _ values: TemplateValues,
        in record: RunRecord
    ) -> Finding? {
        guard let expectedContent = expected.expectedContent,
            let messageComparisons = compareMessages(expected, values, in: record)
        else {
            return nil
        }
        let matching = messageComparisons.filter(\.mismatches.isEmpty)
        let max = expected.countMax ?? .max
        guard matching.count < expected.countMin || matching.count > max else { return nil }
        var finding = Finding(
            .effectContentDiffers,
            expected: "\(expected.countMin) \(expected.kind)"
                + ((expected.user ?? expected.audience?.text).map { " to \($0)" } ?? "")
                + " with content \(expectedContent.text.prefix(200))",
            actual: "\(matching.count) of \(messageComparisons.count) messages match",
            location: expected.location,
            evidence: messageComparisons.map(\.exchange.sequence),
            isFinal: matching.count > expected.countMin
        )
        let closestMatch = messageComparisons.filter { !$0.mismatches.isEmpty }
            .min { $0.mismatches.count < $1.mismatches.count }
        if let closestMatch, matching.count < expected.countMin {
            finding.nearMiss =
                ["\(closestMatch.exchange.request.method) \(closestMatch.exchange.request.target)"]
                + differenceLines(closestMatch.mismatches, lineMax: 11)
        }
        return finding
    }

    // MARK: Near misses

    /// Returns report lines with the first differences, each with the expected and the actual
    /// value.
    private static func differenceLines(
        _ mismatches: [TemplateValues.Mismatch],
        lineMax: Int = 12
    ) -> [String] {
        let mismatchMax = (lineMax - 1) / 3
        var differenceLines = mismatches.prefix(mismatchMax).flatMap { mismatch in
            [
                pathDescription(mismatch.pointer), "  - \(mismatch.expected)",
                "  + \(mismatch.actual ?? "no value at this path")",
            ]
        }
        if mismatches.count > mismatchMax {
            differenceLines.append("… and \(mismatches.count - mismatchMax) more differences")
        }
        return differenceLines
    }

    private static func pathDescription(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the top level" : pointer.description
    }
}
