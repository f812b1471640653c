internal import Contracts
internal import Judging
internal import Values

/// The record of a passed case, kept for the final recheck of late effects.
struct PassedCase: Sendable {
    let caseID: String
    var evidence: CaseEvidence
}

/// The judgment of a case that lacks an effect, which is checked once more after all cases.
struct MissedEffectJudgment: Sendable {
    let judgment: CaseJudgment
    /// Whether the wait for the effect was shorter than the settle timeout.
    let isWaitShortened: Bool
    /// The time at which a wait of full length would have ended, as a value of
    /// `Heartbeat.usableTime`.
    let fullWaitEnd: Duration
    /// The number of the backend process in which the case ended.
    let processNumber: Int
}

/// The results of earlier cases that a `CaseRunner` still needs.
struct CaseMemory {
    private var runCount = 0
    private var passedCount = 0
    private var unansweredCaseCount = 0
    /// The passed cases by case ID, each with the value of `passedCount` at its end.
    private var passedByCaseID: [String: (endNumber: Int, passed: PassedCase)] = [:]
    /// The namespaces of finished runs whose users the fakes still know, oldest first.
    private var retiringNamespaces: [String] = []
    /// The cases that lack an effect, by case ID.
    private(set) var missedEffects: [String: MissedEffectJudgment] = [:]
    /// The IDs of the cases whose effects came after a full wait for them.
    var caseIDsWithLateEffects: Set<String> = []
    /// The IDs of the cases without faults whose effects came after a short wait for them, and before
    /// the end of the settle timeout.
    var caseIDsWithSlowEffects: Set<String> = []
    /// The IDs of the cases that lack an effect, and after which no purchase had an effect either.
    var unprocessedCaseIDs: Set<String> = []

    /// The judgments of cases that still lack an effect after the whole settle timeout, by case ID.
    var judgmentsAfterFullWait: [String: CaseJudgment] = [:]

    /// The IDs of the cases that have run while other cases ran.
    var caseIDsRunConcurrently: Set<String> = []

    /// The IDs of the cases whose latest run had no other case next to it.
    var caseIDsRunAlone: Set<String> = []

    /// The number of cases without any response of the backend after which the remaining cases are
    /// not run.
    ///
    /// This applies only while no case has passed. The remaining cases would wait for responses in
    /// vain.
    static let silentCaseCountMax = 8

    /// The cases that passed, in the order in which they ended.
    var passed: [PassedCase] {
        passedByCaseID.values.sorted { $0.endNumber < $1.endNumber }.map(\.passed)
    }

    /// Whether the backend responds to nothing, so that the remaining cases are not run.
    var isBackendSilent: Bool {
        unansweredCaseCount >= Self.silentCaseCountMax && passedCount == 0
    }

    /// Returns the name of the namespace of the next run.
    mutating func nextNamespaceName(_ nonce: String) -> String {
        runCount += 1
        return "\(nonce)-\(runCount)"
    }

    /// The number of finished runs whose users stay known to the fakes.
    ///
    /// A slow backend may still send requests about these users.
    private static let retiringCountMax = 512

    /// Adds the namespaces of finished runs, and returns those that the fakes may forget now.
    mutating func retire(_ namespaces: [String]) -> [String] {
        retiringNamespaces += namespaces
        let count = max(0, retiringNamespaces.count - Self.retiringCountMax)
        defer { retiringNamespaces.removeFirst(count) }
        return Array(retiringNamespaces.prefix(count))
    }

    /// Forgets the records of a case whose run proves nothing.
    mutating func forget(_ caseID: String) {
        passedByCaseID[caseID] = nil
        missedEffects[caseID] = nil
        judgmentsAfterFullWait[caseID] = nil
    }

    /// Removes and returns all cases that lack an effect.
    mutating func takeMissedEffects() -> [String: MissedEffectJudgment] {
        defer { missedEffects = [:] }
        return missedEffects
    }

    /// Stores the result of a case.
    ///
    /// - Parameters:
    ///   - judgment: The judgment of the case.
    ///   - usableTime: The current value of `Heartbeat.usableTime`.
    ///   - processNumber: The number of the backend process in which the case ended.
    ///   - isRechecked: Whether the case is rechecked after all cases.
    mutating func note(
        _ judgment: CaseJudgment,
        at usableTime: Duration,
        in processNumber: Int,
        isRechecked: Bool
    ) {
        let evidence = judgment.evidence
        let caseID = evidence.plan.contract.caseID
        if evidence.subject.isSilent { unansweredCaseCount += 1 }
        guard judgment.verdict == .passed else {
            let isShared = evidence.subject.shortened != nil
            guard isRechecked, isShared || judgment.mayChangeWithLateEffect else { return }
            let remainingWait =
                evidence.profile.settleTimeout - (evidence.subject.unsuccessfulWaitTime ?? .zero)
            missedEffects[caseID] = MissedEffectJudgment(
                judgment: judgment,
                isWaitShortened: remainingWait > .zero,
                fullWaitEnd: usableTime + max(remainingWait, .zero),
                processNumber: processNumber
            )
            return
        }
        passedCount += 1
        guard evidence.plan.subject.observesFinalState, isRechecked else { return }
        let passed = PassedCase(caseID: caseID, evidence: evidence.withShortenedExchanges)
        passedByCaseID[caseID] = (passedCount, passed)
    }
}

extension CaseJudgment {
    /// Whether an effect that comes after a full wait would change the verdict.
    fileprivate var mayChangeWithLateEffect: Bool {
        verdict == .failed && evidence.plan.subject.observesFinalState
            && !evidence.plan.subject.affectsAllUsers
            && Judge.mayComeFromLateEffects(findings)
    }
}

extension CaseEvidence {
    /// The evidence with shortened lists of exchanges, because the journal keeps all of them.
    ///
    /// Each record keeps its first exchange and the last call of the backend.
    fileprivate var withShortenedExchanges: CaseEvidence {
        func shortenExchanges(_ record: RunRecord) -> RunRecord {
            var record = record
            let calls = record.exchanges.filter { $0.from == .backend }
            record.exchanges = Array(record.exchanges.prefix(1)) + calls.suffix(1)
            return record
        }
        return replacing(
            subject: shortenExchanges(subject),
            baselines: baselines.map(shortenExchanges)
        )
    }
}
