internal import Replay
internal import Reports

/// The exit codes of the program.
///
/// `--help` and the manual page are generated from these codes, and tests compare the guides with
/// them.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case failures = 1
    case usage = 2
    case unparsable = 3
    case nothingSelected = 4
    case undecided = 5
    case unreachable = 6
    /// A bug in Assay or a problem with this machine; `EX_SOFTWARE` in `sysexits.h`.
    case internalError = 70
    /// A part of the output could not be written; `EX_IOERR` in `sysexits.h`.
    case outputFailed = 74
    case interrupted = 130

    /// Creates the exit code for an error that occurs before the first case runs.
    init(_ kind: ReplaySession.OpenError.Kind) {
        self =
            switch kind {
            case .configuration: .usage
            case .unreachable: .unreachable
            case .internalError: .internalError
            }
    }

    /// The meaning of the exit code, in one sentence without a full stop.
    var meaning: String {
        switch self {
        case .success: "all green"
        case .failures:
            "a case failed, or passed or failed unexpectedly"
        case .usage: "wrong usage or configuration"
        case .unparsable: "a file cannot be parsed"
        case .nothingSelected: "the selection contains no case, or names something unknown"
        case .undecided:
            "nothing failed, but cases are inconclusive, or did not run"
        case .unreachable:
            "stopped before the first case, such as by a wrong port or secret"
        case .internalError: "a bug in Assay, or a problem with this machine"
        case .outputFailed:
            "output could not be written; replaces 0, 1, 5 and 130"
        case .interrupted: "interrupted; the report covers the finished part"
        }
    }

    /// Whether a run with this exit code has results to write.
    private var hasResults: Bool {
        [.success, .failures, .undecided, .interrupted].contains(self)
    }

    /// The exit code to use instead when a part of the run's output could not be written.
    ///
    /// A code without results stays unchanged.
    var statusAfterLostOutput: ExitStatus { hasResults ? .outputFailed : self }

    /// The exit codes and their meanings as text, with lines of at most 80 columns.
    static var documentationTable: String {
        let indent = "\n       "
        return allCases.map { status in
            let code = String(status.rawValue)
            let space = String(repeating: " ", count: 5 - code.count)
            return "  " + code + space + status.meaning.wrapped(72).joined(separator: indent)
        }.joined(separator: "\n")
    }
}
