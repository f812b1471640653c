package import Conformance

/// Where the cases of a suite are played: before a backend under test, or on phones alone.
///
/// A stage knows what a case is; `SuiteRunner` knows who plays beside whom, and what is told of it.
package protocol SuiteStage: Sendable {
    /// Why a case cannot be played here; nil when it can.
    func obstacle(_ plan: CasePlan) -> CaseResult?
    /// Gets ready for these cases, none of which has an obstacle.
    func open(for plans: [CasePlan]) async -> any OpenStage
    /// Goes on beside all cases until it is cancelled.
    func accompany() async
}

/// A stage that is ready for cases.
package protocol OpenStage: Sendable {
    /// Reasons for which no case can say anything, with what to do about each; usually none.
    var obstacles: [String] { get }
    /// The cases that one without an obstacle stands for, in their order; usually itself.
    func expanded(_ plan: CasePlan) async -> [CasePlan]
    /// When each of these cases is played, none of which has an obstacle.
    func turns(of plans: [CasePlan]) async -> [Turn]
    /// Plays a case and judges it.
    ///
    /// - Parameters:
    ///   - plan: The case.
    ///   - number: Its place in the suite, from 0: the same however many play at once.
    ///   - isAlone: Whether nobody else plays meanwhile.
    /// - Returns: Nil when others disturbed it, so that it has to be played again, alone.
    func result(of plan: CasePlan, number: Int, isAlone: Bool) async -> CaseResult?
    /// The cases that did not wait as long as they might, and that would be judged otherwise by now;
    /// from then on everybody waits to the end. Called when nobody plays.
    func changedSince() async -> Set<String>
    /// Corrects results by what has become known since; called when nobody plays.
    ///
    /// - Parameters:
    ///   - results: All results.
    ///   - caseIDs: Only these cases are corrected.
    func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async
    /// What became known beside all cases, and no case accounts for.
    func asides(beside results: [CaseResult]) -> [CaseResult]
}

extension OpenStage {
    package var obstacles: [String] { [] }

    package func changedSince() async -> Set<String> { [] }

    package func asides(beside results: [CaseResult]) -> [CaseResult] { [] }
}

/// When a case is played.
package enum Turn: Hashable, Sendable {
    /// Alone, and before anybody else has played: it acts upon all whom the backend knows, so that
    /// what others leave behind would make it long and be changed by it.
    case first
    /// Beside others.
    case together
    /// While nobody else plays.
    case alone
    /// Alone, and after those: its backend has been in the future, and may remember it.
    case ahead
    /// Alone, and after all others were judged for good: it may leave the backend in no state for
    /// them.
    case last
}
