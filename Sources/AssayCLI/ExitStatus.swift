internal import Replay
internal import Reports

/// The exit codes: the one table, from which `--help` and the manual page are made, and against
/// which tests hold the README and the guides.
enum ExitStatus: Int32, CaseIterable {
    case green = 0
    case failures = 1
    case usage = 2
    case unparsable = 3
    case nothingSelected = 4
    case undecided = 5
    case unreachable = 6
    /// EX_SOFTWARE.
    case ours = 70
    /// EX_IOERR.
    case outputFailed = 74
    case interrupted = 130

    /// The code for something that could not be opened before the first case.
    init(_ kind: ReplaySession.OpenError.Kind) {
        self =
            switch kind {
            case .configuration: .usage
            case .unreachable: .unreachable
            case .ours: .ours
            }
    }

    /// The meaning of the code, in one sentence without a full stop.
    var meaning: String {
        switch self {
        case .green: "all green"
        case .failures:
            "a case failed, passed unexpectedly or failed with another code than the known one"
        case .usage: "wrong usage or configuration"
        case .unparsable: "a file does not parse"
        case .nothingSelected: "nothing is selected"
        case .undecided:
            "nothing failed, but cases are inconclusive, or not run for another reason than a "
                + "declared exception"
        case .unreachable: "stopped before the first case: backend, port, route or secret"
        case .ours: "a bug in Assay or a fault of this machine"
        case .outputFailed:
            "output could not be written; it replaces 0, 1, 5 and 130, as the results are incomplete"
        case .interrupted: "interrupted; the report of the finished part is written"
        }
    }

    /// Whether a run that ends so has results to write.
    private var hasResults: Bool {
        [.green, .failures, .undecided, .interrupted].contains(self)
    }

    /// The code of a command some of whose output could not be written.
    var withLostOutput: ExitStatus { hasResults ? .outputFailed : self }

    /// A line for each code, no longer than 80 columns.
    static var table: String {
        let indent = "\n       "
        return allCases.map { status in
            let code = String(status.rawValue)
            let space = String(repeating: " ", count: 5 - code.count)
            return "  " + code + space + status.meaning.wrapped(72).joined(separator: indent)
        }.joined(separator: "\n")
    }
}
