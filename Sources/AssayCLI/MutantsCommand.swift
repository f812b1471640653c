internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Phone
internal import ReferenceBackend
internal import Replay

struct MutantsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract: "Runs the suite against every defect of the reference backend and app.",
        discussion: """
            A defect is caught when a case fails, void when even the smoke case does, and missed \
            otherwise. Each runs against the contracts of the clauses it was made for, or with \
            --whole against all. What did not show itself beside others is tried once more \
            alone. The exit code is 0 when all are caught and every contract can fail.

            Example:  assay mutants
                      assay mutants --defect no-dedupe --defect paywall-ungated
            """
    )

    @Option(name: .long, help: "Only these defects.")
    var defect: [String] = []

    @OptionGroup var selection: SelectionOptions

    @Option(
        name: .long,
        help: "How many defects are tried at once (default: eight for each processor)."
    )
    var jobs: Int?

    @Flag(name: .long, help: "Run every contract against every defect; takes much longer.")
    var whole = false

    @Option(name: .long, help: "Any text; the same seed runs the same cases the same way.")
    var seed = "mutants"

    /// The contracts that every defect but a useless one leaves alone.
    static let smoke = "revenuecat/smoke/first-purchase"
    static let appSmoke = "app/smoke/starts"

    /// A defect of the reference backend, or of the built-in app.
    private enum Mutant: Sendable {
        case backend(Defect)
        case app(ClientDefect)
        /// Of the app with accounts, before a correct backend.
        case accounts(AccountApp.Defect)

        /// Of the built-in app, before a correct backend and with everybody else.
        case live(ClientDefect)

        static let all =
            Defect.allCases.map(Self.backend) + AccountApp.Defect.allCases.map(Self.accounts)
            + ClientDefect.allCases.map(Self.app)
            + [.failureCounts, .writeUnconfirmed, .neverUnlocks].map(Self.live)

        var name: String {
            switch self {
            case .backend(let defect): defect.rawValue
            case .app(let defect): defect.rawValue
            case .accounts(let defect): defect.rawValue
            case .live(let defect): defect.rawValue + "-before-a-backend"
            }
        }

        var clauses: [String] {
            switch self {
            case .backend(let defect): defect.clauses
            case .app(let defect): defect.clauses
            case .accounts(let defect): defect.clauses
            case .live: ["A-01"]
            }
        }

        var smoke: String {
            switch self {
            case .backend, .accounts, .live: MutantsCommand.smoke
            case .app: MutantsCommand.appSmoke
            }
        }

        var isOfApp: Bool { if case .app = self { true } else { false } }

        func concerns(_ contract: Contract) -> Bool {
            switch self {
            case .backend, .accounts, .live: !contract.isDeviceScenario
            case .app: contract.isDeviceScenario
            }
        }
    }

    private struct Outcome: Sendable {
        let defect: Mutant
        let seconds: Double
        let caught: [String]
        /// The failed cases as they stand in their files; a search is one, whatever it tried.
        let failed: Set<String>
        let isVoid: Bool
        let note: String?
        let isInterrupted: Bool

        init(_ defect: Mutant, _ report: RunReport) {
            let failed = report.cases.filter { $0.verdict == .failed }
            self.defect = defect
            seconds = report.seconds
            caught = failed.map {
                "\($0.findings.first?.code.rawValue ?? "") \($0.contract.caseID)"
            }
            self.failed = Set(failed.flatMap { [$0.contract.id, $0.contract.caseID] })
            isVoid = failed.contains { $0.contract.id == defect.smoke }
            note = nil
            isInterrupted = report.isInterrupted
        }

        init(_ defect: Mutant, failedToRun note: String, isInterrupted: Bool) {
            self.defect = defect
            seconds = 0
            caught = []
            failed = []
            isVoid = true
            self.note = note
            self.isInterrupted = isInterrupted
        }
    }

    mutating func run() async throws {
        let library = try selection.contractLibrary()
        let headings = library.headings
        let chosen = try selection.selection().apply(to: headings)
        let smokes = [Self.smoke, Self.appSmoke]
        let others = headings.filter { smokes.contains($0.id) && !chosen.contains($0) }
        let selected = try library.chosen(chosen)
        let contracts = selected + (try library.chosen(others))
        let mutants = try mutants()
        // First those that are over last whatever the machine can do: they wait for what never comes.
        let trials = mutants.map { mutant in
            Trial(mutant, contracts.filter { concerns(mutant, $0) })
        }.sorted { $0.waitCount > $1.waitCount }
        let usual = 8 * ProcessInfo.processInfo.activeProcessorCount
        let (seed, jobs) = (seed, min(32, max(1, jobs ?? usual)))
        let interruption = Interruption()
        var proof = try await interruption.run {
            Proof(await Self.outcomes(of: trials, seed, jobs, interruption), mutants, selected)
        }
        if !proof.isComplete, !interruption.isRaised {
            let again = proof.secondChances(trials)
            if !again.isEmpty { Terminal.output("\nonce more, one at a time:\n") }
            proof.add(
                try await interruption.run {
                    await Self.outcomes(of: again, seed, 1, isAgain: true, interruption)
                }
            )
        }
        proof.show(mutants.count)
        if interruption.isRaised { throw ExitCode(ExitStatus.interrupted.rawValue) }
        proof.showContracts()
        if !proof.isComplete { throw ExitCode(ExitStatus.failures.rawValue) }
    }

    /// Whether a contract has a say in whether the defect is caught.
    private func concerns(_ mutant: Mutant, _ contract: Contract) -> Bool {
        mutant.concerns(contract)
            && (whole || contract.id == mutant.smoke || mutant.clauses.contains(contract.clause))
    }

    /// A defect, and the contracts that it is tried against.
    private struct Trial: Sendable {
        let mutant: Mutant
        let contracts: [Contract]

        init(_ mutant: Mutant, _ contracts: [Contract]) {
            self.mutant = mutant
            self.contracts = contracts
        }

        /// How much of them is waiting, in cases that stop the backend or make it try again; one whose
        /// calls hang is as many of them.
        var waitCount: Int {
            contracts.map { contract in
                let plan = CasePlan(contract)
                if plan.subject.hasHangingCalls { return 10 }
                if plan.takesLong { return 5 }
                return plan.subject.hasRestart || plan.subject.isDisturbed ? 1 : 0
            }.reduce(0, +)
        }
    }

    private static func outcomes(
        of trials: [Trial],
        _ seed: String,
        _ jobs: Int,
        isAgain: Bool = false,
        _ interruption: Interruption
    ) async -> [Outcome] {
        await withTaskGroup(of: Outcome.self) { group in
            var waiting = trials[...]
            var outcomes: [Outcome] = []
            func add() {
                guard let trial = waiting.popFirst() else { return }
                group.addTask { await run(trial.mutant, trial.contracts, seed, interruption) }
            }
            for _ in 0..<jobs { add() }
            for await outcome in group {
                outcomes.append(outcome)
                if !isAgain || !outcome.caught.isEmpty { show(outcome) }
                if !Task.isCancelled { add() }
            }
            return outcomes
        }
    }

    /// What the outcomes say about defects and contracts.
    private struct Proof {
        private var outcomes: [Outcome]
        /// The contracts and the cases that some defect has failed.
        private var proven: Set<String>
        /// The contracts of which every defect that could fail them has had its turn.
        private let provable: [Contract]

        init(_ outcomes: [Outcome], _ mutants: [Mutant], _ selected: [Contract]) {
            self.outcomes = outcomes
            proven = outcomes.reduce(into: []) { $0.formUnion($1.failed) }
            let names = Set(mutants.map(\.name))
            let complete = [Mutant.all.filter(\.isOfApp), Mutant.all.filter { !$0.isOfApp }]
                .filter { names.isSuperset(of: $0.map(\.name)) }
            provable = selected.filter { contract in
                complete.contains { $0.contains { $0.concerns(contract) } }
            }
        }

        private var missed: [Outcome] { outcomes.filter { $0.caught.isEmpty && !$0.isVoid } }
        private var void: [Outcome] { outcomes.filter(\.isVoid) }

        /// What is tried again where nobody plays beside: races are among the defects, and on a busy
        /// machine one may not show itself.
        func secondChances(_ trials: [Trial]) -> [Trial] {
            let open = Set((missed + void).map(\.defect.name))
            let unproven = Set(unproven)
            return trials.compactMap { trial in
                if open.contains(trial.mutant.name) { return trial }
                let contracts = trial.contracts.filter { unproven.contains($0.id) }
                return contracts.isEmpty ? nil : Trial(trial.mutant, contracts)
            }
        }

        /// Takes what came of the second chances.
        mutating func add(_ later: [Outcome]) {
            for outcome in later where !outcome.isInterrupted {
                proven.formUnion(outcome.failed)
                guard !outcome.caught.isEmpty, !outcome.isVoid else { continue }
                if let index = outcomes.firstIndex(where: { $0.defect.name == outcome.defect.name }
                ),
                    outcomes[index].isVoid || outcomes[index].caught.isEmpty
                {
                    outcomes[index] = outcome
                }
            }
        }

        var unproven: [String] {
            Set(provable.map(\.id)).subtracting(proven)
                .subtracting([MutantsCommand.smoke, MutantsCommand.appSmoke]).sorted()
        }

        var isComplete: Bool { missed.isEmpty && void.isEmpty && unproven.isEmpty }

        func show(_ total: Int) {
            let caughtCount = outcomes.count - missed.count - void.count
            Terminal.output(
                "\ncaught \(caughtCount) of \(total)"
                    + "   missed \(missed.count)   void \(void.count)\n"
            )
            for outcome in missed { Terminal.output("  missed  \(outcome.defect.name)\n") }
            for outcome in void { Terminal.output("  void    \(outcome.defect.name)\n") }
        }

        func showContracts() {
            guard !provable.isEmpty else { return }
            for id in unproven { Terminal.output("  unproven: no defect fails \(id)\n") }
            let cases = Set(provable.map(MutantsCommand.provenBy))
            Terminal.output(
                "\(cases.intersection(proven).count) of \(cases.count) cases fail by themselves\n"
            )
            if unproven.isEmpty { Terminal.output("every contract is proven by a defect\n") }
        }
    }

    /// What has to fail once for a case: the case itself, or for a search any of the runs it makes.
    fileprivate static func provenBy(_ contract: Contract) -> String {
        contract.search == nil ? contract.caseID : contract.id
    }

    private func mutants() throws -> [Mutant] {
        guard !defect.isEmpty else { return Mutant.all }
        return try defect.map { name in
            guard let mutant = Mutant.all.first(where: { $0.name == name }) else {
                let near = Suggestion.nearest(to: name, among: Mutant.all.map(\.name))
                throw Failure(
                    .usage,
                    "there is no defect '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? "")
                )
            }
            return mutant
        }
    }

    private static func run(
        _ mutant: Mutant,
        _ contracts: [Contract],
        _ seed: String,
        _ interruption: Interruption
    ) async -> Outcome {
        switch mutant {
        case .app(let defect):
            let run = DeviceRun(profile: Profile(), seed: seed)
            do {
                return Outcome(
                    mutant,
                    try await run.report(contracts, .scripted([defect]), jobs: 1)
                )
            } catch {
                return Outcome(mutant, failedToRun: "\(error)", isInterrupted: false)
            }
        case .backend, .accounts, .live:
            var defects: [Defect] = []
            var appDefects: Set<AccountApp.Defect> = []
            if case .backend(let defect) = mutant { defects = [defect] }
            if case .accounts(let defect) = mutant { appDefects = [defect] }
            var profile = ReferenceProfile.make(
                defects: defects.map(\.rawValue),
                style: defects.first?.style ?? .body,
                setsClock: contracts.contains { $0.allNeeds.contains(.clock) }
            )
            // The reference backend tries again within a second, and what never comes must be
            // waited for in every failing case.
            profile.patience = .seconds(5)
            var run = SuiteRun(
                profile: profile,
                addresses: [:],
                contracts: contracts,
                suite: "",
                seed: seed,
                jobs: 8
            )
            // A defect that breaks every case is to be told by the case that is about it.
            run.looksFirst = false
            // Their backends wait far more than they work.
            run.backendCountMax = 5
            run.tellsRaces = false
            run.appDefects = appDefects
            if case .live(let defect) = mutant { run.clientDefects = [defect] }
            do {
                return Outcome(mutant, try await run.run(progress: Progress(), interruption: nil))
            } catch {
                return Outcome(
                    mutant,
                    failedToRun: "\(error)",
                    isInterrupted: interruption.isRaised
                )
            }
        }
    }

    private static func show(_ outcome: Outcome) {
        if outcome.isInterrupted { return }
        let name = outcome.defect.name
        let padding = String(repeating: " ", count: max(1, 31 - name.count))
        let verdict = outcome.isVoid ? "VOID  " : outcome.caught.isEmpty ? "MISSED" : "caught"
        let time = String(Int(outcome.seconds.rounded()))
        Terminal.output(
            "\(verdict)  \(name)\(padding)\(outcome.defect.clauses.joined(separator: " "))  by "
                + "\(outcome.caught.count) cases, \(time) s\n"
        )
        for line in outcome.caught.prefix(2) { Terminal.output("          \(line.prefix(88))\n") }
        if let note = outcome.note { Terminal.output("          \(note)\n") }
    }
}
