import Contracts
import FakeServers
import Grammar
import Judging
import Providers
import Replay
import TestBackend
import Values

/// Swift Testing has an `Expectation` of its own.
typealias Expectation = Contracts.Expectation

/// Small contracts, written as values: one for each way in which runs are disturbed.
enum SimulatedContracts {
    private static let location = SourceLocation(path: "simulated", line: 1, column: 1, text: "")

    static let all: [Contract] = [
        contract("purchase", [deliver("a")], states: [("access", true)], pushes: 1),
        contract("duplicate", [deliver("a") { $0.times = 2 }], like: .once, pushes: 1),
        contract(
            "together",
            [
                deliver("a") {
                    $0.times = 3
                    $0.sendsCopiesConcurrently = true
                }
            ],
            like: .once,
            pushes: 1
        ),
        contract(
            "late-first",
            [
                deliver("late", "EXPIRATION", at: .seconds(60)), deliver("early"),
                deliver("between", "RENEWAL", at: .seconds(30)),
            ],
            like: .inOrder
        ),
        contract(
            "answers-lost",
            [
                deliver("a") {
                    $0.followsRetrySchedule = true
                    $0.lostResponses = 2
                }
            ],
            like: .faultFree,
            pushes: 1
        ),
        contract(
            "cut-and-hung-up",
            [
                deliver("a") {
                    $0.followsRetrySchedule = true
                    $0.truncatedRequests = 1
                    $0.disconnects = 1
                }
            ],
            like: .faultFree,
            pushes: 1
        ),
        contract("push-response-lost", [fail([.lostResponse]), deliver("a")], pushes: 1),
        contract("push-fails", [fail([.status(500), .reset]), deliver("a")], pushes: 1),
        contract(
            "push-hangs",
            [fail([.hangThenReset(200), .slow(100)]), deliver("a")],
            pushes: 1
        ),
        contract(
            "refund",
            [deliver("a"), deliver("refund", "CANCELLATION", at: .seconds(60), refunds: true)],
            states: [("access", false), ("refunded", true)]
        ),
        contract(
            "unknown-event",
            [deliver("future", "FUTURE_LOYALTY", at: .seconds(60))],
            given: [deliver("a", "EXPIRATION")],
            like: .before
        ),
        contract(
            "restart-between-copies",
            [deliver("a"), .restart(Restart(signal: .kill)), .deliver(again("a"))],
            like: .once,
            pushes: 1
        ),
        contract(
            "killed-while-working",
            [
                deliver("a") {
                    $0.followsRetrySchedule = true
                    $0.crash = Crash(signal: .kill, phase: .working)
                }
            ],
            like: .faultFree
        ),
        contract(
            "killed-when-answered",
            [
                deliver("a") {
                    $0.followsRetrySchedule = true
                    $0.crash = Crash(signal: .kill, phase: .answered)
                }
            ],
            like: .faultFree
        ),
        contract(
            "outbox-after-kill",
            [fail([.status(500)]), deliver("a"), .restart(Restart(signal: .kill))],
            pushes: 1
        ),
        contract(
            "every-order",
            [deliver("a"), deliver("b", "EXPIRATION", at: .seconds(60))],
            like: .inOrder,
            search: .orders(sampleSize: 2)
        ),
        contract(
            "crash-points",
            [deliver("a") { $0.followsRetrySchedule = true }],
            like: .faultFree,
            search: .crashPoints([.lostResponse, .killAfter])
        ),
    ]

    static func contract(
        _ id: String,
        _ steps: [Step],
        given: [Step] = [],
        like relation: Expectation.BaselineRelation? = nil,
        states: [(String, JSONValue)] = [],
        pushes: Int? = nil,
        search: Search? = nil
    ) -> Contract {
        var expectation = Expectation(responses: .statuses([200]))
        expectation.within = .seconds(3)
        expectation.relation = relation
        if !states.isEmpty {
            let fields = states.map {
                StateExpectation.Field(name: $0.0, value: $0.1, location: location)
            }
            expectation.states = [StateExpectation(user: "ada", fields: fields)]
        }
        if let pushes {
            expectation.effects = [
                EffectExpectation(
                    kind: "onesignal.notification",
                    user: "ada",
                    countMin: pushes,
                    countMax: pushes,
                    requiresSameIdempotencyKey: false,
                    location: location
                )
            ]
        }
        if id == "together" { expectation.concurrentRequestCountMin = 2 }
        return Contract(
            id: id,
            variant: "",
            title: id,
            clause: "S-03",
            level: .must,
            source: "a simulation",
            needs: [],
            given: [.register(user: "ada")] + given,
            steps: steps,
            expectation: expectation,
            search: search,
            location: location
        )
    }

