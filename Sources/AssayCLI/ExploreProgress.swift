internal import Conformance
internal import Exploration
internal import FakeServers
internal import Foundation
internal import Replay
internal import Reports

/// Tells how a campaign goes on, and keeps what it earns as it is earned.
final class ExploreProgress: Sendable {
    private struct State {
        var isShown = false
        var lastLine: Duration = .zero
        var hasFailedToKeep = false
    }

    /// How often a line is written where there is no terminal.
    private static let period: Duration = .seconds(10)

    private let isLive = Terminal.isInteractive(2)
    private let corpus: LifeCorpus?
    /// What earlier campaigns have played.
    private let known: LifeCoverage
    private let state = Locked(State())

    init(_ corpus: LifeCorpus?, known: LifeCoverage) {
        (self.corpus, self.known) = (corpus, known)
    }

    func report(_ event: Campaign.Event) {
        switch event {
        // The first is not for people; what told nothing is counted and told in the end.
        case .calibrated, .undecided, .stopped: break
        case .progress(let progress): tell(progress)
        case .failing(let cause, let story):
            say("fails    \(cause.words)  after \(story.size) acts; made smaller …")
        case .found(let found):
            say("found    \(found.cause.words)  \(found.story.title)")
            keep([found.original, found.story])
        case .backendRestarted(let text):
            say("assay: the backend ended by itself (\(text)) and was started again")
        }
    }

    private func tell(_ progress: Campaign.Progress) {
        let seconds = max(1, progress.elapsed.milliseconds)
        let rate = Int64(progress.lives) * 1000 / seconds
        let found = progress.found == 0 ? "" : "  \(progress.found) found"
        let line =
            "\(progress.lives) lives  \(rate)/s  \(progress.features) covered\(found)  "
            + "\(progress.elapsed.milliseconds / 1000) s"
        if isLive {
            state.withLock { $0.isShown = true }
            Terminal.error("\r\u{1b}[K" + String(line.prefix(Terminal.width(STDERR_FILENO))))
            return
        }
        let isDue = state.withLock { state in
            guard progress.elapsed - state.lastLine >= Self.period else { return false }
            state.lastLine = progress.elapsed
            return true
        }
        if isDue { Terminal.error("assay: \(line)\n") }
    }

    private func say(_ text: String) {
        clear()
        let width = Terminal.width(STDERR_FILENO)
        Terminal.error(
            text.printable.wrapped(width - 9).joined(separator: "\n         ") + "\n"
        )
    }

    func clear() {
        let wasShown = state.withLock { state in
            defer { state.isShown = false }
            return state.isShown
        }
        if isLive, wasShown { Terminal.error("\r\u{1b}[K") }
    }

    // MARK: Keeping

    /// What was found is on the disk before anything else can happen.
    private func keep(_ stories: [Story]) {
        guard let corpus else { return }
        do {
            try corpus.add(stories, known)
        } catch {
            let isFirst = state.withLock { state in
                defer { state.hasFailedToKeep = true }
                return !state.hasFailedToKeep
            }
            if isFirst { say("assay: cannot write the corpus: \(error.plainReason)") }
        }
    }

    /// Keeps what a campaign has earned, before a report can fail, or tells why it cannot.
    ///
    /// - Returns: Whether it is kept, where somebody wants it.
    func keep(_ outcome: Campaign.Outcome) -> Bool {
        guard let corpus else { return true }
        var coverage = known
        coverage.merge(outcome.coverage)
        do {
            try corpus.add(outcome.kept, coverage)
            return true
        } catch {
            Terminal.error(
                "assay: cannot write the corpus '\(corpus.folder)': \(error.plainReason)\n"
            )
            return false
        }
    }
}
