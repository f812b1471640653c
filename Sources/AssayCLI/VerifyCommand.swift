internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
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

    @Option(name: .long, help: "Any text; the same seed runs the same cases the same way.")
    var seed: String?

    @Option(name: .long, help: "How many cases run at once (default: 8; ASSAY_JOBS).")
    var jobs: Int?

    @Option(name: .long, help: "FORMAT=PATH, repeatable: json, junit; PATH - is standard output.")
    var report: [String] = []

    @Option(name: .long, help: "List of accepted failures: case, code, reason.")
    var knownFailing: String?

    @Option(name: .long, help: "The journal's bound in megabytes.")
    var journal = 256

    @Argument(help: "Contract files or folders to run instead of the shipped ones.")
    var paths: [String] = []

    mutating func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let profile = try target.resolved()
        let library = try selection.contractLibrary(paths: paths)
        for error in library.errors { Terminal.error("\(error)\n\n") }
        if library.contracts.isEmpty, !library.errors.isEmpty {
            throw Failure(.unparsable, "no contract could be read")
        }
        let contracts = try selection.selection(fallback: .should).apply(to: library.contracts)
        let files = try ReportFiles(report)
        guard (1...4096).contains(journal) else {
            throw Failure(.usage, "--journal takes 1 to 4096 megabytes")
        }
        let jobs = try jobCount(environment)
        let run = SuiteRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            contracts: contracts,
            suite: SuiteRun.digest(of: library, contracts),
            seed: seed ?? environment["ASSAY_SEED"] ?? SuiteRun.nonce(),
            jobs: jobs,
            knownFailures: try knownFailures(profile),
            journalBytesMax: journal << 20
        )
        let interruption = Interruption()
        let progress = Progress()
        let isQuiet = files.usesStandardOutput
        let outcome = try await interruption.run {
            try await run.run(progress: progress, interruption: interruption) { session in
                guard !isQuiet else { return }
                let fakes = session.servers.map { "\($0.party) \($0.baseURL)" }
                Terminal.error(
                    "assay \(assayVersion) · \(contracts.count) cases · seed \(run.seed)\n"
                )
                Terminal.error("fakes    \(fakes.joined(separator: "  "))\n")
                Terminal.error("backend  \(session.backend.target)\n\n")
            }
        }
        try files.write(outcome)
        if !isQuiet {
            let terminal = TerminalReport(
                style: Terminal.style(),
                replay: "assay verify\(target.replayFlags) --seed \(run.seed)"
            )
            for block in terminal.blocks(outcome) { Terminal.output(block) }
            Terminal.output(terminal.summary(outcome))
        }
        if outcome.exitCode == 0 || outcome.exitCode == 5, !library.errors.isEmpty {
            throw Failure(
                .unparsable,
                "\(library.errors.count) errors in contract files; the other contracts were run"
            )
        }
        throw ExitCode(outcome.exitCode)
    }

    private func jobCount(_ environment: [String: String]) throws -> Int {
        let text = jobs.map(String.init) ?? environment["ASSAY_JOBS"] ?? "8"
        guard let count = Int(text), (1...64).contains(count) else {
            throw Failure(.usage, "--jobs '\(text)' is not a number from 1 to 64")
        }
        return count
    }

    private func knownFailures(_ profile: Profile) throws -> KnownFailures {
        guard let path = knownFailing ?? profile.knownFailingPath else { return KnownFailures() }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.usage, "there is no list of known failures '\(path)'")
        }
        do throws(KnownFailures.ParseError) {
            return try KnownFailures(parsing: String(decoding: data, as: UTF8.self), path: path)
        } catch {
            throw Failure(.unparsable, error.description)
        }
    }
}
