internal import ContractFiles
internal import Contracts
internal import FakeServers
internal import Foundation
internal import Judging
internal import Phone
internal import Programs
internal import Providers
internal import Redaction
internal import Replay
internal import Values

/// A run of selected contracts against one backend, from opening the ports to the report.
struct SuiteRun: Sendable {
    var profile: Profile
    var addresses: [Exchange.Party: ReplaySession.Address]
    var contracts: [Contract]
    var suite: String
    var seed: String
    var jobs: Int
    /// The number of backend instances that may run at once.
    ///
    /// The additional instances serve cases that cannot share a backend with other cases.
    var backendCountMax = 1
    var knownFailures = KnownFailures()
    var journalBytesMax = 256 << 20
    var coversWholeSuite = false
    var shard: Shard?
    var keepsEvidence = false
    /// The file that receives the result of each case when the case finishes; nil without `--save`.
    var savedRunFile: SavedRunFile?
    /// The defects of the simulated app with user accounts, which uses the backend.
    var appDefects: Set<AccountApp.Defect> = []
    /// The defects of the simulated app on the Despia runtime, which uses the backend.
    var clientDefects: Set<ClientDefect> = []
    /// A filter that decides which variants of the selected contracts run; nil to run all variants.
    var isWanted: (@Sendable (Contract) -> Bool)?
    /// The longest real time for all cases together; nil for no limit.
    var timeMax: Duration?
    /// Whether the first failure ends the run.
    var stopsAtFirstFailure = false
    /// Whether the user has limited the run, so that it begins with the cases that decide most.
    var startsWithDecisiveCases = false
    /// Whether the backend is checked before the first case, and the run stops if the check shows
    /// that no case can be judged.
    var checksBackendFirst = true
    /// Whether a failure that may depend on timing is repeated, so that the report can state
    /// whether it is a race.
    var detectsRaces = true
    /// A function that is called repeatedly while the backend is not ready.
    var onStartupWait: @Sendable (BackendUnderTest.StartupWait) -> Void = Terminal.reportWaiting
    /// A function that receives the report while the first backend and the fakes are still running.
    var workBeforeClosing: (@Sendable (RunReport) async throws -> Void)?

    /// Starts the fakes and the backend, runs the cases, and returns the report.
    ///
    /// The report is marked as interrupted when the task was canceled.
    func run(
        progress: RunProgress,
        interruption: Interruption?,
        onOpen: @Sendable (ReplaySession) async throws -> Void = { _ in }
    ) async throws -> RunReport {
        let work = try WorkFolder.made()
        defer { work.remove() }
        let folder = work.path
        let began = Self.now()
        let base = Self.base(at: began)
        let session = try await Self.convertingOpenErrors(interruption) {
            () throws(ReplaySession.OpenError) in
            try await self.session(in: folder, addresses, base)
        }
        let additionalSessions = Locked<[ReplaySession]>([])
        interruption?.onSecondSignal {
            for session in [session] + additionalSessions.withLock({ $0 }) {
                session.killBackend()
            }
        }
        try await Self.close(session, ifFails: { try await onOpen(session) })
        let options = suiteOptions()
        let plannedReport = emptyReport(session.backend.target, began)
        let notedEvents = Locked(NotedEvents())
        let failed = FirstFailureStop()
        let runner = runner(options, session, additionalSessions, folder: folder, base) { event in
            notedEvents.withLock { $0.note(event) }
            save(event, plannedReport)
            if stopsAtFirstFailure, event.isFailure { failed.end() }
            progress.report(event)
        }
        let clock = ContinuousClock()
        let start = clock.now
        let progressTask = progress.startPeriodicPrinting()
        let (cases, hasTimedOut) = await run(runner, endingWith: failed)
        progressTask.cancel()
        await savedRunFile?.end()
        let seconds = Double((clock.now - start).milliseconds) / 1000
        let sessions = [session] + additionalSessions.withLock { $0 }
        var notes = notes(about: sessions, options.nonce)
        notes += notedEvents.withLock { $0.instanceNote }
        notes += Self.crashPointNote(cases, selectedCount: contracts.count)
        let backendSeconds = Self.backendSeconds(sessions)
        await Self.close(sessions.dropFirst())
        if workBeforeClosing == nil { await session.close() }
        progress.clearProgressLine()
        var report = emptyReport(session.backend.target, began)
        report.cases = cases
        report.seconds = seconds
        report.isInterrupted = Task.isCancelled || interruption?.hasReceivedSignal == true
        report.notes = notes
        report.backendCount = sessions.count
        report.backendSeconds = backendSeconds
        report.skipReasons = notedEvents.withLock { $0.skipReasons }
        report.hasTimedOut = hasTimedOut && !report.isInterrupted
        if let workBeforeClosing {
            try await Self.close(session, ifFails: { try await workBeforeClosing(report) })
            await session.close()
        }
        return report
    }

