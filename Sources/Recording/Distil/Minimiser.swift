package import Conformance

/// Takes away from a golden contract whatever it does not need to say what it says.
///
/// A part is removed when every verdict stays what it was: passed on the backend, and not passed on
/// each of the others. Steps go first, from the last to the first, then members of bodies, headers
/// and messages.
package enum Minimiser {
    /// - Parameters:
    ///   - contract: The golden contract.
    ///   - keepsVerdicts: Whether a contract is still judged as the whole one was.
    /// - Returns: The contract that is left, and how many parts were removed.
    package static func minimised(
        _ contract: Contract,
        keepsVerdicts: (Contract) async -> Bool
    ) async -> (contract: Contract, removedCount: Int) {
        var current = contract
        var removedCount = 0
        func attempt(_ change: (inout Contract) -> Bool) async {
            var candidate = current
            guard change(&candidate), await keepsVerdicts(candidate) else { return }
            current = candidate
            removedCount += 1
        }
        for index in contract.steps.indices.reversed() {
            await attempt { candidate in
                guard candidate.steps.count > 1, !isRepeated(candidate.steps[index], in: candidate)
                else { return false }
                candidate.steps.remove(at: index)
                return true
            }
        }
        for index in current.steps.indices {
            for pointer in members(of: body(of: current.steps[index])) {
                await attempt { candidate in
                    edit(&candidate.steps[index]) { pattern in
                        guard case .json(var value)? = pattern.body, value[pointer] != nil else {
                            return false
                        }
                        value.set(pointer, to: nil)
                        pattern.body = .json(value)
                        return true
                    }
                }
            }
            await attempt { candidate in
                edit(&candidate.steps[index]) { pattern in
                    guard !pattern.fields.isEmpty else { return false }
                    pattern.fields = []
                    return true
                }
            }
        }
        for index in current.expectation.effects.indices.reversed() {
            await attempt { candidate in
                candidate.expectation.effects.remove(at: index)
                return true
            }
        }
        // What nobody names any more need not be given.
        let text = current.steps.map { "\($0)" }.joined()
        current.values = current.values.filter { text.contains("some.\($0.key)}}") }
        if contract.title == contract.goldenTitle { current.title = current.goldenTitle }
        return (current, removedCount)
    }

    private static func isRepeated(_ step: Step, in contract: Contract) -> Bool {
        guard case .deliver(let delivery) = step else { return false }
        return contract.steps.contains { other in
            guard case .deliver(let other) = other else { return false }
            return other.subject == .repeats(delivery.name)
        }
    }

    private static func body(of step: Step) -> JSONValue? {
        let pattern: AnswerPattern? =
            switch step {
            case .request(let request): request.answer
            case .deliver(let delivery): delivery.answerPattern
            // Their answers are not described by a pattern.
            case .register, .name, .createAccount, .look, .pass, .call, .provider, .restart,
                .rotateKeys,
                .killAtCall, .account, .phone:
                nil
            }
        if case .json(let value) = pattern?.body { return value }
        return nil
    }

    /// Every member of every object, the inner ones after their object.
    private static func members(
        of value: JSONValue?,
        at pointer: JSONPointer = JSONPointer()
    ) -> [JSONPointer] {
        guard case .object(let object) = value else { return [] }
        return object.members.flatMap { member in
            let place = pointer.appending(member.key)
            return [place] + members(of: member.value, at: place)
        }
    }

    private static func edit(_ step: inout Step, _ change: (inout AnswerPattern) -> Bool) -> Bool {
        switch step {
        case .request(var request):
            guard var pattern = request.answer, change(&pattern) else { return false }
            request.answer = pattern
            step = .request(request)
        case .deliver(var delivery):
            guard var pattern = delivery.answerPattern, change(&pattern) else { return false }
            delivery.answerPattern = pattern
            step = .deliver(delivery)
        default: return false
        }
        return true
    }
}
