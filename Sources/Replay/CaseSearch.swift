internal import Conformance
internal import FakeServers

/// Carries out a case that stands for many runs, until one of them breaks it, and names the
/// smallest.
struct CaseSearch {
    let cases: CaseRunner

    private var seed: UInt64 { cases.options.seed }

    /// One case, or the whole search that it stands for.
    func run(_ plan: CasePlan) async -> CaseResult {
        switch plan.contract.search {
        case .orders(let size): await runOrders(plan, size)
        case .generated(let variation, let count): await runVariations(plan, variation, count)
        case .crashPoints: await withoutCrashPoints(plan)
        case nil: await cases.runOnce(plan)
        }
    }

    /// The golden run failed, or made no call that could be disturbed.
    private func withoutCrashPoints(_ plan: CasePlan) async -> CaseResult {
        let golden = await cases.twins(plan).first
        if let golden, golden.trouble != nil {
            let evidence = CaseEvidence(
                plan: plan,
                subject: golden,
                twins: [],
                profile: cases.executor.profile,
                sight: cases.sight
            )
            if let finding = Judge.judge(evidence).findings.first {
                return CaseRunner.inconclusive(plan, finding)
            }
        }
        return CaseRunner.inconclusive(
            plan,
            Finding(
                .disturbanceMissed,
                expected: "calls to providers in the golden run, to disturb each of them",
                actual: golden == nil ? "there was no golden run" : "none was made"
            )
        )
    }

    // MARK: Orders

    /// Every order, the smallest reorderings first, until one breaks the case.
    private func runOrders(_ plan: CasePlan, _ size: Int) async -> CaseResult {
        let events = plan.contract.steps.compactMap { step -> String? in
            if case .deliver(let delivery) = step { delivery.name } else { nil }
        }
        var generator = SeededGenerator(seed: seed, text: plan.contract.id)
        let orders = Order.orders(of: events.count, sampleSize: size, generator: &generator)
        var last: CaseResult?
        var seconds = 0.0
        for (index, order) in orders.enumerated() {
            if Task.isCancelled { break }
            var result = await cases.runOnce(plan.reordered(order))
            seconds += result.seconds
            result.seconds = seconds
            result.runCount = index + 1
            result.contract = plan.contract
            last = result
            guard result.verdict != .passed else { continue }
            let names = order.map { events[$0] }.joined(separator: ", ")
            let exchanges = Order.inversions(order)
            let told =
                "\(names) (\(exchanges) exchange\(exchanges == 1 ? "" : "s") of neighbours; "
                + "\(index + 1) of \(orders.count) orders tried)"
            // What could not be decided broke nothing.
            result.note =
                result.verdict == .failed
                ? "smallest reordering that breaks it: \(told)"
                : [result.note, "when the order was \(told)"].compactMap { $0 }
                    .joined(separator: ", ")
            return result
        }
        return last
            ?? CaseRunner.inconclusive(
                plan,
                Finding(.setupFailed, expected: "an order", actual: "none")
            )
    }

    // MARK: Variations

    /// Variation after variation until one fails, which is then made as small as it gets.
    private func runVariations(
        _ plan: CasePlan,
        _ variation: Variation,
        _ count: Int
    ) async -> CaseResult {
        let random = SeededGenerator(seed: seed, text: plan.contract.id)
        guard let body = cases.executor.sampleBody(of: plan.contract) else {
            return await cases.runOnce(plan)
        }
        var generator = VariationGenerator(variation, body: body, random: random)
        var last: CaseResult?
        var seconds = 0.0
        for index in 0..<count {
            if Task.isCancelled { break }
            let (edits, shuffles) = generator.next()
            var result = await cases.runOnce(plan.varied(edits, shufflesKeys: shuffles))
            seconds += result.seconds
            result.seconds = seconds
            result.runCount = index + 1
            if result.verdict == .failed { return await shrunk(result, plan, edits, shuffles) }
            result.contract = plan.contract
            last = result
            if result.verdict != .passed { return result }
        }
        return last
            ?? CaseRunner.inconclusive(
                plan,
                Finding(.setupFailed, expected: "a run", actual: "none")
            )
    }

    /// So many runs may be spent on making a failing event smaller.
    private static let shrinkCountMax = 40

    private func shrunk(
        _ first: CaseResult,
        _ plan: CasePlan,
        _ edits: [Delivery.Edit],
        _ shuffles: Bool
    ) async -> CaseResult {
        var best = first
        var smallest = edits
        var runCount = first.runCount ?? 1
        let runCountMax = runCount + Self.shrinkCountMax
        var isSmaller = true
        while isSmaller, !Task.isCancelled {
            isSmaller = false
            for candidate in VariationGenerator.smaller(smallest) where runCount < runCountMax {
                runCount += 1
                let result = await cases.runOnce(plan.varied(candidate, shufflesKeys: shuffles))
                best.seconds += result.seconds
                guard result.verdict == .failed,
                    result.findings.first?.code == best.findings.first?.code
                else { continue }
                let seconds = best.seconds
                best = result
                best.seconds = seconds
                smallest = candidate
                isSmaller = true
                break
            }
        }
        best.runCount = runCount
        return Self.told(best, plan, smallest, shuffles)
    }

    /// The result with the smallest event as a contract of its own.
    private static func told(
        _ best: CaseResult,
        _ plan: CasePlan,
        _ edits: [Delivery.Edit],
        _ shuffles: Bool
    ) -> CaseResult {
        var result = best
        var found = plan.varied(edits, shufflesKeys: shuffles).contract
        found.title = plan.contract.title + " (found by variation)"
        result.found = found
        result.contract = plan.contract
        let places = edits.map { "\($0.pointer) = \($0.value?.text.prefix(40) ?? "absent")" }
        result.note =
            "smallest event that breaks it: "
            + (places.isEmpty ? "another order of keys" : places.joined(separator: ", "))
        return result
    }
}
