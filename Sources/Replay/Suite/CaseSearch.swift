internal import Contracts
internal import Judging
internal import Values

/// Runs a case that represents many runs, such as all orders of its deliveries, until one of them
/// fails.
///
/// It then reports the smallest failing run.
struct CaseSearch {
    let caseRunner: CaseRunner

    private var seed: UInt64 { caseRunner.options.seed }

    /// Runs a case once, or runs all variations that the case searches.
    func run(_ plan: CasePlan) async -> CaseResult {
        switch plan.contract.search {
        case .orders(let sampleSize): await runOrders(plan, sampleSize)
        case .generated(let variation, let count): await runVariations(plan, variation, count)
        case .crashPoints: await resultWithoutCrashPoints(plan)
        case nil: await TimingSweep(caseRunner: caseRunner).run(plan)
        }
    }

    /// Returns the result of a search for crash points that found no call to inject a fault into.
    ///
    /// If the golden run (the run without a fault) made no call, the backend needs none for these
    /// events, such as one that sends no push for a renewal. The case is then not applicable. A
    /// golden run that failed is inconclusive.
    private func resultWithoutCrashPoints(_ plan: CasePlan) async -> CaseResult {
        guard let goldenRun = await caseRunner.baselines(plan).first else {
            return CaseRunner.inconclusive(
                plan,
                Finding(
                    .faultNotApplied,
                    expected: "a run without faults (the golden run) shows the calls of the "
                        + "backend to providers",
                    actual: "there was no golden run"
                )
            )
        }
        if let runProblem = goldenRun.runProblem {
            return CaseRunner.inconclusive(plan, Judge.finding(for: runProblem, in: "the case"))
        }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            seconds: 0,
            note: "the fault needs a call from the backend to a provider, but the backend makes "
                + "none in this case, even without the fault",
            isDeclaredUnsupported: true
        )
    }

    /// Runs one variation of a case.
    ///
    /// The first run ends with a sentinel event. The later runs omit it if the backend applies each
    /// event before it responds, because each sentinel registers a user. A run that is inconclusive
    /// without the sentinel runs again with it.
    private func runOne(_ plan: CasePlan, isFirst: Bool) async -> CaseResult {
        guard !isFirst else { return await caseRunner.runOnce(plan) }
        let result = await caseRunner.runOnce(plan.withoutSentinel)
        guard result.verdict == .inconclusive, !Task.isCancelled else { return result }
        var secondResult = await caseRunner.runOnce(plan)
        secondResult.seconds += result.seconds
        return secondResult
    }

    // MARK: Orders

    /// Runs the deliveries of a case in every order until the case fails.
    ///
    /// The smallest reorderings come first.
    private func runOrders(_ plan: CasePlan, _ sampleSize: Int) async -> CaseResult {
        let events = plan.contract.steps.compactMap { step -> String? in
            if case .deliver(let delivery) = step { delivery.name } else { nil }
        }
        var generator = SeededGenerator(seed: seed, text: plan.contract.id)
        let orders = EventOrder.orders(
            of: events.count,
            sampleSize: sampleSize,
            generator: &generator
        )
        var lastResult: CaseResult?
        var seconds = 0.0
        for (index, order) in orders.enumerated() {
            if Task.isCancelled { break }
            var result = await runOne(plan.reordered(order), isFirst: index == 0)
            seconds += result.seconds
            result.seconds = seconds
            result.runCount = index + 1
            result.contract = plan.contract
            lastResult = result
            guard result.verdict != .passed else { continue }
            let eventOrderText = order.map { events[$0] }.joined(separator: ", ")
            let swapCount = EventOrder.inversionCount(order)
            let withSmallestEvent =
                "\(eventOrderText) (\(swapCount) swap\(swapCount == 1 ? "" : "s") of neighboring events; "
                + "\(index + 1) of \(orders.count) orders tried)"
            // An inconclusive order is reported without calling it a failure.
            result.note =
                result.verdict == .failed
                ? "smallest failing reordering: \(withSmallestEvent)"
                : [result.note, "when the order was \(withSmallestEvent)"].compactMap { $0 }
                    .joined(separator: ", ")
            return result
        }
        return lastResult
            ?? CaseRunner.inconclusive(
                plan,
                Finding(.setupFailed, expected: "an order of the events to run", actual: "none")
            )
    }

    // MARK: Variations

    /// Runs generated variations of an event one after the other.
    ///
    /// The first variation that fails is shrunk.
    private func runVariations(
        _ plan: CasePlan,
        _ variation: Variation,
        _ count: Int
    ) async -> CaseResult {
        let random = SeededGenerator(seed: seed, text: plan.contract.id)
        guard let body = caseRunner.executor.sampleBody(of: plan.contract) else {
            return await caseRunner.runOnce(plan)
        }
        var generator = VariationGenerator(variation, body: body, random: random)
        var lastResult: CaseResult?
        var seconds = 0.0
        for index in 0..<count {
            if Task.isCancelled { break }
            let (edits, shufflesKeys) = generator.next()
            var result = await runOne(
                plan.applyingEdits(edits, shufflesKeys: shufflesKeys),
                isFirst: index == 0
            )
            seconds += result.seconds
            result.seconds = seconds
            result.runCount = index + 1
            if result.verdict == .failed {
                return await shrunkResult(result, plan, edits, shufflesKeys)
            }
            result.contract = plan.contract
            lastResult = result
            if result.verdict != .passed { return result }
        }
        return lastResult
            ?? CaseRunner.inconclusive(
                plan,
                Finding(.setupFailed, expected: "a variation of the event to run", actual: "none")
            )
    }

    /// The largest number of runs for shrinking one failing event.
    private static let shrinkCountMax = 40

    private func shrunkResult(
        _ first: CaseResult,
        _ plan: CasePlan,
        _ edits: [Delivery.Edit],
        _ shufflesKeys: Bool
    ) async -> CaseResult {
        var seconds = first.seconds
        var shrinker = Shrinker(testCountMax: Self.shrinkCountMax)
        let (smallest, _) = await shrinker.shrunk((result: first, edits: edits)) { failure in
            [VariationGenerator.shrunkEdits(failure.edits)]
        } test: { candidates in
            var failures: [(result: CaseResult, edits: [Delivery.Edit])] = []
            for edits in candidates {
                let result = await caseRunner.runOnce(
                    plan.applyingEdits(edits, shufflesKeys: shufflesKeys)
                )
                seconds += result.seconds
                if result.verdict == .failed,
                    result.findings.first?.code == first.findings.first?.code
                {
                    failures.append((result, edits))
                }
            }
            return failures
        }
        var result = smallest.result
        result.seconds = seconds
        result.runCount = (first.runCount ?? 1) + shrinker.testCount
        return Self.withSmallestEvent(result, plan, smallest.edits, shufflesKeys)
    }

    /// Adds the smallest failing event to the result, as a separate contract.
    private static func withSmallestEvent(
        _ smallestResult: CaseResult,
        _ plan: CasePlan,
        _ edits: [Delivery.Edit],
        _ shufflesKeys: Bool
    ) -> CaseResult {
        var result = smallestResult
        var found = plan.applyingEdits(edits, shufflesKeys: shufflesKeys).contract
        found.title = plan.contract.title + " (found by a generated variation)"
        result.found = found
        result.contract = plan.contract
        let editTexts = edits.map { "\($0.pointer) = \($0.value?.text.prefix(40) ?? "absent")" }
        result.note =
            "smallest failing event: "
            + (editTexts.isEmpty ? "a different order of keys" : editTexts.joined(separator: ", "))
        return result
    }
}
