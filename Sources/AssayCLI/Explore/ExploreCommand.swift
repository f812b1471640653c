internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Exploration
internal import Foundation
internal import Judging
internal import Programs
internal import Providers
internal import Redaction
internal import Replay
internal import Reports
internal import Values

struct ExploreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore",
        abstract: "Tests generated histories of customers.",
        discussion: """
            Generates random histories of a few customers from a model of the stores. Adds \
            faults to the deliveries, such as duplicates, lost responses and restarts. Runs the \
            histories against the backend, and compares the results with the model. A failing \
            history is shrunk as far as possible and written as a contract for 'assay verify'.

            Example:  assay explore --start 'node server.js' --for 2m --corpus corpus
                      assay explore --target http://127.0.0.1:8080 --only transfers,refunds --seed 7
                      assay explore --app --url http://127.0.0.1:5173/ --for 5m
            """
    )

    @OptionGroup var target: TargetOptions

    @Flag(
        name: .long,
        help:
            "Test an app on a simulated phone: the built-in app (--scripted) or the page at --url."
    )
    var app = false

    @OptionGroup var appOptions: AppOptions

    @Option(name: .customLong("for"), help: Setting.exploreTime.help)
    var time: String?

    @Option(name: .long, help: Setting.histories.help)
    var histories: Int?

    @Option(
        name: .long,
        help: """
            Only these operations or faults, for example transfers,refunds,delayed; purchases and \
            waiting are always included. An unknown name prints the list of all names.
            """,
        completion: .list(HistorySelection.operationAndFaultNames)
    )
    var only: [String] = []

    @Option(name: .long, help: Setting.seed.help)
    var seed: String?

    @Option(name: .long, help: Setting.exploreJobs.help)
    var jobs: Int?

    @Option(name: .long, help: Setting.corpus.help, completion: .directory)
    var corpus: String?

    @Option(name: .long, help: Setting.found.help)
    var found: String?

    @Option(name: .long, help: Setting.shrinkTime.help)
    var shrinkTime: String?

    @Option(name: .long, help: Setting.shard.help)
    var shard: String?

    @Option(name: .long, help: Setting.save.help)
    var save: String?

    @Flag(name: .long, help: "Stop at the first failing history, after it was shrunk.")
    var failFast = false

    @Flag(name: .long, help: "Print the complete coverage, with everything that was not covered.")
    var coverage = false

    @OptionGroup var reports: ReportOptions

    mutating func run() async throws {
        let environment = Setting.environment
        let profile =
            app
            ? try TargetOptions.profile(target.profile, environment) : try target.resolvedProfile()
        let shard = try Shard.given(shard, environment)
        let seedText = Setting.seed.text(seed, environment) ?? SuiteRun.nonce()
        let processorCount = ProcessInfo.processInfo.activeProcessorCount
        let usualJobs =
            app ? (appOptions.scripted ? processorCount : min(32, 10 * processorCount)) : 16
        var options = Campaign.Options(
            seed: Self.seed(seedText, shard),
            jobs: FileDescriptors.affordableJobCount(
                try Setting.exploreJobs.number(jobs, or: usualJobs, in: 1...64, environment)
            ),
            nonce: SuiteRun.nonce()
        )
        options.historyCountMax = try Setting.histories.given(
            histories.map(String.init),
            environment
        )
        .map { _ in
            try Setting.histories.number(histories, or: 1, in: 1...100_000_000, environment)
        }
        options.time = try Setting.exploreTime.duration(time, environment)
        guard options.time ?? .zero <= HistoryModel.campaignTimeMax else {
            throw CommandFailure(
                .usage,
                "--for: a campaign lasts at most \(HistoryModel.campaignTimeMax.unsignedText); to "
                    + "continue, start another one with the same --corpus"
            )
        }
        options.shrinkTime =
            try Setting.shrinkTime.duration(shrinkTime, environment) ?? .seconds(20)
        options.stopsAtFirstFailure = failFast
        let known = try reports.knownFailures(or: profile.knownFailuresPath)
        let setup = Setup(
            profile: profile,
            files: try reports.files(),
            savedRunFile: try Setting.save.text(save, environment).map {
                try SavedRunFile(ReportFiles.writablePath($0), profile: profile)
            },
            shard: shard,
            seed: seedText,
            options: options,
            known: known,
            environment: environment
        )
        if app { try await explorePhones(setup) } else { try await exploreHistories(setup) }
    }

    /// The settings that `assay explore` uses in the same way for a backend and for an app.
    struct Setup {
        let profile: Profile
        let files: ReportFiles
        let savedRunFile: SavedRunFile?
        let shard: Shard?
        let seed: String
        var options: Campaign.Options
        let known: KnownFailures
        let environment: Setting.Environment

        /// The condition that ends the campaign, as the first line of the output prints it, such as
        /// `for 2m`.
        var limitDescription: String {
            options.time.map { "for \($0.unsignedText)" }
                ?? options.historyCountMax.map { "\($0) histories" }
                ?? "until nothing new was covered for a minute"
        }

        /// Returns the generated histories of a corpus that belong to this shard.
        func shardShare<Item>(of histories: [Item]) -> [Item] {
            guard let shard else { return histories }
            return histories.enumerated().filter { $0.offset % shard.count == shard.index - 1 }
                .map(\.element)
        }

        /// Starts the file of `--save`, to which each failure is added as soon as it is found.
        func beginSavedRun(_ target: String) {
            let emptyResult = ExploreRun.Result(
                outcome: Campaign.Outcome(),
                target: target,
                began: SuiteRun.now(),
                seconds: 0
            )
            var report = emptyResult.report(seed: seed, jobs: options.jobs, profile)
            report.shard = shard?.description
            savedRunFile?.begin(report, planned: nil)
        }

        func save(_ event: Campaign.Event) {
            if case .found(let found) = event { savedRunFile?.add(found.result) }
        }

        /// Returns a copy of this setup that converts each failing history to the text of a
        /// contract and parses that text.
        ///
        /// The campaign then reports exactly the contract that a later run reads from the folder.
        func savingFailingContracts(to folder: String) -> Setup {
            var copy = self
            copy.options.savableContract = { contract in
                let text = ContractWriter.text(contract, id: contract.id)
                let path = RunConclusion.path(of: contract, in: folder)
                guard
                    case .success(let read) = ContractParser.parse(
                        text,
                        path: path,
                        id: contract.id
                    )
                else { return nil }
                return read.first
            }
            return copy
        }
    }

    private func exploreHistories(_ given: Setup) async throws {
        try checkNoAppOption()
        let (profile, environment) = (given.profile, given.environment)
        let capabilities = Capabilities(of: profile)
        let selection = try HistorySelection(only)
        try selection.checkSupport(capabilities, profile)
        let loadedCorpus = try loadedCorpus(environment)
        let source = Campaign.Source(
            selection.applied(to: HistoryGenerator.Options(capabilities: capabilities)),
            corpus: given.shardShare(of: loadedCorpus.contents.histories)
        )
        let failuresFolder = loadedCorpus.failuresFolder
        let setup = given.savingFailingContracts(to: failuresFolder)
        let run = ExploreRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            source: source,
            options: setup.options
        )
        let progressPrinter = ExploreProgress(
            loadedCorpus.corpus,
            known: loadedCorpus.contents.coverage
        )
        let isQuiet = setup.files.usesStandardOutput
        let heading = "assay \(assayVersion) · seed \(setup.seed) · \(setup.limitDescription)\n"
        let interruption = Interruption()
        let result = try await interruption.run {
            try await run.run(
                interruption: interruption,
                onOpen: { session in
                    setup.beginSavedRun(session.backend.target)
                    guard !isQuiet else { return }
                    Terminal.error(heading + "backend  \(session.backend.target)\n\n")
                },
                report: { event in
                    setup.save(event)
                    progressPrinter.report(event)
                }
            )
        }
        await setup.savedRunFile?.end()
        progressPrinter.clearProgressLine()
        let isCorpusSaved = progressPrinter.saveToCorpus(result.outcome)
        let outcome = try finishRun(
            result,
            setup,
            failuresFolder,
            contractRerunArguments: ["verify"] + target.replayArguments,
            rerunning: ["explore"] + target.replayArguments,
            isInterrupted: interruption.hasReceivedSignal
        )
        if !isQuiet {
            let text = CoverageText(result.outcome, capabilities, unmapped: profile)
            Terminal.output(coverage ? text.fullText : text.summary)
        }
        throw Self.exitCode(outcome, isCorpusSaved: isCorpusSaved)
    }

    private func checkNoAppOption() throws {
        guard !appOptions.hasAnyOption else {
            throw CommandFailure(
                .usage,
                "--url, --scripted, --defect and --browser apply only to an app: add --app"
            )
        }
    }

    /// Returns the exit code of a campaign.
    ///
    /// A corpus that could not be written counts as lost output.
    static func exitCode(_ outcome: RunReport, isCorpusSaved: Bool) -> ExitCode {
        guard !isCorpusSaved, let status = ExitStatus(rawValue: outcome.exitCode) else {
            return ExitCode(outcome.exitCode)
        }
        return ExitCode(status.statusAfterLostOutput.rawValue)
    }

    /// The saved histories at the start of a campaign, and the folder for contracts of new
    /// failures.
    struct LoadedCorpus {
        let corpus: HistoryCorpus?
        let contents: HistoryCorpus.Contents
        let failuresFolder: String
    }

    /// Reads the corpus, which is the folder of saved histories.
    ///
    /// Skips the files of another version of Assay, and prints a message about them.
    func loadedCorpus(_ environment: [String: String]) throws -> LoadedCorpus {
        let corpus = Setting.corpus.text(corpus, environment).map(HistoryCorpus.init)
        try corpus?.createFolders()
        let contents = try corpus?.contents() ?? HistoryCorpus.Contents()
        if let first = contents.otherVersionPaths.first {
            Terminal.error(
                "assay: skipped \(contents.otherVersionPaths.count) corpus "
                    + "file\(contents.otherVersionPaths.count == 1 ? "" : "s") of another version, "
                    + "such as '\(first)'\n"
            )
        }
        return LoadedCorpus(
            corpus: corpus,
            contents: contents,
            failuresFolder: Setting.found.text(found, environment) ?? corpus?.failuresFolder
                ?? GeneratedFolder.found
        )
    }

    func finishRun(
        _ result: ExploreRun.Result,
        _ setup: Setup,
        _ failuresFolder: String,
        contractRerunArguments: [String],
        rerunning exploreArguments: [String],
        isInterrupted: Bool
    ) throws -> RunReport {
        let replay =
            result.outcome.found.isEmpty
            ? exploreArguments + ["--seed", setup.seed]
            : contractRerunArguments + [failuresFolder + "/found"]
        var report = result.report(
            seed: setup.seed,
            jobs: setup.options.jobs,
            setup.profile
        )
        report.shard = setup.shard?.description
        report.isInterrupted = isInterrupted
        report.cases = report.cases.map(setup.known.applied)
        // A found failure is repeated by running its contract file. A campaign without failures is
        // repeated as a whole.
        let command = ReplayCommand(
            [Terminal.program] + replay,
            acceptsCaseIDs: !result.outcome.found.isEmpty
        )
        return try conclusion(setup, failuresFolder, contractRerunArguments, command).finishRun(
            report
        )
    }

    /// Returns the seed of the random generator, which differs between the shards of a campaign.
    private static func seed(_ text: String, _ shard: Shard?) -> UInt64 {
        var generator = SeededGenerator(
            seed: 0,
            text: shard.map { "\(text) \($0)" } ?? text
        )
        return generator.next()
    }

    private func conclusion(
        _ setup: Setup,
        _ failuresFolder: String,
        _ contractRerunArguments: [String],
        _ replay: ReplayCommand
    ) -> RunConclusion {
        RunConclusion(
            profile: setup.profile,
            profilePath: TargetOptions.path(target.profile),
            contractRerunArguments: contractRerunArguments,
            files: setup.files,
            replay: replay,
            isVerbose: reports.verbose,
            isStrict: false,
            saveFile: setup.savedRunFile?.path,
            baselineFile: nil,
            earlierKnownFailures: KnownFailures(),
            writesGoldenUpdates: false,
            found: failuresFolder,
            lastRunFolder: nil,
            lastRun: nil
        )
    }
}

