internal import Conformance
internal import Exploration
internal import FakeServers
internal import Foundation
internal import Programs
internal import Replay

/// One campaign against one backend, from opening the ports to what came of it.
struct ExploreRun: Sendable {
    var profile: Profile
    var addresses: [Exchange.Party: ReplaySession.Address]
    var source: Campaign.Source
    var options: Campaign.Options
    var journalBytesMax = 256 << 20

    /// How long a backend may take to come back until somebody is told.
    private static let newsAfter: Duration = .seconds(30)

    struct Result: Sendable {
        let outcome: Campaign.Outcome
        let target: String
        let began: Instant
        let seconds: Double
        /// What people have to be told beside what was found.
        var notes: [String] = []
    }

    /// - Throws: A failure where the backend or a port cannot be reached.
    func run(
        interruption: Interruption?,
        opened: @Sendable (ReplaySession) -> Void = { _ in },
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) async throws -> Result {
        let work = try WorkFolder.made()
        defer { work.remove() }
        let folder = work.path
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
        // Lives end and start a backend hundreds of times: only one that stays away is news.
        let isOpen = Locked(false)
        suite.onWaiting = { waiting in
            guard !isOpen.withLock({ $0 }) || waiting.time >= Self.newsAfter else { return }
            Terminal.tellWaiting(waiting)
        }
        let session = try await SuiteRun.telling(interruption) {
            () throws(ReplaySession.OpenError) in
            try await suite.session(in: folder, addresses, SuiteRun.base(at: began))
        }
        interruption?.onAbandon { session.abandon() }
        isOpen.withLock { $0 = true }
        opened(session)
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
