package import Conformance

/// Takes away from a golden contract whatever it does not need to say what it says.
///
/// A part is removed when every verdict stays what it was: passed on the backend, and not passed on
/// each of the others. Large pieces are tried first (delta debugging: halves, quarters, …), steps
/// before what they say; then each part that is left is tried alone, until none can go. So what is
/// left is minimal: whichever part somebody takes out by hand, a verdict changes.
package struct Minimiser: Sendable {
    /// How far it is, for people who wait.
    package struct Progress: Hashable, Sendable {
        package var askedCount = 0
        package var removedCount = 0
        package var partCount = 0
    }

    /// Something that can be taken out of a contract, by its place in the whole one.
    private enum Part: Hashable {
        /// With the deliveries that repeat it.
        case step(Int)
        case header(step: Int, field: Int)
        /// A member of an answer's body, with all that is below it; the whole body at the top.
        case member(step: Int, JSONPointer)
        case effect(Int)
        case given(Int)
        case value(String)

        /// Steps first, then messages and what is given, then what answers say, from the top down.
        var rank: Int {
            switch self {
            case .step: 0
            case .effect, .given: 1
            case .header: 2
            case .member(_, let pointer): 2 + pointer.tokens.count
            case .value: .max
            }
        }
    }

    private let whole: Contract
    private let jobs: Int
    private let keepsVerdicts: @Sendable (Contract) async -> Bool
    private let report: @Sendable (Progress) -> Void
    private var removed: Set<Part> = []
    private var answers: [Set<Part>: Bool] = [:]
    private var progress = Progress()

    /// - Parameters:
    ///   - contract: The golden contract.
    ///   - jobs: How many candidates are judged at once; the outcome does not depend on it.
    ///   - report: Hears of every answer.
    ///   - keepsVerdicts: Whether a contract is still judged as the whole one was.
    /// - Returns: The contract that is left, and how many parts were removed.
    package static func minimised(
        _ contract: Contract,
        jobs: Int = 1,
        report: @escaping @Sendable (Progress) -> Void = { _ in },
        keepsVerdicts: @escaping @Sendable (Contract) async -> Bool
    ) async -> (contract: Contract, removedCount: Int) {
        var minimiser = Minimiser(
            whole: contract,
            jobs: max(1, jobs),
            keepsVerdicts: keepsVerdicts,
            report: report
        )
        return await minimiser.run()
    }

    private init(
        whole: Contract,
        jobs: Int,
        keepsVerdicts: @escaping @Sendable (Contract) async -> Bool,
        report: @escaping @Sendable (Progress) -> Void
    ) {
        self.whole = whole
        self.jobs = jobs
        self.keepsVerdicts = keepsVerdicts
        self.report = report
    }

    // MARK: The search

    private mutating func run() async -> (contract: Contract, removedCount: Int) {
        let all = parts
        progress.partCount = all.count
        for rank in Set(all.map(\.rank)).sorted() {
            await removeChunks(of: all.filter { $0.rank == rank })
        }
        // What went since may have been all that another part was needed for.
        var isSmaller = true
        while isSmaller, !Task.isCancelled {
            isSmaller = await removeFirst(of: all.map { [$0] })
        }
        var contract = candidate(without: removed)
        if whole.title == whole.goldenTitle { contract.title = contract.goldenTitle }
        return (contract, progress.removedCount)
    }

    /// Halves, quarters and so on of what is left of the parts.
    private mutating func removeChunks(of parts: [Part]) async {
        var size = parts.count
        while size > 1, !Task.isCancelled {
            let left = parts.filter { !isGone($0, removed) }
            let chunks = stride(from: 0, to: left.count, by: size).map {
                Array(left[$0..<min($0 + size, left.count)])
            }
            _ = await removeFirst(of: chunks)
            size /= 2
        }
        _ = await removeFirst(of: parts.map { [$0] })
    }

    /// Takes out each piece in turn that may go.
    ///
    /// Several are judged at once; those behind one that goes are judged again without it, so that
    /// the outcome is that of judging them one by one.
    ///
    /// - Returns: Whether any went.
    private mutating func removeFirst(of pieces: [[Part]]) async -> Bool {
        var hasRemoved = false
        // The last parts come first, so that what builds on others goes before them.
        var position = pieces.count - 1
        while position >= 0, !Task.isCancelled {
            var wave: [(index: Int, removed: Set<Part>)] = []
            while position >= 0, wave.count < jobs {
                let next = removed.union(pieces[position].filter { !isGone($0, removed) })
                // Nothing to judge where it is gone already, or nothing would be left.
                if next != removed, isPossible(next) { wave.append((position, next)) }
                position -= 1
            }
            let kept = await judged(wave.map(\.removed))
            guard let first = zip(wave, kept).first(where: \.1)?.0 else { continue }
            progress.removedCount += first.removed.count - removed.count
            removed = first.removed
            report(progress)
            hasRemoved = true
            position = first.index - 1
        }
        return hasRemoved
    }

    /// Whether each candidate is judged as the whole contract; none is asked for twice.
    private mutating func judged(_ candidates: [Set<Part>]) async -> [Bool] {
        let open = candidates.enumerated().filter { answers[$0.element] == nil }
        let found = await withTaskGroup(of: (Set<Part>, Bool).self) { group in
            for (_, parts) in open {
                let contract = candidate(without: parts)
                group.addTask { [keepsVerdicts] in (parts, await keepsVerdicts(contract)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        answers.merge(found) { _, new in new }
        progress.askedCount += found.count
        report(progress)
        return candidates.map { answers[$0] == true }
    }

    // MARK: Parts

    private var parts: [Part] {
        var parts: [Part] = whole.steps.indices.map(Part.step)
        for (index, step) in whole.steps.enumerated() {
            guard let pattern = Self.pattern(of: step) else { continue }
            parts += pattern.fields.indices.map { Part.header(step: index, field: $0) }
            if pattern.body != nil { parts.append(.member(step: index, JSONPointer())) }
            if case .json(let value) = pattern.body {
                parts += Self.members(of: value).map { Part.member(step: index, $0) }
            }
        }
        parts += whole.expectation.effects.indices.map(Part.effect)
        parts += whole.given.indices.map(Part.given)
        return parts + whole.values.keys.sorted().map(Part.value)
    }

    /// Every member of every object, the inner ones after their object.
    private static func members(
        of value: JSONValue,
        at pointer: JSONPointer = JSONPointer()
    ) -> [JSONPointer] {
        switch value {
        case .object(let object):
            object.members.flatMap { member in
                let place = pointer.appending(member.key)
                return [place] + members(of: member.value, at: place)
            }
        // How many elements there are is one fact; what they hold are others.
        case .array(let elements):
            elements.enumerated().flatMap { index, element in
                members(of: element, at: pointer.appending(String(index)))
            }
        case .null, .bool, .number, .string: []
        }
    }

    private static func pattern(of step: Step) -> AnswerPattern? {
        switch step {
        case .request(let request): request.answer
        case .deliver(let delivery): delivery.answerPattern
        // Their answers are not described by a pattern.
        case .register, .name, .createAccount, .look, .pass, .call, .provider, .restart,
            .rotateKeys, .killAtCall, .account, .phone:
            nil
        }
    }

    /// Whether a part went, by itself or with what it stands in.
    private func isGone(_ part: Part, _ removed: Set<Part>) -> Bool {
        if removed.contains(part) { return true }
        switch part {
        case .step(let index):
            guard case .deliver(let delivery) = whole.steps[index],
                case .repeats(let name) = delivery.subject,
                let first = whole.steps.firstIndex(where: {
                    if case .deliver(let other) = $0 { other.name == name } else { false }
                })
            else { return false }
            return isGone(.step(first), removed)
        case .header(let step, _): return isGone(.step(step), removed)
        case .member(let step, let pointer):
            if isGone(.step(step), removed) { return true }
            return pointer.tokens.indices.contains { count in
                let above = JSONPointer(tokens: Array(pointer.tokens.prefix(count)))
                return removed.contains(.member(step: step, above))
            }
        case .effect, .given, .value: return false
        }
    }

    /// A contract has a step.
    private func isPossible(_ removed: Set<Part>) -> Bool {
        whole.steps.indices.contains { !isGone(.step($0), removed) }
    }

    /// The contract without some of its parts.
    private func candidate(without removed: Set<Part>) -> Contract {
        var contract = whole
        contract.steps = whole.steps.enumerated().compactMap { index, step in
            isGone(.step(index), removed) ? nil : self.step(step, index, without: removed)
        }
        contract.expectation.effects = whole.expectation.effects.enumerated()
            .filter { !removed.contains(.effect($0.offset)) }.map(\.element)
        contract.given = whole.given.enumerated()
            .filter { !removed.contains(.given($0.offset)) }.map(\.element)
        contract.values = whole.values.filter { !removed.contains(.value($0.key)) }
        return contract
    }

    private func step(_ step: Step, _ index: Int, without removed: Set<Part>) -> Step {
        guard var pattern = Self.pattern(of: step) else { return step }
        pattern.fields = pattern.fields.enumerated()
            .filter { !removed.contains(.header(step: index, field: $0.offset)) }.map(\.element)
        if removed.contains(.member(step: index, JSONPointer())) {
            pattern.body = nil
        } else if case .json(var value) = pattern.body {
            for part in removed {
                guard case .member(index, let pointer) = part, value[pointer] != nil else {
                    continue
                }
                value.set(pointer, to: nil)
            }
            pattern.body = .json(value)
        }
        switch step {
        case .request(var request):
            request.answer = pattern
            return .request(request)
        case .deliver(var delivery):
            delivery.answerPattern = pattern
            return .deliver(delivery)
        // Only these two have a pattern.
        default: return step
        }
    }
}
