internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Recording
internal import Replay
internal import Values

/// Runs draft golden contracts on the recorded backend, and masks the values that change from run
/// to run.
///
/// Every round runs the drafts three times: first one at a time, and then in parallel, so that
/// counters differ. Before the third time, a backend that Assay started is restarted, so that
/// values from its start differ. A backend that was already running is not restarted.
struct NoiseRun: Sendable {
    /// A draft contract and the results of its runs.
    struct Outcome: Sendable {
        var contract: Contract
        var masks: [NoiseLearner.Mask] = []
        /// The differences between the recording and the backend's behavior; empty when the draft
        /// passes.
        var contradictions: [String] = []
        /// The reason why the draft did not run; nil when it ran.
        var failureReason: String?

        fileprivate mutating func addMask(_ mask: NoiseLearner.Mask) {
            var mask = mask
            if let index = masks.firstIndex(where: { $0.location == mask.location }) {
                mask.widen(masks.remove(at: index))
                masks.insert(mask, at: index)
            } else {
                masks.append(mask)
            }
        }

        /// The lines that describe the masked values, short enough for a terminal.
        var maskLines: [String] {
            masks.map { mask in
                let (oldValueText, firstDifferentValue) = (
                    Self.shortened(mask.recorded), Self.shortened(mask.firstDifferentValue)
                )
                let now = mask.matcher.map { Self.shortened($0, 40) } ?? "not compared"
                return
                    "  \(mask.location)\n    recorded \(oldValueText), then \(firstDifferentValue); in the contract: \(now)"
            }
        }

        private static func shortened(_ text: String, _ characterCountMax: Int = 24) -> String {
            text.count <= characterCountMax ? text : text.prefix(characterCountMax - 1) + "…"
        }
    }

    /// The largest number of rounds.
    ///
    /// A round after the first only finds changing values that were hidden by an earlier
    /// difference.
    private static let roundCountMax = 6
    /// The largest number of runs of a draft with a value that differs from the recording but is
    /// equal in all runs so far.
    private static let runCountMax = 6
    private static let jobs = 8

    let profile: Profile
    let addresses: [Exchange.Party: ReplaySession.Address]
    let interruption: Interruption

    /// Runs draft contracts until each one passes or contradicts its recording.
    ///
    /// - Parameters:
    ///   - drafts: The draft contracts.
    ///   - printProgress: A function that prints progress.
    /// - Returns: The outcomes, in the order of the drafts.
    /// - Throws: A failure when the backend does not become ready, or after an interruption.
    func outcomes(
        of drafts: [Contract],
        printProgress: @escaping @Sendable (String) -> Void
    ) async throws -> [Outcome] {
        var outcomes = drafts.map { Outcome(contract: $0) }
        var remainingDrafts = Array(drafts.indices)
        var roundNumber = 0
        while !remainingDrafts.isEmpty {
            roundNumber += 1
            printProgress(
                "round \(roundNumber): running \(remainingDrafts.count) golden "
                    + "contract\(remainingDrafts.count == 1 ? "" : "s") on the recorded backend\n"
            )
            let observations = try await observations(
                of: remainingDrafts.map { outcomes[$0].contract }
            )
            remainingDrafts = remainingDrafts.filter { index in
                guard let draftObservations = observations[outcomes[index].contract.id] else {
                    return false
                }
                if let failureReason = draftObservations.failureReason {
                    outcomes[index].failureReason = failureReason
                    return false
                }
                let (contract, masks) = draftObservations.noiseLearner.masked
                if !masks.isEmpty, roundNumber < Self.roundCountMax {
                    outcomes[index].contract = contract
                    for mask in masks { outcomes[index].addMask(mask) }
                    return true
                }
                outcomes[index].contradictions =
                    masks.isEmpty
                    ? draftObservations.noiseLearner.contradictions
                    : masks.map {
                        "\($0.location): the value still changes after \(roundNumber) rounds"
                    }
                if outcomes[index].contradictions.isEmpty {
                    outcomes[index].contradictions = draftObservations.failures
                }
                return false
            }
        }
        return outcomes
    }

    // MARK: Runs

    private struct DraftObservations {
        var noiseLearner: NoiseLearner
        var failures: [String] = []
        var failureReason: String?
    }

