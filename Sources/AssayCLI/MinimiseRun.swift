internal import Conformance
internal import FakeServers
internal import Foundation
internal import Recording
internal import Replay

/// The backends that a golden contract is minimised against, all of them running.
struct MinimiseRun: Sendable {
    /// The backend that was recorded, then those on which the contract must not pass.
    private let sessions: [ReplaySession]
    private let folder: String

    /// - Parameters:
    ///   - profile: How to start and reach the backend.
    ///   - others: Commands that start backends which the contract tells from it.
    /// - Throws: When one of them does not get ready.
    init(_ profile: Profile, others: [String]) async throws {
        folder = NSTemporaryDirectory() + "assay-" + SuiteRun.nonce()
        var profiles = [profile]
        for command in others {
            var other = profile
            other.start?.command = command
            profiles.append(other)
        }
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
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The verdict on each backend, the recorded one first.
    func verdicts(of contract: Contract) async -> [Verdict] {
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
        }
        return verdicts
    }

    /// The smallest contract that is judged alike everywhere.
    func minimised(_ contract: Contract) async throws -> (contract: Contract, removedCount: Int) {
        let wanted = await verdicts(of: contract)
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
        return await Minimiser.minimised(contract) { await verdicts(of: $0) == wanted }
    }
}
