package import Conformance

/// What playing a draft on the backend it was recorded from teaches about what differs by itself.
///
/// A place that differs from the recording is noise only when it also differs between the plays. One
/// that comes out alike every time, and not as recorded, is no noise: the draft is wrong about the
/// backend, or the backend is not the one that was recorded.
package struct NoiseLesson: Sendable {
    /// One place that became a matcher, or was left out.
    package struct Mask: Hashable, Sendable {
        /// `/orders/0/number of the answer to 'get-orders'`.
        package let place: String
        /// As it was recorded, and as it came then.
        package var recorded: String
        package let seen: String
        /// What stands there now; nil where nothing is looked for any more.
        package let matcher: String?

        /// Takes what a mask of the same place said before it was widened.
        package mutating func widen(_ earlier: Mask) { recorded = earlier.recorded }
    }

    private struct Place: Hashable {
        let owner: GoldenRule.Difference.Owner
        let written: JSONPointer
    }

    private let draft: Contract
    /// The year of the session.
    private let year: Int
    private var plays: [[GoldenRule.Difference]] = []

    package init(_ draft: Contract) {
        self.draft = draft
        year = draft.provenance?.recorded.year ?? 0
    }

    package mutating func hear(_ evidence: CaseEvidence) {
        plays.append(GoldenRule.differences(in: evidence))
    }

    /// Whether a place comes out alike every time and not as recorded: another play may tell.
    package var isOpen: Bool { !contradictedPlaces.isEmpty }

    // MARK: What became of it

    /// The draft with matchers where it differs by itself, and each of them in words.
    package var masked: (contract: Contract, masks: [Mask]) {
        let (contract, masks, _) = learned
        return (contract, masks)
    }

    /// What the backend does otherwise than it was recorded, every time.
    package var contradictions: [String] {
        var found = contradictedPlaces
        for difference in plays.joined() where !isMaskable(difference) {
            let text = told(name(difference.owner), difference.expected, difference.actual)
            if !found.contains(text) { found.append(text) }
        }
        return found
    }

    private var contradictedPlaces: [String] { learned.contradicted }

    /// Goes through all places once: each is masked, or contradicts the draft.
    private var learned: (contract: Contract, masks: [Mask], contradicted: [String]) {
        var contract = draft
        var masks: [Mask] = []
        var contradicted: [String] = []
        var masked: [Place] = []
        for (place, differences) in places {
            guard let first = differences.lazy.compactMap(\.self).first else { continue }
            var changed = contract
            if !isSteady(differences) {
                // What is gone was masked with something above it.
                guard let (was, now) = mask(place, differences, in: &changed) else { continue }
                if now != was {
                    contract = changed
                    masked.append(place)
                    let seen = first.actual ?? "nothing there"
                    masks.append(Mask(place: name(place), recorded: was, seen: seen, matcher: now))
                    continue
                }
            }
            contradicted.append(told(name(place), first.expected, first.actual))
        }
        widenArrays(masked, in: &contract)
        contract.expectation.effects = Self.merged(contract.expectation.effects)
        return (contract, masks, contradicted)
    }

    private func told(_ place: String, _ expected: String, _ actual: String?) -> String {
        "\(place): \(expected) was recorded, \(actual ?? "nothing") comes"
    }

    // MARK: Places

    /// A place that can hold a matcher; whom a message reaches is no accident.
    private func isMaskable(_ difference: GoldenRule.Difference) -> Bool {
        guard let mismatch = difference.mismatch else { return false }
        if case .message = difference.owner, mismatch.written.tokens.isEmpty { return false }
        return true
    }

    /// Every place that differed, with what each play found there; nil for what came as recorded.
    private var places: [(place: Place, differences: [GoldenRule.Difference?])] {
        var order: [Place] = []
        var found: [Place: [Int: GoldenRule.Difference]] = [:]
        for (index, play) in plays.enumerated() {
            for difference in play {
                guard isMaskable(difference), let mismatch = difference.mismatch else { continue }
                let place = Place(owner: difference.owner, written: mismatch.written)
                if found[place] == nil { order.append(place) }
                found[place, default: [:]][index] = difference
            }
        }
        return order.map { place in
            (place, plays.indices.map { found[place]?[$0] })
        }
    }

    private func isSteady(_ differences: [GoldenRule.Difference?]) -> Bool {
        guard let first = differences.first, let first else { return false }
        return differences.allSatisfy { other in
            guard let other else { return false }
            return Self.told(other) == Self.told(first)
        }
    }

    /// What was found, with the run's own names taken out of it.
    private static func told(_ difference: GoldenRule.Difference) -> JSONValue? {
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

    private func name(_ place: Place) -> String {
        let pointer = place.written.tokens.isEmpty ? "the top" : place.written.description
        return "\(pointer) of \(name(place.owner))"
    }

    private func name(_ owner: GoldenRule.Difference.Owner) -> String {
        switch owner {
        case .answer(let step): "the answer to '\(step)'"
        case .message(let index): "message \(index + 1)"
        }
    }

    // MARK: Masks

    /// Puts a matcher at a place.
    ///
    /// - Returns: What stood there and what stands there now; nil when there is no such place any
    ///   more, as one above it was masked already.
    private func mask(
        _ place: Place,
        _ differences: [GoldenRule.Difference?],
        in contract: inout Contract
    ) -> (was: String, now: String?)? {
        let found = differences.compactMap { $0?.mismatch }
        return Self.change(place, in: &contract) { old in
            // What is not always there is not looked for.
            if found.contains(where: { $0.found == nil }) { return nil }
            guard case .string(let pattern) = old else {
                let isNumber = ([old] + found.compactMap(\.found)).allSatisfy {
                    if case .number = $0 { true } else { false }
                }
                return isNumber ? Self.anyNumber : "{{any}}"
            }
            let texts = found.compactMap { mismatch in
                mismatch.found?.string.map { (text: $0, names: mismatch.names) }
            }
            return texts.count == found.count
                ? .string(
                    TextMask.masked(
                        pattern,
                        texts,
                        around: year,
                        isEveryPlay: !differences.contains { $0 == nil }
                    )
                ) : "{{any}}"
        }
    }

    private static let anyNumber: JSONValue = "{{any.number}}"

    /// In an array of which several elements differ by themselves, those that came as recorded did so
    /// by chance: its order is an accident.
    private func widenArrays(_ masked: [Place], in contract: inout Contract) {
        var counts: [Place: Int] = [:]
        var order: [Place] = []
        for place in masked {
            guard let last = place.written.tokens.last, Int(last) != nil else { continue }
            let parent = Place(
                owner: place.owner,
                written: JSONPointer(tokens: place.written.tokens.dropLast())
            )
            counts[parent, default: 0] += 1
            if counts[parent] == 2 { order.append(parent) }
        }
        for place in order {
            _ = Self.change(place, in: &contract) { old in
                // Members of an object are called by numbers too.
                guard case .array(let elements) = old else { return old }
                return .array(
                    elements.map { element in
                        switch element {
                        case .string(let text):
                            Template(text).names.isEmpty ? "{{any.text}}" : element
                        case .number: Self.anyNumber
                        case .null, .bool, .array, .object: element
                        }
                    }
                )
            }
        }
    }

    /// Replaces what stands at a place of a contract; nil when nothing stands there.
    private static func change(
        _ place: Place,
        in contract: inout Contract,
        _ replacement: (JSONValue) -> JSONValue?
    ) -> (was: String, now: String?)? {
        switch place.owner {
        case .message(let index):
            guard contract.expectation.effects.indices.contains(index),
                let old = contract.expectation.effects[index].says?[place.written]
            else { return nil }
            let new = replacement(old)
            contract.expectation.effects[index].says?.set(place.written, to: new)
            return (old.text, new?.text)
        case .answer(let name):
            for (index, step) in contract.steps.enumerated() {
                switch step {
                case .request(var request) where request.name == name:
                    let result = request.answer?.change(place.written, replacement)
                    contract.steps[index] = .request(request)
                    return (result ?? nil).map { ($0.old.text, $0.new?.text) }
                case .deliver(var delivery) where delivery.name == name:
                    let result = delivery.answerPattern?.change(place.written, replacement)
                    contract.steps[index] = .deliver(delivery)
                    return (result ?? nil).map { ($0.old.text, $0.new?.text) }
                // Only these two have answers that a golden says anything about.
                default: continue
                }
            }
            return nil
        }
    }

    /// Messages that say the same now are one expectation of so many.
    private static func merged(_ effects: [EffectExpectation]) -> [EffectExpectation] {
        var merged: [EffectExpectation] = []
        for effect in effects {
            let same = merged.firstIndex {
                effect.says != nil && $0.kind == effect.kind && $0.user == effect.user
                    && $0.says == effect.says
            }
            guard let same else {
                merged.append(effect)
                continue
            }
            merged[same].countMin += effect.countMin
            merged[same].countMax = merged[same].countMax.flatMap { left in
                effect.countMax.map { left + $0 }
            }
        }
        return merged
    }
}

extension AnswerPattern {
    /// Replaces what stands at a place, or takes it out; nil when nothing stands there.
    fileprivate mutating func change(
        _ pointer: JSONPointer,
        _ replacement: (JSONValue) -> JSONValue?
    ) -> (old: JSONValue, new: JSONValue?)? {
        if pointer.tokens.first == "headers", pointer.tokens.count == 2,
            let index = fields.firstIndex(where: { $0.name == pointer.tokens[1] })
        {
            let old = JSONValue.string(fields[index].value)
            let new = replacement(old)
            let name = fields.remove(at: index).name
            if let text = new?.string { fields.insert(HTTPMessage.Field(name, text), at: index) }
            return (old, new)
        }
        switch body {
        case .json(var value):
            guard let old = value[pointer] else { return nil }
            let new = replacement(old)
            if pointer.tokens.isEmpty, new == nil {
                body = nil
            } else {
                value.set(pointer, to: new)
                body = .json(value)
            }
            return (old, new)
        case .text(let text) where pointer.tokens.isEmpty:
            let old = JSONValue.string(text)
            let new = replacement(old)
            body = new?.string.map(AppRequest.Body.text)
            return (old, new)
        case .text, nil: return nil
        }
    }
}
