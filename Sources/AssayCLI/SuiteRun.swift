internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Phone
internal import Providers
internal import Replay
internal import Programs

/// One run of a selection against one backend, from opening the ports to the report.
struct SuiteRun: Sendable {
    var profile: Profile
    var addresses: [Exchange.Party: ReplaySession.Address]
    var contracts: [Contract]
    var suite: String
    var seed: String
    var jobs: Int
    /// How many backends may stand at once: beside the first, cases that nobody may play beside have
    /// others of their own.
    var backendCountMax = 1
    var knownFailures = KnownFailures()
    var journalBytesMax = 256 << 20
    var isWhole = false
    var shard: Shard?
    var keepsEvidence = false
    /// The file that gets each case as it finishes.
    var saved: SavedRunFile?
    /// How the app with accounts deviates from a correct one.
    var appDefects: Set<AccountApp.Defect> = []
    /// How the app on the Despia runtime deviates from a correct one.
    var clientDefects: Set<ClientDefect> = []
    /// Only these of the generated variants.
    var isWanted: (@Sendable (Contract) -> Bool)?
    /// How long the cases may take together, in real time.
    var timeMax: Duration?
    /// Whether the first failure ends the run.
    var endsAtFailure = false
    /// Stops before the first case when none could say anything of the backend.
    var looksFirst = true
    /// Whether a failure that rests on a moment is played again: for people, who look for its cause.
    var tellsRaces = true
    /// Told of a backend that is not ready yet.
    var onWaiting: @Sendable (BackendUnderTest.Waiting) -> Void = Terminal.tellWaiting
    /// What is done with the report while the first backend and the fakes still stand.
    var whileOpen: (@Sendable (RunReport) async throws -> Void)?

    /// Opens everything, runs, closes, and returns the report; a cancelled run is interrupted.
    func run(
        progress: Progress,
        interruption: Interruption?,
        opened: @Sendable (ReplaySession) async throws -> Void = { _ in }
    ) async throws -> RunReport {
        let work = try WorkFolder.made()
        defer { work.remove() }
        let folder = work.path
        let began = Self.now()
        let base = Self.base(at: began)
        let session = try await Self.telling(interruption) { () throws(ReplaySession.OpenError) in
            try await self.session(in: folder, addresses, base)
        }
        let sides = Locked<[ReplaySession]>([])
        interruption?.onAbandon {
            session.abandon()
            for side in sides.withLock({ $0 }) { side.abandon() }
        }
        do {
            try await opened(session)
        } catch {
            await session.close()
            throw error
        }
        var generator = SeededGenerator(seed: 0, text: seed)
        var options = SuiteRunner.Options(
            seed: generator.next(),
            jobs: jobs,
            nonce: Self.nonce(),
            knownFailures: knownFailures
        )
        options.keepsEvidence = keepsEvidence
        options.isWanted = isWanted
        options.looksFirst = looksFirst
        options.tellsRaces = tellsRaces
        let obstacles = Locked<[String]>([])
        let sideFailures = Locked<[String]>([])
        let failed = Ending()
        let runner = SuiteRunner(
            executor: session.executor,
            sideCount: backendCountMax - 1,
            openSide: { number in
                let folder = folder + "/beside-\(number + 1)"
                let side = try await self.session(in: folder, [:], base, beside: session)
                sides.withLock { $0.append(side) }
                return side.executor
            },
            options: options
        ) { event in
            switch event {
            case .stopped(let reasons): obstacles.withLock { $0 = reasons }
            case .sideFailed(let reason): sideFailures.withLock { $0.append(reason) }
            case .planned(let ids):
                saved?.begin(header(session.backend.target, began), planned: ids)
            case .finished(let result, _, _):
                saved?.add(result)
                if endsAtFailure, [.failed, .unexpectedPass].contains(result.verdict) {
                    failed.end()
                }
            case .calibrated, .started, .backendRestarted: break
            }
            progress.report(event)
        }
        let clock = ContinuousClock()
        let start = clock.now
        let ticking = progress.beginTicking()
        let (cases, isOutOfTime) = await run(runner, endingWith: failed)
        ticking.cancel()
        await saved?.end()
        let seconds = Double((clock.now - start).milliseconds) / 1000
        let sessions = [session] + sides.withLock { $0 }
        var notes = notes(about: sessions, options.nonce)
        if let reason = sideFailures.withLock({ $0.first }) {
            notes.append(
                "no other backend could be started, so cases waited for each other: "
                    + (reason.split(separator: "\n").first.map(String.init) ?? reason)
            )
        }
        let openTimes = sessions.map { session in
            session.world.journal.read { $0.openTime(of: .backend) }
        }
        await withTaskGroup(of: Void.self) { group in
            for side in sessions.dropFirst() { group.addTask { await side.close() } }
        }
        if whileOpen == nil { await session.close() }
        progress.clear()
        var report = header(session.backend.target, began)
        report.cases = cases
        report.seconds = seconds
        report.isInterrupted = Task.isCancelled || interruption?.isRaised == true
        report.notes = notes
        report.backendCount = sessions.count
        if !openTimes.contains(nil) {
            let openTime = openTimes.compactMap(\.self).reduce(.zero, +)
            report.backendSeconds = Double(openTime.milliseconds) / 1000
        }
        report.obstacles = obstacles.withLock { $0 }
        report.isOutOfTime = isOutOfTime && !report.isInterrupted
        guard let whileOpen else { return report }
        do {
            try await whileOpen(report)
        } catch {
            await session.close()
            throw error
        }
        await session.close()
        return report
    }

