internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Grammar
internal import Judging
internal import Phone
internal import Providers
internal import ReferenceBackend

struct MutantsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract: "Runs the suite against every named defect.",
        discussion: """
            A defect is 'caught' when a case fails, and 'missed' when no case fails. It is 'void' \
            when even the test of basic operation (the smoke case) fails. Each defect runs \
            against the contracts of its clauses, or with --whole against all contracts. A \
            defect that is not caught is tried once more while nothing else runs. The exit code \
            is 0 when all defects are caught and each contract detects at least one of them.

            Example:  assay mutants
                      assay mutants --defect no-dedupe --defect paywall-ungated
            """
    )

    @Option(name: .long, help: "Run only this defect; repeatable.")
    var defect: [String] = []

    @OptionGroup var selection: SelectionOptions

    @Option(
        name: .long,
        help: "The number of defects that are tried at once (default: 8 per processor)."
    )
    var jobs: Int?

    @Flag(name: .long, help: "Run every contract against every defect; takes much longer.")
    var whole = false

    @Option(name: .long, help: "Any string; the same seed repeats the same run.")
    var seed = "mutants"

    /// The ID of the contract that tests the basic operation of a backend.
    ///
    /// A defect that makes this contract fail counts as void, because it breaks the backend
    /// completely.
    static let smokeContractID = "revenuecat/smoke/first-purchase"
    /// The ID of the contract that tests the basic operation of an app.
    static let appSmokeContractID = "app/smoke/starts"

    /// A defect that a trial turns on: of the reference backend, the built-in app, or the simulated
    /// app with user accounts.
    private enum Mutant: Sendable {
        case backend(Defect)
        case app(ClientDefect)
        /// A defect of the simulated app with user accounts. The app runs with a correct backend.
        case accounts(AccountApp.Defect)

        /// A defect of the built-in app. The app runs with a correct backend and all fakes.
        case liveApp(ClientDefect)

        static let all =
            Defect.allCases.map(Self.backend) + AccountApp.Defect.allCases.map(Self.accounts)
            + ClientDefect.allCases.map(Self.app)
            + ["failure-counts", "write-unconfirmed", "never-unlocks"]
            .compactMap(ClientDefect.init(rawValue:)).map(Self.liveApp)

        var name: String {
            switch self {
            case .backend(let defect): defect.rawValue
            case .app(let defect): defect.rawValue
            case .accounts(let defect): defect.rawValue
            case .liveApp(let defect): defect.rawValue + "-before-a-backend"
            }
        }

        var clauses: [String] {
            switch self {
            case .backend(let defect): defect.clauses
            case .app(let defect): defect.clauses
            case .accounts(let defect): defect.clauses
            case .liveApp: ["A-01"]
            }
        }

        var smokeContractID: String {
            switch self {
            case .backend, .accounts, .liveApp: MutantsCommand.smokeContractID
            case .app: MutantsCommand.appSmokeContractID
            }
        }

        var isOfApp: Bool { if case .app = self { true } else { false } }

        func concerns(_ contract: Contract) -> Bool {
            switch self {
            case .backend, .accounts, .liveApp: !contract.isDeviceScenario
            case .app: contract.isDeviceScenario
            }
        }
    }

    private struct Outcome: Sendable {
        let defect: Mutant
        let seconds: Double
        let catchingCases: [String]
        /// The IDs of the failed cases and of their contracts.
        ///
        /// A case that a search generates counts by the ID of its contract.
        let failed: Set<String>
        let isInvalid: Bool
        let note: String?
        let isInterrupted: Bool

        init(_ defect: Mutant, _ report: RunReport) {
            let failed = report.cases.filter { $0.verdict == .failed }
            self.defect = defect
            seconds = report.seconds
            catchingCases = failed.map {
                "\($0.findings.first?.code.rawValue ?? "") \($0.contract.caseID)"
            }
            self.failed = Set(failed.flatMap { [$0.contract.id, $0.contract.caseID] })
            isInvalid = failed.contains { $0.contract.id == defect.smokeContractID }
            note = nil
            isInterrupted = report.isInterrupted
        }

        init(_ defect: Mutant, failedToRun note: String, isInterrupted: Bool) {
            self.defect = defect
            seconds = 0
            catchingCases = []
            failed = []
            isInvalid = true
            self.note = note
            self.isInterrupted = isInterrupted
        }
    }

    mutating func run() async throws {
        let library = try selection.contractLibrary()
        let headings = library.headings
        let selectedContracts = try selection.selection().apply(to: headings)
        let smokeContractIDs = [Self.smokeContractID, Self.appSmokeContractID]
        let unselectedSmokeHeadings = headings.filter {
            smokeContractIDs.contains($0.id) && !selectedContracts.contains($0)
        }
        let selected = try library.selectedContracts(selectedContracts)
        let smoke = try library.selectedContracts(unselectedSmokeHeadings)
        let contracts = (selected + smoke).map { contract in
            var contract = contract
            // A defect about unusual values must not break the test of basic operation.
            if smokeContractIDs.contains(contract.id) { contract.drawnValues = .standard }
            return contract
        }
        let mutants = try mutants()
        // The slowest trials start first. They wait for effects that never arrive, which takes the
        // same time on any machine.
        let trials = mutants.map { mutant in
            Trial(mutant, contracts.filter { concerns(mutant, $0) })
        }.sorted { $0.estimatedWaitWeight > $1.estimatedWaitWeight }
        let usualJobCount = 8 * ProcessInfo.processInfo.activeProcessorCount
        let (seed, jobs) = (seed, min(32, max(1, jobs ?? usualJobCount)))
        let interruption = Interruption()
        var mutationProof = try await interruption.run {
            MutationProof(
                await Self.outcomes(of: trials, seed, jobs, interruption),
                mutants,
                selected
            )
        }
        if !mutationProof.isComplete, !interruption.hasReceivedSignal {
            let repeatedTrials = mutationProof.trialsToRepeat(trials)
            if !repeatedTrials.isEmpty {
                Terminal.output("\nrepeating failed trials one at a time:\n")
            }
            mutationProof.add(
                try await interruption.run {
                    await Self.outcomes(of: repeatedTrials, seed, 1, isRepeat: true, interruption)
                }
            )
        }
        mutationProof.show(mutants.count)
        if interruption.hasReceivedSignal { throw ExitCode(ExitStatus.interrupted.rawValue) }
        mutationProof.showContracts()
        if !mutationProof.isComplete { throw ExitCode(ExitStatus.failures.rawValue) }
    }

    /// Returns whether a contract has to run against a defect.
    private func concerns(_ mutant: Mutant, _ contract: Contract) -> Bool {
        mutant.concerns(contract)
            && (whole || contract.id == mutant.smokeContractID
                || mutant.clauses.contains(contract.clause))
    }

    /// A defect, and the contracts that run against it.
    private struct Trial: Sendable {
        let mutant: Mutant
        let contracts: [Contract]

        init(_ mutant: Mutant, _ contracts: [Contract]) {
            self.mutant = mutant
            self.contracts = contracts
        }

        /// An estimate of the time that the contracts spend waiting.
        ///
        /// A case that restarts the backend or has a fault counts 1, a long case 5, and a case with
        /// hanging calls 10.
        var estimatedWaitWeight: Int {
            contracts.map { contract in
                let plan = CasePlan(contract)
                if plan.subject.leavesCallsWithoutResponse { return 10 }
                if plan.isLongRunning { return 5 }
                return plan.subject.hasRestart || plan.subject.hasFaults ? 1 : 0
            }.reduce(0, +)
        }
    }

    private static func outcomes(
        of trials: [Trial],
        _ seed: String,
        _ jobs: Int,
        isRepeat: Bool = false,
        _ interruption: Interruption
    ) async -> [Outcome] {
        await withTaskGroup(of: Outcome.self) { group in
            var waitingTrials = trials[...]
            var outcomes: [Outcome] = []
            func add() {
                guard let trial = waitingTrials.popFirst() else { return }
                group.addTask { await run(trial.mutant, trial.contracts, seed, interruption) }
            }
            for _ in 0..<jobs { add() }
            for await outcome in group {
                outcomes.append(outcome)
                if !isRepeat || !outcome.catchingCases.isEmpty { show(outcome) }
                if !Task.isCancelled { add() }
            }
            return outcomes
        }
    }

    /// The evaluation of the outcomes: missed and void defects, and contracts that detect no
    /// defect.
    private struct MutationProof {
        private var outcomes: [Outcome]
        /// The contracts and cases that detect at least one defect.
        private var provenIDs: Set<String>
        /// The contracts for which this run has tried every defect that they may detect.
        private let provableContracts: [Contract]

        init(_ outcomes: [Outcome], _ mutants: [Mutant], _ selected: [Contract]) {
            self.outcomes = outcomes
            provenIDs = outcomes.reduce(into: []) { $0.formUnion($1.failed) }
            let names = Set(mutants.map(\.name))
            let completeGroups = [Mutant.all.filter(\.isOfApp), Mutant.all.filter { !$0.isOfApp }]
                .filter { names.isSuperset(of: $0.map(\.name)) }
            provableContracts = selected.filter { contract in
                completeGroups.contains { $0.contains { $0.concerns(contract) } }
            }
        }

        private var missedOutcomes: [Outcome] {
            outcomes.filter { $0.catchingCases.isEmpty && !$0.isInvalid }
        }
        private var invalidOutcomes: [Outcome] { outcomes.filter(\.isInvalid) }

        /// Returns the trials to repeat one at a time: defects that were not caught, and contracts
        /// that detected no defect.
        ///
        /// Some defects are race conditions, which may stay hidden on a busy machine.
        func trialsToRepeat(_ trials: [Trial]) -> [Trial] {
            let unprovenMutantNames = Set((missedOutcomes + invalidOutcomes).map(\.defect.name))
            let unprovenIDs = Set(unprovenIDs)
            return trials.compactMap { trial in
                if unprovenMutantNames.contains(trial.mutant.name) { return trial }
                let contracts = trial.contracts.filter { unprovenIDs.contains($0.id) }
                return contracts.isEmpty ? nil : Trial(trial.mutant, contracts)
            }
        }

        /// Adds the outcomes of the repeated trials, in which more defects may be caught.
        mutating func add(_ repeatedOutcomes: [Outcome]) {
            for outcome in repeatedOutcomes where !outcome.isInterrupted {
                provenIDs.formUnion(outcome.failed)
                guard !outcome.catchingCases.isEmpty, !outcome.isInvalid else { continue }
                if let index = outcomes.firstIndex(where: { $0.defect.name == outcome.defect.name }
                ),
                    outcomes[index].isInvalid || outcomes[index].catchingCases.isEmpty
                {
                    outcomes[index] = outcome
                }
            }
        }

        var unprovenIDs: [String] {
            Set(provableContracts.map(\.id)).subtracting(provenIDs)
                .subtracting([MutantsCommand.smokeContractID, MutantsCommand.appSmokeContractID])
                .sorted()
        }

        var isComplete: Bool {
            missedOutcomes.isEmpty && invalidOutcomes.isEmpty && unprovenIDs.isEmpty
        }

        func show(_ mutantCount: Int) {
            let caughtCount = outcomes.count - missedOutcomes.count - invalidOutcomes.count
            Terminal.output(
                "\ncaught \(caughtCount) of \(mutantCount)"
                    + "   missed \(missedOutcomes.count)   void \(invalidOutcomes.count)\n"
            )
            for outcome in missedOutcomes { Terminal.output("  missed  \(outcome.defect.name)\n") }
            for outcome in invalidOutcomes { Terminal.output("  void    \(outcome.defect.name)\n") }
        }

        func showContracts() {
            guard !provableContracts.isEmpty else { return }
            for id in unprovenIDs { Terminal.output("  unproven: \(id) detects no defect\n") }
            let cases = Set(provableContracts.map(MutantsCommand.failureIDProving))
            Terminal.output(
                "\(cases.intersection(provenIDs).count) of \(cases.count) cases detect a defect\n"
            )
            if unprovenIDs.isEmpty { Terminal.output("every contract detects a defect\n") }
        }
    }

    /// Returns the ID of the failure that proves that a contract detects a defect.
    ///
    /// The result is the case ID. For a contract with a search, which generates its cases, it is
    /// the contract's ID, because any failing case of the search counts.
    fileprivate static func failureIDProving(_ contract: Contract) -> String {
        contract.search == nil ? contract.caseID : contract.id
    }

    private func mutants() throws -> [Mutant] {
        guard !defect.isEmpty else { return Mutant.all }
        return try defect.map { name in
            guard let mutant = Mutant.all.first(where: { $0.name == name }) else {
                let nearestName = Suggestion.nearest(to: name, among: Mutant.all.map(\.name))
                throw CommandFailure(
                    .usage,
                    "unknown defect '\(name)'"
                        + (nearestName.map { "; did you mean '\($0)'?" } ?? "")
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
        case .backend, .accounts, .liveApp:
            var defects: [Defect] = []
            var appDefects: Set<AccountApp.Defect> = []
            if case .backend(let defect) = mutant { defects = [defect] }
            if case .accounts(let defect) = mutant { appDefects = [defect] }
            var profile = ReferenceProfile.make(
                defects: defects.map(\.rawValue),
                style: defects.first?.style ?? .body,
                loginProof: defects.first?.loginProof ?? .password,
                setsClock: contracts.contains { $0.allRequiredFeatures.contains(.clock) }
            )
            // The reference backend retries within a second. Every failing case waits for the
            // complete settle timeout, so the timeout is short.
            profile.settleTimeout = .seconds(5)
            var run = SuiteRun(
                profile: profile,
                addresses: [:],
                contracts: contracts,
                suite: "",
                seed: seed,
                jobs: 8
            )
            // The check before the first case would end the run for a defect that breaks every
            // case, so it is off.
            run.checksBackendFirst = false
            // These backends wait for most of the time, so that several can run at once.
            run.backendCountMax = 5
            run.detectsRaces = false
            run.appDefects = appDefects
            if case .liveApp(let defect) = mutant { run.clientDefects = [defect] }
            do {
                return Outcome(
                    mutant,
                    try await run.run(progress: RunProgress(), interruption: nil)
                )
            } catch {
                return Outcome(
                    mutant,
                    failedToRun: "\(error)",
                    isInterrupted: interruption.hasReceivedSignal
                )
            }
        }
    }

    private static func show(_ outcome: Outcome) {
        if outcome.isInterrupted { return }
        let name = outcome.defect.name
        let padding = String(repeating: " ", count: max(1, 31 - name.count))
        let verdict =
            outcome.isInvalid ? "VOID  " : outcome.catchingCases.isEmpty ? "MISSED" : "caught"
        let time = String(Int(outcome.seconds.rounded()))
        Terminal.output(
            "\(verdict)  \(name)\(padding)\(outcome.defect.clauses.joined(separator: " "))  by "
                + "\(outcome.catchingCases.count) case\(outcome.catchingCases.count == 1 ? "" : "s"), \(time) s\n"
        )
        for line in outcome.catchingCases.prefix(2) {
            Terminal.output("          \(line.prefix(88))\n")
        }
        if let note = outcome.note { Terminal.output("          \(note)\n") }
    }
}