    private func observations(of drafts: [Contract]) async throws -> [String: DraftObservations] {
        var observations = Dictionary(
            drafts.map { ($0.id, DraftObservations(noiseLearner: NoiseLearner($0))) },
            uniquingKeysWith: { first, _ in first }
        )
        func addEvidence(_ results: [CaseResult]) {
            for result in results {
                if let evidence = result.evidence, result.verdict != .notRun {
                    observations[result.contract.id]?.noiseLearner.addEvidence(evidence)
                }
                switch result.verdict {
                case .passed: break
                case .notRun:
                    observations[result.contract.id]?.failureReason =
                        result.note ?? "the case did not run"
                case .failed, .inconclusive, .knownFailure, .unexpectedPass:
                    let findingTexts = result.findings.map {
                        "\($0.code.rawValue): recorded \($0.expected), now \($0.actual)"
                    }
                    for text in findingTexts
                    where observations[result.contract.id]?.failures.contains(text) == false {
                        observations[result.contract.id]?.failures.append(text)
                    }
                    if findingTexts.isEmpty {
                        observations[result.contract.id]?.failures.append(
                            result.note ?? "did not pass"
                        )
                    }
                }
            }
        }
        try await session { session in
            addEvidence(try await runDrafts(drafts, on: session, jobs: 1))
            addEvidence(try await runDrafts(drafts, on: session, jobs: Self.jobs))
        }
        try await session { session in
            addEvidence(try await runDrafts(drafts, on: session, jobs: Self.jobs))
            for _ in 3..<Self.runCountMax {
                let remainingDrafts = drafts.filter {
                    observations[$0.id]?.noiseLearner.needsAnotherRun == true
                }
                guard !remainingDrafts.isEmpty else { break }
                addEvidence(try await runDrafts(remainingDrafts, on: session, jobs: 1))
            }
        }
        return observations
    }

    private func runDrafts(
        _ drafts: [Contract],
        on session: ReplaySession,
        jobs: Int
    ) async throws -> [CaseResult] {
        var options = SuiteRunOptions(
            seed: UInt64.random(in: 0 ... .max),
            jobs: jobs,
            nonce: SuiteRun.nonce(),
            knownFailures: KnownFailures()
        )
        options.keepsEvidence = true
        // A draft runs several times, so the first run waits in full for an effect, and the others
        // need no recheck.
        options.rechecksCases = false
        let runnerOptions = options
        let results = try await interruption.run {
            await SuiteRunner(executor: session.executor, options: runnerOptions, report: { _ in })
                .run(drafts)
        }
        if interruption.hasReceivedSignal { throw CommandFailure(.interrupted, "interrupted") }
        return results
    }

    /// Runs the body with the fakes and a freshly started backend, or with the backend that is
    /// already running.
    private func session(_ body: (ReplaySession) async throws -> Void) async throws {
        let workFolder = try WorkFolder.made()
        defer { workFolder.remove() }
        let folder = workFolder.path
        let session = try await ReplaySession.opened(profile, addresses: addresses, folder: folder)
        interruption.onSecondSignal { session.killBackend() }
        do {
            try await body(session)
        } catch {
            await session.close()
            throw error
        }
        await session.close()
    }
}

extension ReplaySession {
    /// Starts the fakes and opens a backend, which keeps its data in a new subfolder of the folder.
    ///
    /// - Throws: A `CommandFailure` when the backend does not become ready.
    static func opened(
        _ profile: Profile,
        addresses: [Exchange.Party: Address] = [:],
        folder: String
    ) async throws -> ReplaySession {
        try FileManager.default.createDirectory(
            atPath: folder + "/data",
            withIntermediateDirectories: true
        )
        let base = Instant(milliseconds: (SuiteRun.now().milliseconds / 1000 - 3600) * 1000)
        do throws(OpenError) {
            return try await ReplaySession(
                profile: profile,
                addresses: addresses,
                folder: folder,
                base: base,
                onRefusal: Terminal.reportRefusal,
                onBuild: Terminal.reportBuilding,
                onStartupWait: Terminal.reportWaiting
            )
        } catch {
            throw CommandFailure(ExitStatus(error.kind), error.description)
        }
    }
}