    static func deliver(
        _ name: String,
        _ type: String = "INITIAL_PURCHASE",
        at time: Duration = .zero,
        refunds: Bool = false,
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> Step {
        var spec = EventSpec(type: RevenueCatEventType(rawValue: type), user: "ada")
        spec.time = time
        if refunds { spec.reason = "CUSTOMER_SUPPORT" }
        var delivery = Delivery(name: name, subject: .event(spec))
        change(&delivery)
        return .deliver(delivery)
    }

    static func again(_ name: String) -> Delivery {
        Delivery(name: name + "Again", subject: .repeats(name))
    }

    static func fail(_ responses: [ProviderPlan.PlannedResponse]) -> Step {
        .provider(ProviderPlan(provider: .oneSignal, responses: responses))
    }
}

/// The real suite runner before a simulated backend, on a simulated machine.
struct SimulatedSuite: Sendable {
    var seed: UInt64
    var load = SimulatedMachine.Load.faultFree
    var defect: SubscriptionModel.Defect?
    var shape = SubscriptionModel.WorkShape()
    var contracts = SimulatedContracts.all
    var jobs = 4
    var keepsEvidence = false
    var change: @Sendable (inout Profile) -> Void = { _ in }

    struct Outcome: Sendable {
        /// Nil: everything waited for something that never came.
        let results: [CaseResult]?
        /// How long it took on the machine's clock.
        let time: Duration
        let stallCount: Int
        private let fakes: FakeRegistry

        init(
            results: [CaseResult]?,
            time: Duration,
            stallCount: Int,
            fakes: FakeRegistry
        ) {
            self.results = results
            self.time = time
            self.stallCount = stallCount
            self.fakes = fakes
        }

        /// All that was said, in order.
        var journal: [Exchange] { fakes.journal.read { $0.exchanges } }

        /// How many runs the cases took, their twins among them; without calibration and sentinels.
        var runCount: Int {
            fakes.namespaces.count { name in
                let parts = name.split(separator: "-")
                return parts.count == 2 && parts[0] == "n" && Int(parts[1]) != nil
            }
        }

        /// The verdicts by case, in words that a failing test prints.
        var text: String {
            results?.filter { $0.verdict != .passed }.map { result in
                "\(result.contract.caseID) \(result.verdict.rawValue) "
                    + result.findings.map {
                        "\($0.code.rawValue) expected \($0.expected), actual \($0.actual)"
                    }
                    .joined(separator: "; ")
            }
            .joined(separator: "\n") ?? "it never ended"
        }

        func cases(_ verdict: Verdict) -> [String] {
            results?.filter { $0.verdict == verdict }.map(\.contract.caseID) ?? []
        }
    }

    static var profile: Profile {
        var profile = Profile()
        profile.settleTimeout = .seconds(2)
        profile.probes = [
            Profile.Probe(
                name: "user",
                source: .get("/test/{{id}}"),
                readings: Dictionary(
                    uniqueKeysWithValues: ["access", "refunded", "product"].map {
                        let pointer = JSONPointer(tokens: [$0])
                        return ($0, Profile.FieldReading(pointer: pointer, meaning: .value))
                    }
                ),
                ignoredPointers: []
            )
        ]
        return profile
    }

    func run() -> Outcome {
        let machine = SimulatedMachine(seed: seed, load: load)
        let clock = SimulatedClock(machine: machine)
        var random = SeededGenerator(seed: seed, text: "pace")
        var profile = Self.profile
        change(&profile)
        let fakes = FakeRegistry(
            journalBytesMax: 64 << 20,
            keys: [
                .revenueCat: profile.secrets[.revenueCatKey],
                .oneSignal: profile.secrets[.oneSignalKey],
            ].compactMapValues(\.self),
            seed: seed,
            time: { machine.now },
            wallClock: { clock.wallTime }
        )
        var pace = SubscriptionModel.Pace()
        // Backends differ: some push at once, some after a while, and none to the same beat.
        let slowest = Int64.random(in: 1...60, using: &random)
        pace.push = slowest * 100...slowest * 1000
        let program = BackendDouble(
            on: machine,
            process: .backend,
            model: SubscriptionModel(
                machine,
                fakes,
                pace: pace,
                shape: shape,
                defect: defect
            )
        )
        program.process.isListening = false
        program.connections.abandonsTimedOutRequests = false
        let backend = BackendUnderTest(
            client: SimulatedNetwork(machine, program),
            process: program,
            clock: clock,
            ready: Profile.ReadinessCheck(method: "GET", path: "/ready")
        )
        let executor = RunExecutor(
            backend: backend,
            fakes: fakes,
            profile: profile,
            base: SimulatedClock.start - .seconds(3600),
            clock: clock
        )
        var options = SuiteRunOptions(
            seed: seed,
            jobs: jobs,
            nonce: "n",
            knownFailures: KnownFailures()
        )
        options.keepsEvidence = keepsEvidence
        let runner = SuiteRunner(executor: executor, options: options) { _ in }
        let contracts = contracts
        let results = machine.run {
            try? await backend.start()
            return await runner.run(contracts)
        }
        return Outcome(
            results: results,
            time: machine.now,
            stallCount: machine.stallCount,
            fakes: fakes
        )
    }
}
