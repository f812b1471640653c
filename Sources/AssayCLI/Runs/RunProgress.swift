internal import Contracts
internal import Foundation
internal import Judging
internal import Replay
internal import Values

/// Prints the progress of a run.
///
/// On a terminal, the progress is a single line that is updated.
final class RunProgress: Sendable {
    private struct State {
        var runningCaseIDs: [String] = []
        var failed = 0
        /// The cases that failed since the last progress line.
        var newFailures: [String] = []
        var isProgressLineShown = false
        /// The current progress line.
        var progressLine = ""
    }

    /// The time between the first progress lines when standard error is not a terminal.
    private static let progressPrintInterval: Duration =
        Setting.environment[intervalVariable].flatMap(Int.init).map { .seconds($0) } ?? .seconds(10)
    /// The number of progress lines after which the time between them is three times as long.
    private static let frequentLineCount = 6
    /// The variable with which `assay mcp` sets the time between progress lines, in seconds.
    static let intervalVariable = "ASSAY_PROGRESS_INTERVAL"

    private let isTerminalInteractive: Bool
    private let label: String
    private let state = Locked(State())

    init(label: String = "") {
        self.label = label
        isTerminalInteractive = Terminal.isInteractive(2)
    }

    func report(_ event: SuiteEvent) {
        switch event {
        // These events have no line, because they are internal or appear in the report.
        case .calibrated, .planned, .stopped, .instanceFailed: break
        case .warned(let lines): for line in lines { Terminal.message(line) }
        case .started(let id): state.withLock { $0.runningCaseIDs.append(id) }
        case .backendRestarted(let text):
            clearProgressLine()
            Terminal.message("the backend ended by itself (\(text)) and was started again")
        case .finished(let result, let finishedCount, let totalCount):
            let progressLine = state.withLock { state -> String in
                state.runningCaseIDs.removeAll { $0 == result.contract.caseID }
                if result.outcome.isFailure {
                    state.failed += 1
                    state.newFailures.append(
                        result.contract.caseID
                            + (result.contract.clause.isEmpty ? "" : " (\(result.contract.clause))")
                    )
                }
                let text = ProgressLine.text(
                    finishedCount: finishedCount,
                    totalCount: totalCount,
                    failedCount: state.failed,
                    runningCaseID: state.runningCaseIDs.first
                )
                state.progressLine = label + text
                return state.progressLine
            }
            guard isTerminalInteractive else { return }
            state.withLock { $0.isProgressLineShown = true }
            Terminal.error(
                "\r\u{1b}[K" + String(progressLine.prefix(Terminal.width(STDERR_FILENO)))
            )
        }
    }

    /// Starts to print a progress line every ten seconds when standard error is not a terminal, and
    /// every half minute after the first minute.
    ///
    /// The line after it names the first case that has failed since the last progress line, so that
    /// a reader can begin with it during the run.
    ///
    /// - Returns: The task that prints, which the caller cancels.
    func startPeriodicPrinting() -> Task<Void, any Error> {
        Task {
            guard !isTerminalInteractive else { return }
            var lineCount = 0
            while true {
                let isFrequent =
                    lineCount < Self.frequentLineCount
                    || Setting.environment[Self.intervalVariable] != nil
                try await Task.sleep(for: Self.progressPrintInterval * (isFrequent ? 1 : 3))
                lineCount += 1
                let (progressLine, failures) = state.withLock { state in
                    defer { state.newFailures = [] }
                    return (state.progressLine, state.newFailures)
                }
                guard !progressLine.isEmpty else { continue }
                Terminal.error("assay: \(progressLine)\n")
                guard let first = failures.first else { continue }
                let rest = failures.count > 1 ? " and \(failures.count - 1) more" : ""
                Terminal.error("       failed: \(first)\(rest)\n")
            }
        }
    }

    /// Removes the progress line from the terminal, so that results start at the left margin.
    func clearProgressLine() {
        let wasProgressLineShown = state.withLock { state in
            defer { state.isProgressLineShown = false }
            return state.isProgressLineShown
        }
        if isTerminalInteractive, wasProgressLineShown { Terminal.error("\r\u{1b}[K") }
    }
}

/// A progress line of a run without a terminal, such as
/// `assay: 12/608  1 failed  running: billing/refund`.
struct ProgressLine {
    let finishedCount: Int64
    let totalCount: Int64
    /// The line without the name of the program.
    let text: String

    /// Returns the text of a line without the name of the program.
    ///
    /// - Parameters:
    ///   - finishedCount: The number of finished cases.
    ///   - totalCount: The number of cases that the run has at this time, with those at crash points.
    ///   - failedCount: The number of failed cases.
    ///   - runningCaseID: The ID of the case that has been running for the longest time; nil if no
    ///     case is running.
    /// - Returns: The numbers, separated by two spaces from the running case.
    static func text(
        finishedCount: Int,
        totalCount: Int,
        failedCount: Int,
        runningCaseID: String?
    ) -> String {
        "\(finishedCount)/\(totalCount)" + (failedCount == 0 ? "" : "  \(failedCount) failed")
            + (runningCaseID.map { "  running: \($0)" } ?? "")
    }

    /// Reads a line of standard error; nil for a line that is not progress.
    init?(parsing line: String) {
        guard
            let match = line.firstMatch(
                of: /^assay: ((?:\w+ )?([0-9]{1,9})\/([0-9]{1,9})(?: .*)?)$/
            ),
            let finishedCount = Int64(match.output.2), let totalCount = Int64(match.output.3)
        else { return nil }
        (self.finishedCount, self.totalCount) = (finishedCount, totalCount)
        text = String(match.output.1)
    }
}
