import Contracts
import FakeServers
import Grammar
import Providers
import TestBackend
import Values

@testable import Replay

/// A runner with fakes and a double of a backend, in exact virtual time: no timer is late, no job
/// takes any time, and only the seed orders simultaneous events.
struct SimulationBench: Sendable {
    /// The longest wait for a response.
    static let within: Duration = .seconds(60)

    let machine: SimulatedMachine
    let clock: SimulatedClock
    let fakes: FakeRegistry
    let backend: BackendDouble
    /// The behavior of the backend where the test does not decide the response.
    let model: PurchaseModel
    let executor: RunExecutor

    /// - Parameters:
    ///   - seed: What the machine draws from.
    ///   - load: How much else the machine has to do.
    ///   - isStarted: Whether Assay started the backend, so that it can stop it.
    ///   - journalBytesMax: The bound of the journal, in bytes.
    ///   - change: Changes the profile, whose one probe shows access, refunds and the product.
    ///   - onStartupWait: Told while a started backend is not ready.
    init(
        seed: UInt64 = 0,
        load: SimulatedMachine.Load = .exact,
        isStarted: Bool = true,
        journalBytesMax: Int = 64 << 20,
        _ change: (inout Profile) -> Void = { _ in },
        onStartupWait: @escaping @Sendable (BackendUnderTest.StartupWait) -> Void = { _ in }
    ) {
        var profile = SimulatedSuite.profile
        change(&profile)
        let machine = SimulatedMachine(seed: seed, load: load)
        let clock = SimulatedClock(machine: machine)
        self.machine = machine
        self.clock = clock
        fakes = FakeRegistry(
            journalBytesMax: journalBytesMax,
            keys: [
                .revenueCat: profile.secrets[.revenueCatKey],
                .oneSignal: profile.secrets[.oneSignalKey],
            ].compactMapValues(\.self),
            seed: seed,
            time: { machine.now },
            wallClock: { clock.wallTime }
        )
        model = PurchaseModel(clock: clock, fakes: fakes)
        backend = BackendDouble(on: machine, model: model)
        executor = RunExecutor(
            backend: BackendUnderTest(
                client: backend,
                process: isStarted ? backend : nil,
                clock: clock,
                ready: profile.start.map(\.ready) ?? .init(method: "GET", path: "/ready"),
                startTimeMax: profile.start?.timeout ?? Profile.StartSettings.defaultTimeout,
                onStartupWait: onStartupWait
            ),
            fakes: fakes,
            profile: profile,
            base: SimulatedClock.start - .seconds(3600),
            clock: clock
        )
    }

    /// Everything waits for something that never comes.
    struct Stuck: Error {}

    /// Carries the work out.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (SimulationBench) async -> Value
    ) throws -> Value {
        guard let value = machine.run({ await work(self) }) else { throw Stuck() }
        return value
    }

    /// The same, while the heart beats, as it does while a suite runs.
    func runWithHeartbeat<Value: Sendable>(
        _ work: @escaping @Sendable (SimulationBench) async -> Value
    ) throws -> Value {
        let executor = executor
        return try run { bench in
            let beat = executor.clock.task { await executor.heartbeat.beat() }
            defer { beat.cancel() }
            return await work(bench)
        }
    }

    /// The plan of a run about Ada.
    static func plan(_ steps: [Step], observesFinalState: Bool = true) -> RunPlan {
        RunPlan(
            steps: [.register(user: "ada")] + steps,
            users: ["ada"],
            observesFinalState: observesFinalState
        )
    }

    /// How a backend is seen that shows all there is, at once.
    static let observability = RunRecord.Observability(
        arePushesObservable: true,
        areProbeChangesObservable: true,
        latency: .milliseconds(5)
    )

    /// Opens a run about Ada without steps.
    func open(_ name: String = "n-1") -> CaseExecution {
        executor.open(Self.plan([]), name, within: Self.within)
    }

    /// Executes a plan, and returns its record.
    func record(
        _ plan: RunPlan,
        in name: String = "n-1",
        observability: RunRecord.Observability = Self.observability,
        within: Duration = Self.within,
        verdict: @Sendable (RunRecord) -> RunExecutor.VerdictStability = { _ in .settled }
    ) async -> RunRecord {
        await executor.run(
            plan,
            in: name,
            observability: observability,
            within: within,
            verdict: verdict
        )
    }

    /// The exchanges of a run in the journal.
    func journal(_ name: String) -> [Exchange] {
        fakes.journal.read { $0.exchanges(in: name) }
    }
}
