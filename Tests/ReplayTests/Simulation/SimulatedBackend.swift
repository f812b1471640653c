import Contracts
import FakeServers
import Grammar
import Providers
import Replay
import Values

/// A small subscription backend: it stores an event and what follows from it in one transaction,
/// answers, and pushes from an outbox until OneSignal has accepted; and ways to get that wrong.
///
/// The program as it stands is correct by construction; a defect says where it deviates.
final class SimulatedBackend: BackendProgram, @unchecked Sendable {
    enum Defect: String, CaseIterable, Sendable {
        case losesOneInFive, forgetsAfterRestart, answersBeforeStoring, pushesWithoutKey
        case doublesAfterThreeSeconds, ignoresRefunds, appliesInOrderOfArrival
        case swallowsRetryAfter500, hangsOnRefunds, crashesOnRefunds, pushesEachCopy
        case checksBeforeItStores, showsAfterEightSeconds, remembersIDsInMemory
        case keepsOutboxInMemory, grantsUnknownEvents, refusesUnknownEvents, givesUpPushing
        case pushesTwiceLater
    }

    /// How long things take, in microseconds.
    struct Pace: Sendable {
        var work: ClosedRange<Int64> = 50...3000
        var push: ClosedRange<Int64> = 200...12_000
    }

    private struct Subscriber {
        var product: String?
        var access = false
        var refunded = false
        var latest: Int64 = .min
        var changed: Duration = .zero
    }

    private struct Push {
        let key: String
        let user: String
        let text: String
        var isDone = false
    }

    /// What survives a kill.
    private struct Disk {
        var seen: Set<String> = []
        var subscribers: [String: Subscriber] = [:]
        var outbox: [Push] = []
    }

    /// Where OneSignal's answer to a push leaves it.
    private enum Sent { case accepted, refused, unknown }

    private let machine: SimulatedMachine
    private let clock: SimulatedClock
    private let fakes: FakeRegistry
    private let pace: Pace
    private let defect: Defect?
    private var disk = Disk()
    /// Answers that somebody waits for in this life.
    private var open: [Int: SimulatedCell<Exchange.Outcome>] = [:]
    private var openCount = 0
    private var eventCount = 0
    private(set) var history = 0
    private(set) var isRunning = false
    private(set) var exitDescription: String?
    func ended() async -> String? { exitDescription }
    var timeZone: String?

    init(_ machine: SimulatedMachine, _ fakes: FakeRegistry, pace: Pace, defect: Defect?) {
        self.machine = machine
        clock = SimulatedClock(machine: machine, process: .backend)
        self.fakes = fakes
        self.pace = pace
        self.defect = defect
    }

    // MARK: The program

    var outputSize: UInt64 { 0 }
    func output(since start: UInt64, lineCountMax: Int) -> String { "" }
    func killLeftoverProcesses() {}
    func killNow() { end(nil) }
    func stop(_ signal: Restart.Signal, grace: Duration?) async { end(nil) }
    var listeningPorts: [Int] { [] }

    func launch() throws(BackendProcess.StartError) {
        history += 1
        isRunning = true
        exitDescription = nil
        for index in disk.outbox.indices where !disk.outbox[index].isDone { send(index) }
    }

    private func end(_ text: String?) {
        isRunning = false
        exitDescription = text
        history += 1
        if defect == .forgetsAfterRestart { disk.subscribers = [:] }
        if defect == .remembersIDsInMemory { disk.seen = [] }
        if defect == .keepsOutboxInMemory { disk.outbox = [] }
        let waiting = open.sorted { $0.key < $1.key }
        open = [:]
        for (_, cell) in waiting { cell.fill(.failed(.closed, "the connection was reset")) }
    }

    /// Work of this life; what belongs to an earlier one never goes on.
    private func spend(_ range: ClosedRange<Int64>, _ history: Int) async -> Bool {
        await clock.pause(.microseconds(machine.pick(range)))
        return self.history == history
    }

    /// Takes a request from a connection; the cell gets the answer, or the connection's end.
    func accept(_ request: HTTPMessage.Request, _ cell: SimulatedCell<Exchange.Outcome>) {
        openCount += 1
        let (number, history) = (openCount, history)
        open[number] = cell
        _ = clock.task {
            guard await self.spend(self.pace.work, history) else { return }
            let response = await self.respond(request, history) { early in
                self.open[number] = nil
                cell.fill(.answered(early))
            }
            guard self.history == history, let response else { return }
            self.open[number] = nil
            cell.fill(.answered(response))
        }
    }

