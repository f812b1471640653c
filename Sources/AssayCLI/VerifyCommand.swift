internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Recording
internal import Replay
internal import Reports

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Replays the contracts against a backend and judges it.",
        discussion: """
            With --start (or 'start' in the profile) Assay starts the backend, tells it the \
            addresses of the fakes, and can restart it. With --target the backend is running \
            already and calls the fakes on their fixed ports (RevenueCat 9310, OneSignal 9320).

            Example:  assay verify --start 'node server.js' --report junit=out/junit.xml
                      assay verify --target http://127.0.0.1:8080 --only S-03 --seed 7
            """
    )

    @OptionGroup var target: TargetOptions
    @OptionGroup var selection: SelectionOptions

    @Option(name: .long, help: Setting.seed.help)
    var seed: String?

    @Option(name: .long, help: Setting.jobs.help)
    var jobs: Int?

    @Option(name: .long, help: Setting.backends.help)
    var backends: Int?

    @OptionGroup var reports: ReportOptions

    @Option(name: .long, help: Setting.shard.help)
    var shard: String?

    @Option(name: .long, help: Setting.save.help)
    var save: String?

    @Option(name: .long, help: Setting.maxTime.help)
    var maxTime: String?

    @Option(name: .long, help: Setting.found.help)
    var found: String?

    @Flag(
        name: .long,
        help: "Write what differs from golden contracts as NAME.yaml.new, for 'assay review'."
    )
    var update = false

    @Flag(name: .long, help: "End the run at its first failure; the rest is not run.")
    var failFast = false

    @Flag(
        name: .long,
        help: """
            Let the backend and the fakes stand after the last case, until Ctrl-C; the control API and             its page, on 9300, show the run and move the fakes.
            """
    )
    var keep = false

    @Option(
        name: .long,
        help: """
            Write the failures of this run as the list of known ones, each pinned to its code; \
            'known-failing' in the profile or --known-failing reads it.
            """
    )
    var baseline: String?

    @Option(name: .long, help: Setting.expired.help)
    var expired: String?

    @Option(name: .long, help: "The journal's bound in megabytes.")
    var journal = 256

    @Argument(help: "Contract files or folders to run instead of the shipped ones.")
    var paths: [String] = []

    mutating func run() async throws {
        let environment = Setting.environment
        let control = keep ? try target.takeControl() : nil
        let profile = try target.resolved()
        let library = try selection.contractLibrary(paths: paths)
        for error in library.errors { Terminal.error("\(error)\n\n") }
        let headings = library.headings
        if headings.isEmpty, !library.errors.isEmpty {
            throw Failure(.unparsable, "no contract could be read")
        }
        let selection = try selection.selection(fallback: .should)
        let all = try library.chosen(selection.applyForBackends(to: headings))
        let shard = try Setting.shard.given(shard, environment).map { given in
            if given.text == "auto" {
                return try Shard.told(by: ProcessInfo.processInfo.environment)
            }
            guard let shard = Shard(given.text) else {
                throw Failure(.usage, "\(given.name) '\(given.text)' is not a part such as 2/3")
            }
            return shard
        }
        let contracts = shard.map { shard in all.filter(shard.takes) } ?? all
        guard !contracts.isEmpty else {
            throw Failure(.nothingSelected, "no case falls to --shard \(shard?.description ?? "")")
        }
        let timeGiven = Setting.maxTime.given(maxTime, environment)
        let timeText = timeGiven?.text ?? "15m"
        guard let timeMax = Duration(contractText: timeText), timeMax > .zero else {
            throw Failure(
                .usage,
                "\(timeGiven?.name ?? "") '\(timeText)' is not a duration such as 90s or 15m"
            )
        }
        let files = try reports.files()
        guard (1...4096).contains(journal) else {
            throw Failure(.usage, "--journal takes 1 to 4096 megabytes")
        }
        let jobs = try Setting.jobs.number(jobs, or: 8, in: 1...64, environment)
        let baselineFile = try baseline.map { try ReportFiles.checked($0) }
        // What stands there already and is not played by this run stays; it is read before the run.
        let earlier = try ReportOptions.knownFailures(at: baselineFile)
        let saveFile = try Setting.save.text(save, environment).map { try ReportFiles.checked($0) }
        var run = SuiteRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            contracts: contracts,
            suite: SuiteRun.digest(of: library, all),
            seed: Setting.seed.text(seed, environment) ?? SuiteRun.nonce(),
            jobs: jobs,
            knownFailures: try reports.knownFailures(
                or: profile.knownFailingPath,
                among: headings
            ),
            journalBytesMax: journal << 20
        )
        run.backendCountMax = try TargetOptions.backendCountMax(profile, backends, jobs: jobs)
        run.isWhole =
            paths.isEmpty && selection.only.isEmpty && selection.skip.isEmpty
            && (selection.level ?? .should) >= .should && library.errors.isEmpty
        run.shard = shard
        run.keepsEvidence = saveFile != nil || update
        run.isWanted = { selection.takes($0.heading) }
        run.timeMax = timeMax
        run.endsAtFailure = failFast
        let interruption = Interruption()
        let progress = Progress()
        let isQuiet = files.usesStandardOutput
        let expiry = Setting.expired.given(expired, environment)
        let strictness = expiry?.text ?? "warn"
        guard ["warn", "error"].contains(strictness) else {
            throw Failure(
                .usage,
                "\(expiry?.name ?? "") '\(strictness)' is neither warn nor error"
            )
        }
        let conclusion = Conclusion(
            profile: profile,
            profilePath: TargetOptions.path(target.profile),
            targetWords: target.replayWords,
            files: files,
            replay: ReplayCommand(replayWords(seed: run.seed, isStrict: strictness == "error")),
            isVerbose: reports.verbose,
            isStrict: strictness == "error",
            saveFile: saveFile,
            baselineFile: baselineFile,
            earlier: earlier,
            updates: update,
            found: Setting.found.text(found, environment) ?? "assay-found"
        )
        let keeper = control.map { SessionKeeper(profile, at: $0, allowed: target.hosts) }
        let concluded = Locked<RunReport?>(nil)
        if let keeper {
            run.whileOpen = { report in
                let outcome = try conclusion.conclude(report)
                concluded.withLock { $0 = outcome }
                if !report.isInterrupted { try await keeper.keep(interruption) }
            }
        }
        let suite = run
        let report = try await interruption.run {
            try await suite.run(progress: progress, interruption: interruption) { session in
                try await keeper?.open(session)
                guard !isQuiet else { return }
                let fakes = session.servers.map { "\($0.party) \($0.baseURL)" }
                Terminal.error(
                    "assay \(assayVersion) · \(contracts.count) cases · seed \(suite.seed) · at most \(timeText)\n"
                )
                Terminal.error("fakes    \(fakes.joined(separator: "  "))\n")
                Terminal.error("backend  \(session.backend.target)\n")
                if let url = keeper?.pageURL { Terminal.error("page     \(url)\n") }
                Terminal.error("\n")
            }
        }
        await keeper?.close()
        let outcome = try concluded.withLock { $0 } ?? conclusion.conclude(report)
        if outcome.exitCode == 0 || outcome.exitCode == 5, !library.errors.isEmpty {
            throw Failure(
                .unparsable,
                "\(library.errors.count) errors in contract files; the other contracts were run"
            )
        }
        throw ExitCode(outcome.exitCode)
    }

    /// What repeats this run but for its selection.
    private func replayWords(seed: String, isStrict: Bool) -> [String] {
        // Paths take the place of the shipped contracts and of --contracts.
        let contracts = paths.isEmpty ? selection.replayWords : []
        return [Terminal.program, "verify"] + paths + target.replayWords + contracts
            + reports.replayWords + (isStrict ? ["--expired", "error"] : []) + ["--seed", seed]
    }
}