    /// The events of a suite that the report mentions.
    private struct NotedEvents {
        private(set) var skipReasons: [String] = []
        private var instanceFailures: [String] = []

        mutating func note(_ event: SuiteEvent) {
            switch event {
            case .stopped(let reasons): skipReasons = reasons
            case .instanceFailed(let reason): instanceFailures.append(reason)
            case .planned, .finished, .calibrated, .started, .backendRestarted, .warned: break
            }
        }

        /// A note about an additional instance that could not be started; empty without one.
        var instanceNote: [String] {
            guard let reason = instanceFailures.first else { return [] }
            return [
                "no other backend instance could be started, so cases waited for each other: "
                    + (reason.split(separator: "\n").first.map(String.init) ?? reason)
            ]
        }
    }

    /// Adds an event to the file of `--save`.
    private func save(_ event: SuiteEvent, _ emptyReport: RunReport) {
        switch event {
        case .planned(let ids): savedRunFile?.begin(emptyReport, planned: ids)
        case .finished(let result, _, _): savedRunFile?.add(result)
        case .stopped, .instanceFailed, .calibrated, .started, .backendRestarted, .warned: break
        }
    }

    /// Returns the runner of the suite, which opens additional sessions when it needs them.
    private func runner(
        _ options: SuiteRunOptions,
        _ session: ReplaySession,
        _ additionalSessions: Locked<[ReplaySession]>,
        folder: String,
        _ base: Instant,
        report: @escaping @Sendable (SuiteEvent) -> Void
    ) -> SuiteRunner {
        SuiteRunner(
            executor: session.executor,
            additionalInstanceMax: backendCountMax - 1,
            openInstance: { number in
                let additionalSession = try await self.session(
                    in: folder + "/beside-\(number + 1)",
                    [:],
                    base,
                    alongside: session
                )
                additionalSessions.withLock { $0.append(additionalSession) }
                return additionalSession.executor
            },
            options: options,
            report: report
        )
    }

    /// Does some work, and closes the session if the work fails.
    private static func close(
        _ session: ReplaySession,
        ifFails work: () async throws -> Void
    ) async throws {
        do {
            try await work()
        } catch {
            await session.close()
            throw error
        }
    }

    /// Closes sessions concurrently.
    private static func close(_ sessions: ArraySlice<ReplaySession>) async {
        await withTaskGroup(of: Void.self) { group in
            for session in sessions { group.addTask { await session.close() } }
        }
    }

    private func suiteOptions() -> SuiteRunOptions {
        var generator = SeededGenerator(seed: 0, text: seed)
        var options = SuiteRunOptions(
            seed: generator.next(),
            jobs: jobs,
            nonce: Self.nonce(),
            knownFailures: knownFailures
        )
        options.keepsEvidence = keepsEvidence
        options.isWanted = isWanted
        options.checksBackendFirst = checksBackendFirst
        options.hasSelectedCases = !coversWholeSuite
        options.detectsRaces = detectsRaces
        options.mayEndEarly = startsWithDecisiveCases
        return options
    }

