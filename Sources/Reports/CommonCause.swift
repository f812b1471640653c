internal import Conformance

/// What stops many cases alike, so that it is told once.
///
/// Only of what lies before the law that a case asks about: two cases whose states differ alike may
/// still do so for two reasons.
struct CommonCause: Hashable {
    private let verdict: Verdict
    private let code: FindingCode?
    private let text: String

    /// Nil for a case that is told by itself.
    init?(_ result: Redacted<CaseResult>) {
        verdict = result.verdict
        code = result.findings.first?.code
        switch (result.verdict, code) {
        case (.notRun, _): text = result.note ?? ""
        // Whatever each of them waited for.
        case (.inconclusive, .backendGone), (.inconclusive, .machineBusy): text = ""
        case (.inconclusive, .some), (.failed, .answerStatus), (.failed, .noAnswer):
            // Other findings of the case are its own.
            guard result.findings.count == 1, let first = result.findings.first else { return nil }
            text = first.actual
        case (.passed, _), (.knownFailure, _), (.unexpectedPass, _), (.inconclusive, _),
            (.failed, _):
            return nil
        }
    }
}
