internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Recording
internal import Replay
internal import Programs

/// The backends that a golden contract is minimised against, all of them running.
struct MinimiseRun: Sendable {
    /// The backend that was recorded, then those on which the contract must not pass.
    private let sessions: [ReplaySession]
    private let work: WorkFolder
    /// How each backend was started.
    private let commands: [String]

    /// - Parameters:
    ///   - profile: How to start and reach the backend.
    ///   - others: Commands that start backends which the contract tells from it.
    /// - Throws: When one of them does not get ready.
    init(_ profile: Profile, others: [String]) async throws {
        work = try WorkFolder.made()
        let folder = work.path
        var profiles = [profile]
        for command in others {
            var other = profile
            other.start?.command = command
            profiles.append(other)
        }
        commands = profiles.map { $0.start?.command ?? "" }
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
        work.remove()
    }

    /// The verdict on each backend, the recorded one first; it ends with the first that is not wanted.
    private func verdicts(of contract: Contract, wanted: [Verdict]? = nil) async -> [Verdict] {
        var verdicts: [Verdict] = []
        for session in sessions {
            let runner = SuiteRunner(
                executor: session.executor,
                options: SuiteRunner.Options(
                    seed: 0,
                    jobs: 1,
                    nonce: SuiteRun.nonce(),
                    knownFailures: KnownFailures()
                ),
                report: { _ in }
            )
            let results = await runner.run([contract])
            verdicts.append(results.first?.verdict ?? .notRun)
            if let wanted, !wanted.starts(with: verdicts) { break }
        }
        return verdicts
    }

    /// The smallest contract that is judged alike everywhere.
    ///
    /// - Throws: When the whole one tells nothing, or somebody interrupts; what was found by then is
    ///   kept in the file of the state.
    func minimised(
        _ contract: Contract,
        jobs: Int,
        statePath: String,
        _ interruption: Interruption
    ) async throws -> (contract: Contract, removedCount: Int) {
        let wanted = try await interruption.run { await verdicts(of: contract) }
        if interruption.isRaised { throw Failure(.interrupted, "interrupted") }
        guard wanted.first == .passed else {
            throw Failure(
                .failures,
                "'\(contract.id)' does not pass on the backend as it is; see 'assay verify'"
            )
        }
        let told = wanted.dropFirst().count { $0 == .failed }
        guard told > 0 else {
            throw Failure(
                .failures,
                "none of --against is found out by '\(contract.id)', so nothing says what it is for"
            )
        }
        let text = ContractWriter.text(contract, id: contract.id)
        let state = MinimiseState(path: statePath, search: commands + [text])
        if state.count > 0 {
            Terminal.error(
                "\(contract.id): \(state.count) answers of an earlier search are known\n"
            )
        }
        let progress = MinimiseProgress(contract.id)
        let result = try await interruption.run {
            await Minimiser.minimised(contract, jobs: jobs, report: progress.report) { candidate in
                if let answer = state.answer(of: candidate) { return answer }
                let keeps = await verdicts(of: candidate, wanted: wanted) == wanted
                // What was cut short is no answer.
                guard !Task.isCancelled else { return false }
                state.remember(candidate, keeps: keeps)
                return keeps
            }
        }
        progress.end()
        if interruption.isRaised {
            throw Failure(.interrupted, "interrupted; the same command goes on where it was")
        }
        state.end()
        return result
    }
}

/// A line about the search: rewritten on a terminal, now and then elsewhere.
private final class MinimiseProgress: Sendable {
    private let id: String
    private let isLive = Terminal.isInteractive(2)
    private let told = Locked(0)

    init(_ id: String) { self.id = id }

    func report(_ progress: Minimiser.Progress) {
        let isDue = told.withLock { told in
            guard isLive || progress.askedCount >= told + 50 else { return false }
            told = progress.askedCount
            return true
        }
        guard isDue else { return }
        let text =
            "\(id): \(progress.removedCount) of \(progress.partCount) parts removed, "
            + "\(progress.askedCount) candidates played"
        Terminal.error((isLive ? "\r\u{1b}[K" : "") + text + (isLive ? "" : "\n"))
    }

    func end() { if isLive { Terminal.error("\r\u{1b}[K") } }
}
