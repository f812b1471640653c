internal import ArgumentParser
internal import Browser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Reports

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Tests a web app in a simulated Despia runtime.",
        discussion: """
            Opens the web app in headless Chromium, with a simulated Despia runtime that loads \
            before the app's scripts. Runs the device scenarios, and judges the app's bridge \
            commands and HTTP calls. CSS selectors under 'app:' in the profile name the elements \
            to tap and to read. A model of a correct backend answers the page's calls to \
            'endpoints: register, login' and 'app: access', unless the profile has \
            'app: {backend: own}'. Before the first scenario, one launch checks that the profile \
            fits the page (exit 2 if not). A page runs in real time. With --scripted, the \
            built-in app replaces the page: it needs no browser and runs in virtual time.

            app: {taps: {upgrade: ["#menu", "#buy"], restore: …, login: …, logout: …, status: …},
                  inputs: {account: "#mail", password: …}, shows: {loading: …, access: …,
                  error: …, status: …, product: …}, agree: "#yes", startup: 5s,
                  vault: {id: app_user_id, lock: …}, other-keys: [additional keys]}

            'assay lint --schema profile' prints every key; 'assay explain app/CASE' \
            shows a scenario.

            Example:  assay app --url http://127.0.0.1:5173/ --profile assay.yaml
                      assay app --scripted --defect paywall-ungated --only C-16
            """
    )

    @Argument(help: "Scenario files or folders to run instead of the shipped ones.")
    var paths: [String] = []

    @Option(name: .long, help: Setting.profile.help)
    var profile: String?

    @OptionGroup var app: AppOptions

    @Option(name: .long, help: Setting.pageHosts.help)
    var allowHost: [String] = []

    @Option(
        name: .long,
        help: "A folder for screenshots of the page at the end of each scenario."
    )
    var pictures: String?

    @OptionGroup var selection: SelectionOptions
    @OptionGroup var reports: ReportOptions

    @Option(name: .long, help: Setting.appJobs.help)
    var jobs: Int?

    @Option(name: .long, help: Setting.appSeed.help)
    var seed: String?

    @Option(name: .long, help: Setting.save.help)
    var save: String?

    mutating func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let profile = try TargetOptions.profile(self.profile, environment)
        let library = try selection.contractLibrary(paths: paths)
        for error in library.errors { Terminal.error("\(error)\n\n") }
        let scenarios = library.headings.filter(\.isDeviceScenario)
        let selectedScenarios = try library.selectedContracts(
            selection.selection(defaultLevel: .should).apply(to: scenarios)
        )
        let files = try reports.files()
        let saveFile = try Setting.save.text(save, environment).map {
            try ReportFiles.writablePath($0)
        }
        let jobs = try jobCount(environment)
        let executor = try app.executor(
            profile,
            TargetOptions.hosts(allowHost, environment),
            "app",
            environment
        )
        let seed = Setting.appSeed.text(seed, environment) ?? SuiteRun.nonce()
        let progress = RunProgress()
        let interruption = Interruption()
        var run = DeviceRun(profile: profile, seed: seed)
        run.knownFailures = try reports.knownFailures(
            or: profile.knownFailuresPath,
            among: library.headings
        )
        run.keepsEvidence = saveFile != nil
        run.suite = SuiteRun.digest(of: library, selectedScenarios)
        run.savedRunFile = try saveFile.map { try SavedRunFile($0, profile: profile) }
        if !files.usesStandardOutput, case .browser(let address, _, _) = executor {
            Terminal.error(
                "assay \(assayVersion) · \(selectedScenarios.count) scenario"
                    + "\(selectedScenarios.count == 1 ? "" : "s") · seed \(seed)\n"
                    + "app      \(address)\n\n"
            )
        }
        run.pictures = try picturesFolder(executor)
        let configuredRun = run
        var report = try await interruption.run {
            try await configuredRun.report(
                selectedScenarios,
                executor,
                jobs: jobs,
                progress: progress
            ) {
                chromium in interruption.onSecondSignal { chromium.end() }
            }
        }
        progress.clearProgressLine()
        report.isInterrupted = interruption.hasReceivedSignal
        files.show(report, replay: ReplayCommand(replayArguments(seed)))
        if let saveFile { try RunConclusion.save(report, profile, to: saveFile) }
        throw ExitCode(report.exitCode)
    }

    private func jobCount(_ environment: [String: String]) throws -> Int {
        let processorCount = ProcessInfo.processInfo.activeProcessorCount
        return try Setting.appJobs.number(
            jobs,
            or: min(32, 10 * processorCount),
            in: 1...64,
            environment
        )
    }

    /// Creates the folder of `--pictures`, and returns its path; nil without that flag.
    private func picturesFolder(_ executor: DeviceRun.Executor) throws -> String? {
        guard let pictures else { return nil }
        guard case .browser = executor else {
            throw CommandFailure(.usage, "--pictures needs a web page: remove --scripted")
        }
        do throws(OutputFile.WriteError) {
            try OutputFile.makeFolder(pictures, .umaskDefault)
        } catch {
            throw CommandFailure(.usage, error.description)
        }
        return pictures
    }

    /// Returns the command line that repeats this run.
    ///
    /// Options from environment variables become flags.
    private func replayArguments(_ seed: String) -> [String] {
        let environment = ProcessInfo.processInfo.environment
        var commandWords = [Terminal.program, "app"] + paths
        if let path = Setting.profile.text(profile, environment) {
            commandWords += ["--profile", path]
        }
        commandWords += app.replayArguments(environment)
        for host in TargetOptions.hosts(allowHost, environment) {
            commandWords += ["--allow-host", host]
        }
        // Scenario paths on the command line replace the shipped scenarios and the scenarios in the
        // folders of `--contracts`.
        if paths.isEmpty { commandWords += selection.replayArguments }
        return commandWords + reports.replayArguments + ["--seed", seed]
    }
}