    /// Returns the total time in which the backends were handling requests, in seconds; nil when a
    /// journal does not contain all requests.
    private static func backendSeconds(_ sessions: [ReplaySession]) -> Double? {
        let responseWaitTimes = sessions.map { session in
            session.fakes.journal.read { $0.totalResponseWaitTime(of: .backend) }
        }
        guard !responseWaitTimes.contains(nil) else { return nil }
        let totalResponseWaitTime = responseWaitTimes.compactMap(\.self).reduce(.zero, +)
        return Double(totalResponseWaitTime.milliseconds) / 1000
    }

    /// Returns a note with the reason why a run has more cases than it selected; empty if it has
    /// not.
    ///
    /// The calls of the backend decide the number of crash points, so it is not known before the
    /// run.
    static func crashPointNote(_ cases: [CaseResult], selectedCount: Int) -> [String] {
        let caseCount = cases.count { !$0.isAboutWholeRun }
        guard caseCount > selectedCount else { return [] }
        return [
            "\(selectedCount) case\(selectedCount == 1 ? "" : "s") selected, and "
                + "\(caseCount - selectedCount) more at the calls of the backend (crash points)"
        ]
    }

    /// Returns the report of this run before its first case.
    private func emptyReport(_ target: String, _ began: Instant) -> RunReport {
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
        report.coversWholeSuite = coversWholeSuite
        report.shard = shard?.description
        report.commit = GitCommit.current(in: backendFolder)
        return report
    }

    /// The folder of the backend: that of its start command, or else that of the profile.
    private var backendFolder: String {
        let workingFolder = FileManager.default.currentDirectoryPath
        guard let folder = profile.start?.folder ?? profile.folder else { return workingFolder }
        return URL(
            fileURLWithPath: folder,
            relativeTo: URL(fileURLWithPath: workingFolder, isDirectory: true)
        ).standardizedFileURL.path
    }

    /// Returns the instant to which relative times in contracts refer: one hour before the start of
    /// the run, on a whole second.
    ///
    /// The instant is recent, so that event times count as the present. It is an hour early, so
    /// that event times are not mistaken for readings of the backend's clock.
    static func base(at now: Instant) -> Instant {
        Instant(milliseconds: (now.milliseconds / 1000 - 3600) * 1000)
    }

    /// Opens a session, and turns an error into a failure with its exit code.
    ///
    /// - Throws: A failure with the reason, or `interrupted` after Ctrl-C.
    static func convertingOpenErrors(
        _ interruption: Interruption?,
        _ open: () async throws(ReplaySession.OpenError) -> ReplaySession
    ) async throws -> ReplaySession {
        do throws(ReplaySession.OpenError) {
            return try await open()
        } catch {
            if interruption?.hasReceivedSignal == true {
                throw CommandFailure(.interrupted, "interrupted")
            }
            throw CommandFailure(ExitStatus(error.kind), error.description)
        }
    }

    /// Starts the fakes and opens a backend, which keeps its data in the folder.
    func session(
        in folder: String,
        _ addresses: [Exchange.Party: ReplaySession.Address],
        _ base: Instant,
        alongside other: ReplaySession? = nil
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        do {
            try FileManager.default.createDirectory(
                atPath: folder + "/data",
                withIntermediateDirectories: true
            )
        } catch {
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot create the folder '\(folder)': \(error.localizedDescription)"
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
            alongside: other,
            onBuild: Terminal.reportBuilding,
            onStartupWait: onStartupWait
        )
    }

    /// Runs the contracts until all cases have a result, the time limit is reached, or the first
    /// failure ends the run.
    private func run(
        _ runner: SuiteRunner,
        endingWith failed: FirstFailureStop
    ) async -> (cases: [CaseResult], hasTimedOut: Bool) {
        let contracts = contracts
        let work = Task { await runner.run(contracts) }
        failed.onEnd { work.cancel() }
        let isTimeOver = Locked(false)
        let timeLimitTask = timeMax.map { time in
            Task {
                try await ContinuousClock().sleep(for: time)
                isTimeOver.withLock { $0 = true }
                work.cancel()
            }
        }
        defer { timeLimitTask?.cancel() }
        let cases = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        let hasTimedOut = isTimeOver.withLock { $0 }
        let reason =
            failed.hasEnded
            ? "the first failure ended the run (--fail-fast)"
            : "the time limit (--max-time) was reached"
        guard hasTimedOut || failed.hasEnded else { return (cases, false) }
        let finalResults = cases.map { result in
            var result = result
            if result.outcome == .notRun {
                result.note = reason
            }
            return result
        }
        return (finalResults, hasTimedOut)
    }

