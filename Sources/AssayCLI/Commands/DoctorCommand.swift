internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Replay
internal import Reports
internal import Values

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks a profile and a backend before the first run.",
        discussion: """
            Creates a user, sends a TEST event and a purchase, and reads the state of the user. \
            Without a profile, it also searches the backend and its files, and prints the profile \
            that --write writes. With a profile, it lists routes of the files that are missing.

            Example:  assay doctor --target http://127.0.0.1:8080 --write assay.yaml
                      assay doctor --start 'node server.js'
                      assay doctor --against-live revenuecat=https://api.revenuecat.com
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: "Write a starter profile to this file; it must not exist.")
    var write: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Compare the structure of a live service's responses with those of its fake. Needs no "
                + "backend; only reads from the service, with the key in ASSAY_LIVE_KEY.",
            valueName: "service=url"
        )
    )
    var againstLive: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --against-live: the value of a path parameter, such as app_id; repeatable.",
            valueName: "name=value"
        )
    )
    var live: [String] = []

    mutating func validate() throws {
        guard live.isEmpty || againstLive != nil else {
            throw ValidationError("--live needs --against-live")
        }
        guard againstLive == nil || write == nil else {
            throw ValidationError("--against-live checks a service, not a backend: remove --write")
        }
    }

    mutating func run() async throws {
        if let againstLive {
            let run = try DriftRun(
                againstLive,
                names: live,
                authority: try TargetOptions.authority(target.ca)
            )
            let hasDrift = try await Interruption().run { try await run.run() }
            if hasDrift { throw ExitCode(ExitStatus.failures.rawValue) }
            return
        }
        let profile = try target.resolvedProfile()
        if write != nil || TargetOptions.path(target.profile) == nil {
            return try await discoverProfile(profile)
        }
        let workFolder = try WorkFolder.made()
        defer { workFolder.remove() }
        let folder = workFolder.path
        try FileManager.default.createDirectory(
            atPath: folder + "/data",
            withIntermediateDirectories: true
        )
        let addresses = try target.addresses(for: profile)
        let interruption = Interruption()
        let (doctorChecks, clauses) = try await interruption.run {
            let session: ReplaySession
            do throws(ReplaySession.OpenError) {
                session = try await ReplaySession(
                    profile: profile,
                    addresses: addresses,
                    folder: folder,
                    base: Self.base,
                    onRefusal: Terminal.reportRefusal,
                    onBuild: Terminal.reportBuilding,
                    onStartupWait: Terminal.reportWaiting
                )
            } catch {
                throw CommandFailure(ExitStatus(error.kind), error.description)
            }
            interruption.onSecondSignal { session.killBackend() }
            let doctorChecks = await DoctorChecks.checkBackend(
                session.executor,
                name: SuiteRun.nonce()
            )
            let clauses = Self.clauses(session.executor, doctorChecks)
            await session.close()
            return (doctorChecks, clauses)
        }
        printDoctorChecks(doctorChecks, clauses)
        printMissingRoutes(profile)
        if doctorChecks.checkResults.contains(where: { $0.state == .bad }) {
            throw ExitCode(ExitStatus.failures.rawValue)
        }
    }

    /// A clause (a requirement such as `S-03`), and whether it can be tested with this backend and
    /// profile.
    struct ClauseTestability: Sendable {
        let clause: String
        /// The reason why the clause cannot be tested; nil when it can be tested.
        let untestableReason: String?
    }

    /// The instant to which relative times in contracts refer: one hour ago, rounded down to a
    /// second.
    static var base: Instant {
        Instant(milliseconds: SuiteRun.now().milliseconds / 1000 * 1000 - 3_600_000)
    }

    /// Prints the routes of the backend's files that the profile does not name, as the blocks to
    /// add.
    private func printMissingRoutes(_ profile: Profile) {
        let survey = SourceSurvey(SourceFiles.read(FileManager.default.currentDirectoryPath))
        let additions = ProfileAddition.missing(from: profile, survey)
        guard !additions.isEmpty else { return }
        Terminal.output("\nYour files show routes that the profile does not name:\n")
        for addition in additions {
            guard let route = addition.route, let name = addition.path.last else { continue }
            let command = Terminal.next(["init", "--add", name])
            Terminal.output(
                "\n\(route.method) \(route.path)  (\(route.location))\n".printableLines
                    + "  \(command) adds:\n"
                    + addition.lines.map { "    \($0.printable)\n" }.joined()
            )
        }
    }

    /// Inspects the backend of a profile in the same way as `assay init`, and writes or prints the
    /// discovered profile.
    private func discoverProfile(_ profile: Profile) async throws {
        let path = write ?? "assay.yaml"
        if write != nil { try DiscoveryRun.checkPathIsFree(path, "assay doctor") }
        let run = DiscoveryRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            survey: RepositorySurvey(SourceFiles.read(FileManager.default.currentDirectoryPath))
                .survey(of: nil),
            path: path,
            authority: Setting.authority.text(target.ca)
        )
        let (discovery, clauses) = try await run.discover()
        printDoctorChecks(discovery.doctorChecks, clauses)
        Terminal.output("\n")
        if write != nil {
            try run.write(discovery)
            let next = Terminal.next(["verify", "--profile", path])
            Terminal.output("\nwrote \(path)\nNext:  \(next)\n")
        } else {
            let command = Terminal.next(["doctor"] + target.replayArguments + ["--write", path])
            Terminal.output("The profile that '\(command)' writes:\n\n")
            Terminal.output(try run.text(discovery).printableLines + "\n")
        }
        if discovery.doctorChecks.checkResults.contains(where: { $0.state == .bad }) {
            throw ExitCode(ExitStatus.failures.rawValue)
        }
    }

    /// Returns the clauses of all shipped contracts, and whether each one can be tested with the
    /// discovered profile.
    static func clauses(
        _ session: ReplaySession,
        _ discovery: BackendDiscovery
    ) -> [ClauseTestability] {
        clauses(discovery.executor(session), discovery.doctorChecks)
    }

    private static func clauses(
        _ executor: RunExecutor,
        _ doctorChecks: DoctorChecks
    ) -> [ClauseTestability] {
        let runner = SuiteRunner(
            executor: executor,
            options: .init(seed: 0, jobs: 1, nonce: "doctor", knownFailures: KnownFailures()),
            report: { _ in }
        )
        let observability = doctorChecks.observability
        let groups = Dictionary(
            grouping: ContractLibrary.shipped.contracts.filter {
                $0.level <= .should && !$0.isDeviceScenario
            },
            by: \.clause
        )
        return groups.sorted { $0.key < $1.key }.map { clause, contracts in
            var untestableReason: String?
            for contract in contracts {
                if let skipReason = runner.skipReason(CasePlan(contract)) {
                    untestableReason = untestableReason ?? skipReason.note
                } else if contract.expectation.requiresSettling, !observability.arePushesObservable,
                    !observability.areProbeChangesObservable
                {
                    untestableReason =
                        untestableReason ?? "no result can be observed; add a probe to the profile"
                } else {
                    return ClauseTestability(clause: clause, untestableReason: nil)
                }
            }
            return ClauseTestability(clause: clause, untestableReason: untestableReason ?? "")
        }
    }

    private func printDoctorChecks(
        _ doctorChecks: DoctorChecks,
        _ clauses: [ClauseTestability]
    ) {
        let style = Terminal.style()
        for line in doctorChecks.checkResults {
            let statusMark =
                switch line.state {
                case .good: style.green("ok  ")
                case .doubtful: style.yellow("?   ")
                case .bad: style.red("bad ")
                }
            let topic = line.topic + String(repeating: " ", count: max(1, 15 - line.topic.count))
            let indentation = String(repeating: " ", count: 20)
            let text = line.text.printable.wrapped(80)
            Terminal.output("\(statusMark) \(topic)\(text.joined(separator: "\n" + indentation))\n")
            for row in line.hint?.wrapped(80) ?? [] { Terminal.output("\(indentation)\(row)\n") }
        }
        let provableClauses = clauses.filter { $0.untestableReason == nil }.map(\.clause)
        Terminal.output("\ncan be tested: \(provableClauses.count) of \(clauses.count) clauses\n")
        for start in stride(from: 0, to: provableClauses.count, by: 14) {
            let row = provableClauses[start..<min(start + 14, provableClauses.count)]
            Terminal.output("  \(row.joined(separator: " "))\n")
        }
        let reasons = Dictionary(
            grouping: clauses.filter { $0.untestableReason != nil },
            by: { $0.untestableReason ?? "" }
        )
        if !reasons.isEmpty { Terminal.output("cannot be tested:\n") }
        for (untestableReason, entries) in reasons.sorted(by: { $0.key < $1.key }) {
            let names = entries.map(\.clause).joined(separator: " ")
            Terminal.output("  \(untestableReason)\n    \(names)\n")
        }
    }
}
