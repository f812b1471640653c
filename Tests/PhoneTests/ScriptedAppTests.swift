import ContractFiles
import Contracts
import Judging
import Phone
import Providers
import Replay
import Testing
import Values

/// The scripted app keeps every promise, and each defect breaks what it was made for.
@Suite("Scripted app")
struct ScriptedAppTests {
    private static let base = Instant(milliseconds: 1_790_000_000_000)
    private static let scenarios = ContractLibrary.shipped.contracts.filter(\.isDeviceScenario)

    private static func run(
        _ contracts: [Contract],
        _ defects: Set<ClientDefect> = []
    ) async -> [CaseResult] {
        let profile = Profile()
        let options = SuiteRunOptions(
            seed: 0,
            jobs: 1,
            nonce: "app",
            knownFailures: KnownFailures()
        )
        let stage = DeviceTarget(
            profile: profile,
            executorSet: .scripted,
            options: options,
            clock: RealClock()
        ) { plan, name, _ in
            await Simulation.run(
                plan.subject,
                name: name,
                profile: profile,
                base: base,
                defects: defects
            )
        }
        return await SuiteRunner(on: stage, options: options) { _ in }.run(contracts)
    }

    @Test func `it satisfies every scenario`() async {
        #expect(Self.scenarios.count >= 100)
        for result in await Self.run(Self.scenarios) {
            #expect(
                result.verdict == .passed,
                "\(result.contract.caseID): \(result.findings.map(\.actual))"
            )
        }
    }

    /// Found by lives: each registration was acknowledged, the second for no reason (C-13).
    @Test func `a retry leaves an id to the login that is registering it`() async throws {
        let text = """
            contract: l
            title: t
            clause: C-13
            source: s
            steps:
              - phone: {history: [{user: ben, active: false, purchased: -2d}], install-id: 1200ms}
              - app: launch
              - bridge: {drop: {command: readvault, key: id, times: 2}}
              - backend: {register: [reset, 500, ok]}
              - app: reload
              - app: login
                account: acc
            expect:
              app:
                invariants: [registers-once]
            """
        let contracts = try ContractParser.parse(text, path: "l.yaml", id: "l").get()
        for result in await Self.run(contracts) {
            #expect(result.verdict == .passed, "\(result.findings.map(\.actual))")
        }
    }

    @Test(
        "each defect is caught by the clause it was made for, and spares the smoke case",
        arguments: ClientDefect.allCases
    )
    func defects(defect: ClientDefect) async {
        let chosen = Self.scenarios.filter {
            defect.clauses.contains($0.clause) || $0.id == "app/smoke/starts"
        }
        let failed = await Self.run(chosen, [defect]).filter { $0.verdict == .failed }
        #expect(!failed.isEmpty, "\(defect.rawValue) was missed")
        #expect(!failed.contains { $0.contract.id == "app/smoke/starts" }, "\(defect.rawValue)")
    }

    /// A browser has no runtime, so nothing coalesces there.
    @Test(
        "each invariant has a scenario in which the runtime coalesces commands",
        arguments: AppInvariant.allCases.filter { $0 != .silent }
    )
    func coalescing(invariant: AppInvariant) {
        let scenarios = Self.scenarios.filter { scenario in
            scenario.expectation.app?.requiredInvariants.contains { $0.name == invariant } ?? false
        }
        #expect(
            scenarios.contains { scenario in
                (scenario.given + scenario.steps).contains { step in
                    guard case .phone(.bridge(let plan)) = step else { return false }
                    return plan.switches["coalescesCommands"] == true
                }
            },
            "no scenario of '\(invariant.rawValue)' coalesces commands"
        )
    }

    /// What is judged is the journal alone, so a saved record judges the same.
    @Test func `the same name gives the same record, to the letter`() async throws {
        let contract = try #require(Self.scenarios.first { $0.id == "app/logout/clones" })
        let plan = CasePlan(contract).subject
        let profile = Profile()
        let first = await Simulation.run(plan, name: "again", profile: profile, base: Self.base)
        let second = await Simulation.run(plan, name: "again", profile: profile, base: Self.base)
        #expect(first == second)
        let other = await Simulation.run(plan, name: "other", profile: profile, base: Self.base)
        #expect(other.exchanges.count == first.exchanges.count)
        #expect(other != first)
    }

    /// Thirty silent seconds are in the record's time, and cost none of ours.
    @Test func `an app that waits for the bridge is late on its own clock`() async throws {
        let contract = try #require(Self.scenarios.first { $0.id == "app/start/silent-bridge" })
        let record = await Simulation.run(
            CasePlan(contract).subject,
            name: "silent",
            profile: Profile(),
            base: Self.base,
            defects: Set(["waits-for-bridge"].compactMap(ClientDefect.init(rawValue:)))
        )
        let timeline = ClientTimeline(record, profile: Profile())
        let sendTime = try #require(timeline.registrations.first { $0.isAcknowledged }?.sendTime)
        #expect(sendTime >= 60_000_000)
    }
}