    private func respond(
        _ request: HTTPMessage.Request,
        _ history: Int,
        _ answer: @escaping @Sendable (HTTPMessage.Response) -> Void
    ) async -> HTTPMessage.Response? {
        switch (request.method, request.path) {
        case ("GET", "/ready"): return HTTPMessage.Response(200)
        case ("POST", "/api/user/register"):
            guard let id = (try? request.json())?["appUserId"]?.string else {
                return HTTPMessage.Response(400)
            }
            if disk.subscribers[id] == nil { disk.subscribers[id] = Subscriber() }
            return HTTPMessage.Response(200, json: ["appUserId": .string(id)])
        case ("POST", "/api/webhooks/revenuecat"):
            guard let event = (try? request.json())?["event"] else {
                return HTTPMessage.Response(400)
            }
            guard event["id"] != nil else { return HTTPMessage.Response(400) }
            return await take(event, history, answer)
        case ("GET", let path) where path.hasPrefix("/test/"): return shown(path)
        default: return HTTPMessage.Response(404)
        }
    }

    private func shown(_ path: String) -> HTTPMessage.Response {
        let id = String(path.dropFirst("/test/".count))
        guard var subscriber = disk.subscribers[id] else { return HTTPMessage.Response(404) }
        if defect == .showsAfterEightSeconds {
            if clock.now - subscriber.changed < .seconds(8) { subscriber = Subscriber() }
        }
        return HTTPMessage.Response(
            200,
            json: [
                "access": .bool(subscriber.access), "refunded": .bool(subscriber.refunded),
                "product": subscriber.product.map(JSONValue.string) ?? .null,
            ]
        )
    }

    // MARK: An event

    private func take(
        _ event: JSONValue,
        _ history: Int,
        _ answer: @escaping @Sendable (HTTPMessage.Response) -> Void
    ) async -> HTTPMessage.Response? {
        let (id, type) = (event["id"]?.string ?? "", event["type"]?.string ?? "")
        let isRefund = event["cancel_reason"] == "CUSTOMER_SUPPORT"
        eventCount += 1
        switch defect {
        case .losesOneInFive where eventCount % 5 == 0: return HTTPMessage.Response(200)
        case .hangsOnRefunds where isRefund: return nil
        case .crashesOnRefunds where isRefund:
            end("signal 6 ended it")
            return nil
        case .refusesUnknownEvents where type.hasPrefix("FUTURE"): return HTTPMessage.Response(500)
        case .swallowsRetryAfter500 where disk.seen.insert(id).inserted:
            return HTTPMessage.Response(500)
        case .swallowsRetryAfter500: return HTTPMessage.Response(200)
        case .answersBeforeStoring:
            answer(HTTPMessage.Response(200))
            guard await spend(20_000...60_000, history) else { return nil }
        default: break
        }
        if defect == .checksBeforeItStores {
            if disk.seen.contains(id) { return HTTPMessage.Response(200) }
            guard await spend(pace.work, history) else { return nil }
            disk.seen.insert(id)
            store(event, id, type)
        } else {
            guard await spend(pace.work, history) else { return nil }
            let isNew = disk.seen.insert(id).inserted
            if isNew || storesEachCopy { store(event, id, type) }
        }
        guard await spend(pace.work, history) else { return nil }
        return HTTPMessage.Response(200)
    }

    /// One transaction: the subscription and the push that tells of it.
    private func store(_ event: JSONValue, _ id: String, _ type: String) {
        let isKnown = [
            "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "EXPIRATION", "UNCANCELLATION",
        ].contains(type)
        guard isKnown || defect == .grantsUnknownEvents, let user = event["app_user_id"]?.string
        else { return }
        var subscriber = disk.subscribers[user] ?? Subscriber()
        let time = event["event_timestamp_ms"]?.int64 ?? 0
        if time >= subscriber.latest || defect == .appliesInOrderOfArrival {
            subscriber.latest = time
            subscriber.changed = clock.now
            subscriber.product = event["product_id"]?.string
            let isRefund = event["cancel_reason"] == "CUSTOMER_SUPPORT"
            if type == "CANCELLATION" {
                if isRefund, defect != .ignoresRefunds {
                    subscriber.access = false
                    subscriber.refunded = true
                }
            } else {
                subscriber.access = type != "EXPIRATION"
            }
        }
        disk.subscribers[user] = subscriber
        disk.outbox.append(Push(key: Self.uuid(id), user: user, text: type))
        send(disk.outbox.count - 1)
        if defect == .pushesTwiceLater {
            disk.outbox.append(Push(key: Self.uuid(id + "2"), user: user, text: type))
            send(disk.outbox.count - 1)
        }
    }

