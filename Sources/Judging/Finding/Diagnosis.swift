package import Contracts
internal import Providers

/// The probable cause and the remedy of a finding, taken from the violated clause or from the
/// finding code.
package struct Diagnosis: Hashable, Sendable {
    package let cause: String
    package let remedy: String
    /// The profile entry to write when the backend's behavior is intended; nil when no profile
    /// entry can allow that behavior.
    package let remedyIfIntended: String?

    private static let acceptedCallCause =
        "The route does not check its caller, or it trusts an ID in the request."

    /// The remedy of a call of the app that must be refused, unless its clause has a better one.
    ///
    /// The remedy of the finding code is about the header and the signature of a webhook.
    package static let acceptedCallRemedy =
        "Refuse the call before any change unless it proves its caller, for example with the "
        + "session, the token or the password of the user that it names."

    package init(_ finding: Finding, of contract: Contract) {
        let explanationOfCode = finding.code.facts
        let clause = Clause.named(contract.clause)
        let hasOwnRemedy =
            ![explanationOfCode.remedy, Self.acceptedCallRemedy].contains(finding.remedy)
        if let clause, Self.isExplainedByClause(finding.code, clause.name) {
            cause = "usually one of these: " + clause.faults.joined(separator: "; ")
            remedy = hasOwnRemedy ? finding.remedy : clause.correctDesign
        } else {
            cause =
                finding.remedy == Self.acceptedCallRemedy
                ? Self.acceptedCallCause : explanationOfCode.cause
            remedy = finding.remedy
        }
        // A backend without string IDs has another form of IDs, which the profile says.
        let optionalFeature = contract.allRequiredFeatures.first {
            $0 != .stringIDs && $0.optionalClauses.contains(contract.clause)
        }
        remedyIfIntended =
            finding.code.isInconclusive
            ? nil
            : optionalFeature.map {
                "if this is intended, write 'features: {except: [\($0.rawValue)]}' in assay.yaml; "
                    + "then \(contract.clause) stays unproven"
            }
    }

    /// The clauses that require a certain response status.
    ///
    /// For every other clause, a wrong status does not show that the clause itself was violated.
    private static let clausesAboutStatus: Set<String> = [
        "S-01", "S-02", "S-06", "S-07", "S-08", "S-17", "S-18", "S-20", "S-21", "S-22", "S-23",
        "S-24", "S-25", "S-26", "S-27", "S-28", "S-29", "S-33", "S-34", "P-01", "P-02", "P-04",
        "P-05", "P-06",
    ]

    /// Whether the clause explains the cause of the finding better than the code does.
    ///
    /// The finding is then about the clause's own requirement, not about a problem such as an
    /// unreachable backend.
    private static func isExplainedByClause(_ code: FindingCode, _ clause: String) -> Bool {
        switch code {
        case .responseStatus, .unauthenticatedAccepted:
            clausesAboutStatus.contains(clause) || clause.hasPrefix("F-")
        case .effectMissing, .unexpectedEffect, .effectDiffers, .wrongEffectCount,
            .idempotencyKeyChanged, .identicalMessages,
            .wrongRecipient, .tooManyAttempts, .retriedTooEarly, .stateDiffers, .wrongStateValue,
            .userMissing,
            .unexpectedUser, .wrongID, .revealingResponse, .wrongRaceOutcome, .secretExposed,
            .tooManyFetches,
            .personalDataKept:
            true
        // Each of these codes belongs to a clause for apps (C-…). In a case for a backend clause,
        // the code describes the failure better than the clause does.
        case .unexpectedCommand, .commandMissing, .identitySplit, .unusableID, .paywallTooEarly,
            .paywallRepeated, .registrationLost, .registrationRepeated, .registrationIncomplete,
            .startTooSlow, .malformedCommand, .wrongUser, .wrongOrder, .screenDiffers, .guessableID,
            .unprotectedSecret, .pageBroken, .commandSwallowed:
            clause.hasPrefix("C-")
        case .noResponse, .responseLate, .backendExited, .responseDiffers, .providerCallRefused,
            .effectContentDiffers, .effectHeldUp, .unstableState, .requestsNotConcurrent,
            .unobservable,
            .journalGap,
            .allValuesVolatile,
            .backendThrottled, .backendGone, .appliedButRefused, .webhookThrottled,
            .baselineFailed, .setupFailed, .notRun, .faultNotApplied, .contractExpired,
            .mappedPathAbsent,
            .machineBusy, .settleTimeoutExpired:
            false
        }
    }
}
