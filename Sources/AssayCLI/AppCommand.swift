internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Phone
internal import Replay

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Uses an app on a phone that is not there, and judges what it does.",
        discussion: """
            Opens the web app in headless Chromium with the Despia runtime's stand-in before its \
            scripts, carries out the device scenarios, and judges bridge commands and calls. \
            What is tapped and read is named by CSS selectors under 'app:' in the profile. With \
            --scripted the built-in app takes the page's place, in virtual time and without a \
            browser.

            Example:  assay app --url http://127.0.0.1:5173/ --profile assay.yaml
                      assay app --scripted --defect paywall-ungated --only C-16
            """
    )

    @Option(
        name: .long,
        help: "The profile (default: ./assay.yaml if there is one; ASSAY_PROFILE)."
    )
    var profile: String?

    @Option(name: .long, help: "URL of the web app (ASSAY_URL).")
    var url: String?

    @Flag(name: .long, help: "Judge the built-in app; needs no browser.")
    var scripted = false

    @Option(name: .long, help: "With --scripted: a defect of the built-in app; repeatable.")
    var defect: [String] = []

    @OptionGroup var selection: SelectionOptions
    @OptionGroup var reports: ReportOptions

    @Option(name: .long, help: "How many scenarios run at once (default: 4; ASSAY_JOBS).")
    var jobs: Int?

    @Option(name: .long, help: "Any text; it names the run's users (ASSAY_SEED).")
    var seed: String?

    @Option(
        name: .long,
        help: "Write the whole run to a file that 'assay judge' reads (ASSAY_SAVE)."
    )
    var save: String?

    mutating func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let profile = try TargetOptions.profile(self.profile, environment)
        let library = try selection.contractLibrary()
        for error in library.errors { Terminal.error("\(error)\n\n") }
        let scenarios = library.contracts.filter(\.isDeviceScenario)
        let selected = try selection.selection(fallback: .should).apply(to: scenarios)
        let files = try reports.files()
        let saveFile = try (save ?? environment["ASSAY_SAVE"]).map { try ReportFiles.checked($0) }
        let text = jobs.map(String.init) ?? environment["ASSAY_JOBS"] ?? "4"
        guard let jobs = Int(text), (1...64).contains(jobs) else {
            throw Failure(.usage, "--jobs '\(text)' is not a number from 1 to 64")
        }
        let url = url ?? environment["ASSAY_URL"] ?? profile.app.url
        guard scripted || url != nil else {
            throw Failure(
                .usage,
                "no app to judge: give --url URL, or 'app: {url: …}' in the profile; "
                    + "'assay app --scripted' needs neither"
            )
        }
        guard defect.isEmpty || scripted else {
            throw Failure(.usage, "--defect belongs to the built-in app: add --scripted")
        }
        let defects = try defect.map { try ClientDefect.named($0) }
        let seed = seed ?? environment["ASSAY_SEED"] ?? SuiteRun.nonce()
        let progress = Progress()
        var run = ScriptedRun(profile: profile, defects: defects, seed: seed)
        run.knownFailures = try reports.knownFailures(or: profile.knownFailingPath)
        run.keepsEvidence = saveFile != nil
        let prepared = run
        let interruption = Interruption()
        var report = try await interruption.run {
            await prepared.report(selected, jobs: jobs, progress: progress)
        }
        progress.clear()
        report.suite = SuiteRun.digest(of: library, selected)
        report.isInterrupted = interruption.isRaised
        try files.show(report, replay: "assay app" + replayFlags)
        if let saveFile { try VerifyCommand.save(report, profile, to: saveFile) }
        throw ExitCode(report.exitCode)
    }

    /// The flags that repeat this run.
    private var replayFlags: String {
        var flags = scripted ? " --scripted" : ""
        for name in defect { flags += " --defect \(name)" }
        if let profile { flags += " --profile \(profile)" }
        if let url { flags += " --url \(url)" }
        return flags
    }
}

/// Device scenarios of the built-in app.
struct ScriptedRun: Sendable {
    let profile: Profile
    let defects: [ClientDefect]
    let seed: String
    var knownFailures = KnownFailures()
    var keepsEvidence = false

    func report(
        _ contracts: [Contract],
        jobs: Int,
        progress: Progress? = nil
    ) async -> RunReport {
        let began = SuiteRun.now()
        let base = Instant(milliseconds: (began.milliseconds / 1000 - 3600) * 1000)
        var suite = DeviceSuite(profile: profile)
        suite.jobs = jobs
        suite.nonce = seed
        suite.knownFailures = knownFailures
        suite.keepsEvidence = keepsEvidence
        if let progress {
            suite.started = { progress.report(.started($0)) }
            suite.finished = { progress.report(.finished($0, done: $1, of: $2)) }
        }
        let start = ContinuousClock().now
        let (profile, defects) = (profile, Set(defects))
        let cases = await suite.run(contracts) { plan, name, _ in
            Simulation.run(plan, name: name, profile: profile, base: base, defects: defects)
        }
        return RunReport(
            version: assayVersion,
            suite: "",
            seed: seed,
            target: "the built-in app",
            began: began,
            seconds: Double((ContinuousClock().now - start).milliseconds) / 1000,
            jobs: jobs,
            cases: cases,
            isInterrupted: Task.isCancelled
        )
    }
}

extension ClientDefect {
    /// - Throws: A failure of usage that names what comes closest.
    static func named(_ name: String) throws -> ClientDefect {
        guard let defect = ClientDefect(rawValue: name) else {
            let near = Suggestion.nearest(to: name, among: allCases.map(\.rawValue))
            throw Failure(
                .usage,
                "there is no defect '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? "")
            )
        }
        return defect
    }
}
