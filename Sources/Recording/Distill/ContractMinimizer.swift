package import Contracts
internal import Values

/// Removes every part of a golden contract, such as a step or an expected value, that does not
/// affect its verdicts.
///
/// The verdicts are those on the recorded backend, which must pass the contract, and on other
/// backends, which must fail it. Large groups of parts are tried first (delta debugging: halves,
/// quarters, …), and steps before the contents of their responses. Then each remaining part is
/// tried alone, until no part can be removed. The result is minimal: removing any further part
/// changes a verdict.
package struct ContractMinimizer: Sendable {
    /// The progress of the search for a minimal contract, for display.
    package struct Progress: Hashable, Sendable {
        package var evaluatedCandidateCount = 0
        package var removedPartCount = 0
        package var partCount = 0
    }

    /// A removable part of a contract, identified by its position in the whole contract.
    private enum ContractPart: Hashable {
        /// A step of the contract, together with the later deliveries that repeat it.
        case step(Int)
        case header(step: Int, field: Int)
        /// A member of the JSON body of an expected response, with everything below it. An empty
        /// pointer is the whole body.
        case member(step: Int, JSONPointer)
        case effect(Int)
        case given(Int)
        case value(String)

        /// The order of removal: steps first, then messages and preconditions, then response
        /// headers and bodies from the top down.
        var removalRank: Int {
            switch self {
            case .step: 0
            case .effect, .given: 1
            case .header: 2
            case .member(_, let pointer): 2 + pointer.tokens.count
            case .value: .max
            }
        }
    }

    private let originalContract: Contract
    private let jobs: Int
    private let keepsVerdicts: @Sendable (Contract) async -> Bool
    private let report: @Sendable (Progress) -> Void
    private var removedParts: Set<ContractPart> = []
    private var keepsVerdictsByRemovedParts: [Set<ContractPart>: Bool] = [:]
    private var progress = Progress()

    /// Removes the parts of a golden contract that do not affect its verdicts.
    ///
    /// - Parameters:
    ///   - contract: The golden contract.
    ///   - jobs: The number of shortened contracts that are judged in parallel. The result does not
    ///     depend on this number.
    ///   - report: Receives the progress after every verdict.
    ///   - keepsVerdicts: Returns whether a shortened contract has the same verdicts as the
    ///     complete contract.
    /// - Returns: The minimal contract and the number of removed parts.
    package static func minimized(
        _ contract: Contract,
        jobs: Int = 1,
        report: @escaping @Sendable (Progress) -> Void = { _ in },
        keepsVerdicts: @escaping @Sendable (Contract) async -> Bool
    ) async -> (contract: Contract, removedPartCount: Int) {
        var minimizer = ContractMinimizer(
            originalContract: contract,
            jobs: max(1, jobs),
            keepsVerdicts: keepsVerdicts,
            report: report
        )
        return await minimizer.run()
    }

    private init(
        originalContract: Contract,
        jobs: Int,
        keepsVerdicts: @escaping @Sendable (Contract) async -> Bool,
        report: @escaping @Sendable (Progress) -> Void
    ) {
        self.originalContract = originalContract
        self.jobs = jobs
        self.keepsVerdicts = keepsVerdicts
        self.report = report
    }

    // MARK: The search

    private mutating func run() async -> (contract: Contract, removedPartCount: Int) {
        let allParts = parts
        progress.partCount = allParts.count
        for removalRank in Set(allParts.map(\.removalRank)).sorted() {
            await removeChunks(of: allParts.filter { $0.removalRank == removalRank })
        }
        // A part that was needed earlier may be removable now, because other parts have been
        // removed.
        var hasContractShrunk = true
        while hasContractShrunk, !Task.isCancelled {
            hasContractShrunk = await removeFirst(of: allParts.map { [$0] })
        }
        var contract = candidate(without: removedParts)
        if originalContract.title == originalContract.goldenTitle {
            contract.title = contract.goldenTitle
        }
        return (contract, progress.removedPartCount)
    }

    /// Tries to remove halves, quarters and so on of the remaining parts of the contract.
    private mutating func removeChunks(of parts: [ContractPart]) async {
        var chunkSize = parts.count
        while chunkSize > 1, !Task.isCancelled {
            let remainingParts = parts.filter { !isRemoved($0, removedParts) }
            let partChunks = stride(from: 0, to: remainingParts.count, by: chunkSize).map {
                Array(remainingParts[$0..<min($0 + chunkSize, remainingParts.count)])
            }
            _ = await removeFirst(of: partChunks)
            chunkSize /= 2
        }
        _ = await removeFirst(of: parts.map { [$0] })
    }

    /// Removes each piece, a group of parts of the contract, that does not affect the verdicts.
    ///
    /// Several shortened contracts are judged in parallel, each without one piece. When a piece is
    /// removed, the contracts without later pieces are judged again, now without both pieces. So
    /// the result is the same as if the pieces were judged one after the other.
    ///
    /// - Returns: Whether any piece was removed.
    private mutating func removeFirst(of partGroups: [[ContractPart]]) async -> Bool {
        var hasRemovedPart = false
        var shrinker = Shrinker(batchSize: jobs)
        // The search goes from the last part to the first, because later parts may depend on
        // earlier ones.
        var remainingGroups = partGroups[...]
        while let removal = await shrinker.first(
            of: removals(of: remainingGroups),
            test: { await withoutVerdictChange($0) }
        ) {
            progress.removedPartCount += removal.removedParts.count - removedParts.count
            removedParts = removal.removedParts
            report(progress)
            hasRemovedPart = true
            remainingGroups = remainingGroups[..<removal.groupIndex]
        }
        return hasRemovedPart
    }

    /// The removal of one more group of parts.
    private struct Removal {
        let groupIndex: Int
        let removedParts: Set<ContractPart>
    }

    /// Returns the removal of each group of parts, the last group first.
    ///
    /// Groups that are removed already are left out, and so are removals that would leave no step
    /// in the contract.
    private func removals(of partGroups: ArraySlice<[ContractPart]>) -> some Sequence<Removal> {
        partGroups.indices.reversed().lazy.compactMap { index in
            let nextRemovedParts = removedParts.union(
                partGroups[index].filter { !isRemoved($0, removedParts) }
            )
            guard nextRemovedParts != removedParts, isValidRemoval(nextRemovedParts) else {
                return nil
            }
            return Removal(groupIndex: index, removedParts: nextRemovedParts)
        }
    }

    /// Returns the removals after which the contract keeps its verdicts.
    private mutating func withoutVerdictChange(_ removals: [Removal]) async -> [Removal] {
        let keepsVerdicts = await evaluate(removals.map(\.removedParts))
        return zip(removals, keepsVerdicts).filter(\.1).map(\.0)
    }

    /// Returns whether the contract keeps its verdicts without each of several sets of parts.
    ///
    /// No set of parts is judged twice.
    private mutating func evaluate(_ candidates: [Set<ContractPart>]) async -> [Bool] {
        let undecidedCandidates = candidates.enumerated().filter {
            keepsVerdictsByRemovedParts[$0.element] == nil
        }
        let newKeepsVerdictsByRemovedParts = await withTaskGroup(of: (Set<ContractPart>, Bool).self)
        { group in
            for (_, parts) in undecidedCandidates {
                let contract = candidate(without: parts)
                group.addTask { [keepsVerdicts] in (parts, await keepsVerdicts(contract)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        keepsVerdictsByRemovedParts.merge(newKeepsVerdictsByRemovedParts) { _, new in new }
        progress.evaluatedCandidateCount += newKeepsVerdictsByRemovedParts.count
        report(progress)
        return candidates.map { keepsVerdictsByRemovedParts[$0] == true }
    }

    // MARK: Parts

    private var parts: [ContractPart] {
        var parts: [ContractPart] = originalContract.steps.indices.map(ContractPart.step)
        for (index, step) in originalContract.steps.enumerated() {
            guard let pattern = Self.pattern(of: step) else { continue }
            parts += pattern.fields.indices.map { ContractPart.header(step: index, field: $0) }
            if pattern.body != nil { parts.append(.member(step: index, JSONPointer())) }
            if case .json(let value) = pattern.body {
                parts += Self.members(of: value).map { ContractPart.member(step: index, $0) }
            }
        }
        parts += originalContract.expectation.effects.indices.map(ContractPart.effect)
        parts += originalContract.given.indices.map(ContractPart.given)
        return parts + originalContract.values.keys.sorted().map(ContractPart.value)
    }

    /// Returns the JSON paths of all members of all objects, each object before its members.
    private static func members(
        of value: JSONValue,
        at pointer: JSONPointer = JSONPointer()
    ) -> [JSONPointer] {
        switch value {
        case .object(let object):
            object.members.flatMap { member in
                let memberPointer = pointer.appending(member.key)
                return [memberPointer] + members(of: member.value, at: memberPointer)
            }
        // The elements stay, because their number is checked too; only their contents can be
        // removed.
        case .array(let elements):
            elements.enumerated().flatMap { index, element in
                members(of: element, at: pointer.appending(String(index)))
            }
        case .null, .bool, .number, .string: []
        }
    }

    private static func pattern(of step: Step) -> ResponsePattern? {
        switch step {
        case .request(let request): request.answer
        case .deliver(let delivery): delivery.responsePattern
        // A golden contract has no pattern for the responses of these steps.
        case .register, .name, .createAccount, .probe, .waitForEnd, .call, .provider, .restart,
            .rotateKeys, .killAtCall, .account, .phone:
            nil
        }
    }

    /// Returns whether a part of the contract is removed, alone or together with a part that
    /// contains it.
    private func isRemoved(_ part: ContractPart, _ removedParts: Set<ContractPart>) -> Bool {
        if removedParts.contains(part) { return true }
        switch part {
        case .step(let index):
            guard case .deliver(let delivery) = originalContract.steps[index],
                case .repeats(let name) = delivery.subject,
                let first = originalContract.steps.firstIndex(where: {
                    if case .deliver(let other) = $0 { other.name == name } else { false }
                })
            else { return false }
            return isRemoved(.step(first), removedParts)
        case .header(let step, _): return isRemoved(.step(step), removedParts)
        case .member(let step, let pointer):
            if isRemoved(.step(step), removedParts) { return true }
            return pointer.tokens.indices.contains { count in
                let ancestorPointer = JSONPointer(tokens: Array(pointer.tokens.prefix(count)))
                return removedParts.contains(.member(step: step, ancestorPointer))
            }
        case .effect, .given, .value: return false
        }
    }

    /// Returns whether the contract without the removed parts still has at least one step.
    private func isValidRemoval(_ removedParts: Set<ContractPart>) -> Bool {
        originalContract.steps.indices.contains { !isRemoved(.step($0), removedParts) }
    }

    /// Returns the contract without the removed parts.
    private func candidate(without removedParts: Set<ContractPart>) -> Contract {
        var contract = originalContract
        contract.steps = originalContract.steps.enumerated().compactMap { index, step in
            isRemoved(.step(index), removedParts)
                ? nil : self.step(step, index, without: removedParts)
        }
        contract.expectation.effects = originalContract.expectation.effects.enumerated()
            .filter { !removedParts.contains(.effect($0.offset)) }.map(\.element)
        contract.given = originalContract.given.enumerated()
            .filter { !removedParts.contains(.given($0.offset)) }.map(\.element)
        contract.values = originalContract.values.filter { !removedParts.contains(.value($0.key)) }
        return contract
    }

    private func step(_ step: Step, _ index: Int, without removedParts: Set<ContractPart>) -> Step {
        guard var pattern = Self.pattern(of: step) else { return step }
        pattern.fields = pattern.fields.enumerated()
            .filter { !removedParts.contains(.header(step: index, field: $0.offset)) }.map(
                \.element
            )
        if removedParts.contains(.member(step: index, JSONPointer())) {
            pattern.body = nil
        } else if case .json(var value) = pattern.body {
            for part in removedParts {
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
            delivery.responsePattern = pattern
            return .deliver(delivery)
        // No other kind of step has a pattern.
        default: return step
        }
    }
}
