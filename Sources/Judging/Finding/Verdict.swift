/// The result of a case, that is, of one execution of a contract.
///
/// Only `passed` and `knownFailure` count as success.
package enum Verdict: String, Hashable, Codable, Sendable, CaseIterable {
    case passed, failed, knownFailure, unexpectedPass, inconclusive, notRun
}
