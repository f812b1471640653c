internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Judging
internal import Programs
internal import Redaction
internal import Reports

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows a passing run and a failing run, without your backend.",
        discussion: """
            First tests the reference backend, which is correct and stores its data in a SQLite \
            file. Then tests the same backend with the defects of a published identity guide. \
            The exit code is 0 when the first run passes and the second run fails.

            Example:  assay demo
            """
    )

    @Option(name: .long, help: "Any string; the same seed repeats the same run.")
    var seed = "demo"

    @Option(name: .long, help: "The number of cases that run at once; waiting cases do not count.")
    var jobs = 8

    @Option(name: .long, help: "Run only matching cases, in both runs; repeatable.")
    var only: [String] = []

    mutating func run() async throws {
        let library = ContractLibrary.indexed
        let selection = Selection(only: only, skip: [], level: nil)
        let demoContracts = try library.selectedContracts(
            selection.applyForBackends(to: library.headings)
        )
        let seed = seed
        let jobs = FileDescriptors.affordableJobCount(min(64, max(1, jobs)))
        let interruption = Interruption()
        let style = Terminal.style()
        func suite(_ contracts: [Contract], defects: [String]) async throws -> RunReport {
            var run = SuiteRun(
                profile: ReferenceProfile.make(defects: defects),
                addresses: [:],
                contracts: contracts,
                suite: SuiteRun.digest(of: library, contracts),
                seed: seed,
                jobs: jobs
            )
            // The defects are known, so no failure has to be classified as a race.
            run.detectsRaces = false
            let (preparedRun, progress) = (run, RunProgress())
            return try await interruption.run {
                try await preparedRun.run(progress: progress, interruption: interruption)
            }
        }
        Terminal.output(style.bold("1. The reference backend: every contract must pass") + "\n\n")
        let correctReport = try await suite(demoContracts, defects: [])
        let terminal = TerminalReport(
            style: style,
            replay: ReplayCommand([Terminal.program, "demo", "--seed", seed])
                .redacted(SecretDeclaration()),
            stop: Terminal.stopCommandsPair
        )
        for block in terminal.blocks(correctReport.redacted()) { Terminal.output(block) }
        Terminal.output(terminal.summary(correctReport.redacted()) + "\n")
        guard correctReport.exitCode == 0 else { throw ExitCode(correctReport.exitCode) }
        Terminal.output(
            style.bold("2. The same backend with defects of the published identity guide") + "\n\n"
        )
        let red = try await suite(
            demoContracts.filter { !CasePlan($0).subject.hasRestart },
            defects: ["guide"]
        )
        if red.isInterrupted { throw ExitCode(130) }
        printFailedCases(red.redacted(), terminal, style)
        guard red.exitCode == 1 else {
            throw CommandFailure(
                .failures,
                "the second run passed, although its backend has defects"
            )
        }
        Terminal.output(
            "\nBoth runs ended as expected. "
                + "Test your backend:  assay verify --start 'your command'\n"
        )
    }

    /// Prints one failing case in full as an example, and one line for each other failing case.
    private func printFailedCases(
        _ report: Redacted<RunReport>,
        _ terminal: TerminalReport,
        _ style: TerminalStyle
    ) {
        let failed = report.cases.filter { $0.verdict == .failed }
        let exampleFailure =
            failed.first { $0.findings.first?.code == .unexpectedEffect } ?? failed.first
        if let exampleFailure { Terminal.output(terminal.block(exampleFailure) + "\n") }
        for result in failed where result != exampleFailure {
            let code = result.findings.first?.code
            let line =
                "\(code?.rawValue ?? "")  \(result.contract.clause)  \(result.contract.caseID)"
            Terminal.output("\(style.red("FAIL")) \(line.prefix(92))\n")
        }
        Terminal.output("\n" + terminal.summary(report))
    }
}
