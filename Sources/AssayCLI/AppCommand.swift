internal import ArgumentParser
internal import Browser
internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Phone
internal import Replay
internal import Reports

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Uses an app on a phone that is not there, and judges what it does.",
        discussion: """
            Opens the web app in headless Chromium with the Despia runtime's stand-in before its \
            scripts, carries out the device scenarios, and judges bridge commands and calls. \
            What is tapped and read is named by CSS selectors under 'app:' in the profile. With \
            --scripted the built-in app takes the page's place, in virtual time and without a \
            browser. The page's calls to 'endpoints: register, login' and 'app: access' are \
            answered by a model of a correct backend, unless 'app: backend: own' says otherwise. \
            One launch before all others finds what the profile says wrong (exit 2). Real time.

            app: {taps: {upgrade: ["#menu", "#buy"], restore: …, login: …, logout: …, status: …},
                  inputs: {account: "#mail", password: …}, shows: {loading: …, access: …,
                  error: …, status: …, product: …}, agree: "#yes", startup: 5s,
                  vault: {id: app_user_id, lock: …}, other-keys: [keys it may use besides]}

            'assay lint --schema profile' prints every key; 'assay explain app/CASE' a scenario.

            Example:  assay app --url http://127.0.0.1:5173/ --profile assay.yaml
                      assay app --scripted --defect paywall-ungated --only C-16
            """
    )

    @Option(name: .long, help: Setting.profile.help)
    var profile: String?

    @Option(name: .long, help: Setting.url.help)
    var url: String?

    @Flag(name: .long, help: "Judge the built-in app; needs no browser.")
    var scripted = false

    @Option(name: .long, help: "With --scripted: a defect of the built-in app; repeatable.")
    var defect: [String] = []

    @Option(name: .long, help: Setting.browser.help)
    var browser: String?

    @Option(name: .long, help: Setting.pageHosts.help)
    var allowHost: [String] = []

    @Option(
        name: .long,
        help: "A folder for pictures of what the page showed at each scenario's end."
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
        let library = try selection.contractLibrary()
        for error in library.errors { Terminal.error("\(error)\n\n") }
        let scenarios = library.headings.filter(\.isDeviceScenario)
        let selected = try library.chosen(
            selection.selection(fallback: .should).apply(to: scenarios)
        )
        let files = try reports.files()
        let saveFile = try Setting.save.text(save, environment).map { try ReportFiles.checked($0) }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let jobs = try Setting.appJobs.number(
            jobs,
            or: min(32, 10 * processors),
            in: 1...64,
            environment
        )
        let url = Setting.url.text(url, environment) ?? profile.app.url
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
        let seed = Setting.appSeed.text(seed, environment) ?? SuiteRun.nonce()
        let progress = Progress()
        let interruption = Interruption()
        var run = DeviceRun(profile: profile, seed: seed)
        run.knownFailures = try reports.knownFailures(
            or: profile.knownFailingPath,
            among: library.headings
        )
        run.keepsEvidence = saveFile != nil
        let performer: DeviceRun.Performer =
            if let url, !scripted {
                try browserPerformer(url, profile, environment)
            } else {
                .scripted(Set(defects))
            }
        if !files.usesStandardOutput, case .browser(let address, _, _) = performer {
            Terminal.error(
                "assay \(assayVersion) · \(selected.count) scenarios · seed \(seed)\n"
                    + "app      \(address)\n\n"
            )
        }
        if let pictures {
            guard case .browser = performer else {
                throw Failure(.usage, "--pictures shows a page: leave --scripted out")
            }
            do {
                try FileManager.default.createDirectory(
                    atPath: pictures,
                    withIntermediateDirectories: true
                )
            } catch {
                throw Failure(
                    .usage,
                    "cannot write to '\(pictures)': \(error.localizedDescription)"
                )
            }
            run.pictures = pictures
        }
        let prepared = run
        var report = try await interruption.run {
            try await prepared.report(selected, performer, jobs: jobs, progress: progress) {
                chromium in interruption.onAbandon { chromium.end() }
            }
        }
        progress.clear()
        report.suite = SuiteRun.digest(of: library, selected)
        report.isInterrupted = interruption.isRaised
        try files.show(report, replay: ReplayCommand(replayWords(seed)))
        if let saveFile { try Conclusion.save(report, profile, to: saveFile) }
        throw ExitCode(report.exitCode)
    }

    private func browserPerformer(
        _ url: String,
        _ profile: Profile,
        _ environment: [String: String]
    ) throws -> DeviceRun.Performer {
        let allowed = TargetOptions.hosts(allowHost, environment)
        _ = try TargetURL(url, flag: "--url", allowed: allowed)
        do throws(Chromium.StartError) {
            let executable = try Chromium.find(
                Setting.browser.text(browser, environment),
                path: environment["PATH"] ?? ""
            )
            return .browser(url: url, executable: executable, allowedHosts: Set(allowed))
        } catch {
            throw Failure(.unreachable, error.description)
        }
    }

    /// What repeats this run, whatever the environment says then.
    private func replayWords(_ seed: String) -> [String] {
        let environment = ProcessInfo.processInfo.environment
        var words = [Terminal.program, "app"] + (scripted ? ["--scripted"] : [])
        for name in defect { words += ["--defect", name] }
        if let path = Setting.profile.text(profile, environment) { words += ["--profile", path] }
        if !scripted {
            if let url = Setting.url.text(url, environment) { words += ["--url", url] }
            if let name = Setting.browser.text(browser, environment) {
                words += ["--browser", name]
            }
        }
        for host in TargetOptions.hosts(allowHost, environment) { words += ["--allow-host", host] }
        return words + selection.replayWords + reports.replayWords + ["--seed", seed]
    }
}

