internal import Contracts

/// A cause that one or more cases of a run share, so that a report names it once.
///
/// `FailureCauses` finds the causes of a run.
package struct FailureCause: Hashable, Sendable {
    /// The kind of a cause, in the order in which the parts of a run depend on each other.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The backend process exits, or accepts no connections.
        case backendStopped = "backend-stopped"
        /// The backend does not start again after it was stopped or killed.
        case restartFailed = "restart-failed"
        /// The backend refuses an event that each sender delivers, such as a test event.
        case eventRefused = "event-refused"
        /// The backend calls a route that a fake does not have.
        case unservedCall = "unserved-call"
        /// A call of the backend to a fake gets no response.
        case unansweredCall = "unanswered-call"
        /// A user cannot be created, or a probe does not respond.
        case setupFailed = "setup-failed"
        /// The backend gives an event or a call a response with an unexpected status.
        case unexpectedStatus = "unexpected-status"
        /// The backend sends no response to an event or a call.
        case missingResponse = "missing-response"
        /// The backend does not know a user that an event has named, or a user whose session it
        /// accepted before.
        case userMissing = "user-missing"
        /// A value in the response of a probe is wrong.
        case wrongValue = "wrong-value"
        /// The backend does not meet another requirement.
        case unmetRequirement = "unmet-requirement"
        /// A case in the list of known failures passes.
        case unexpectedPass = "unexpected-pass"
        /// The cases could not be judged, for a reason that is not in their exchanges.
        case inconclusive
        /// The cases did not run.
        case notRun = "not-run"

        /// The position of the kind in the list of causes, lowest first.
        ///
        /// A backend that does not run, that refuses unknown events, or that reaches no fake explains
        /// other failures, so these kinds lead even if they concern few cases.
        var position: Int {
            switch self {
            case .backendStopped, .restartFailed: 0
            case .eventRefused: 1
            case .unservedCall, .unansweredCall: 2
            case .setupFailed, .unexpectedStatus, .missingResponse, .userMissing, .wrongValue,
                .unmetRequirement:
                3
            case .unexpectedPass: 4
            case .inconclusive: 5
            case .notRun: 6
            }
        }
    }

    package let kind: Kind
    /// The cause in one sentence without a period, such as `POST /webhook returns 500 to RENEWAL
    /// events`.
    package let title: String
    /// The change that removes the cause, in one or two sentences.
    package let remedy: String
    /// The indices of the cases in `RunReport.cases`, ascending.
    package let caseIndices: [Int]
    /// The index in `RunReport.cases` of the shortest case, which a report shows in full.
    package let representativeIndex: Int
    /// The first finding of the representative case; nil when the case has none, because it did not
    /// run or passed unexpectedly.
    package let finding: Finding?
    /// The other deviations of the cause, the most frequent one first; empty if all cases deviate
    /// in the same way.
    package var otherDeviations: [OtherDeviation] = []

    package var caseCount: Int { caseIndices.count }

    /// The reciprocal of the smallest share of the cases for which a missing response of a fake
    /// leads.
    private static let leadingShare = 20

    /// The position of the cause in the list, lowest first.
    ///
    /// A call without a response in very few cases explains no other failure. It often follows from
    /// another fault, such as a lost account.
    ///
    /// - Parameter total: The number of cases that have a cause.
    /// - Returns: The position.
    fileprivate func position(among total: Int) -> Int {
        kind == .unansweredCall && caseCount * Self.leadingShare < total
            ? Kind.unmetRequirement.position : kind.position
    }
}

/// A deviation that probably has the same cause as another one in the cases of the same clause.
package struct OtherDeviation: Hashable, Sendable {
    /// The deviation in one sentence without a period.
    package let title: String
    /// The number of cases that deviate in this way; at least one.
    package let caseCount: Int
    /// The index in `RunReport.cases` of the shortest case that deviates in this way.
    package let representativeIndex: Int
}

/// The causes for which a run is not green, the one to fix first at the beginning.
///
/// Each failed, unexpectedly passed, inconclusive and not run case belongs to exactly one cause.
/// Remarks and known failures belong to none, because they do not change the exit code.
///
/// A case belongs to the earliest sign of a failure in its exchanges. For example, a case whose
/// purchase gets status 500 belongs to this status, even if its finding is about the user's state.
/// Cases with the same sign and the same type of event have the same cause.
package struct FailureCauses: Hashable, Sendable {
    /// The causes, in the order in which to fix them.
    ///
    /// A stopped backend, refused events and calls that reach no route of a fake lead, and calls
    /// without a response unless they concern very few cases. Failures follow, then inconclusive
    /// cases and cases that did not run. Among these, the cause with more cases comes first.
    package let all: [FailureCause]

    /// The number of cases that have a cause.
    package var caseCount: Int { all.reduce(0) { $0 + $1.caseCount } }

    /// Finds the causes of a run.
    ///
    /// A report passes the redacted run, `report.value`, so that the texts contain no secrets.
    package init(_ report: RunReport) {
        // If the run stopped before the first case, its skip reasons are the causes.
        guard report.skipReasons.isEmpty else {
            all = []
            return
        }
        let causes = SymptomGroups(report.cases).causes
        let total = causes.reduce(0) { $0 + $1.caseCount }
        all = causes.sorted {
            ($0.position(among: total), -$0.caseCount, $0.representativeIndex)
                < ($1.position(among: total), -$1.caseCount, $1.representativeIndex)
        }
    }

    /// Returns the share of a cause in words, such as `103 of 235 cases`.
    ///
    /// The share is of the cases that ran and are not green. A cause of cases that did not run has
    /// only a number, such as `12 cases not run`.
    package func share(of cause: FailureCause) -> String {
        func words(_ count: Int) -> String { "\(count) case\(count == 1 ? "" : "s")" }
        if cause.kind == .notRun { return "\(words(cause.caseCount)) not run" }
        let ranCount = all.reduce(0) { $0 + ($1.kind == .notRun ? 0 : $1.caseCount) }
        return "\(cause.caseCount) of \(words(ranCount))"
    }

    /// Returns a sentence with the position, the share and the title of a cause, such as `cause 1 of
    /// 3 (103 of 235 cases): …`.
    package func sentence(about cause: FailureCause) -> String {
        let number = (all.firstIndex(of: cause) ?? 0) + 1
        return "cause \(number) of \(all.count) (\(share(of: cause))): \(cause.title)"
    }

    /// The causes by the indices of their cases in `RunReport.cases`.
    package var causesByCaseIndex: [Int: FailureCause] {
        var causes: [Int: FailureCause] = [:]
        for cause in all { for index in cause.caseIndices { causes[index] = cause } }
        return causes
    }
}
