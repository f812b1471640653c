package import Contracts
internal import Grammar
package import Judging
internal import Values

/// Compares several runs of a new golden contract, the draft, to find values that vary from run to
/// run, such as times.
///
/// A value that differs from the recording is noise only if it also varies between the runs. If the
/// value is the same in every run but not as recorded, the draft is wrong, or the backend is not
/// the recorded one.
package struct NoiseLearner: Sendable {
    /// A value of a golden contract that was replaced by a matcher, such as `{{any.uuid}}`, or is
    /// no longer checked.
    package struct Mask: Hashable, Sendable {
        /// The location of the value, such as `/orders/0/number of the response to 'get-orders'`.
        package let location: String
        /// The value in the recording.
        package var recorded: String
        /// The value in the first run in which the value differed from the recording.
        package let firstDifferentValue: String
        /// The matcher that replaces the value, such as `{{any.uuid}}`; nil when the value is no
        /// longer checked.
        package let matcher: String?

        /// Copies the recorded value from an earlier mask of the same location.
        ///
        /// The matcher of the earlier mask was too narrow, so this mask replaces the earlier one.
        package mutating func widen(_ earlierMask: Mask) { recorded = earlierMask.recorded }
    }

    private struct ValueLocation: Hashable {
        let part: GoldenRule.Difference.DifferingPart
        let pointerInContract: JSONPointer
    }

    private let draftContract: Contract
    /// The year in which the session was recorded.
    private let year: Int
    private var differencesByRun: [[GoldenRule.Difference]] = []

    package init(_ draftContract: Contract) {
        self.draftContract = draftContract
        year = draftContract.provenance?.recorded.year ?? 0
    }

    package mutating func addEvidence(_ evidence: CaseEvidence) {
        differencesByRun.append(GoldenRule.differences(in: evidence))
    }

    /// Whether any value is the same in all runs so far but differs from the recording.
    ///
    /// A further run may show that this value varies.
    package var needsAnotherRun: Bool { !consistentContradictions.isEmpty }

    // MARK: Results

    /// The draft contract with a matcher for each value that varies from run to run, and a
    /// description of each replacement.
    package var masked: (contract: Contract, masks: [Mask]) {
        let (contract, masks, _) = learningResult
        return (contract, masks)
    }

    /// Descriptions of the values that differ from the recording in the same way in every run.
    package var contradictions: [String] {
        var found = consistentContradictions
        for difference in differencesByRun.joined() where !canBeMasked(difference) {
            let text = rendered(name(difference.part), difference.expected, difference.actual)
            if !found.contains(text) { found.append(text) }
        }
        return found
    }

    private var consistentContradictions: [String] { learningResult.contradictingValues }

    /// The result of the comparison: the contract with matchers, the replaced values, and the
    /// values that contradict the draft.
    private var learningResult: (contract: Contract, masks: [Mask], contradictingValues: [String]) {
        var contract = draftContract
        var masks: [Mask] = []
        var contradictingValues: [String] = []
        var masked: [ValueLocation] = []
        for (location, differences) in differencesByLocation {
            guard let first = differences.lazy.compactMap(\.self).first else { continue }
            var maskedContract = contract
            if !isConsistent(differences) {
                // If the value no longer exists in the contract, a value that contains it was
                // already masked.
                guard
                    let (recordedText, matcherText) = mask(
                        location,
                        differences,
                        in: &maskedContract
                    )
                else { continue }
                if matcherText != recordedText {
                    contract = maskedContract
                    masked.append(location)
                    let firstDifferentValue = first.actual ?? "nothing"
                    masks.append(
                        Mask(
                            location: name(location),
                            recorded: recordedText,
                            firstDifferentValue: firstDifferentValue,
                            matcher: matcherText
                        )
                    )
                    continue
                }
            }
            contradictingValues.append(rendered(name(location), first.expected, first.actual))
        }
        widenArrays(masked, in: &contract)
        contract.expectation.effects = Self.mergedExpectations(contract.expectation.effects)
        return (contract, masks, contradictingValues)
    }

    private func rendered(_ location: String, _ expected: String, _ actual: String?) -> String {
        "\(location): recorded \(expected), received \(actual ?? "nothing")"
    }

    // MARK: Locations

    /// Returns whether a matcher can replace a value that differs from the recording.
    ///
    /// The recipients of a message are never replaced, because they do not vary by chance.
    private func canBeMasked(_ difference: GoldenRule.Difference) -> Bool {
        guard let mismatch = difference.mismatch else { return false }
        if case .message = difference.part, mismatch.pointerInContract.tokens.isEmpty {
            return false
        }
        return true
    }

    /// All locations whose values differed from the recording, with the difference in each run; nil
    /// for a run without a difference.
    private var differencesByLocation:
        [(location: ValueLocation, differences: [GoldenRule.Difference?])]
    {
        var locationsInOrder: [ValueLocation] = []
        var found: [ValueLocation: [Int: GoldenRule.Difference]] = [:]
        for (index, runDifferences) in differencesByRun.enumerated() {
            for difference in runDifferences {
                guard canBeMasked(difference), let mismatch = difference.mismatch else { continue }
                let location = ValueLocation(
                    part: difference.part,
                    pointerInContract: mismatch.pointerInContract
                )
                if found[location] == nil { locationsInOrder.append(location) }
                found[location, default: [:]][index] = difference
            }
        }
        return locationsInOrder.map { location in
            (location, differencesByRun.indices.map { found[location]?[$0] })
        }
    }

    private func isConsistent(_ differences: [GoldenRule.Difference?]) -> Bool {
        guard let first = differences.first, let first else { return false }
        return differences.allSatisfy { other in
            guard let other else { return false }
            return Self.rendered(other) == Self.rendered(first)
        }
    }

    /// Returns the value that a run received, with generated IDs replaced by their templates, such
    /// as `{{user.ada}}`.
    private static func rendered(_ difference: GoldenRule.Difference) -> JSONValue? {
        guard let mismatch = difference.mismatch, let text = mismatch.found?.string else {
            return difference.mismatch?.found
        }
        let names = mismatch.names.sorted { $0.value.utf8.count > $1.value.utf8.count }
        return .string(
            names.reduce(text) { text, name in
                name.value.isEmpty ? text : text.replacing(name.value, with: "{{\(name.key)}}")
            }
        )
    }

    private func name(_ location: ValueLocation) -> String {
        let pointer =
            location.pointerInContract.tokens.isEmpty
            ? "the body" : location.pointerInContract.description
        return "\(pointer) of \(name(location.part))"
    }

    private func name(_ part: GoldenRule.Difference.DifferingPart) -> String {
        switch part {
        case .answer(let step): "the response to '\(step)'"
        case .message(let index): "message \(index + 1)"
        }
    }

    // MARK: Masks

    /// Replaces a value of the contract with a matcher, such as `{{any.uuid}}`.
    ///
    /// - Returns: The old and the new value as text; nil when the value no longer exists because a
    ///   value that contains it was masked before.
    private func mask(
        _ location: ValueLocation,
        _ differences: [GoldenRule.Difference?],
        in contract: inout Contract
    ) -> (recordedText: String, matcherText: String?)? {
        let found = differences.compactMap { $0?.mismatch }
        return Self.replaceValue(location, in: &contract) { oldValue in
            // A value that is missing in some runs is no longer checked.
            if found.contains(where: { $0.found == nil }) { return nil }
            guard case .string(let pattern) = oldValue else {
                let isNumber = ([oldValue] + found.compactMap(\.found)).allSatisfy {
                    if case .number = $0 { true } else { false }
                }
                return isNumber ? Self.anyNumberMatcher : "{{any}}"
            }
            let observedTexts = found.compactMap { mismatch in
                mismatch.found?.string.map { (text: $0, names: mismatch.names) }
            }
            return observedTexts.count == found.count
                ? .string(
                    TextMask.masked(
                        pattern,
                        observedTexts,
                        around: year,
                        differsInEveryRun: !differences.contains { $0 == nil }
                    )
                ) : "{{any}}"
        }
    }

    private static let anyNumberMatcher: JSONValue = "{{any.number}}"

    /// Replaces all elements of an array with matchers if several elements vary.
    ///
    /// The order of such an array is random, so its other elements were as recorded only by chance.
    private func widenArrays(_ masked: [ValueLocation], in contract: inout Contract) {
        var varyingElementCounts: [ValueLocation: Int] = [:]
        var locationsInOrder: [ValueLocation] = []
        for location in masked {
            guard let last = location.pointerInContract.tokens.last, Int(last) != nil else {
                continue
            }
            let arrayLocation = ValueLocation(
                part: location.part,
                pointerInContract: JSONPointer(tokens: location.pointerInContract.tokens.dropLast())
            )
            varyingElementCounts[arrayLocation, default: 0] += 1
            if varyingElementCounts[arrayLocation] == 2 { locationsInOrder.append(arrayLocation) }
        }
        for location in locationsInOrder {
            _ = Self.replaceValue(location, in: &contract) { oldValue in
                // Only arrays are widened. A location with a number may also belong to an object
                // that has numeric keys.
                guard case .array(let elements) = oldValue else { return oldValue }
                return .array(
                    elements.map { element in
                        switch element {
                        case .string(let text):
                            Template(text).names.isEmpty ? "{{any.text}}" : element
                        case .number: Self.anyNumberMatcher
                        case .null, .bool, .array, .object: element
                        }
                    }
                )
            }
        }
    }

    /// Replaces or removes a value of a contract, and returns the old and the new value as text;
    /// nil when the value does not exist.
    private static func replaceValue(
        _ location: ValueLocation,
        in contract: inout Contract,
        _ replacement: (JSONValue) -> JSONValue?
    ) -> (recordedText: String, matcherText: String?)? {
        switch location.part {
        case .message(let index):
            guard contract.expectation.effects.indices.contains(index),
                let oldValue = contract.expectation.effects[index].expectedContent?[
                    location.pointerInContract
                ]
            else { return nil }
            let newValue = replacement(oldValue)
            contract.expectation.effects[index].expectedContent?.set(
                location.pointerInContract,
                to: newValue
            )
            return (oldValue.text, newValue?.text)
        case .answer(let name):
            for (index, step) in contract.steps.enumerated() {
                switch step {
                case .request(var request) where request.name == name:
                    let result = request.answer?.replaceValue(
                        location.pointerInContract,
                        replacement
                    )
                    contract.steps[index] = .request(request)
                    return (result ?? nil).map { ($0.oldValue.text, $0.newValue?.text) }
                case .deliver(var delivery) where delivery.name == name:
                    let result = delivery.responsePattern?.replaceValue(
                        location.pointerInContract,
                        replacement
                    )
                    contract.steps[index] = .deliver(delivery)
                    return (result ?? nil).map { ($0.oldValue.text, $0.newValue?.text) }
                // No other kind of step has a response that a golden contract checks.
                default: continue
                }
            }
            return nil
        }
    }

    /// Combines expected messages that have the same content after masking into one expectation
    /// with the sum of their counts.
    private static func mergedExpectations(_ effects: [EffectExpectation]) -> [EffectExpectation] {
        var mergedExpectations: [EffectExpectation] = []
        for effect in effects {
            let matchingIndex = mergedExpectations.firstIndex {
                effect.expectedContent != nil && $0.kind == effect.kind && $0.user == effect.user
                    && $0.expectedContent == effect.expectedContent
            }
            guard let matchingIndex else {
                mergedExpectations.append(effect)
                continue
            }
            mergedExpectations[matchingIndex].countMin += effect.countMin
            mergedExpectations[matchingIndex].countMax = mergedExpectations[matchingIndex].countMax
                .flatMap { left in
                    effect.countMax.map { left + $0 }
                }
        }
        return mergedExpectations
    }
}

