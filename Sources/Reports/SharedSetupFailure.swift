internal import Judging
internal import Redaction

/// A cause that several cases share, so that the terminal report shows only the first of these
/// cases in full.
///
/// Only problems that occur before the case tests its clause count as a shared cause, such as an
/// unreachable backend. Two cases that fail later with equal states may still have different
/// causes.
struct SharedSetupFailure: Hashable {
    private let outcome: CaseOutcome
    private let code: FindingCode?
    private let text: String

    /// Returns the cause of a case; nil when the report shows the case individually.
    init?(_ result: Redacted<CaseResult>) {
        outcome = result.outcome
        code = result.findings.first?.code
        switch (result.outcome, code) {
        case (.notRun, _): text = result.note ?? ""
        // The text of the finding names the event for which the case waited, so the text is
        // ignored.
        case (.inconclusive, .backendGone), (.inconclusive, .machineBusy): text = ""
        case (.inconclusive, .some), (.failed, .responseStatus), (.failed, .noResponse):
            // A case with more than one finding is reported individually.
            guard result.findings.count == 1, let first = result.findings.first else { return nil }
            text = first.actual
        case (.passed, _), (.knownFailure, _), (.unexpectedPass, _), (.inconclusive, _),
            (.failed, _), (.remark, _), (.notApplicable, _):
            return nil
        }
    }
}
