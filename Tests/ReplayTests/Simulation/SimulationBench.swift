import Contracts
import FakeServers
import Grammar
import Providers
import Values

@testable import Replay

/// What a runner needs, before a backend that the test plays itself, in exact virtual time: no timer
/// is late, no job takes any time, and only the seed chooses among what happens at one moment.
struct SimulationBench: Sendable {
    static let exact = SimulatedMachine.Load(jobMax: 0, lateMax: 0)
    /// How long an answer is waited for.
    static let within: Duration = .seconds(60)

    let machine: SimulatedMachine
    let clock: SimulatedClock
    let fakes: FakeRegistry
    let backend: ScriptedBackend
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
        load: SimulatedMachine.Load = SimulationBench.exact,
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
        backend = ScriptedBackend(machine, fakes)
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

    /// What stands in the journal of that run.
    func journal(_ name: String) -> [Exchange] {
        fakes.journal.read { $0.exchanges(in: name) }
    }
}

/// A backend whose every answer the test decides; it stores who bought what and pushes, unless it is
/// told otherwise.
final class ScriptedBackend: Transport, BackendProgram, @unchecked Sendable {
    /// What came in: the request, the connection that it came over, and when.
    struct Arrival: Sendable {
        let request: HTTPMessage.Request
        let lane: Int
        let time: Duration
        let fault: AttemptFault
    }

    typealias Answer = @Sendable (ScriptedBackend, Arrival) async -> Exchange.Outcome

    var base = "played"
    let clock: SimulatedClock
    private let machine: SimulatedMachine
    private let fakes: FakeRegistry
    /// Answers in place of the usual, when it returns something.
    var answer: @Sendable (ScriptedBackend, Arrival) async -> Exchange.Outcome? = { _, _ in nil }
    /// How long it works on a request.
    var work: Duration = .milliseconds(2)
    /// How long after an event its push comes; nil: none comes.
    var pushDelay: Duration? = .milliseconds(1)
    /// How many pushes one event leads to.
    var pushCount = 1
    /// Nothing listens at its address.
    var isGone = false
    /// How long nothing does after a launch.
    var bootTime: Duration = .zero
    /// Requests, but for those that ask whether it is there, that met a closed port.
    private(set) var refusedCount = 0
    /// Why it cannot be launched.
    var launchError: String?
    var exitDescription: String?
    func ended() async -> String? { exitDescription }
    var timeZone: String?
    var outputSize: UInt64 = 0
    var outputText = ""
    var listeningPorts: [Int] = []
    /// Answers held requests with this status before the gate has opened.
    var earlyStatus: Int?
    /// Answers nobody while it waits for the rest of a request.
    var isSerial = false
    /// Requests whose last bytes it waits for.
    private(set) var heldCount = 0
    /// Answers that somebody waits for.
    private var open: [Int: SimulatedCell<Exchange.Outcome>] = [:]
    private(set) var arrivals: [Arrival] = []
    /// Everything that was done to the process, in order.
    private(set) var acts: [String] = []
    private(set) var owned: [String: String] = [:]
    private(set) var warmed: [Int] = []

    init(_ machine: SimulatedMachine, _ fakes: FakeRegistry) {
        self.machine = machine
        clock = SimulatedClock(machine: machine)
        self.fakes = fakes
    }

    /// The webhooks that came in.
    var webhooks: [Arrival] { arrivals.filter { $0.request.path == "/api/webhooks/revenuecat" } }

    // MARK: The way to it

    func openConnections(lanes count: Int, path: String) async { warmed.append(count) }
    func close() async { acts.append("close") }

    func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome {
        if isGone || exitDescription != nil {
            if request.path != "/ready" { refusedCount += 1 }
            return .failed(.refused, "the connection was refused")
        }
        // As a client does: whoever is cancelled already sends nothing.
        guard !Task.isCancelled else { return .failed(.closed, "cancelled") }
        let arrival = Arrival(
            request: request,
            lane: lane,
            time: clock.now,
            fault: fault
        )
        arrivals.append(arrival)
        let deadline = clock.now + within
        let cell = SimulatedCell<Exchange.Outcome>()
        let number = arrivals.count
        open[number] = cell
        defer { open[number] = nil }
        let serving = clock.task { cell.fill(await self.serve(arrival)) }
        let timer = machine.at(deadline, .assay) {
            cell.fill(.failed(.timedOut, "no complete response within \(within.milliseconds) ms"))
        }
        let outcome = await withTaskCancellationHandler {
            await cell.value
        } onCancel: {
            cell.fill(.failed(.closed, "cancelled"))
        }
        machine.cancel(timer)
        if case .failed(.timedOut, _) = outcome { serving.cancel() }
        return outcome
    }

