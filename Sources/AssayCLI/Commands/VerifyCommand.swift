internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import FakeServers
internal import Foundation
internal import Judging
internal import Programs
internal import Providers
internal import Recording
internal import Replay
internal import Reports
internal import Values

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Runs the contracts against a backend.",
        usage: "assay verify [--start COMMAND | --target URL] [OPTIONS] [PATHS]",
        discussion: """
            With --start (or 'start' in the profile), Assay starts the backend, gives it the \
            addresses of the fakes in environment variables, and can restart it. With --target, \
            the backend is already running, and calls the fakes on fixed ports \
            (\(fixedPorts)).

            Example:  assay verify --start 'node server.js' --report junit=out/junit.xml
                      assay verify --target http://127.0.0.1:8080 --only S-03 --seed 7
            """
    )

    /// The names and ports of the fakes that every backend calls.
    private static var fixedPorts: String {
        ProviderTable.all.sortedEntries
            .filter { $0.isCalled(BackendTraits(receivesIDTokens: false)) }
            .map { "\($0.title) \($0.defaultPort)" }.joined(separator: ", ")
    }

    @OptionGroup var target: TargetOptions
    @OptionGroup var selection: SelectionOptions
    @OptionGroup(title: HelpSection.mostUsed) var rerun: RerunOption
    @OptionGroup(title: HelpSection.selection) var mode: VerifyModeOptions
    @OptionGroup var reports: ReportOptions
    @OptionGroup(title: HelpSection.reports) var results: VerifyResultOptions
    @OptionGroup(title: HelpSection.ci) var ci: VerifyCIOptions
    @OptionGroup(title: HelpSection.limits) var limits: VerifyLimits

    @Argument(help: "Contract files or folders to run instead of the shipped ones.")
    var paths: [String] = []

    mutating func run() async throws {
        guard mode.watch else { return try await runOnce(Interruption(), nil) }
        for (isGiven, flag) in [(mode.keep, "--keep"), (mode.dryRun, "--dry-run")] where isGiven {
            throw CommandFailure(.usage, "--watch and \(flag) cannot be combined")
        }
        try await runAfterEachChange()
    }

    /// Runs the contracts once.
    ///
    /// - Parameters:
    ///   - interruption: Ends the run at Ctrl-C.
    ///   - known: The last run whose failed cases are repeated; nil to read it if the command
    ///     repeats failed cases.
    /// - Throws: The exit code of the run, or the failure that prevented it.
    mutating func runOnce(_ interruption: Interruption, _ known: LastRun?) async throws {
        let environment = Setting.environment
        let control = mode.keep ? try target.extractControlAddress() : nil
        let profile = try target.resolvedProfile()
        let library = try readableLibrary()
        let lastRunFolder = LastRun.folder(TargetOptions.path(target.profile))
        let lastRun = try known ?? (rerun.rerunFailed ? LastRun.read(lastRunFolder) : nil)
        let selectedCases = try selectedCases(of: library, lastRun, environment)
        let (timeText, timeMax) = try timeLimit(environment)
        let files = try reports.files(keepsExistingFiles: mode.dryRun)
        try checkJournalSize()
        let jobs = try jobCount(environment)
        let baselineFile = try ci.baseline.map { try ReportFiles.writablePath($0) }
        let earlierKnownFailures = try Self.earlierKnownFailures(baselineFile)
        let saveFile = try Setting.save.text(results.save, environment).map {
            try ReportFiles.writablePath($0)
        }
        let run = try suiteRun(
            profile,
            library,
            selectedCases,
            jobs: jobs,
            seed: Setting.seed.text(mode.seed, environment) ?? lastRun?.seed ?? SuiteRun.nonce(),
            timeMax: timeMax,
            saveFile: saveFile
        )
        let isStrict = try isStrict(environment)
        if mode.dryRun {
            printDryRun(run)
            return try checkLibraryErrors(library)
        }
        let conclusion = RunConclusion(
            profile: profile,
            profilePath: TargetOptions.path(target.profile),
            contractRerunArguments: ["verify"] + target.replayArguments,
            files: files,
            replay: ReplayCommand(replayArguments(seed: run.seed, isStrict: isStrict)),
            isVerbose: reports.verbose,
            isStrict: isStrict,
            saveFile: saveFile,
            baselineFile: baselineFile,
            earlierKnownFailures: earlierKnownFailures,
            writesGoldenUpdates: results.update,
            found: Setting.found.text(results.found, environment) ?? GeneratedFolder.found,
            lastRunFolder: environment["CI", default: ""].isEmpty ? lastRunFolder : nil,
            lastRun: lastRun
        )
        let sessionKeeper = control.map {
            SessionKeeper(profile, at: $0, allowedHosts: target.hosts)
        }
        let outcome = try await execute(
            run,
            conclusion,
            sessionKeeper,
            interruption,
            timeText: timeText,
            isQuiet: files.usesStandardOutput
        )
        if outcome.exitCode == 0 || outcome.exitCode == 5 { try checkLibraryErrors(library) }
        throw ExitCode(outcome.exitCode)
    }

    /// Returns the contracts, and prints the errors in contract files.
    private func readableLibrary() throws -> ContractLibrary {
        let library = try selection.contractLibrary(paths: paths)
        for error in library.errors { Terminal.error("\(error)\n\n") }
        if library.headings.isEmpty, !library.errors.isEmpty {
            throw CommandFailure(.unparsable, "no contract could be read")
        }
        return library
    }

    /// Reads the file of `--baseline` before the run, because entries for cases outside this run are
    /// kept.
    private static func earlierKnownFailures(_ baselineFile: String?) throws -> KnownFailures {
        try ReportOptions.knownFailures(
            at: baselineFile.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }
        )
    }

    private func checkJournalSize() throws {
        guard (1...4096).contains(limits.journal) else {
            throw CommandFailure(.usage, "--journal takes 1 to 4096 MiB")
        }
    }

    private func jobCount(_ environment: [String: String]) throws -> Int {
        FileDescriptors.affordableJobCount(
            try Setting.jobs.number(limits.jobs, or: 8, in: 1...64, environment)
        )
    }

    /// The cases of a run, and the selection and the shard that chose them.
    private struct SelectedCases {
        let contracts: [Contract]
        /// The cases of all shards together.
        let allContracts: [Contract]
        let shard: Shard?
        let selection: Selection
    }

    private func selectedCases(
        of library: ContractLibrary,
        _ lastRun: LastRun?,
        _ environment: [String: String]
    ) throws -> SelectedCases {
        let headings = library.headings
        let selection =
            try lastRun.map { try failed($0, among: headings) }
            ?? selection.selection(defaultLevel: .should)
        let allContracts = try library.selectedContracts(selection.applyForBackends(to: headings))
        let shard = try Shard.given(ci.shard, environment)
        let contracts = shard.map { shard in allContracts.filter(shard.includes) } ?? allContracts
        guard !contracts.isEmpty else {
            throw CommandFailure(
                .nothingSelected,
                "--shard \(shard?.description ?? "") contains no case"
            )
        }
        return SelectedCases(
            contracts: contracts,
            allContracts: allContracts,
            shard: shard,
            selection: selection
        )
    }

    private func timeLimit(_ environment: [String: String]) throws -> (
        text: String, timeMax: Duration
    ) {
        let givenMaxTime = Setting.maxTime.given(limits.maxTime, environment)
        let timeText = givenMaxTime?.text ?? "15m"
        guard let timeMax = Duration(contractText: timeText), timeMax > .zero else {
            throw CommandFailure(
                .usage,
                "\(givenMaxTime?.name ?? "") '\(timeText)' is not a duration such as 90s or 15m"
            )
        }
        return (timeText, timeMax)
    }

    /// Returns whether expired known failures are errors.
    private func isStrict(_ environment: [String: String]) throws -> Bool {
        let expiredSetting = Setting.expired.given(ci.expired, environment)
        let strictness = expiredSetting?.text ?? "warn"
        guard ["warn", "error"].contains(strictness) else {
            throw CommandFailure(
                .usage,
                "\(expiredSetting?.name ?? "") '\(strictness)' is neither warn nor error"
            )
        }
        return strictness == "error"
    }

    private func suiteRun(
        _ profile: Profile,
        _ library: ContractLibrary,
        _ selectedCases: SelectedCases,
        jobs: Int,
        seed: String,
        timeMax: Duration,
        saveFile: String?
    ) throws -> SuiteRun {
        let selection = selectedCases.selection
        var run = SuiteRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            contracts: selectedCases.contracts,
            suite: SuiteRun.digest(of: library, selectedCases.allContracts),
            seed: seed,
            jobs: jobs,
            knownFailures: try reports.knownFailures(
                or: profile.knownFailuresPath,
                among: library.headings
            ),
            journalBytesMax: limits.journal << 20
        )
        run.backendCountMax = try TargetOptions.backendCountMax(
            profile,
            limits.backends,
            jobs: jobs
        )
        run.coversWholeSuite =
            paths.isEmpty && selection.only.isEmpty && selection.skip.isEmpty
            && (selection.level ?? .should) >= .should && library.errors.isEmpty
        run.shard = selectedCases.shard
        run.keepsEvidence = saveFile != nil || results.update
        if !mode.dryRun {
            run.savedRunFile = try saveFile.map { try SavedRunFile($0, profile: profile) }
        }
        run.isWanted = { selection.includes($0.heading) }
        run.timeMax = timeMax
        run.stopsAtFirstFailure = limits.failFast
        run.startsWithDecisiveCases =
            limits.failFast || Setting.maxTime.given(limits.maxTime, Setting.environment) != nil
        return run
    }

    /// Runs the suite and finishes the run; with `--keep`, the backend and the fakes then keep
    /// running until the user ends them.
    private func execute(
        _ run: SuiteRun,
        _ conclusion: RunConclusion,
        _ sessionKeeper: SessionKeeper?,
        _ interruption: Interruption,
        timeText: String,
        isQuiet: Bool
    ) async throws -> RunReport {
        let finishedReport = Locked<RunReport?>(nil)
        var run = run
        if let sessionKeeper {
            run.workBeforeClosing = { report in
                let outcome = try conclusion.finishRun(report)
                finishedReport.withLock { $0 = outcome }
                if !report.isInterrupted { try await sessionKeeper.keep(interruption) }
            }
        }
        let suite = run
        let progress = RunProgress()
        let report = try await interruption.run {
            try await suite.run(progress: progress, interruption: interruption) { session in
                try await sessionKeeper?.open(session)
                guard !isQuiet else { return }
                let fakeAddresses = session.servers.map { "\($0.party) \($0.baseURL)" }
                let count = suite.contracts.count
                let hasCrashPoints = suite.contracts.contains { $0.search?.kind == .crashPoints }
                Terminal.error(
                    "assay \(assayVersion) · \(count) case\(count == 1 ? "" : "s")"
                        + (hasCrashPoints ? " · more at crash points" : "")
                        + " · seed \(suite.seed) · at most \(timeText)\n"
                )
                Terminal.error("fakes    \(fakeAddresses.joined(separator: "  "))\n")
                Terminal.error("backend  \(session.backend.target)\n")
                if let url = sessionKeeper?.pageURL { Terminal.error("page     \(url)\n") }
                Terminal.error("\n")
            }
        }
        await sessionKeeper?.close()
        return try finishedReport.withLock { $0 } ?? conclusion.finishRun(report)
    }

    /// Checks that all contracts could be read.
    ///
    /// - Throws: A failure when a contract file has errors, because the run did not contain every
    ///   contract.
    private func checkLibraryErrors(_ library: ContractLibrary) throws {
        guard !library.errors.isEmpty else { return }
        throw CommandFailure(
            .unparsable,
            "errors in contract files: \(library.errors.count); the other contracts were used"
        )
    }

    /// Returns a selection of the contracts and cases that failed in the last run and still exist.
    private func failed(
        _ lastRun: LastRun,
        among headings: [ContractHeading]
    ) throws -> Selection {
        guard selection.only.isEmpty else {
            throw CommandFailure(.usage, "--rerun-failed selects the cases itself; remove --only")
        }
        guard !lastRun.failed.isEmpty else {
            throw CommandFailure(.nothingSelected, "no case failed in the last run in this folder")
        }
        let known = lastRun.failed.filter { id in headings.contains { Selection.matches(id, $0) } }
        guard !known.isEmpty else {
            throw CommandFailure(
                .nothingSelected,
                "the cases that failed in the last run, such as '\(lastRun.failed[0])', are not in "
                    + "these contracts; give the contract files of that run"
            )
        }
        if known.count < lastRun.failed.count {
            Terminal.error(
                "assay: \(lastRun.failed.count - known.count) of \(lastRun.failed.count) failed cases are "
                    + "not in these contracts; they stay in the list of failed cases\n"
            )
        }
        let requestedSelection = try selection.selection()
        return Selection(
            only: known,
            skip: requestedSelection.skip,
            level: requestedSelection.level
        )
    }

    /// Prints the cases that would run, and the reasons why others would not.
    private func printDryRun(_ run: SuiteRun) {
        let preview = SuitePreview(run.contracts, run.profile)
        let style = Terminal.style()
        let count = Set(preview.runnableContracts.map(\.id)).count
        var text =
            "\(style.bold("would run")) \(preview.runnableContracts.count) of \(run.contracts.count) cases, "
            + "of \(count) contract\(count == 1 ? "" : "s"), with seed \(run.seed)\n"
        let backend =
            run.profile.start.map { "starts     \($0.command)" }
            ?? "calls      \(run.profile.target ?? "")"
        text += String(backend.printable.prefix(style.width)) + "\n"
        if preview.runnableContracts.contains(where: { $0.search?.kind == .crashPoints }) {
            text += "and        one case per call and fault that runs without faults show\n"
        }
        let reasons = Dictionary(grouping: preview.skippedContracts, by: \.reason)
        for (reason, cases) in reasons.sorted(by: { $0.key < $1.key }) {
            let caseNoun = cases.count == 1 ? "case" : "cases"
            let lines = "\(cases.count) \(caseNoun): \(reason)".printable.wrapped(style.width - 11)
            text += "not run    " + lines.joined(separator: "\n           ") + "\n"
        }
        let listedContracts = reports.verbose ? preview.runnableContracts : []
        text += listedContracts.map { "           \($0.caseID)\n" }.joined()
        if !reports.verbose { text += "           --verbose lists all cases\n" }
        Terminal.output(text)
    }

    /// Returns the command line that repeats this run, without its selection of cases.
    private func replayArguments(seed: String, isStrict: Bool) -> [String] {
        // Contract paths on the command line replace the shipped contracts and those of
        // `--contracts`.
        let contracts = paths.isEmpty ? selection.replayArguments : []
        return [Terminal.program, "verify"] + paths + target.replayArguments + contracts
            + reports.replayArguments + (isStrict ? ["--expired", "error"] : []) + ["--seed", seed]
    }
}
