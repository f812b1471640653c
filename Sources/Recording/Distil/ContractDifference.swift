package import Conformance

/// What changed between two versions of a golden contract, in the words of the contract.
package enum ContractDifference {
    /// One sentence for each change; empty when only the date of the recording differs.
    package static func sentences(from old: Contract, to new: Contract) -> [String] {
        steps(old.steps, new.steps) + effects(old.expectation.effects, new.expectation.effects)
            + values(old.values, new.values)
    }

    // MARK: Steps

    private static func name(_ step: Step) -> String {
        switch step {
        case .request(let request): request.name
        case .deliver(let delivery): delivery.name
        default: "\(step)"
        }
    }

    private static func steps(_ old: [Step], _ new: [Step]) -> [String] {
        let (before, after) = (old.map(name), new.map(name))
        var sentences = before.filter { !after.contains($0) }.map { "step '\($0)' is gone" }
        sentences += after.filter { !before.contains($0) }.map { "step '\($0)' is new" }
        let common = before.filter(after.contains)
        if common != after.filter(before.contains) { sentences.append("the steps' order changed") }
        for step in old {
            guard let twin = new.first(where: { name($0) == name(step) }), twin != step else {
                continue
            }
            sentences += changes(step, twin)
        }
        return sentences
    }

    private static func changes(_ old: Step, _ new: Step) -> [String] {
        switch (old, new) {
        case (.request(let left), .request(let right)):
            var sentences: [String] = []
            let (from, to) = (left.method + " " + left.target, right.method + " " + right.target)
            if from != to { sentences.append("request '\(left.name)': \(from) → \(to)") }
            for change in headers(left.fields, right.fields) {
                sentences.append("request '\(left.name)' \(change)")
            }
            sentences += bodies(left.body, right.body).map { "request '\(left.name)' \($0)" }
            return sentences + answers(left.name, left.answer, right.answer)
        case (.deliver(let left), .deliver(let right)):
            var sentences: [String] = []
            if case .body(let from) = left.subject, case .body(let to) = right.subject {
                sentences += json(from, to).map { "event '\(left.name)' \($0)" }
            } else if left.subject != right.subject {
                sentences.append("event '\(left.name)' is another one")
            }
            return sentences + answers(left.name, left.answerPattern, right.answerPattern)
        default: return ["step '\(name(old))' changed"]
        }
    }

    private static func answers(
        _ name: String,
        _ old: AnswerPattern?,
        _ new: AnswerPattern?
    ) -> [String] {
        var sentences: [String] = []
        if old?.status != new?.status {
            let (from, to) = (old.map { "\($0.status)" }, new.map { "\($0.status)" })
            sentences.append("status \(from ?? "any") → \(to ?? "any")")
        }
        sentences += headers(old?.fields ?? [], new?.fields ?? [])
        sentences += bodies(old?.body, new?.body)
        return sentences.map { "answer to '\(name)' \($0)" }
    }

    private static func headers(
        _ old: [HTTPMessage.Field],
        _ new: [HTTPMessage.Field]
    ) -> [String] {
        json(
            .object(JSONObject(members: old.map { .init(key: $0.name, value: .string($0.value)) })),
            .object(JSONObject(members: new.map { .init(key: $0.name, value: .string($0.value)) }))
        ).map { "header " + $0 }
    }

    private static func bodies(_ old: AppRequest.Body?, _ new: AppRequest.Body?) -> [String] {
        switch (old, new) {
        case (nil, nil): []
        case (nil, _): ["gained a body"]
        case (_, nil): ["lost its body"]
        case (.json(let left)?, .json(let right)?): json(left, right)
        case (.text(let left)?, .text(let right)?) where left == right: []
        default: ["has another body"]
        }
    }

    private static func json(_ old: JSONValue, _ new: JSONValue) -> [String] {
        old.differences(from: new).map { place in
            let pointer = place.pointer.tokens.isEmpty ? "the whole" : place.pointer.description
            switch (place.left, place.right) {
            case (nil, let value?): return "gained \(pointer) (\(shown(value)))"
            case (let value?, nil): return "lost \(pointer) (\(shown(value)))"
            case (let left?, let right?): return "\(pointer): \(shown(left)) → \(shown(right))"
            case (nil, nil): return pointer
            }
        }
    }

    // MARK: Effects and values

    private static func effects(
        _ old: [EffectExpectation],
        _ new: [EffectExpectation]
    ) -> [String] {
        func label(_ effect: EffectExpectation) -> String {
            effect.kind + (effect.user.map { " to \($0)" } ?? "")
                + (effect.says.map { " saying \(shown($0))" } ?? "")
        }
        var sentences: [String] = []
        for effect in old {
            guard let twin = new.first(where: { label($0) == label(effect) }) else {
                sentences.append("effect gone: \(label(effect))")
                continue
            }
            if twin.countMin != effect.countMin || twin.countMax != effect.countMax {
                sentences.append(
                    "effect count \(effect.countMin) → \(twin.countMin): \(label(effect))"
                )
            }
        }
        for effect in new where !old.contains(where: { label($0) == label(effect) }) {
            sentences.append("effect new: \(label(effect))")
        }
        return sentences
    }

    private static func values(
        _ old: [String: JSONValue],
        _ new: [String: JSONValue]
    ) -> [String] {
        Set(old.keys).union(new.keys).sorted().compactMap { name in
            guard old[name] != new[name] else { return nil }
            return "value \(name): \(old[name].map(shown) ?? "none") → "
                + (new[name].map(shown) ?? "none")
        }
    }

    private static func shown(_ value: JSONValue) -> String {
        let text = value.text
        return text.count <= 60 ? text : text.prefix(59) + "…"
    }
}
