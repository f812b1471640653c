/// What became of a variant.
///
/// Only `passed` and `knownFailure` are green.
package enum Verdict: String, Hashable, Codable, Sendable, CaseIterable {
    case passed, failed, knownFailure, unexpectedPass, inconclusive, notRun
}