extension Capabilities {
    /// Creates the capabilities of the backend that a profile describes.
    init(of profile: Profile) {
        var features = Set(Feature.allCases.filter { profile.skipReason(to: $0) == nil })
        if profile.start == nil { features.remove(.restart) }
        self.init(
            features: features,
            canReadState: profile.probes.contains { !$0.readings.isEmpty },
            backendChoosesIDs: profile.backendChoosesIDs
        )
    }
}

extension Setting {
    /// Returns the duration that the flag or the variable gives; nil when neither is given.
    ///
    /// - Throws: A usage failure when the value is not a duration.
    func duration(_ flag: String?, _ environment: Environment) throws -> Duration? {
        guard let given = given(flag, environment) else { return nil }
        guard let duration = Duration(contractText: given.text), duration > .zero else {
            throw CommandFailure(
                .usage,
                "\(given.name) '\(given.text)' is not a duration such as 90s or 15m"
            )
        }
        return duration
    }
}

extension ExploreRun.Result {
    /// Returns the results of the campaign as a run report.
    func report(seed: String, jobs: Int, _ profile: Profile) -> RunReport {
        var report = RunReport(
            version: assayVersion,
            suite: Campaign.suite,
            seed: seed,
            target: target,
            began: began,
            seconds: seconds,
            jobs: jobs,
            cases: outcome.cases,
            isInterrupted: false,
            notes: allNotes
        )
        report.declared = SecretDeclaration(profile)
        report.skipReasons = outcome.skipReasons
        return report
    }

    private var allNotes: [String] {
        var notes = notes
        let histories = outcome.progress.histories
        let historiesPerSecond = seconds > 0 ? Double(histories) / seconds : 0
        notes.append(
            "\(histories) histories in \(Int(seconds)) s (\(Int(historiesPerSecond)) per second); "
                + "\(outcome.progress.features) features covered"
        )
        let undecidedCount = outcome.inconclusive.values.reduce(0, +)
        if undecidedCount > 0 {
            let reasonCounts = outcome.inconclusive.sorted { $0.key < $1.key }
                .map { "\($0.value) for \($0.key)" }
            notes.append(
                "inconclusive histories: \(undecidedCount); " + reasonCounts.joined(separator: ", ")
            )
        }
        if outcome.skippedSavedCount > 0 {
            notes.append(
                "\(outcome.skippedSavedCount) histories of the corpus did not run, because they are not "
                    + "possible with this profile and version"
            )
        }
        if outcome.unshrunkFailureCount > 0 {
            notes.append(
                "\(outcome.unshrunkFailureCount) more histories failed and were not examined, because "
                    + "enough failures were found before"
            )
        }
        if let end = outcome.end { notes.append("the campaign ended early: \(end)") }
        return notes
    }
}
