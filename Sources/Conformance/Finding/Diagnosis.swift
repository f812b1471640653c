/// Why a case is not green and what mends it, as far as its clause and its finding tell.
package struct Diagnosis: Hashable, Sendable {
    package let cause: String
    package let remedy: String
    /// What to write when the backend means it so; nil where the catalogue leaves no choice.
    package let ifMeant: String?

    package init(_ finding: Finding, of contract: Contract) {
        let usual = finding.code.explanation
        let clause = Clause.named(contract.clause)
        let isSpecial = finding.remedy != usual.remedy
        if let clause, Self.isOfLaw(finding.code, clause.name) {
            cause = "as a rule one of these: " + clause.faults.joined(separator: "; ")
            remedy = isSpecial ? finding.remedy : clause.build
        } else {
            cause = usual.cause
            remedy = finding.remedy
        }
        let policy = contract.needs.first(where: \.isPolicy)
        ifMeant =
            finding.code.isInconclusive
            ? nil
            : policy.map {
                "if this is meant, write 'features: {except: [\($0.rawValue)]}' in assay.yaml; "
                    + "\(contract.clause) stays unproven then"
            }
    }

    /// Clauses that say how a request is answered; of the others a wrong status says nothing but
    /// that.
    private static let ofAnswers: Set<String> = [
        "S-01", "S-02", "S-06", "S-07", "S-08", "S-17", "S-18", "S-20", "S-21", "S-22", "S-23",
        "S-24", "S-25", "S-26", "S-27", "S-28", "S-29", "S-33", "S-34", "P-01", "P-02", "P-04",
        "P-05", "P-06",
    ]

    /// Whether the clause knows more of the cause than the code does: the finding is about what the
    /// clause demands, not about what was in the way.
    private static func isOfLaw(_ code: FindingCode, _ clause: String) -> Bool {
        switch code {
        case .answerStatus, .intruderAccepted:
            ofAnswers.contains(clause) || clause.hasPrefix("F-")
        case .effectMissing, .effectExtra, .effectDiffers, .effectCount, .keyChanged, .sameText,
            .wrongAddress, .tooManyAttempts, .tooEarly, .stateDiffers, .stateValue, .userMissing,
            .userUnwanted, .wrongID, .tellingAnswer, .wrongWinners, .secretShown, .tooManyFetches,
            .personalDataKept:
            true
        // An app's promises: each is one clause's. Before a backend they are what was asked for there.
        case .commandUnwanted, .commandMissing, .identitySplit, .unusableID, .paywallTooEarly,
            .paywallRepeated, .registrationLost, .registrationRepeated, .registrationIncomplete,
            .startTooSlow, .badCommand, .wrongPerson, .wrongOrder, .screenDiffers, .guessableID,
            .openSecret, .pageBroken:
            clause.hasPrefix("C-")
        case .noAnswer, .answerLate, .backendExited, .answerDiffers, .callRefused,
            .effectContent, .unsteady, .noOverlap, .unobservable, .journalGap, .allVolatile,
            .throttled, .backendGone,
            .twinFailed, .setupFailed, .notRun, .disturbanceMissed, .expired, .readingAbsent,
            .machineBusy, .patienceOver:
            false
        }
    }
}
