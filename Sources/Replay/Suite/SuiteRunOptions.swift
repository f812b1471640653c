package import Contracts
package import Judging

/// The options of a suite run.
package struct SuiteRunOptions: Sendable {
    package var seed: UInt64
    package var jobs: Int
    /// A string that is unique to this run and part of the ID of every test user.
    ///
    /// A backend that keeps its data therefore never meets a user of an earlier run. The seed
    /// does not depend on this string.
    package var nonce: String
    package var knownFailures: KnownFailures
    /// Returns whether a generated variant of a contract is to run; nil to run all variants.
    package var isWanted: (@Sendable (Contract) -> Bool)?
    /// Whether each case result keeps the evidence of its verdict, such as the recorded
    /// requests and responses.
    package var keepsEvidence = false
    /// Whether the run stops before the first case when a check finds that no case could judge
    /// the backend.
    package var checksBackendFirst = false
    /// Whether the user selected the cases.
    ///
    /// A selected case may judge only responses, so a purchase without a visible effect does not
    /// stop such a run.
    package var hasSelectedCases = false
    /// Whether a time limit or the first failure may end the run before all cases have run.
    ///
    /// Such a run begins with the cases that decide most about a backend, and ends with slow ones.
    package var mayEndEarly = false
    /// Whether a failed case that depends on timing runs again, to find out whether the failure
    /// is a race.
    package var detectsRaces = false
    /// Whether cases are rechecked after all cases, so that late effects can still change their
    /// verdicts.
    package var rechecksCases = true

    package init(seed: UInt64, jobs: Int, nonce: String, knownFailures: KnownFailures) {
        self.seed = seed
        self.jobs = max(1, jobs)
        self.nonce = nonce
        self.knownFailures = knownFailures
    }
}