    private func serve(_ arrival: Arrival) async -> Exchange.Outcome {
        switch arrival.fault {
        case .truncatedRequest: return .requestCut
        case .held(let gate, _):
            if let earlyStatus { return .answered(HTTPMessage.Response(earlyStatus)) }
            heldCount += 1
            defer { heldCount -= 1 }
            guard await gate.pass(lane: arrival.lane) else {
                return .failed(.closed, "the connection was reset")
            }
        case .none, .disconnect:
            if isSerial, heldCount > 0 { await clock.pause(.seconds(3600)) }
        }
        if let outcome = await answer(self, arrival) { return outcome }
        let response = await usual(arrival.request)
        return arrival.fault == .disconnect ? .answerLost(nil) : .answered(response)
    }

    // MARK: What it usually does

    func usual(_ request: HTTPMessage.Request) async -> HTTPMessage.Response {
        await clock.pause(work)
        switch (request.method, request.path) {
        case ("GET", "/ready"): return HTTPMessage.Response(200)
        case ("POST", "/api/user/register"):
            return HTTPMessage.Response(200, json: ["ok": true])
        case ("POST", "/api/webhooks/revenuecat"):
            take(request)
            return HTTPMessage.Response(200)
        case ("GET", let path) where path.hasPrefix("/test/"):
            let product = owned[String(path.dropFirst("/test/".count))]
            return HTTPMessage.Response(
                200,
                json: [
                    "access": .bool(product != nil), "refunded": false,
                    "product": product.map(JSONValue.string) ?? .null,
                ]
            )
        default: return HTTPMessage.Response(404)
        }
    }

    private func take(_ request: HTTPMessage.Request) {
        guard let event = (try? request.json())?["event"], let user = event["app_user_id"]?.string
        else { return }
        owned[user] = event["product_id"]?.string ?? "none"
        guard let pushDelay else { return }
        for _ in 0..<pushCount { push(to: user, after: pushDelay) }
    }

    /// A push that comes after a while, whatever became of its event.
    func push(to user: String, after delay: Duration = .zero) {
        _ = clock.task {
            await self.clock.pause(delay)
            self.call(.oneSignal, Self.notification(to: user))
        }
    }

    /// A call to a provider.
    func call(_ party: Exchange.Party, _ request: HTTPMessage.Request) {
        _ = FakeServer.reply(to: request, party, fakes)
    }

    static func notification(to user: String) -> HTTPMessage.Request {
        let body: JSONValue = [
            "app_id": "a55a4000-0000-4000-8000-000000000000", "target_channel": "push",
            "include_aliases": ["external_id": [.string(user)]],
            "contents": ["en": "bought"],
        ]
        return HTTPMessage.Request(
            "POST",
            "/notifications",
            fields: [
                HTTPMessage.Field("authorization", "Key os_v2_app_assay"),
                HTTPMessage.Field("content-type", "application/json"),
            ],
            body: body.bytes
        )
    }

    /// It does not know them any more.
    func forget() { owned = [:] }

    /// It knows this of somebody; nil: nothing.
    func note(_ user: String, owns product: String?) { owned[user] = product }

    // MARK: The process

    func launch() throws(BackendProcess.StartError) {
        acts.append("launch" + (timeZone.map { " in \($0)" } ?? ""))
        if let launchError { throw Self.error(launchError) }
        exitDescription = nil
        isGone = bootTime > .zero
        guard isGone else { return }
        _ = clock.task {
            await self.clock.pause(self.bootTime)
            self.isGone = false
        }
    }

    /// A start that failed, as the real thing tells it.
    private static func error(_ text: String) -> BackendProcess.StartError {
        BackendProcess.StartError(description: text)
    }

    func stop(_ signal: Restart.Signal, grace: Duration?) async {
        acts.append("stop \(signal.rawValue)")
        let waiting = open.sorted { $0.key < $1.key }
        for (_, cell) in waiting { cell.fill(.failed(.closed, "the connection was reset")) }
    }

    func killNow() { acts.append("kill") }
    func killLeftoverProcesses() { acts.append("sweep") }
    func output(since start: UInt64, lineCountMax: Int) -> String { outputText }
}

extension ScriptedBackend.Arrival {
    /// What a webhook's event says.
    var event: JSONValue? { (try? request.json())?["event"] }
}
