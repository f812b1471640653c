internal import Browser
internal import Contracts
internal import Foundation
internal import Judging
internal import Phone
internal import Programs
internal import Redaction
internal import Replay
internal import Values

/// A run of device scenarios (contracts that test an app) against one app, from opening the browser
/// to the report.
struct DeviceRun: Sendable {
    /// The app under test: the built-in app with defects, or a page in a browser.
    enum Executor: Sendable {
        case scripted(Set<ClientDefect>)
        case browser(url: String, executable: String, allowedHosts: Set<String>)

        var target: String {
            switch self {
            case .scripted: "the built-in app"
            case .browser(let url, _, _): url
            }
        }

        func executorSet(_ profile: Profile) -> Executors {
            switch self {
            case .scripted: .scripted
            case .browser: .page(hasOwnBackend: profile.app.usesOwnBackend)
            }
        }
    }

    let profile: Profile
    let seed: String
    /// A digest of the selected scenarios, which identifies the suite in reports.
    var suite = ""
    var knownFailures = KnownFailures()
    var keepsEvidence = false
    /// The file that receives the result of each case when the case finishes; nil without `--save`.
    var savedRunFile: SavedRunFile?
    /// The folder for screenshots of the page; nil to take no screenshots.
    var pictures: String?

    /// Runs the given scenarios against an app, and returns the report.
    ///
    /// - Throws: A failure when the browser or the page cannot be opened.
    func report(
        _ contracts: [Contract],
        _ executor: Executor,
        jobs: Int,
        progress: RunProgress? = nil,
        onOpen: (Chromium) -> Void = { _ in }
    ) async throws -> RunReport {
        let began = SuiteRun.now()
        var generator = SeededGenerator(seed: 0, text: seed)
        var options = SuiteRunOptions(
            seed: generator.next(),
            jobs: jobs,
            nonce: seed,
            knownFailures: knownFailures
        )
        options.keepsEvidence = keepsEvidence
        let runnerOptions = options
        var reportWithoutCases = RunReport(
            version: assayVersion,
            suite: suite,
            seed: seed,
            target: executor.target,
            began: began,
            seconds: 0,
            jobs: jobs,
            cases: [],
            isInterrupted: false,
            notes: []
        )
        reportWithoutCases.declared = SecretDeclaration(profile)
        let emptyReport = reportWithoutCases
        let executorSet = executor.executorSet(profile)
        let start = ContinuousClock().now
        let appRun = try await runWithApp(executor, began: began, onOpen: onOpen) { perform in
            let deviceTarget = DeviceTarget(
                profile: profile,
                executorSet: executorSet,
                options: runnerOptions,
                clock: RealClock(),
                perform: perform
            )
            let runner = SuiteRunner(on: deviceTarget, options: runnerOptions) { event in
                switch event {
                case .planned(let ids): savedRunFile?.begin(emptyReport, planned: ids)
                case .finished(let result, _, _): savedRunFile?.add(result)
                case .calibrated, .started, .backendRestarted, .stopped, .instanceFailed, .warned:
                    break
                }
                progress?.report(event)
            }
            return await runner.run(contracts)
        }
        await savedRunFile?.end()
        var report = emptyReport
        report.seconds = Double((ContinuousClock().now - start).milliseconds) / 1000
        report.cases = appRun.value
        report.isInterrupted = Task.isCancelled
        report.notes = appRun.notes
        return report
    }

    /// Opens the app, runs the body with it, and closes it.
    ///
    /// - Parameters:
    ///   - executor: The app to open.
    ///   - began: The time at which the run started.
    ///   - onOpen: A function that receives the browser, so that an interruption can end the
    ///     browser.
    ///   - body: The work of the run. It receives the function that runs one scenario.
    /// - Returns: The result of the body, and notes about the app for the report.
    /// - Throws: A failure when the browser or the page cannot be opened.
    func runWithApp<Value: Sendable>(
        _ executor: Executor,
        began: Instant,
        onOpen: (Chromium) -> Void,
        _ body: (@escaping DeviceTarget.ScenarioExecution) async -> Value
    ) async throws -> (value: Value, notes: [String]) {
        let base = Instant(milliseconds: (began.milliseconds / 1000 - 3600) * 1000)
        let profile = profile
        switch executor {
        case .scripted(let defects):
            let value = await body { plan, name, _ in
                await Simulation.run(
                    plan.subject,
                    name: name,
                    profile: profile,
                    base: base,
                    defects: defects
                )
            }
            return (value, [])
        case .browser(let url, let executable, let allowedHosts):
            let chromium = try await Self.startBrowser(executable)
            defer { chromium.end() }
            onOpen(chromium)
            let configuration = BrowserScenario.Configuration(
                chromium: chromium,
                url: url,
                profile: profile,
                base: base,
                allowedHosts: allowedHosts,
                concurrentLoadMax: 2 * ProcessInfo.processInfo.activeProcessorCount,
                clock: RealClock()
            )
            let loadMonitor = Task { await configuration.monitorLoad() }
            defer { loadMonitor.cancel() }
            var notes = try await Self.preflightNotes(configuration)
            let pictures = pictures
            let value = await body { plan, name, judging in
                await BrowserScenario.run(
                    plan.subject,
                    name: name,
                    configuration: configuration,
                    judging: judging,
                    onScreenshot: pictures.map {
                        Self.screenshotWriter(of: plan.contract.caseID, in: $0)
                    }
                )
            }
            notes += configuration.blockedHosts.withLock { $0 }.sorted().map {
                "the page tried to call \($0), which is not this machine; "
                    + "to allow it, add --allow-host \($0)"
            }
            return (value, notes)
        }
    }

    private static func startBrowser(_ executable: String) async throws -> Chromium {
        do throws(Chromium.StartError) {
            return try await Chromium(executable)
        } catch {
            throw CommandFailure(.unreachable, error.description)
        }
    }

    /// Opens the app once, and returns notes about it for the report.
    private static func preflightNotes(
        _ configuration: BrowserScenario.Configuration
    ) async throws -> [String] {
        switch await AppPreflight.inspectApp(configuration) {
        case .unreachable(let text):
            throw CommandFailure(.unreachable, "cannot open the app: \(text)")
        case .profile(let problems):
            throw CommandFailure(.usage, problems.joined(separator: "\n       "))
        case .ready(let preflightNotes): return preflightNotes
        }
    }

    /// Returns a function that writes a screenshot to a file named after the case.
    ///
    /// Characters other than letters, digits, `_` and `.` become `-`, because some file systems
    /// reject them.
    private static func screenshotWriter(
        of caseID: String,
        in folder: String
    ) -> @Sendable ([UInt8]) -> Void {
        let name = String(caseID.map { $0.isLetter || $0.isNumber || "_.".contains($0) ? $0 : "-" })
        return { bytes in
            FileWriteFailures.catching { () throws(OutputFile.WriteError) in
                try OutputFile("\(folder)/\(name).png").write(bytes)
            }
        }
    }
}
