internal import Contracts
internal import Judging
internal import Values

/// The record of a passed case, kept for the final recheck of late effects.
struct PassedCase: Sendable {
    let caseID: String
    var evidence: CaseEvidence
}

/// The judgment of a case that did not pass after a shortened wait.
struct ShortenedWaitJudgment: Sendable {
    let judgment: CaseJudgment
    /// The time at which a wait of full length would have ended, as a value of
    /// `Heartbeat.usableTime`.
    let fullWaitEnd: Duration
}

/// The results of earlier cases that a `CaseRunner` still needs.
struct CaseMemory {
    private var runCount = 0
    private var passedCount = 0
    private var unansweredCaseCount = 0
    /// The cases that passed, in the order in which they ended.
    private(set) var passed: [PassedCase] = []
    /// The namespaces of finished runs whose users the fakes still know, oldest first.
    private var retiringNamespaces: [String] = []
    /// The cases that did not pass after a shortened wait, by case ID.
    ///
    /// The wait for a missing effect is shortened when another case has waited for the same effect
    /// in vain.
    private(set) var shortenedWaits: [String: ShortenedWaitJudgment] = [:]

    /// The IDs of the cases that have run while other cases ran.
    var caseIDsRunConcurrently: Set<String> = []

    /// The number of cases without any response of the backend after which the remaining cases are
    /// not run.
    ///
    /// This applies only while no case has passed. The remaining cases would wait for responses in
    /// vain.
    static let silentCaseCountMax = 8

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
        passed.removeAll { $0.caseID == caseID }
        shortenedWaits[caseID] = nil
    }

    /// Removes and returns all cases that did not pass after a shortened wait.
    mutating func takeShortenedWaits() -> [String: ShortenedWaitJudgment] {
        defer { shortenedWaits = [:] }
        return shortenedWaits
    }

    /// Stores the result of a case.
    ///
    /// - Parameters:
    ///   - judgment: The judgment of the case.
    ///   - usableTime: The current value of `Heartbeat.usableTime`.
    ///   - keepsPassedRecords: Whether records of passed cases are kept for the final recheck.
    mutating func note(
        _ judgment: CaseJudgment,
        at usableTime: Duration,
        keepsPassedRecords: Bool
    ) {
        let evidence = judgment.evidence
        let caseID = evidence.plan.contract.caseID
        if evidence.subject.isSilent { unansweredCaseCount += 1 }
        guard judgment.verdict == .passed else {
            if let shortened = evidence.subject.shortened {
                let remainingWait = shortened.fullTimeout - shortened.shortenedTimeout
                shortenedWaits[caseID] = ShortenedWaitJudgment(
                    judgment: judgment,
                    fullWaitEnd: usableTime + remainingWait
                )
            }
            return
        }
        passedCount += 1
        guard evidence.plan.subject.observesFinalState, keepsPassedRecords else { return }
        passed.append(PassedCase(caseID: caseID, evidence: evidence.withShortenedExchanges))
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