    private static func uuid(_ text: String) -> String {
        Namespace(name: text, idForm: .uuid).id(of: "push")
    }

    // MARK: The outbox

    private func send(_ index: Int) {
        let history = history
        _ = clock.task { await self.push(index, history) }
    }

    private func push(_ index: Int, _ history: Int) async {
        var pause: Duration = .milliseconds(20)
        if defect == .doublesAfterThreeSeconds { await clock.pause(.seconds(3)) }
        guard await spend(pace.push, history) else { return }
        while self.history == history, index < disk.outbox.count {
            switch await call(disk.outbox[index]) {
            case .accepted, .refused:
                guard self.history == history, index < disk.outbox.count else { return }
                disk.outbox[index].isDone = true
                return
            case .unknown where defect == .givesUpPushing: return
            case .unknown:
                await clock.pause(pause)
                pause = min(pause * 2, .milliseconds(320))
            }
        }
    }

    private var storesEachCopy: Bool {
        defect == .pushesEachCopy || defect == .doublesAfterThreeSeconds
    }

    /// A key would let OneSignal mend what the backend does twice.
    private var pushesWithoutKey: Bool {
        switch defect {
        case .pushesWithoutKey, .checksBeforeItStores, .remembersIDsInMemory: true
        default: storesEachCopy
        }
    }

    private func call(_ push: Push) async -> Sent {
        var body: JSONObject = [
            "app_id": "a55a4000-0000-4000-8000-000000000000", "target_channel": "push",
            "include_aliases": ["external_id": [.string(push.user)]],
            "contents": ["en": .string(push.text)],
        ]
        if !pushesWithoutKey {
            body["idempotency_key"] = .string(push.key)
        }
        let request = HTTPMessage.Request(
            "POST",
            "/notifications",
            fields: [
                HTTPMessage.Field("authorization", "Key os_v2_app_assay"),
                HTTPMessage.Field("content-type", "application/json"),
            ],
            body: JSONValue.object(body).bytes
        )
        // The fake lives in Assay's process and answers when that process has time.
        let fakes = fakes
        let reply = await withTaskExecutorPreference(machine.core(.assay)) {
            await SimulatedClock(machine: machine).pause(.microseconds(machine.pick(50...500)))
            return FakeServer.reply(to: request, .oneSignal, fakes)
        }
        switch reply.sendMode {
        case .answer: return sent(reply)
        case .reset, .truncatedResponse: return .unknown
        case .never:
            await clock.pause(.milliseconds(400))
            return .unknown
        case .hangThenReset(let milliseconds):
            await clock.pause(.milliseconds(min(milliseconds, 400)))
            return .unknown
        case .slow(let milliseconds):
            await clock.pause(.milliseconds(min(milliseconds, 400)))
            return milliseconds < 400 ? sent(reply) : .unknown
        }
    }

    private func sent(_ reply: Reply) -> Sent {
        switch reply.response.status {
        case 200: .accepted
        case 400, 401, 403: .refused
        default: .unknown
        }
    }
}

/// The network between Assay and the simulated backend.
final class SimulatedNetwork: Transport {
    let base = "simulated"
    private let backend: SimulatedBackend
    private let machine: SimulatedMachine

    init(_ machine: SimulatedMachine, _ backend: SimulatedBackend) {
        self.machine = machine
        self.backend = backend
    }

    func openConnections(lanes count: Int, path: String) async {}
    func close() async {}

    func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome {
        let clock = SimulatedClock(machine: machine)
        let deadline = clock.now + within
        await clock.pause(.microseconds(machine.pick(30...700)))
        guard backend.isRunning else { return .failed(.refused, "the connection was refused") }
        if fault == .truncatedRequest { return .requestCut }
        if case .held(let gate, _) = fault {
            let history = backend.history
            guard await gate.pass(lane: lane), backend.history == history else {
                return .failed(.closed, "the connection was reset")
            }
            await clock.pause(.microseconds(machine.pick(10...100)))
        }
        guard backend.isRunning else { return .failed(.refused, "the connection was refused") }
        let cell = SimulatedCell<Exchange.Outcome>()
        backend.accept(request, cell)
        let timer = machine.at(deadline, .assay) {
            cell.fill(.failed(.timedOut, "no complete response within \(within.milliseconds) ms"))
        }
        let outcome = await withTaskCancellationHandler {
            await cell.value
        } onCancel: {
            cell.fill(.failed(.closed, "cancelled"))
        }
        machine.cancel(timer)
        await clock.pause(.microseconds(machine.pick(30...700)))
        return fault == .disconnect ? .answerLost(nil) : outcome
    }
}