/// Device scenarios of one app, from opening the browser to the report.
struct DeviceRun: Sendable {
    /// Who plays the app.
    enum Performer: Sendable {
        case scripted(Set<ClientDefect>)
        case browser(url: String, executable: String, allowedHosts: Set<String>)

        func cast(_ profile: Profile) -> Cast {
            switch self {
            case .scripted: .scripted
            case .browser: .page(hasOwnBackend: profile.app.usesOwnBackend)
            }
        }
    }

    let profile: Profile
    let seed: String
    var knownFailures = KnownFailures()
    var keepsEvidence = false
    /// The folder for pictures of the page; nil: none.
    var pictures: String?

    /// - Throws: A failure when the browser or the page cannot be opened.
    func report(
        _ contracts: [Contract],
        _ performer: Performer,
        jobs: Int,
        progress: Progress? = nil,
        opened: (Chromium) -> Void = { _ in }
    ) async throws -> RunReport {
        let began = SuiteRun.now()
        let base = Instant(milliseconds: (began.milliseconds / 1000 - 3600) * 1000)
        var generator = SeededGenerator(seed: 0, text: seed)
        var options = SuiteRunner.Options(
            seed: generator.next(),
            jobs: jobs,
            nonce: seed,
            knownFailures: knownFailures
        )
        options.keepsEvidence = keepsEvidence
        let chosen = options
        let cast = performer.cast(profile)
        func run(_ perform: @escaping DeviceStage.Perform) async -> [CaseResult] {
            let stage = DeviceStage(
                profile: profile,
                cast: cast,
                options: chosen,
                clock: RealClock(),
                perform: perform
            )
            let runner = SuiteRunner(on: stage, options: chosen) { progress?.report($0) }
            return await runner.run(contracts)
        }
        let start = ContinuousClock().now
        let cases: [CaseResult]
        let target: String
        var blocked: Set<String> = []
        var notes: [String] = []
        switch performer {
        case .scripted(let defects):
            target = "the built-in app"
            let profile = profile
            cases = await run { plan, name, _ in
                await Simulation.run(
                    plan.subject,
                    name: name,
                    profile: profile,
                    base: base,
                    defects: defects
                )
            }
        case .browser(let url, let executable, let allowedHosts):
            target = url
            let chromium: Chromium
            do throws(Chromium.StartError) {
                chromium = try await Chromium(executable)
            } catch {
                throw Failure(.unreachable, error.description)
            }
            defer { chromium.end() }
            opened(chromium)
            let setting = BrowserScenario.Setting(
                chromium: chromium,
                url: url,
                profile: profile,
                base: base,
                allowedHosts: allowedHosts,
                openingMax: 2 * ProcessInfo.processInfo.activeProcessorCount,
                clock: RealClock()
            )
            let companion = Task { await setting.accompany() }
            defer { companion.cancel() }
            switch await AppPreflight.look(setting) {
            case .unreachable(let text): throw Failure(.unreachable, "cannot open the app: \(text)")
            case .profile(let problems):
                throw Failure(.usage, problems.joined(separator: "\n       "))
            case .ready(let seen): notes += seen
            }
            let pictures = pictures
            cases = await run { plan, name, judging in
                await BrowserScenario.run(
                    plan.subject,
                    name: name,
                    setting: setting,
                    judging: judging,
                    pictured: pictures.map { Self.writer(of: plan.contract.caseID, in: $0) }
                )
            }
            blocked = setting.blockedHosts.withLock { $0 }
        }
        notes += blocked.sorted().map {
            "the page wanted to call \($0), which is not this machine; --allow-host \($0) lets it"
        }
        var report = RunReport(
            version: assayVersion,
            suite: "",
            seed: seed,
            target: target,
            began: began,
            seconds: Double((ContinuousClock().now - start).milliseconds) / 1000,
            jobs: jobs,
            cases: cases,
            isInterrupted: Task.isCancelled,
            notes: notes
        )
        report.declared = SecretDeclaration(profile)
        return report
    }

    /// Writes a case's picture under its name, without what no file system likes.
    private static func writer(
        of caseID: String,
        in folder: String
    ) -> @Sendable ([UInt8]) -> Void {
        let name = String(caseID.map { $0.isLetter || $0.isNumber || "_.".contains($0) ? $0 : "-" })
        return { bytes in
            try? Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
        }
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
