internal import Browser
internal import Conformance
internal import FakeServers
internal import Foundation
internal import Phone
internal import Programs
internal import Replay
internal import Reports

/// Device scenarios of one app, from opening the browser to the report.
struct DeviceRun: Sendable {
    /// Who plays the app.
    enum Performer: Sendable {
        case scripted(Set<ClientDefect>)
        case browser(url: String, executable: String, allowedHosts: Set<String>)

        var target: String {
            switch self {
            case .scripted: "the built-in app"
            case .browser(let url, _, _): url
            }
        }

        func cast(_ profile: Profile) -> Cast {
            switch self {
            case .scripted: .scripted
            case .browser: .page(hasOwnBackend: profile.app.usesOwnBackend)
            }
        }
    }

    let profile: Profile
    let seed: String
    /// The digest of the scenarios.
    var suite = ""
    var knownFailures = KnownFailures()
    var keepsEvidence = false
    /// The file that gets each case as it finishes.
    var saved: SavedRunFile?
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
        var generator = SeededGenerator(seed: 0, text: seed)
        var options = SuiteRunner.Options(
            seed: generator.next(),
            jobs: jobs,
            nonce: seed,
            knownFailures: knownFailures
        )
        options.keepsEvidence = keepsEvidence
        let chosen = options
        var header = RunReport(
            version: assayVersion,
            suite: suite,
            seed: seed,
            target: performer.target,
            began: began,
            seconds: 0,
            jobs: jobs,
            cases: [],
            isInterrupted: false,
            notes: []
        )
        header.declared = SecretDeclaration(profile)
        let empty = header
        let cast = performer.cast(profile)
        let start = ContinuousClock().now
        let played = try await play(performer, began: began, opened: opened) { perform in
            let stage = DeviceStage(
                profile: profile,
                cast: cast,
                options: chosen,
                clock: RealClock(),
                perform: perform
            )
            let runner = SuiteRunner(on: stage, options: chosen) { event in
                switch event {
                case .planned(let ids): saved?.begin(empty, planned: ids)
                case .finished(let result, _, _): saved?.add(result)
                case .calibrated, .started, .backendRestarted, .stopped, .sideFailed: break
                }
                progress?.report(event)
            }
            return await runner.run(contracts)
        }
        await saved?.end()
        var report = empty
        report.seconds = Double((ContinuousClock().now - start).milliseconds) / 1000
        report.cases = played.value
        report.isInterrupted = Task.isCancelled
        report.notes = played.notes
        return report
    }

    /// Opens whoever plays, and ends it afterwards.
    ///
    /// - Parameters:
    ///   - performer: Who plays.
    ///   - began: When the run did.
    ///   - opened: Told of the browser, so that somebody can end it.
    ///   - body: What is played, by what carries a scenario out.
    /// - Returns: What came of it, and what people have to be told of the app.
    /// - Throws: A failure when the browser or the page cannot be opened.
    func play<Value: Sendable>(
        _ performer: Performer,
        began: Instant,
        opened: (Chromium) -> Void,
        _ body: (@escaping DeviceStage.Perform) async -> Value
    ) async throws -> (value: Value, notes: [String]) {
        let base = Instant(milliseconds: (began.milliseconds / 1000 - 3600) * 1000)
        let profile = profile
        switch performer {
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
            var notes: [String] = []
            switch await AppPreflight.look(setting) {
            case .unreachable(let text): throw Failure(.unreachable, "cannot open the app: \(text)")
            case .profile(let problems):
                throw Failure(.usage, problems.joined(separator: "\n       "))
            case .ready(let seen): notes = seen
            }
            let pictures = pictures
            let value = await body { plan, name, judging in
                await BrowserScenario.run(
                    plan.subject,
                    name: name,
                    setting: setting,
                    judging: judging,
                    pictured: pictures.map { Self.writer(of: plan.contract.caseID, in: $0) }
                )
            }
            notes += setting.blockedHosts.withLock { $0 }.sorted().map {
                "the page wanted to call \($0), which is not this machine; --allow-host \($0) lets it"
            }
            return (value, notes)
        }
    }

    /// Writes a case's picture under its name, without what no file system likes.
    private static func writer(
        of caseID: String,
        in folder: String
    ) -> @Sendable ([UInt8]) -> Void {
        let name = String(caseID.map { $0.isLetter || $0.isNumber || "_.".contains($0) ? $0 : "-" })
        return { bytes in
            LostFiles.unless { () throws(OutputFile.WriteError) in
                try OutputFile("\(folder)/\(name).png").write(bytes)
            }
        }
    }
}
