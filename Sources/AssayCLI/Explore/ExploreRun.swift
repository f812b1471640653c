internal import Contracts
internal import Foundation
internal import Programs
internal import Replay
internal import Values

/// A campaign of generated histories against one backend, from opening the ports to the result.
struct ExploreRun: Sendable {
    var profile: Profile
    var addresses: [Exchange.Party: ReplaySession.Address]
    var source: Campaign.Source
    var options: Campaign.Options
    var journalBytesMax = 256 << 20

    /// The time after which a message reports that the backend has not restarted yet.
    private static let waitingReportDelay: Duration = .seconds(30)

    struct Result: Sendable {
        let outcome: Campaign.Outcome
        let target: String
        let began: Instant
        let seconds: Double
        /// Notes for the report, in addition to the failures.
        var notes: [String] = []
    }

    /// Starts the fakes and connects to the backend, runs the campaign, and closes the connections.
    ///
    /// - Throws: A failure when the backend or a port cannot be reached.
    func run(
        interruption: Interruption?,
        onOpen: @Sendable (ReplaySession) -> Void = { _ in },
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) async throws -> Result {
        let workFolder = try WorkFolder.made()
        defer { workFolder.remove() }
        let folder = workFolder.path
        let began = SuiteRun.now()
        var suite = SuiteRun(
            profile: profile,
            addresses: addresses,
            contracts: [],
            suite: "",
            seed: "",
            jobs: options.jobs,
            journalBytesMax: journalBytesMax
        )
        // Histories restart the backend hundreds of times. After the first start, only a start that
        // takes longer than `waitingReportDelay` is reported.
        let isSessionOpen = Locked(false)
        suite.onStartupWait = { waiting in
            guard !isSessionOpen.withLock({ $0 }) || waiting.time >= Self.waitingReportDelay else {
                return
            }
            Terminal.reportWaiting(waiting)
        }
        let session = try await SuiteRun.convertingOpenErrors(interruption) {
            () throws(ReplaySession.OpenError) in
            try await suite.session(in: folder, addresses, SuiteRun.base(at: began))
        }
        interruption?.onSecondSignal { session.killBackend() }
        isSessionOpen.withLock { $0 = true }
        onOpen(session)
        let campaign = Campaign(
            executor: session.executor,
            source: source,
            options: options,
            report: report
        )
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = await campaign.run()
        let seconds = Double((clock.now - start).milliseconds) / 1000
        await session.close()
        return Result(
            outcome: outcome,
            target: session.backend.target,
            began: began,
            seconds: seconds
        )
    }
}
