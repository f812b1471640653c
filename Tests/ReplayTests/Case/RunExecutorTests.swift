import Contracts
import FakeServers
import Judging
import Providers
import Redaction
import TestBackend
import Testing
import Values

@testable import Replay

/// One run from its first step to its record, before a backend that the test plays itself.
@Suite("Run executor")
struct RunExecutorTests {
    private static let purchase = SimulatedContracts.deliver("a")

    private static func run(
        _ plan: RunPlan,
        _ bench: SimulationBench = SimulationBench(),
        in name: String = "n-1",
        verdict: @escaping @Sendable (RunRecord) -> RunExecutor.VerdictStability = { _ in .settled }
    ) throws -> RunRecord {
        try bench.run { bench in
            await bench.executor.run(
                plan,
                in: name,
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: verdict
            )
        }
    }

    // MARK: The record

    @Test func `a record holds everything from the first step to the last probe`() throws {
        let bench = SimulationBench()
        let record = try Self.run(SimulationBench.plan([Self.purchase]), bench)
        #expect(record.runProblem == nil)
        #expect(record.namespace.name == "n-1")
        #expect(record.base == bench.executor.base)
        #expect(record.began == SimulatedClock.start)
        #expect(record.ended > record.began)
        let kinds = record.exchanges.map { exchange in
            switch exchange.purpose {
            case .registration: "registration"
            case .delivery: "delivery"
            case .probe: "probe"
            case .call: "call of \(exchange.from) to \(exchange.to)"
            case .sentinel, .restart, .appCall, .userAction, .screen: "\(exchange.purpose)"
            }
        }
        #expect(kinds == ["registration", "delivery", "call of backend to onesignal", "probe"])
        #expect(record.exchanges.allSatisfy { $0.completed != nil })
        #expect(record.exchanges.map(\.sequence) == record.exchanges.map(\.sequence).sorted())
        #expect(record.starvation == nil)
    }

    @Test func `concurrent runs have separate records`() throws {
        let bench = SimulationBench(seed: 3)
        let records = try bench.run { bench in
            let runs = (1...5).map { number in
                bench.clock.task {
                    await bench.record(SimulationBench.plan([Self.purchase]), in: "n-\(number)")
                }
            }
            var records: [RunRecord] = []
            for run in runs { records.append(await run.value) }
            return records
        }
        for record in records {
            #expect(record.exchanges.allSatisfy { $0.namespace == record.namespace.name })
            #expect(record.exchanges.count { $0.to == .oneSignal } == 1)
            #expect(record.exchanges.count == 4)
        }
    }

