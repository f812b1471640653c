package import Contracts
package import Judging

/// The target of a suite: a backend under test, or an app on simulated phones.
///
/// A target runs and judges single cases, and declares a scheduling rule for each. `CaseScheduler`
/// decides when and on which instance a case runs.
package protocol SuiteTarget: Sendable {
    /// Returns the contract with drawn values for the parts that it leaves open; the contract itself
    /// if this target draws none.
    func drawn(_ contract: Contract) -> Contract
    /// Returns the result "not run" for a case that cannot run against this target; nil for a case
    /// that can run.
    func skipReason(_ plan: CasePlan) -> CaseResult?
    /// Prepares the target for these cases, all of which can run against it.
    func open(for plans: [CasePlan]) async -> any OpenTarget
    /// Does background work while the cases run, such as measuring the load of the machine, until
    /// it is canceled.
    func monitorLoad() async
}

extension SuiteTarget {
    package func drawn(_ contract: Contract) -> Contract { contract }
}

/// A target that has been prepared and is ready to run cases.
package protocol OpenTarget: Sendable {
    /// The reasons why no case could judge this target, each with its remedy; empty if cases can
    /// run.
    var skipReasons: [String] { get }
    /// Returns the cases that this case represents, in order; usually only the case itself.
    ///
    /// For example, a case that searches for crash points (calls at which the backend can be
    /// killed) becomes one case for each point. The given case must be able to run against this
    /// target.
    func expanded(_ plan: CasePlan) async -> [CasePlan]
    /// Returns for each of these cases the rule by which it is scheduled.
    ///
    /// All given cases must be able to run against this target.
    func schedulingRules(of plans: [CasePlan]) async -> [SchedulingRule]
    /// Runs a case and judges it.
    ///
    /// - Parameters:
    ///   - plan: The case.
    ///   - number: The index of the case in the suite, from 0. It does not depend on the number of
    ///     jobs.
    ///   - isExclusive: Whether no other case runs at the same time.
    /// - Returns: The result; nil when other cases disturbed this case, so that it has to run
    ///   again, exclusively.
    func result(of plan: CasePlan, number: Int, isExclusive: Bool) async -> CaseResult?
    /// Discards what the target knows from a run of a case that does not count, because the case runs
    /// again.
    func discardRun(of plan: CasePlan)
    /// Returns the IDs of cases that would get another verdict now, because their wait for an
    /// effect was shorter than the settle timeout.
    ///
    /// After this call, all waits have their full length. The caller makes sure that no case is
    /// running.
    ///
    /// - Parameter isAfterReruns: Whether the returned cases of the first call have run again.
    /// - Returns: The IDs of the cases to run again.
    func casesWithChangedVerdict(isAfterReruns: Bool) async -> Set<String>
    /// Revises results with evidence that has arrived since the cases ended.
    ///
    /// The caller makes sure that no case is running.
    ///
    /// - Parameters:
    ///   - results: The results of all cases; nil for a case without a result.
    ///   - caseIDs: The IDs of the cases to revise.
    func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async
    /// Returns violations of the run invariants, such as "the backend keeps running", that no case
    /// explains.
    func invariantViolations(alongside results: [CaseResult]) -> [CaseResult]
}

extension OpenTarget {
    package var skipReasons: [String] { [] }

    package func discardRun(of plan: CasePlan) {}

    package func casesWithChangedVerdict(isAfterReruns: Bool) async -> Set<String> { [] }

    package func invariantViolations(alongside results: [CaseResult]) -> [CaseResult] { [] }
}
