package import Contracts
package import Judging

/// A progress event of a suite that is worth a line on stderr.
package enum SuiteEvent: Sendable {
    case calibrated(RunRecord.Observability)
    /// The list of all case IDs of the run is known. This event comes before the first case
    /// finishes.
    case planned([String])
    case started(String)
    case finished(CaseResult, done: Int, of: Int)
    case backendRestarted(String)
    /// The run ends without running any case, for these reasons.
    case stopped([String])
    /// The backend refuses events that many cases need, as these lines describe.
    case warned([String])
    /// An additional instance of the backend could not be started, for this reason.
    ///
    /// Other instances run the cases that this one would have run.
    case instanceFailed(String)
}
