internal import Contracts
internal import Judging
internal import Values

/// Runs a case with several timings of its concurrent requests, and counts the failures.
///
/// A race shows only in some timings. A case whose concurrent requests differ passes only if it
/// passes with each timing. The other cases run with several timings only after a failure.
struct TimingSweep {
    let caseRunner: CaseRunner

    /// The number of runs of a failed case whose timing cannot be varied: the first run and its
    /// reruns.
    static let fixedTimingRunCount = 4
    /// The longest duration of all runs of a failed case, in seconds.
    ///
    /// A slower case probably waited for an effect that never came, and each rerun would wait for
    /// it again.
    private static let secondsMax = 5.0
    /// The limits of the largest offset between concurrent requests.
    private static let offsetLimits: ClosedRange<Duration> = .milliseconds(2)...(.seconds(1))

    /// Runs a case once, or with each timing of its sweep until it fails.
    ///
    /// The first run ends with a sentinel event. The later runs omit it if the backend applies each
    /// event before it responds.
    func run(_ plan: CasePlan) async -> CaseResult {
        var timings = timings(of: plan.subject)[...]
        var result = await caseRunner.runOnce(plan)
        var tally = TimingTally()
        tally.count(result, nil)
        let sweepsPassedCase =
            plan.subject.sendsDifferentRequestsConcurrently && caseRunner.options.rechecksCases
        let sweepPlan = plan.baseline == nil ? plan.withoutSentinel : plan
        while sweepsPassedCase, result.verdict == .passed, !Task.isCancelled,
            let timing = timings.popFirst()
        {
            result = await caseRunner.runOnce(sweepPlan.withConcurrentTiming(timing))
            tally.count(result, timing)
            result.seconds = tally.seconds
            result.runCount = tally.runCount
        }
        return result.verdict == .failed
            ? await withHint(result, plan, Array(timings), tally) : result
    }

    /// Returns the timings of the runs after the first one; empty if the plan has no concurrent
    /// requests.
    private func timings(of plan: RunPlan) -> [ConcurrentTiming] {
        guard plan.sendsConcurrentCopies else { return [] }
        let longestOffset = min(
            max(caseRunner.observability.latency * 4, Self.offsetLimits.lowerBound),
            Self.offsetLimits.upperBound
        )
        return Array(ConcurrentTiming.sweep(upTo: longestOffset).dropFirst())
    }

    // MARK: Failures

    /// Reruns a timing-dependent failure to classify it as a race or as deterministic, and adds the
    /// classification as a line for the report.
    ///
    /// The verdict does not change: an effect that was lost once is lost.
    ///
    /// - Parameters:
    ///   - failure: The result of the failed run.
    ///   - plan: The case.
    ///   - timings: The timings that have not been tried yet; empty if the timing cannot be varied.
    ///   - tally: The runs up to and including the failed one.
    /// - Returns: The result of the failed run.
    private func withHint(
        _ failure: CaseResult,
        _ plan: CasePlan,
        _ timings: [ConcurrentTiming],
        _ tally: TimingTally
    ) async -> CaseResult {
        guard caseRunner.mayRerun(failure, plan),
            tally.runCount > 1 || tally.seconds < Self.secondsMax
        else { return failure }
        var tally = tally
        var plans = timings.map(plan.withConcurrentTiming)
        if !plan.subject.sendsConcurrentCopies {
            plans = Array(repeating: plan, count: Self.fixedTimingRunCount - 1)
        }
        for rerunPlan in plans where tally.seconds < Self.secondsMax {
            let result = await caseRunner.runOnce(rerunPlan)
            if Task.isCancelled || result.findings.contains(where: { $0.code == .backendGone }) {
                return failure
            }
            tally.count(result, rerunPlan.subject.concurrentTiming)
        }
        var failure = failure
        failure.hints.append(tally.description)
        return failure
    }
}

/// The runs of a case with several timings, up to now.
private struct TimingTally: CustomStringConvertible {
    private var timings: Set<ConcurrentTiming> = []
    private(set) var runCount = 0
    private(set) var failedCount = 0
    private(set) var seconds = 0.0

    /// Counts a run with a timing; nil for the timing of a first run.
    mutating func count(_ result: CaseResult, _ timing: ConcurrentTiming?) {
        timings.insert(timing ?? .allAtOnce)
        runCount += 1
        seconds += result.seconds
        if result.verdict == .failed { failedCount += 1 }
    }

    /// The classification of the failures, as a line for the report.
    ///
    /// Equal failures show that the timing does not matter only if it was varied.
    var description: String {
        let orders = Set(timings.map(\.isReversed)).count > 1 ? "in both orders" : "in one order"
        let offset = timings.map(\.offset).max() ?? .zero
        let variation =
            offset > .zero
            ? "\(orders) and with offsets of 0 to \(offset.milliseconds) ms"
            : "with the same order and times in each run"
        if failedCount < runCount {
            return "failed in \(failedCount) of \(runCount) runs, \(variation): "
                + "timing-dependent (a race)"
        }
        return "failed in all \(runCount) runs, \(variation): "
            + (timings.count < ConcurrentTiming.endCount
                ? "the timing was not varied"
                : "not timing-dependent")
    }
}