extension ResponsePattern {
    /// Replaces or removes a value of an expected response, and returns the old and the new value;
    /// nil when the value does not exist.
    fileprivate mutating func replaceValue(
        _ pointer: JSONPointer,
        _ replacement: (JSONValue) -> JSONValue?
    ) -> (oldValue: JSONValue, newValue: JSONValue?)? {
        if pointer.tokens.first == "headers", pointer.tokens.count == 2,
            let index = fields.firstIndex(where: { $0.name == pointer.tokens[1] })
        {
            let oldValue = JSONValue.string(fields[index].value)
            let newValue = replacement(oldValue)
            let name = fields.remove(at: index).name
            if let text = newValue?.string {
                fields.insert(HTTPMessage.Field(name, text), at: index)
            }
            return (oldValue, newValue)
        }
        switch body {
        case .json(var value):
            guard let oldValue = value[pointer] else { return nil }
            let newValue = replacement(oldValue)
            if pointer.tokens.isEmpty, newValue == nil {
                body = nil
            } else {
                value.set(pointer, to: newValue)
                body = .json(value)
            }
            return (oldValue, newValue)
        case .text(let text) where pointer.tokens.isEmpty:
            let oldValue = JSONValue.string(text)
            let newValue = replacement(oldValue)
            body = newValue?.string.map(AppRequest.Body.text)
            return (oldValue, newValue)
        case .text, nil: return nil
        }
    }
}
