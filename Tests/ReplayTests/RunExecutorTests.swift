import Conformance
import FakeServers
import Providers
import Testing

@testable import Replay

/// One run from its first step to its record, before a backend that the test plays itself.
@Suite("Run executor")
struct RunExecutorTests {
    private static let purchase = SimulatedContracts.deliver("a")

    private static func run(
        _ plan: RunPlan,
        _ bench: Bench = Bench(),
        in name: String = "n-1",
        verdict: @escaping @Sendable (RunRecord) -> RunExecutor.Prospect = { _ in .settled }
    ) throws -> RunRecord {
        try bench.run { bench in
            await bench.executor.run(
                plan,
                in: name,
                sight: Bench.sight,
                within: Bench.within,
                verdict: verdict
            )
        }
    }

    // MARK: The record

    @Test func `a record holds what happened, from the first step to the last look`() throws {
        let bench = Bench()
        let record = try Self.run(Bench.plan([Self.purchase]), bench)
        #expect(record.trouble == nil)
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
            case .sentinel, .restart, .appCall, .gesture, .screen: "\(exchange.purpose)"
            }
        }
        #expect(kinds == ["registration", "delivery", "call of backend to onesignal", "probe"])
        #expect(record.exchanges.allSatisfy { $0.completed != nil })
        #expect(record.exchanges.map(\.sequence) == record.exchanges.map(\.sequence).sorted())
        #expect(record.starvation == nil)
    }

    @Test func `runs beside each other hold each their own`() throws {
        let bench = Bench(seed: 3)
        let records = try bench.run { bench in
            let runs = (1...5).map { number in
                bench.clock.task {
                    await bench.executor.run(
                        Bench.plan([Self.purchase]),
                        in: "n-\(number)",
                        sight: Bench.sight,
                        within: Bench.within
                    ) { _ in .settled }
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

    @Test func `the time of a backend's own clock is real, and the contract's is not`() throws {
        let bench = Bench()
        let record = try Self.run(
            Bench.plan([SimulatedContracts.deliver("a") { $0.delay = .seconds(7200) }]),
            bench
        )
        let delivery = try #require(record.exchanges.first { $0.from == .revenueCat })
        #expect(delivery.at == bench.executor.base + .seconds(7200))
        #expect(delivery.invoked < 1_000_000)
    }

    @Test func `a journal that forgot is trouble, for nobody can say what was missing`() throws {
        let bench = Bench(journalBytesMax: 2000)
        let record = try Self.run(
            Bench.plan((0..<40).map { SimulatedContracts.deliver("d\($0)") }, observes: false),
            bench
        )
        #expect(record.trouble == .journalGap)
    }

    // MARK: Steps

    @Test func `a user who cannot be registered is trouble, and nothing follows`() throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            arrival.request.path == "/api/user/register"
                ? .answered(HTTPMessage.Response(503)) : nil
        }
        let record = try Self.run(Bench.plan([Self.purchase]), bench)
        let text = "POST /api/user/register returned 503"
        #expect(record.trouble == .registrationFailed(user: "ada", text))
        #expect(bench.backend.webhooks.isEmpty)
        #expect(record.settling == .notNeeded)
    }

    @Test(
        "a call has half a minute, and as long as a contract grants that grants more than one",
        arguments: [(60, false), (600, true)]
    )
    func patienceOfCalls(granted: Int, isServed: Bool) throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard arrival.request.path == "/api/user/register" else { return nil }
            await backend.clock.pause(.seconds(45))
            return nil
        }
        let record = try bench.run { bench in
            await bench.executor.run(
                Bench.plan([Self.purchase]),
                in: "n-1",
                sight: Bench.sight,
                within: .seconds(granted)
            ) { _ in .settled }
        }
        #expect((record.trouble == nil) == isServed)
        #expect(bench.backend.webhooks.isEmpty != isServed)
    }

    @Test func `a backend that is not there is not blamed for a user`() throws {
        let bench = Bench()
        bench.backend.isGone = true
        let record = try Self.run(Bench.plan([Self.purchase]), bench)
        let text = "POST /api/user/register: the connection was refused"
        #expect(record.trouble == .backendGone(text))
    }

    @Test func `a user by another name is known by it from then on`() throws {
        let bench = Bench()
        let plan = RunPlan(
            steps: [.name(user: "ada", id: "legacy-42"), Self.purchase],
            users: ["ada"],
            observes: true
        )
        let record = try Self.run(plan, bench)
        #expect(bench.backend.webhooks.first?.event?["app_user_id"] == "legacy-42")
        #expect(record.exchanges.contains { $0.to == .oneSignal }, "the push of that id is its own")
        #expect(record.exchanges.contains { $0.request.target == "/test/legacy-42" })
    }

    @Test func `what a provider was to answer is over with the run`() throws {
        let bench = Bench()
        let plan = ProviderPlan(provider: .oneSignal, answers: [.status(500)], isPermanent: true)
        _ = try Self.run(Bench.plan([.provider(plan), Self.purchase]), bench)
        let reply = FakeServer.reply(
            to: PlayedBackend.notification(
                to: Namespace(name: "n-1", idForm: .string).id(of: "ada")
            ),
            .oneSignal,
            bench.world
        )
        #expect(reply.namespace == "n-1")
        #expect(reply.response.status == 200)
    }

    @Test func `a cancelled run begins no further step`() throws {
        let bench = Bench()
        bench.backend.work = .milliseconds(100)
        let record = try bench.run { bench in
            let work = bench.clock.task {
                await bench.executor.run(
                    Bench.plan((0..<50).map { SimulatedContracts.deliver("d\($0)") }),
                    in: "n-1",
                    sight: Bench.sight,
                    within: Bench.within
                ) { _ in .mayImprove }
            }
            await bench.clock.pause(.milliseconds(250))
            work.cancel()
            return await work.value
        }
        #expect(bench.backend.webhooks.count == 2)
        #expect(record.settling == .notNeeded)
        #expect(bench.clock.now == .milliseconds(250))
    }

    // MARK: Looking again

    @Test func `a later look holds what came since, and a new look at users when asked`() throws {
        let bench = Bench()
        bench.backend.pushDelay = .milliseconds(800)
        let found = try bench.run { bench in
            let sight = RunRecord.Sight(
                seesEffects: false,
                seesState: true,
                latency: .milliseconds(5)
            )
            let first = await bench.executor.run(
                Bench.plan([Self.purchase]),
                in: "n-1",
                sight: sight,
                within: Bench.within
            ) { _ in .settled }
            await bench.clock.pause(.seconds(1))
            let later = await bench.executor.lookAgain(first, probes: false)
            let probed = await bench.executor.lookAgain(first, probes: true)
            return [first, later, probed]
        }
        let pushes = found.map { $0.exchanges.count { $0.to == .oneSignal } }
        #expect(pushes == [0, 1, 1])
        let probes = found.map { record in
            record.exchanges.count { if case .probe = $0.purpose { true } else { false } }
        }
        #expect(probes == [1, 1, 2])
        #expect(found[1].ended > found[0].ended)
        #expect(found[1].settling == found[0].settling)
    }

    @Test func `a run that saw nothing, or was in trouble, stays as it is`() throws {
        let bench = Bench()
        bench.backend.isGone = true
        let (record, later) = try bench.run { bench in
            let record = await bench.executor.run(
                Bench.plan([Self.purchase]),
                in: "n-1",
                sight: Bench.sight,
                within: Bench.within
            ) { _ in .settled }
            await bench.clock.pause(.seconds(1))
            return (record, await bench.executor.lookAgain(record, probes: true))
        }
        #expect(record.trouble != nil)
        #expect(later == record)
    }

    // MARK: Looking at users

    @Test func `every probe is asked about every user, by the id that the backend knows`() throws {
        let bench = Bench {
            $0.probes.append(
                Profile.Probe(
                    name: "second",
                    source: .get("/two?id={{id}}"),
                    readings: [:],
                    ignored: []
                )
            )
        }
        let plan = RunPlan(
            steps: [.register(user: "ada"), .register(user: "bob")],
            users: ["ada", "bob"],
            observes: true
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

    @Test(
        "a command's output is what a probe saw, and printing nothing means that there is nothing",
        arguments: [
            ("printf '{\"access\": true}'", 200), ("printf ''", 404), ("printf '\\n \\t\\n'", 404),
        ]
    )
    func command(script: String, status: Int) async throws {
        let bench = Bench {
            $0.probes = [
                Profile.Probe(
                    name: "sql",
                    source: .command(["/bin/sh", "-c", script]),
                    readings: [:],
                    ignored: []
                )
            ]
        }
        let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
        await play.probe(["ada"])
        let look = try #require(bench.journal("n-1").first)
        #expect(look.purpose == .probe(name: "sql", user: "ada"))
        #expect(look.response?.status == status)
    }

    @Test func `a command that fails is no answer, and says why`() async throws {
        let bench = Bench {
            $0.probes = [
                Profile.Probe(
                    name: "sql",
                    source: .command(["/bin/sh", "-c", "exit 3"]),
                    readings: [:],
                    ignored: []
                )
            ]
        }
        let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
        await play.probe(["ada"])
        let look = try #require(bench.journal("n-1").first)
        #expect(look.outcome == .failed(.closed, "'/bin/sh' exited with status 3"))
    }

    // MARK: Obstacles

    private static func obstacle(
        _ contract: Contract,
        isStarted: Bool = true,
        _ change: (inout Profile) -> Void = { _ in }
    ) -> CaseResult? {
        var profile = SimulatedSuite.profile
        change(&profile)
        return Obstacle(profile: profile, isStarted: isStarted).result(CasePlan(contract))
    }

    @Test func `what asks for nothing has no obstacle`() {
        #expect(Self.obstacle(SimulatedContracts.contract("a", [Self.purchase])) == nil)
    }

    @Test func `what can be restarted is what Assay started`() {
        let contract = SimulatedContracts.contract(
            "a",
            [Self.purchase, .restart(Restart(signal: .kill))]
        )
        #expect(Self.obstacle(contract) == nil)
        let unstarted = Self.obstacle(contract, isStarted: false)
        #expect(unstarted?.verdict == .notRun)
        #expect(unstarted?.isDeclaredUnsupported == false)
        #expect(unstarted?.note?.hasPrefix("only a backend that Assay starts") == true)
        let declared = Self.obstacle(contract, isStarted: false) { $0.unsupported = [.restart] }
        #expect(declared?.isDeclaredUnsupported == true)
        let both = Self.obstacle(contract) { $0.unsupported = [.restart] }
        #expect(both?.isDeclaredUnsupported == true, "what is declared is heeded")
    }

    @Test(
        "every way to stop the backend needs one that can be stopped",
        arguments: [
            Step.restart(Restart(signal: .terminate)),
            .killAtCall(party: .oneSignal, position: 1),
            SimulatedContracts.deliver("c") {
                $0.isAlongLadder = true
                $0.crash = Crash(signal: .kill, moment: .sent)
            },
        ]
    )
    func stops(step: Step) {
        let contract = SimulatedContracts.contract("a", [step])
        #expect(Self.obstacle(contract, isStarted: false)?.verdict == .notRun)
        #expect(Self.obstacle(contract) == nil)
    }

    @Test func `a case that asks only for fields that nobody maps does not run`() {
        let known = SimulatedContracts.contract(
            "a",
            [Self.purchase],
            states: [("access", true), ("expires", 5)]
        )
        #expect(Self.obstacle(known) == nil, "one of them is mapped")
        let unknown = SimulatedContracts.contract("a", [Self.purchase], states: [("expires", 5)])
        let obstacle = Self.obstacle(unknown)
        #expect(obstacle?.note?.hasPrefix("no probe maps 'expires'") == true)
        #expect(obstacle?.isDeclaredUnsupported == true)
        let bare = Self.obstacle(unknown) { $0.probes = [] }
        #expect(bare == nil, "without any probe the verdict says so itself")
        let exists = SimulatedContracts.contract("a", [Self.purchase], states: [("exists", true)])
        #expect(Self.obstacle(exists) == nil)
    }

    @Test func `a feature that the profile lacks is an obstacle by its need`() {
        var contract = SimulatedContracts.contract("a", [Self.purchase], pushes: 1)
        contract.needs = [.signature]
        let obstacle = Self.obstacle(contract)
        #expect(obstacle?.isDeclaredUnsupported == true)
        #expect(obstacle?.note == "the profile gives no secret 'revenuecat-signing'")
        let able = Self.obstacle(contract) { $0.secrets[.revenueCatSigning] = Secret("key") }
        #expect(able == nil)
    }
}