    /// Ends a run at its first failure, for `--fail-fast`.
    private final class FirstFailureStop: Sendable {
        private struct State {
            var hasEnded = false
            var action: (@Sendable () -> Void)?
        }

        private let state = Locked(State())

        var hasEnded: Bool { state.withLock { $0.hasEnded } }

        func onEnd(_ action: @escaping @Sendable () -> Void) {
            let hasEnded = state.withLock { state in
                state.action = action
                return state.hasEnded
            }
            if hasEnded { action() }
        }

        func end() {
            let action = state.withLock { state in
                state.hasEnded = true
                return state.action
            }
            action?()
        }
    }

    /// Returns notes for the report about HTTP calls that belong to no case, such as calls that a
    /// fake refused with 401 or 403.
    private func notes(about sessions: [ReplaySession], _ nonce: String) -> [String] {
        let exchanges = sessions.flatMap { session in
            session.fakes.journal.read { $0.exchanges }
        }
        let backendCalls = exchanges.filter { $0.from == .backend }
        let refusedCalls = backendCalls.filter { [401, 403].contains($0.response?.status ?? 0) }
        // The journal has notes about problems of Assay, such as connections that could not be
        // prepared.
        var notes = sessions.flatMap(\.fakes.journal.notes)
        // When the fake also accepted calls, the backend's key is correct, and contracts planned
        // the refusals.
        if let first = refusedCalls.first,
            !backendCalls.contains(where: { $0.to == first.to && $0.response?.status == 200 })
        {
            notes.append(
                "the fake \(first.to) refused \(refusedCalls.count) "
                    + "call\(refusedCalls.count == 1 ? "" : "s") of the backend, because the backend's "
                    + "key differs from the key in the profile"
            )
        }
        let count = sessions.map { $0.executor.unattributedEffectCount(of: nonce) }.reduce(0, +)
        if count > 0 {
            notes.append(
                (count == 1 ? "1 push was" : "\(count) pushes were")
                    + " ignored, because no user of this run was the recipient: the backend's data "
                    + "may be from an earlier run; use '{{data}}', a new folder, in 'start: command'"
            )
        }
        if let note = Slowness.note(exchanges) { notes.append(note) }
        notes += InterceptionRefusalCounts.lines(sessions.compactMap { $0.interception?.refusals })
        return notes
    }

    static func now() -> Instant {
        Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    /// Returns a short string that differs in every run and is part of the users' IDs.
    ///
    /// A backend that keeps its data needs new IDs in every run.
    static func nonce() -> String {
        let time = UInt64(now().milliseconds) << 12 | UInt64.random(in: 0..<4096)
        return String(time, radix: 36)
    }

    /// Returns a digest of the selected contracts, which shows whether two reports are comparable.
    static func digest(of library: ContractLibrary, _ contracts: [Contract]) -> String {
        let ids = Set(contracts.map(\.id))
        let contractTexts = library.files.filter { ids.contains($0.id) }.map {
            "\($0.id)\n\($0.text)\n"
        }
        return Digest.sha256(Array(contractTexts.joined().utf8))
    }
}

extension WorkFolder {
    /// Creates a temporary work folder.
    ///
    /// - Throws: A usage failure with the reason.
    static func made() throws -> WorkFolder {
        do throws(CreationError) {
            return try WorkFolder()
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }
}

extension SuiteEvent {
    /// Whether the event is the failure of a case.
    fileprivate var isFailure: Bool {
        guard case .finished(let result, _, _) = self else { return false }
        return result.outcome.isFailure
    }
}
