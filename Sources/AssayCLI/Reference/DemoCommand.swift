internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Judging
internal import Programs
internal import Redaction
internal import Replay
internal import Reports

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows a passing and a failing run.",
        discussion: """
            First tests the reference backend, which is correct and stores its data in a SQLite \
            file. Then tests the same backend with the defects of a published identity guide. \
            Both runs take \(DemoSelection.contractCount) quick contracts, from every clause that \
            has one. The exit code is 0 when the first run passes and the second run fails.

            Example:  assay demo
                      assay demo --full
            """
    )

    @Flag(name: .long, help: "Run all contracts, and print every failure of the second run.")
    var full = false

    @Option(name: .long, help: "Any string; the same seed repeats the same run.")
    var seed = "demo"

    @Option(name: .long, help: "The number of cases that run at once; waiting cases do not count.")
    var jobs = 8

    @Option(name: .long, help: "Run only matching cases, in both runs; repeatable.")
    var only: [String] = []

    mutating func run() async throws {
        let library = ContractLibrary.indexed
        let contracts = try demoContracts(library)
        let digest = SuiteRun.digest(of: library, contracts)
        let interruption = Interruption()
        let style = Terminal.style()
        let terminal = TerminalReport(
            style: style,
            replay: ReplayCommand(replayArguments).redacted(SecretDeclaration()),
            stop: Terminal.stopCommandsPair
        )
        Terminal.output(style.bold("1. The reference backend: every contract must pass") + "\n\n")
        let correct = try await suite(contracts, digest, defects: [], interruption)
        printCorrectRun(correct.redacted(), terminal, style)
        guard correct.exitCode == 0 else { throw ExitCode(correct.exitCode) }
        Terminal.output(
            style.bold("2. The same backend with defects of a published identity guide") + "\n\n"
        )
        let defective = try await suite(
            contracts.filter { !CasePlan($0).subject.hasRestart },
            digest,
            defects: ["guide"],
            interruption
        )
        if defective.isInterrupted { throw ExitCode(ExitStatus.interrupted.rawValue) }
        printFailedCases(defective.redacted(), terminal, style)
        guard defective.exitCode == 1 else {
            throw CommandFailure(
                .failures,
                "the second run passed, although its backend has defects"
            )
        }
        Terminal.output(
            "\nBoth runs ended as expected.\n"
                + (full ? "" : "All contracts:      assay demo --full\n")
                + "Test your backend:  assay init && assay verify\n"
        )
    }

    /// The command that repeats the demo, without its selection of cases.
    private var replayArguments: [String] {
        [Terminal.program, "demo", "--seed", seed] + (full ? ["--full"] : [])
    }

    /// Returns the contracts of both runs: a quick selection, or all with `--full` or `--only`.
    private func demoContracts(_ library: ContractLibrary) throws -> [Contract] {
        let selection = Selection(only: only, skip: [], level: nil)
        let contracts = try library.selectedContracts(
            selection.applyForBackends(to: library.headings)
        )
        guard !full, only.isEmpty else { return contracts }
        let preview = SuitePreview(contracts, ReferenceProfile.make(defects: []))
        return DemoSelection.contracts(among: preview.runnableContracts)
    }

    /// Runs contracts against the reference backend.
    private func suite(
        _ contracts: [Contract],
        _ digest: String,
        defects: [String],
        _ interruption: Interruption
    ) async throws -> RunReport {
        var profile = ReferenceProfile.make(defects: defects)
        // The reference backend is quick, so an effect that is missing for two seconds stays missing.
        if !full, !defects.isEmpty { profile.settleTimeout = .seconds(2) }
        var run = SuiteRun(
            profile: profile,
            addresses: [:],
            contracts: contracts,
            suite: digest,
            seed: seed,
            jobs: FileDescriptors.affordableJobCount(min(64, max(1, jobs)))
        )
        // The defects are known, so no failure has to be classified as a race.
        run.detectsRaces = false
        let (preparedRun, progress) = (run, RunProgress())
        return try await interruption.run {
            try await preparedRun.run(progress: progress, interruption: interruption)
        }
    }

    /// Prints the result of the correct backend: one line, or with `--full` the whole summary.
    private func printCorrectRun(
        _ report: Redacted<RunReport>,
        _ terminal: TerminalReport,
        _ style: TerminalStyle
    ) {
        for block in terminal.blocks(report) { Terminal.output(block) }
        guard !full, report.exitCode == 0 else {
            return Terminal.output(terminal.summary(report) + "\n")
        }
        let clauseCount = Set(report.cases.map(\.contract.clause)).count
        let passed = report.count(.passed)
        Terminal.output(
            style.green("PASS") + "  \(passed) case\(passed == 1 ? "" : "s") of "
                + "\(clauseCount) clause\(clauseCount == 1 ? "" : "s") in "
                + "\(Int(report.seconds.rounded(.up))) s\n\n"
        )
    }

    /// Prints one failing case in full as an example, and the number of the other failing cases.
    ///
    /// With `--full`, each other failing case is one line, and the summary follows.
    private func printFailedCases(
        _ report: Redacted<RunReport>,
        _ terminal: TerminalReport,
        _ style: TerminalStyle
    ) {
        let failed = report.cases.filter { $0.verdict == .failed }
        let exampleFailure =
            failed.first { $0.findings.first?.code == .unexpectedEffect } ?? failed.first
        if let exampleFailure { Terminal.output(terminal.block(exampleFailure) + "\n") }
        guard full else {
            let rest = failed.count - 1
            let clauses = Set(failed.map(\.contract.clause)).sorted().joined(separator: " ")
            let text =
                "\(rest) more case\(rest == 1 ? "" : "s") of \(report.cases.count) fail, with "
                + "clauses \(clauses)"
            return Terminal.output(
                style.red("FAIL") + "  "
                    + text.wrapped(style.width - 6).joined(separator: "\n      ") + "\n"
            )
        }
        for result in failed where result != exampleFailure {
            let code = result.findings.first?.code
            let line =
                "\(code?.rawValue ?? "")  \(result.contract.clause)  \(result.contract.caseID)"
            Terminal.output("\(style.red("FAIL")) \(line.prefix(92))\n")
        }
        Terminal.output("\n" + terminal.summary(report))
    }
}
