internal import Contracts

/// The verdict of a case as reports count and show it.
///
/// Every report counts these outcomes, so that all reports of one run show the same numbers. Each
/// case has exactly one outcome.
package enum CaseOutcome: String, Hashable, Sendable, CaseIterable {
    case passed, failed, unexpectedPass, inconclusive, notRun
    /// The case failed an optional contract (`level: may`).
    case remark
    case knownFailure
    /// The case needs a feature that the profile declares unsupported, or the backend caused no
    /// effect that the case could judge.
    case notApplicable

    package init(_ result: CaseResult) {
        self =
            switch result.verdict {
            case .passed: .passed
            case .failed: result.contract.level == .may ? .remark : .failed
            case .knownFailure: .knownFailure
            case .unexpectedPass: .unexpectedPass
            case .inconclusive: .inconclusive
            case .notRun: result.isDeclaredUnsupported ? .notApplicable : .notRun
            }
    }

    /// Whether the outcome makes the run fail (exit code 1).
    package var isFailure: Bool {
        switch self {
        case .failed, .unexpectedPass: true
        case .passed, .inconclusive, .notRun, .remark, .knownFailure, .notApplicable: false
        }
    }

    /// Whether the run lacks a result that it should have (exit code 5).
    package var isIncomplete: Bool {
        switch self {
        case .inconclusive, .notRun: true
        case .passed, .failed, .unexpectedPass, .remark, .knownFailure, .notApplicable: false
        }
    }

    /// The outcome in reports, such as `known failure`.
    package var words: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .unexpectedPass: "passed unexpectedly"
        case .inconclusive: "inconclusive"
        case .notRun: "not run"
        case .remark: "remark"
        case .knownFailure: "known failure"
        case .notApplicable: "not applicable"
        }
    }

    /// The outcome after a number of cases, such as `2 known failures`.
    package func words(count: Int) -> String {
        switch self {
        case .remark, .knownFailure: "\(count) \(words)\(count == 1 ? "" : "s")"
        case .passed, .failed, .unexpectedPass, .inconclusive, .notRun, .notApplicable:
            "\(count) \(words)"
        }
    }
}