    @Test func `the backend's clock is real, and the contract's clock is virtual`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            SimulationBench.plan([SimulatedContracts.deliver("a") { $0.delay = .seconds(7200) }]),
            bench
        )
        let delivery = try #require(record.exchanges.first { $0.from == .revenueCat })
        #expect(delivery.at == bench.executor.base + .seconds(7200))
        #expect(delivery.invoked < 1_000_000)
    }

    @Test func `a journal that dropped entries is a run problem`() throws {
        let bench = SimulationBench(journalBytesMax: 2000)
        let record = try Self.run(
            SimulationBench.plan(
                (0..<40).map { SimulatedContracts.deliver("d\($0)") },
                observesFinalState: false
            ),
            bench
        )
        #expect(record.runProblem == .journalGap)
    }

    // MARK: Steps

    @Test func `a failed user registration is a run problem, and no step follows`() throws {
        let bench = SimulationBench()
        bench.backend.respond(to: "/api/user/register", .status(503))
        let record = try Self.run(SimulationBench.plan([Self.purchase]), bench)
        let text = "POST /api/user/register returned 503"
        #expect(record.runProblem == .registrationFailed(user: "ada", text))
        #expect(bench.backend.webhooks.isEmpty)
        #expect(record.settleEvidence == .notNeeded)
    }

    @Test(
        "a call has 30 seconds, or more if the contract grants more",
        arguments: [(60, false), (600, true)]
    )
    func settleTimeoutOfCalls(granted: Int, isServed: Bool) throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.request.path == "/api/user/register" else { return nil }
            await backend.clock.pause(.seconds(45))
            return nil
        }
        let record = try bench.run { bench in
            await bench.record(SimulationBench.plan([Self.purchase]), within: .seconds(granted))
        }
        #expect((record.runProblem == nil) == isServed)
        #expect(bench.backend.webhooks.isEmpty != isServed)
    }

    @Test func `a user error of an unreachable backend is not charged to it`() throws {
        let bench = SimulationBench()
        bench.backend.process.isListening = false
        let record = try Self.run(SimulationBench.plan([Self.purchase]), bench)
        let text = "POST /api/user/register: the connection was refused"
        #expect(record.runProblem == .backendGone(text))
    }

    @Test func `an ID assigned by the backend is used from then on`() throws {
        let bench = SimulationBench()
        let plan = RunPlan(
            steps: [.name(user: "ada", id: "legacy-42"), Self.purchase],
            users: ["ada"],
            observesFinalState: true
        )
        let record = try Self.run(plan, bench)
        #expect(bench.backend.webhooks.first?.event?["app_user_id"] == "legacy-42")
        #expect(record.exchanges.contains { $0.to == .oneSignal }, "the push of that id is its own")
        #expect(record.exchanges.contains { $0.request.target == "/test/legacy-42" })
    }

    @Test func `planned provider responses end with the run`() throws {
        let bench = SimulationBench()
        let plan = ProviderPlan(
            provider: .oneSignal,
            responses: [.status(500)],
            repeatsLastResponse: true
        )
        _ = try Self.run(SimulationBench.plan([.provider(plan), Self.purchase]), bench)
        let reply = FakeServer.reply(
            to: PurchaseModel.notification(
                to: Namespace(name: "n-1", idForm: .string).id(of: "ada")
            ),
            .oneSignal,
            bench.fakes
        )
        #expect(reply.namespace == "n-1")
        #expect(reply.response.status == 200)
    }

    @Test func `a cancelled run starts no further step`() throws {
        let bench = SimulationBench()
        bench.model.work = .milliseconds(100)
        let record = try bench.run { bench in
            let work = bench.clock.task {
                await bench.record(
                    SimulationBench.plan((0..<50).map { SimulatedContracts.deliver("d\($0)") })
                ) { _ in .mayResolveWithLongerWait }
            }
            await bench.clock.pause(.milliseconds(250))
            work.cancel()
            return await work.value
        }
        #expect(bench.backend.webhooks.count == 2)
        #expect(record.settleEvidence == .notNeeded)
        #expect(bench.clock.now == .milliseconds(250))
    }

    // MARK: Looking again

    @Test func `a later probe contains newer entries and probes users again on request`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .milliseconds(800)
        let found = try bench.run { bench in
            let observability = RunRecord.Observability(
                arePushesObservable: false,
                areProbeChangesObservable: true,
                latency: .milliseconds(5)
            )
            let first = await bench.record(
                SimulationBench.plan([Self.purchase]),
                observability: observability
            )
            await bench.clock.pause(.seconds(1))
            let later = await bench.executor.refreshedRecord(first, probes: false)
            let probed = await bench.executor.refreshedRecord(first, probes: true)
            return [first, later, probed]
        }
        let pushes = found.map { $0.exchanges.count { $0.to == .oneSignal } }
        #expect(pushes == [0, 1, 1])
        let probes = found.map { record in
            record.exchanges.count { if case .probe = $0.purpose { true } else { false } }
        }
        #expect(probes == [1, 1, 2])
        #expect(found[1].ended > found[0].ended)
        #expect(found[1].settleEvidence == found[0].settleEvidence)
    }

    @Test func `a run without observations or with a problem stays unchanged`() throws {
        let bench = SimulationBench()
        bench.backend.process.isListening = false
        let (record, later) = try bench.run { bench in
            let record = await bench.record(SimulationBench.plan([Self.purchase]))
            await bench.clock.pause(.seconds(1))
            return (record, await bench.executor.refreshedRecord(record, probes: true))
        }
        #expect(record.runProblem != nil)
        #expect(later == record)
    }

    // MARK: Looking at users

    @Test func `every probe runs for every user with the backend's ID`() throws {
        let bench = SimulationBench {
            $0.probes.append(
                Profile.Probe(
                    name: "second",
                    source: .get("/two?id={{id}}"),
                    readings: [:],
                    ignoredPointers: []
                )
            )
        }
        let plan = RunPlan(
            steps: [.register(user: "ada"), .register(user: "bob")],
            users: ["ada", "bob"],
            observesFinalState: true
        )
        let record = try Self.run(plan, bench)
        let looks = record.exchanges.compactMap { exchange -> String? in
            guard case .probe(let name, let user) = exchange.purpose else { return nil }
            return "\(name) of \(user)"
        }
        #expect(looks == ["user of ada", "second of ada", "user of bob", "second of bob"])
        let bob = record.namespace.id(of: "bob")
        #expect(record.exchanges.contains { $0.request.target == "/two?id=\(bob)" })
        #expect(record.exchanges.contains { $0.request.target == "/test/\(bob)" })
    }

    /// The exchange of a probe that runs a shell script.
    private static func probe(_ script: String) async throws -> Exchange {
        let bench = SimulationBench {
            $0.probes = [
                Profile.Probe(
                    name: "sql",
                    source: .command(["/bin/sh", "-c", script]),
                    readings: [:],
                    ignoredPointers: []
                )
            ]
        }
        await bench.open().requests.probe(["ada"])
        return try #require(bench.journal("n-1").first)
    }

    @Test(
        "a command's output is the probe result, and empty output means no state",
        arguments: [
            ("printf '{\"access\": true}'", 200), ("printf ''", 404), ("printf '\\n \\t\\n'", 404),
        ]
    )
    func command(script: String, status: Int) async throws {
        let look = try await Self.probe(script)
        #expect(look.purpose == .probe(name: "sql", user: "ada"))
        #expect(look.response?.status == status)
    }

    @Test func `a failed command is not a response and reports its reason`() async throws {
        let silent = try await Self.probe("exit 3")
        #expect(silent.outcome == .failed(.closed, "'/bin/sh' exited with status 3"))
        let failing = try await Self.probe(
            "echo warning >&2; printf '\\033[31m no such table: users\\033[0m\\n\\n' >&2; exit 1"
        )
        #expect(
            failing.outcome
                == .failed(.closed, "'/bin/sh' exited with status 1: no such table: users")
        )
    }

    // MARK: Obstacles

    private static func skipReason(
        _ contract: Contract,
        isStartedByAssay: Bool = true,
        _ change: (inout Profile) -> Void = { _ in }
    ) -> CaseResult? {
        var profile = SimulatedSuite.profile
        change(&profile)
        return SkipReason(profile: profile, isStartedByAssay: isStartedByAssay).result(
            CasePlan(contract)
        )
    }

    @Test func `a plan without requirements has no skip reason`() {
        #expect(Self.skipReason(SimulatedContracts.contract("a", [Self.purchase])) == nil)
    }

    @Test func `only a backend started by Assay can be restarted`() {
        let contract = SimulatedContracts.contract(
            "a",
            [Self.purchase, .restart(Restart(signal: .kill))]
        )
        #expect(Self.skipReason(contract) == nil)
        let unstarted = Self.skipReason(contract, isStartedByAssay: false)
        #expect(unstarted?.verdict == .notRun)
        #expect(unstarted?.isDeclaredUnsupported == false)
        #expect(unstarted?.note?.hasPrefix("only a backend that Assay starts") == true)
        let declared = Self.skipReason(contract, isStartedByAssay: false) {
            $0.unsupportedFeatures = [.restart]
        }
        #expect(declared?.isDeclaredUnsupported == true)
        let both = Self.skipReason(contract) { $0.unsupportedFeatures = [.restart] }
        #expect(both?.isDeclaredUnsupported == true, "what is declared is heeded")
    }

    @Test(
        "every way to stop the backend requires one that can be stopped",
        arguments: [
            Step.restart(Restart(signal: .terminate)),
            .killAtCall(party: .oneSignal, position: 1),
            SimulatedContracts.deliver("c") {
                $0.followsRetrySchedule = true
                $0.crash = Crash(signal: .kill, phase: .sent)
            },
        ]
    )
    func stops(step: Step) {
        let contract = SimulatedContracts.contract("a", [step])
        #expect(Self.skipReason(contract, isStartedByAssay: false)?.verdict == .notRun)
        #expect(Self.skipReason(contract) == nil)
    }

    @Test("a case with an unmapped product does not run", arguments: [true, false])
    func skipsUnmappedProduct(isPurchasely: Bool) {
        var spec = EventSpec(type: .documented(.productChange), user: "ada")
        (spec.product, spec.newProduct) = ("basic", "large")
        var planSpec = PurchaselySpec(name: "ACTIVATE", user: "ada")
        (planSpec.plan, planSpec.previousPlan) = ("large", "basic")
        let subject: Delivery.Subject = isPurchasely ? .event(planSpec) : .event(spec)
        let contract = SimulatedContracts.contract(
            "a",
            [.deliver(Delivery(name: "change", subject: subject))]
        )
        func note(_ products: [String: String]) -> String? {
            Self.skipReason(contract) { $0.products = products }?.note
        }
        #expect(note([:]) == nil)
        #expect(note(["basic": "b1", "large": "l1"]) == nil)
        #expect(
            note(["basic": "b1"])
                == "product large is not mapped; add 'large: YOUR_ID' under 'products' in "
                + "assay.yaml; 'assay explain products' lists all of them"
        )
        let result = Self.skipReason(contract) { $0.products = ["large": "l1"] }
        #expect(result?.verdict == .notRun)
        #expect(result?.isDeclaredUnsupported == true)
    }

    @Test func `a case that checks only unmapped fields does not run`() {
        let known = SimulatedContracts.contract(
            "a",
            [Self.purchase],
            states: [("access", true), ("expires", 5)]
        )
        #expect(Self.skipReason(known) == nil, "one of them is mapped")
        let unknown = SimulatedContracts.contract("a", [Self.purchase], states: [("expires", 5)])
        let skipReason = Self.skipReason(unknown)
        #expect(skipReason?.note?.hasPrefix("no probe maps 'expires'") == true)
        #expect(skipReason?.isDeclaredUnsupported == true)
        let bare = Self.skipReason(unknown) { $0.probes = [] }
        #expect(bare == nil, "without any probe the verdict says so itself")
        let exists = SimulatedContracts.contract("a", [Self.purchase], states: [("exists", true)])
        #expect(Self.skipReason(exists) == nil)
    }

    @Test func `the state of an unknown user is not read if each probe needs a session`() {
        var contract = SimulatedContracts.contract("a", [Self.purchase], states: [("access", true)])
        let user = contract.expectation.states[0].user
        func requireSession(_ profile: inout Profile) {
            for index in profile.probes.indices {
                profile.probes[index].credentials = Profile.Credentials(
                    headers: ["authorization": Secret("Bearer {{user-session}}")]
                )
            }
        }
        contract.given = []
        let skipReason = Self.skipReason(contract, requireSession)
        #expect(
            skipReason?.note?.hasPrefix("the case reads the state of '\(user)', who is not") == true
        )
        #expect(skipReason?.isDeclaredUnsupported == true)
        #expect(Self.skipReason(contract) == nil)
        let withoutProbe = Self.skipReason(contract) { $0.probes = [] }
        #expect(withoutProbe == nil)
        contract.given = [.name(user: user, id: "undefined")]
        #expect(Self.skipReason(contract, requireSession) != nil, "a name registers nobody")
        contract.given = [.register(user: user)]
        #expect(Self.skipReason(contract, requireSession) == nil)
        contract.given = [.phone(.app(AppAction(.launch)))]
        #expect(Self.skipReason(contract, requireSession) == nil, "the app may register users")
        // A comparison reads the states of all users.
        var compared = SimulatedContracts.contract("a", [Self.purchase])
        compared.given = []
        #expect(Self.skipReason(compared, requireSession) == nil)
        compared.expectation.relation = .once
        compared.expectation.compared = [.state]
        #expect(Self.skipReason(compared, requireSession) != nil)
    }

    @Test func `a missing feature is a skip reason with its name`() {
        var contract = SimulatedContracts.contract("a", [Self.purchase], pushes: 1)
        contract.needs = [.signature]
        let skipReason = Self.skipReason(contract)
        #expect(skipReason?.isDeclaredUnsupported == true)
        #expect(skipReason?.note == "the profile gives no secret 'revenuecat-signing'")
        let able = Self.skipReason(contract) { $0.secrets[.revenueCatSigning] = Secret("key") }
        #expect(able == nil)
    }
}
