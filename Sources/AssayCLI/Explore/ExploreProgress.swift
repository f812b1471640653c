internal import Exploration
internal import Foundation
internal import Replay
internal import Reports
internal import Values

/// Prints the progress of a campaign, and writes new histories to the corpus at once.
final class ExploreProgress: Sendable {
    private struct State {
        var isProgressLineShown = false
        var lastLinePrintedAt: Duration = .zero
        /// Histories that could not be written to the corpus yet.
        ///
        /// The write is repeated at the end of the campaign.
        var unsavedInputs: [CampaignInput] = []
    }

    /// The time between progress lines when standard error is not a terminal.
    private static let progressPrintInterval: Duration = .seconds(10)

    private let isTerminalInteractive = Terminal.isInteractive(2)
    private let corpus: HistoryCorpus?
    /// The counts of situations that earlier campaigns tested, as read from the corpus.
    private let known: HistoryCoverage
    private let state = Locked(State())

    init(_ corpus: HistoryCorpus?, known: HistoryCoverage) {
        (self.corpus, self.known) = (corpus, known)
    }

    func report(_ event: Campaign.Event) {
        switch event {
        // These campaign events print no line. Inconclusive histories are counted and reported when
        // the campaign has finished.
        case .calibrated, .undecided, .stopped: break
        case .progress(let progress): printProgress(progress)
        case .newFailure(let failureSignature, let input):
            printLine(
                "failing  \(failureSignature.words)  after \(input.size) operations; shrinking …"
            )
        case .found(let found):
            printLine("found    \(found.failureSignature.words)  \(found.input.title)")
            saveToCorpus(found.original)
            saveToCorpus(found.input)
        case .kept(let input): saveToCorpus(input)
        case .coverageUpdated(let coverage): saveToCorpus(coverage)
        case .backendRestarted(let text):
            printLine("assay: the backend ended by itself (\(text)) and was started again")
        }
    }

    private func printProgress(_ progress: Campaign.Progress) {
        let seconds = max(1, progress.elapsed.milliseconds)
        let historiesPerSecond = Int64(progress.histories) * 1000 / seconds
        let found = progress.found == 0 ? "" : "  \(progress.found) failures"
        let line =
            "\(progress.histories) histories  \(historiesPerSecond)/s  \(progress.features) features\(found)  "
            + "\(progress.elapsed.milliseconds / 1000) s"
        if isTerminalInteractive {
            state.withLock { $0.isProgressLineShown = true }
            Terminal.error("\r\u{1b}[K" + String(line.prefix(Terminal.width(STDERR_FILENO))))
            return
        }
        let isPrintingDue = state.withLock { state in
            guard progress.elapsed - state.lastLinePrintedAt >= Self.progressPrintInterval else {
                return false
            }
            state.lastLinePrintedAt = progress.elapsed
            return true
        }
        if isPrintingDue { Terminal.error("assay: \(line)\n") }
    }

    private func printLine(_ text: String) {
        clearProgressLine()
        let width = Terminal.width(STDERR_FILENO)
        Terminal.error(
            text.printable.wrapped(width - 9).joined(separator: "\n         ") + "\n"
        )
    }

    func clearProgressLine() {
        let wasProgressLineShown = state.withLock { state in
            defer { state.isProgressLineShown = false }
            return state.isProgressLineShown
        }
        if isTerminalInteractive, wasProgressLineShown { Terminal.error("\r\u{1b}[K") }
    }

    // MARK: Writing to the corpus

    /// Writes a history to the corpus at once, so that it is not lost when the campaign is killed.
    private func saveToCorpus(_ input: CampaignInput) {
        guard let corpus else { return }
        do {
            try corpus.add(input)
        } catch {
            let isFirst = state.withLock { state in
                defer { state.unsavedInputs.append(input) }
                return state.unsavedInputs.isEmpty
            }
            if isFirst { printLine("assay: cannot write the corpus: \(error.plainReason)") }
        }
    }

    /// Writes the coverage counts to the corpus.
    ///
    /// Ignores an error, because the write at the end of the campaign reports it.
    private func saveToCorpus(_ coverage: HistoryCoverage) {
        // The write at the end of the campaign reports the error.
        try? corpus?.write(known.merged(with: coverage))
    }

    /// Writes the remaining histories and the coverage of a campaign to the corpus, or prints why
    /// that failed.
    ///
    /// The caller does this before it writes the report, which may fail.
    ///
    /// - Returns: Whether all histories and the coverage were written.
    func saveToCorpus(_ outcome: Campaign.Outcome) -> Bool {
        guard let corpus else { return true }
        do {
            for input in state.withLock({ $0.unsavedInputs }) { try corpus.add(input) }
            try corpus.write(known.merged(with: outcome.coverage))
            return true
        } catch {
            Terminal.error(
                "assay: cannot write the corpus '\(corpus.folder)': \(error.plainReason)\n"
            )
            return false
        }
    }
}

extension HistoryCoverage {
    fileprivate func merged(with other: HistoryCoverage) -> HistoryCoverage {
        var merged = self
        merged.merge(other)
        return merged
    }
}
