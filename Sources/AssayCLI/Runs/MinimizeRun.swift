internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Recording
internal import Replay
internal import Values

/// The running backends against which a golden contract is minimized.
struct MinimizeRun: Sendable {
    /// The sessions of the recorded backend, and then of the backends that must fail the contract.
    private let sessions: [ReplaySession]
    private let workFolder: WorkFolder
    /// The start commands of the backends: the recorded backend first, as in `sessions`.
    private let startCommands: [String]

    /// Starts the recorded backend and the backends that must fail the contract.
    ///
    /// - Parameters:
    ///   - profile: The profile of the recorded backend.
    ///   - others: The start commands of the backends that must fail the contract.
    /// - Throws: A failure when a backend does not become ready.
    init(_ profile: Profile, others: [String]) async throws {
        workFolder = try WorkFolder.made()
        let folder = workFolder.path
        var profiles = [profile]
        for command in others {
            var otherProfile = profile
            otherProfile.start?.command = command
            profiles.append(otherProfile)
        }
        startCommands = profiles.map { $0.start?.command ?? "" }
        var opened: [ReplaySession] = []
        for (index, profile) in profiles.enumerated() {
            do {
                opened.append(
                    try await ReplaySession.opened(profile, folder: "\(folder)/\(index)")
                )
            } catch {
                for session in opened { await session.close() }
                throw error
            }
        }
        sessions = opened
    }

    func close() async {
        for session in sessions { await session.close() }
        workFolder.remove()
    }

    /// Runs a contract on the backends, the recorded one first.
    ///
    /// - Parameters:
    ///   - contract: The contract to run.
    ///   - expectedVerdicts: The expected verdicts, in the order of the backends; nil to run the
    ///     contract on every backend.
    /// - Returns: The verdicts, up to and including the first one that differs from
    ///   `expectedVerdicts`.
    private func verdicts(of contract: Contract, expectedVerdicts: [Verdict]? = nil) async
        -> [Verdict]
    {
        var verdicts: [Verdict] = []
        for session in sessions {
            let runner = SuiteRunner(
                executor: session.executor,
                options: SuiteRunOptions(
                    seed: 0,
                    jobs: 1,
                    nonce: SuiteRun.nonce(),
                    knownFailures: KnownFailures()
                ),
                report: { _ in }
            )
            let results = await runner.run([contract])
            verdicts.append(results.first?.verdict ?? .notRun)
            if let expectedVerdicts, !expectedVerdicts.starts(with: verdicts) { break }
        }
        return verdicts
    }

    /// Removes parts of a contract as long as its verdict stays the same on every backend.
    ///
    /// - Returns: The smallest contract that was found, and the number of removed parts.
    ///
    /// - Throws: A failure when the complete contract fails on the recorded backend or passes on
    ///   every other backend, or after an interruption. The file at `statePath` keeps the results
    ///   before an interruption.
    func minimized(
        _ contract: Contract,
        jobs: Int,
        statePath: String,
        _ interruption: Interruption
    ) async throws -> (contract: Contract, removedPartCount: Int) {
        let expectedVerdicts = try await interruption.run { await verdicts(of: contract) }
        if interruption.hasReceivedSignal { throw CommandFailure(.interrupted, "interrupted") }
        guard expectedVerdicts.first == .passed else {
            throw CommandFailure(
                .failures,
                "'\(contract.id)' does not pass on the recorded backend; "
                    + "to see why, run it with 'assay verify'"
            )
        }
        let reportedCount = expectedVerdicts.dropFirst().count { $0 == .failed }
        guard reportedCount > 0 else {
            throw CommandFailure(
                .failures,
                "'\(contract.id)' fails on no --against backend; "
                    + "give a backend with a defect that it detects"
            )
        }
        let text = ContractWriter.text(contract, id: contract.id)
        let state = MinimizeState(path: statePath, search: startCommands + [text])
        if state.count > 0 {
            Terminal.error(
                "\(contract.id): continuing an earlier search; contracts tried before: \(state.count)\n"
            )
        }
        let progress = MinimizeProgress(contract.id)
        let result = try await interruption.run {
            await ContractMinimizer.minimized(contract, jobs: jobs, report: progress.report) {
                candidate in
                if let knownResult = state.knownResult(of: candidate) { return knownResult }
                let keepsVerdicts =
                    await verdicts(of: candidate, expectedVerdicts: expectedVerdicts)
                    == expectedVerdicts
                // A canceled run has no verdict.
                guard !Task.isCancelled else { return false }
                state.recordResult(candidate, keepsVerdicts: keepsVerdicts)
                return keepsVerdicts
            }
        }
        progress.end()
        if interruption.hasReceivedSignal {
            throw CommandFailure(.interrupted, "interrupted; repeat the command to continue")
        }
        state.end()
        return result
    }
}

/// Prints the progress of the search for a smaller contract: on a terminal one line that is
/// updated, else a line for every 50 contracts that were tried.
private final class MinimizeProgress: Sendable {
    private let id: String
    private let isTerminalInteractive = Terminal.isInteractive(2)
    private let reportedCount = Locked(0)

    init(_ id: String) { self.id = id }

    func report(_ progress: ContractMinimizer.Progress) {
        let isPrintingDue = reportedCount.withLock { reportedCount in
            guard isTerminalInteractive || progress.evaluatedCandidateCount >= reportedCount + 50
            else {
                return false
            }
            reportedCount = progress.evaluatedCandidateCount
            return true
        }
        guard isPrintingDue else { return }
        let text =
            "\(id): \(progress.removedPartCount) of \(progress.partCount) parts removed, "
            + "\(progress.evaluatedCandidateCount) smaller contracts tried"
        Terminal.error(
            (isTerminalInteractive ? "\r\u{1b}[K" : "") + text + (isTerminalInteractive ? "" : "\n")
        )
    }

    func end() { if isTerminalInteractive { Terminal.error("\r\u{1b}[K") } }
}