    /// The report of this run before its first case.
    private func header(_ target: String, _ began: Instant) -> RunReport {
        var report = RunReport(
            version: assayVersion,
            suite: suite,
            seed: seed,
            target: target,
            began: began,
            seconds: 0,
            jobs: jobs,
            cases: [],
            isInterrupted: false,
            notes: []
        )
        report.declared = SecretDeclaration(profile)
        report.isWhole = isWhole
        report.shard = shard?.description
        return report
    }

    /// What relative times count from: an hour ago, on a whole second, late enough to be the present
    /// and early enough that an event's own times are never mistaken for the backend's clock.
    static func base(at now: Instant) -> Instant {
        Instant(milliseconds: (now.milliseconds / 1000 - 3600) * 1000)
    }

    /// - Throws: What could not be opened, with the exit code that says so.
    static func telling(
        _ interruption: Interruption?,
        _ open: () async throws(ReplaySession.OpenError) -> ReplaySession
    ) async throws -> ReplaySession {
        do throws(ReplaySession.OpenError) {
            return try await open()
        } catch {
            if interruption?.isRaised == true { throw Failure(.interrupted, "interrupted") }
            throw Failure(ExitStatus(error.kind), error.description)
        }
    }

    /// The fakes and a backend, with its data in a folder of its own.
    func session(
        in folder: String,
        _ addresses: [Exchange.Party: ReplaySession.Address],
        _ base: Instant,
        beside other: ReplaySession? = nil
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        do {
            try FileManager.default.createDirectory(
                atPath: folder + "/data",
                withIntermediateDirectories: true
            )
        } catch {
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot make the folder '\(folder)': \(error.localizedDescription)"
            )
        }
        return try await ReplaySession(
            profile: profile,
            addresses: addresses,
            folder: folder,
            base: base,
            journalBytesMax: journalBytesMax,
            appDefects: appDefects,
            clientDefects: clientDefects,
            beside: other,
            onWaiting: onWaiting
        )
    }

    /// The results, and whether the time was over before all of them were there.
    private func run(
        _ runner: SuiteRunner,
        endingWith failed: Ending
    ) async -> (cases: [CaseResult], isOutOfTime: Bool) {
        let contracts = contracts
        let work = Task { await runner.run(contracts) }
        failed.onEnd { work.cancel() }
        let isOver = Locked(false)
        let limit = timeMax.map { time in
            Task {
                try await ContinuousClock().sleep(for: time)
                isOver.withLock { $0 = true }
                work.cancel()
            }
        }
        defer { limit?.cancel() }
        let cases = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        let isOutOfTime = isOver.withLock { $0 }
        let reason =
            failed.hasEnded
            ? "the first failure ended the run (--fail-fast)"
            : "the time that --max-time allows was over"
        guard isOutOfTime || failed.hasEnded else { return (cases, false) }
        let told = cases.map { result in
            var result = result
            if result.verdict == .notRun, !result.isDeclaredUnsupported {
                result.note = reason
            }
            return result
        }
        return (told, isOutOfTime)
    }

    /// The first failure, where that is the end.
    private final class Ending: Sendable {
        private struct State {
            var hasEnded = false
            var act: (@Sendable () -> Void)?
        }

        private let state = Locked(State())

        var hasEnded: Bool { state.withLock { $0.hasEnded } }

        func onEnd(_ act: @escaping @Sendable () -> Void) {
            let hasEnded = state.withLock { state in
                state.act = act
                return state.hasEnded
            }
            if hasEnded { act() }
        }

        func end() {
            let act = state.withLock { state in
                state.hasEnded = true
                return state.act
            }
            act?()
        }
    }

    /// What the fakes saw that no case can own.
    private func notes(about sessions: [ReplaySession], _ nonce: String) -> [String] {
        let exchanges = sessions.flatMap { session in
            session.world.journal.read { $0.exchanges }
        }
        let calls = exchanges.filter { $0.from == .backend }
        let refused = calls.filter { [401, 403].contains($0.response?.status ?? 0) }
        // Faults of Assay itself, such as connections that could not be prepared.
        var notes = sessions.flatMap(\.world.journal.notes)
        // A refusal that a contract planned is not the key's fault: others were accepted.
        if let first = refused.first,
            !calls.contains(where: { $0.to == first.to && $0.response?.status == 200 })
        {
            notes.append(
                "the fake \(first.to) refused \(refused.count) calls of the backend: its key is "
                    + "not the profile's"
            )
        }
        let count = sessions.map { $0.executor.unattributedEffectCount(of: nonce) }.reduce(0, +)
        if count > 0 {
            notes.append(
                (count == 1 ? "1 push names" : "\(count) pushes name")
                    + " no user of this run and count for no case: the backend's data may be "
                    + "older than this run; '{{data}}' in 'start: command' stands for a new folder"
            )
        }
        if let note = Slowness.note(exchanges) { notes.append(note) }
        notes += Refusals.lines(sessions.compactMap { $0.interception?.refusals })
        return notes
    }

    static func now() -> Instant {
        Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    /// Short, and different for every run: ids must be new to a backend that keeps its data.
    static func nonce() -> String {
        let time = UInt64(now().milliseconds) << 12 | UInt64.random(in: 0..<4096)
        return String(time, radix: 36)
    }

    /// A digest of the contracts that were selected, so that two reports can be compared.
    static func digest(of library: ContractLibrary, _ contracts: [Contract]) -> String {
        let ids = Set(contracts.map(\.id))
        let texts = library.files.filter { ids.contains($0.id) }.map { "\($0.id)\n\($0.text)\n" }
        return Digest.sha256(Array(texts.joined().utf8))
    }
}

extension WorkFolder {
    /// - Throws: A failure of usage that says why there is none.
    static func made() throws -> WorkFolder {
        do throws(MakeError) {
            return try WorkFolder()
        } catch {
            throw Failure(.usage, error.description)
        }
    }
}
