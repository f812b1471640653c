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
        let prepared = run
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
        var outcome = try await interruption.run {
            try await prepared.run(progress: progress, interruption: interruption) { session in
                guard !isQuiet else { return }
                let fakes = session.servers.map { "\($0.party) \($0.baseURL)" }
                Terminal.error(
                    "assay \(assayVersion) · \(contracts.count) cases · seed \(prepared.seed) · at most \(timeText)\n"
                )
                Terminal.error("fakes    \(fakes.joined(separator: "  "))\n")
                Terminal.error("backend  \(session.backend.target)\n\n")
            }
        }
        guard !outcome.cases.isEmpty || outcome.isInterrupted else {
            throw Failure(
                .nothingSelected,
                "the golden run has no such case; run the contract without what follows its name"
            )
        }
        outcome.expire(at: SuiteRun.now(), isError: strictness == "error")
        try files.show(
            outcome,
            replay: ReplayCommand(
                replayWords(seed: prepared.seed, isStrict: strictness == "error")
            ),
            profile: TargetOptions.path(target.profile),
            isVerbose: reports.verbose
        )
        if let saveFile { try Self.save(outcome, profile, to: saveFile) }
        if let baselineFile {
            outcome = try Self.writeBaseline(outcome, keeping: earlier, to: baselineFile, isQuiet)
        }
        if update { try writeUpdates(outcome, profile) }
        writeFound(outcome, to: Setting.found.text(found, environment) ?? "assay-found", isQuiet)
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

    /// Writes what failed as known; from now on it is.
    private static func writeBaseline(
        _ report: RunReport,
        keeping old: KnownFailures,
        to path: String,
        _ isQuiet: Bool
    ) throws -> RunReport {
        let entries = KnownFailures.baseline(report, keeping: old)
        do {
            try Data(KnownFailures.text(entries, of: report).utf8)
                .write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw Failure(.usage, "cannot write '\(path)': \(error.localizedDescription)")
        }
        if !isQuiet {
            Terminal.error(
                "baseline \(path): \(entries.count) known failures; write 'known-failing: \(path)' "
                    + "in the profile\n"
            )
        }
        var known = report
        for index in known.cases.indices where known.cases[index].verdict == .failed {
            known.cases[index].verdict = .knownFailure
        }
        return known
    }

    static func save(_ report: RunReport, _ profile: Profile, to path: String) throws {
        do {
            let text = try SavedRun.lines(report, profile: profile).joined(separator: "\n") + "\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            throw Failure(.usage, "cannot write the run '\(path)': \(error)")
        }
    }

    /// Writes the golden contracts that differ as pending ones, beside the accepted.
    private func writeUpdates(_ report: RunReport, _ profile: Profile) throws {
        var generator = SystemRandomNumberGenerator()
        let redactor = Redactor(
            key: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) },
            secrets: Array(SecretDeclaration(profile).values.values),
            names: profile.allSecretNames
        )
        let goldenCodes: Set<FindingCode> = [
            .answerDiffers, .answerStatus, .effectContent, .effectCount,
        ]
        for result in report.cases where result.verdict == .failed {
            guard result.contract.provenance != nil, let record = result.evidence?.subject,
                result.findings.contains(where: { goldenCodes.contains($0.code) })
            else { continue }
            let updated = Distiller.updated(
                result.contract,
                seen: record,
                codes: Set(result.findings.map(\.code)),
                redactor: redactor
            )
            let path = result.contract.location.path + ".new"
            let text = ContractWriter.text(updated, id: updated.id)
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
                Terminal.error("pending  \(path)\n")
            } catch {
                throw Failure(.usage, "cannot write '\(path)': \(error.localizedDescription)")
            }
        }
    }

    /// Writes what variations found as contracts that can be kept; a run is not lost over it.
    private func writeFound(_ report: RunReport, to found: String, _ isQuiet: Bool) {
        for result in report.cases {
            guard let contract = result.found else { continue }
            // The case, not the contract: two variants that found something are two files.
            let name = contract.caseID.map { $0.isLetter || $0.isNumber ? $0 : "-" }
            let id = "found/" + String(name)
            let path = "\(found)/\(id).yaml"
            do {
                try FileManager.default.createDirectory(
                    atPath: found + "/found",
                    withIntermediateDirectories: true
                )
                try Data(ContractWriter.text(contract, id: id).utf8)
                    .write(to: URL(fileURLWithPath: path))
                if !isQuiet {
                    let words = [Terminal.program, "verify"] + target.replayWords + [path]
                    Terminal.error("found    \(path)\n         \(ShellCommand(words))\n")
                }
            } catch {
                Terminal.error("assay: cannot write '\(path)': \(error.localizedDescription)\n")
            }
        }
    }
}
