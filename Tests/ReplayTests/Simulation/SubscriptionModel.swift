import Contracts
import FakeServers
import Grammar
import Providers
import Replay
import TestBackend
import Values

/// A model of a subscription backend: it stores an event and its consequences in one transaction,
/// responds, and sends pushes from an outbox until OneSignal has accepted them.
///
/// Without a defect the model is correct by construction.
final class SubscriptionModel: BackendModel, @unchecked Sendable {
    enum Defect: String, CaseIterable, Sendable {
        case losesOneInFive, forgetsAfterRestart, answersBeforeStoring, pushesWithoutKey
        case doublesAfterThreeSeconds, ignoresRefunds, appliesInOrderOfArrival
        case swallowsRetryAfter500, hangsOnRefunds, crashesOnRefunds, pushesEachCopy
        case checksBeforeItStores, showsAfterEightSeconds, remembersIDsInMemory
        case keepsOutboxInMemory, grantsUnknownEvents, refusesUnknownEvents, givesUpPushing
        case pushesTwiceLater
    }

    /// The duration of each kind of work, in microseconds.
    struct Pace: Sendable {
        var work: ClosedRange<Int64> = 50...3000
        var push: ClosedRange<Int64> = 200...12_000
    }

    /// The way in which the backend does its work.
    struct WorkShape: Sendable {
        /// Whether one worker sends all pushes, one after the other.
        var sendsOnePushAtATime = false
        /// The time after which a call without a response is given up.
        var callTimeout: Duration = .milliseconds(400)
        /// The delays of events, which wait in a lane for each user; nil if events are applied
        /// before the response.
        var lanes: LaneDelays?
    }

    /// The time that events spend in the lanes of their users.
    struct LaneDelays: Sendable {
        /// The longest delay of an event of most users.
        var usual: Duration = .milliseconds(20)
        /// The longest delay of an event of a slow user.
        var slow: Duration = .milliseconds(20)
        /// One user in this number is slow.
        var slowOneIn: UInt64 = 4
        /// The time from which every delay is multiplied by `laterFactor`.
        var later: Duration = .seconds(3600)
        var laterFactor = 1
        /// Events are processed only at multiples of this interval; nil for at once.
        var batchInterval: Duration?
        /// The additional delay in the first seconds of the process.
        var coldStart: Duration = .zero
        /// The time from which no event is processed.
        var end: Duration = .seconds(1_000_000)
    }

    private struct Subscriber {
        /// What created the subscriber; it never changes.
        var source = "event"
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

    /// The data that survives a kill.
    private struct Disk {
        var seen: Set<String> = []
        var subscribers: [String: Subscriber] = [:]
        var outbox: [Push] = []
        /// The accepted events that wait in the lanes of their users, oldest first.
        var inbox: [(user: String, event: JSONValue)] = []
    }

    /// The result of sending a push to OneSignal.
    private enum Sent { case accepted, refused, unknown }

    private let machine: SimulatedMachine
    private let clock: SimulatedClock
    private let fakes: FakeRegistry
    private let pace: Pace
    private let defect: Defect?
    private let shape: WorkShape
    private var disk = Disk()
    /// The pushes that wait for the only worker.
    private var waitingPushes: [Int] = []
    private var isWorkerBusy = false
    private var busyLanes: Set<String> = []
    private var eventCount = 0

    init(
        _ machine: SimulatedMachine,
        _ fakes: FakeRegistry,
        pace: Pace,
        shape: WorkShape = WorkShape(),
        defect: Defect?
    ) {
        self.shape = shape
        self.machine = machine
        clock = SimulatedClock(machine: machine, process: .backend)
        self.fakes = fakes
        self.pace = pace
        self.defect = defect
    }

    // MARK: The process

    func processDidStart(of backend: BackendDouble) {
        for index in disk.outbox.indices where !disk.outbox[index].isDone { send(index, backend) }
        for user in Set(disk.inbox.map(\.user)).sorted() { startLane(user, backend) }
    }

    func processDidEnd() {
        (waitingPushes, isWorkerBusy, busyLanes) = ([], false, [])
        if defect == .forgetsAfterRestart { disk.subscribers = [:] }
        if defect == .remembersIDsInMemory { disk.seen = [] }
        if defect == .keepsOutboxInMemory { disk.outbox = [] }
    }

    /// Spends time, and returns whether the process still runs; work of an ended process stops.
    private func spend(
        _ range: ClosedRange<Int64>,
        _ backend: BackendDouble,
        _ lifetime: Int
    ) async -> Bool {
        await clock.pause(.microseconds(machine.pick(range)))
        return backend.process.lifetime == lifetime
    }

    func reply(
        to arrival: BackendDouble.Arrival,
        of backend: BackendDouble
    ) async -> BackendDouble.Reply {
        let (request, lifetime) = (arrival.request, arrival.lifetime)
        guard await spend(pace.work, backend, lifetime) else { return .never }
        switch (request.method, request.path) {
        case ("GET", "/ready"): return .status(200)
        case ("POST", "/api/user/register"):
            guard let id = (try? request.json())?["appUserId"]?.string else { return .status(400) }
            if disk.subscribers[id] == nil {
                disk.subscribers[id] = Subscriber(source: "registration")
            }
            return .json(["appUserId": .string(id)])
        case ("POST", "/api/webhooks/revenuecat"):
            guard arrival.event?["id"] != nil else { return .status(400) }
            let reply = await take(arrival, backend)
            return backend.process.lifetime == lifetime ? reply : .never
        case ("GET", let path) where path.hasPrefix("/test/"): return shown(path)
        default: return .status(404)
        }
    }

    private func shown(_ path: String) -> BackendDouble.Reply {
        let id = String(path.dropFirst("/test/".count))
        guard var subscriber = disk.subscribers[id] else { return .status(404) }
        if defect == .showsAfterEightSeconds {
            if clock.now - subscriber.changed < .seconds(8) {
                subscriber = Subscriber(source: subscriber.source)
            }
        }
        return .json([
            "access": .bool(subscriber.access), "refunded": .bool(subscriber.refunded),
            "product": subscriber.product.map(JSONValue.string) ?? .null,
            "source": .string(subscriber.source),
        ])
    }

    // MARK: An event

    private func take(
        _ arrival: BackendDouble.Arrival,
        _ backend: BackendDouble
    ) async -> BackendDouble.Reply {
        guard let event = arrival.event else { return .status(400) }
        let lifetime = arrival.lifetime
        let (id, type) = (event["id"]?.string ?? "", event["type"]?.string ?? "")
        let isRefund = event["cancel_reason"] == "CUSTOMER_SUPPORT"
        eventCount += 1
        switch defect {
        case .losesOneInFive where eventCount % 5 == 0: return .status(200)
        case .hangsOnRefunds where isRefund: return .never
        case .crashesOnRefunds where isRefund:
            backend.exit("signal 6 ended it")
            return .never
        case .refusesUnknownEvents where type.hasPrefix("FUTURE"): return .status(500)
        case .swallowsRetryAfter500 where disk.seen.insert(id).inserted:
            return .status(500)
        case .swallowsRetryAfter500: return .status(200)
        case .answersBeforeStoring:
            backend.sendEarly(.status(200), to: arrival)
            guard await spend(20_000...60_000, backend, lifetime) else { return .never }
        default: break
        }
        if shape.lanes != nil, let user = event["app_user_id"]?.string {
            guard await spend(pace.work, backend, lifetime) else { return .never }
            disk.inbox.append((user, event))
            startLane(user, backend)
            return .status(200)
        }
        if defect == .checksBeforeItStores {
            if disk.seen.contains(id) { return .status(200) }
            guard await spend(pace.work, backend, lifetime) else { return .never }
            disk.seen.insert(id)
            store(event, id, type, backend)
        } else {
            guard await spend(pace.work, backend, lifetime) else { return .never }
            let isNew = disk.seen.insert(id).inserted
            if isNew || storesEachCopy { store(event, id, type, backend) }
        }
        guard await spend(pace.work, backend, lifetime) else { return .never }
        return .status(200)
    }

    // MARK: Lanes

    /// Applies the waiting events of one user in the order of their arrival.
    private func startLane(_ user: String, _ backend: BackendDouble) {
        guard busyLanes.insert(user).inserted else { return }
        let lifetime = backend.process.lifetime
        _ = clock.task {
            while let first = self.disk.inbox.first(where: { $0.user == user }) {
                await self.clock.pause(self.laneDelay(of: user))
                guard backend.process.lifetime == lifetime,
                    self.clock.now < self.shape.lanes?.end ?? .zero
                else { return }
                self.disk.inbox.removeAll { $0.event == first.event }
                let id = first.event["id"]?.string ?? ""
                if self.disk.seen.insert(id).inserted {
                    self.store(first.event, id, first.event["type"]?.string ?? "", backend)
                }
            }
            self.busyLanes.remove(user)
        }
    }

    private func laneDelay(of user: String) -> Duration {
        guard let lanes = shape.lanes else { return .zero }
        let sum = user.utf8.reduce(UInt64(7)) { ($0 &* 31) &+ UInt64($1) }
        let longest = sum % lanes.slowOneIn == 0 ? lanes.slow : lanes.usual
        var delay = Duration.milliseconds(machine.pick(0...longest.milliseconds))
        if clock.now > lanes.later { delay = delay * lanes.laterFactor }
        if clock.now < .seconds(5) { delay += lanes.coldStart }
        guard let interval = lanes.batchInterval else { return delay }
        let due = (clock.now + delay).milliseconds
        let batches = due / interval.milliseconds + 1
        return .milliseconds(batches * interval.milliseconds - clock.now.milliseconds)
    }

    /// Stores the subscription and its push in one transaction.
    private func store(
        _ event: JSONValue,
        _ id: String,
        _ type: String,
        _ backend: BackendDouble
    ) {
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
        send(disk.outbox.count - 1, backend)
        if defect == .pushesTwiceLater {
            disk.outbox.append(Push(key: Self.uuid(id + "2"), user: user, text: type))
            send(disk.outbox.count - 1, backend)
        }
    }

    private static func uuid(_ text: String) -> String {
        Namespace(name: text, idForm: .uuid).id(of: "push")
    }

    // MARK: The outbox

    private func send(_ index: Int, _ backend: BackendDouble) {
        let lifetime = backend.process.lifetime
        guard shape.sendsOnePushAtATime else {
            _ = clock.task { await self.push(index, backend, lifetime) }
            return
        }
        waitingPushes.append(index)
        guard !isWorkerBusy else { return }
        isWorkerBusy = true
        _ = clock.task { await self.work(backend, lifetime) }
    }

    /// Sends the waiting pushes one after the other; a push that failed waits again.
    private func work(_ backend: BackendDouble, _ lifetime: Int) async {
        while !waitingPushes.isEmpty {
            guard await spend(pace.push, backend, lifetime) else { return }
            let index = waitingPushes.removeFirst()
            let sent = await call(disk.outbox[index])
            guard backend.process.lifetime == lifetime else { return }
            if sent == .unknown {
                _ = clock.task {
                    await self.clock.pause(.milliseconds(60))
                    guard backend.process.lifetime == lifetime else { return }
                    self.send(index, backend)
                }
            } else {
                disk.outbox[index].isDone = true
            }
        }
        isWorkerBusy = false
    }

    private func push(_ index: Int, _ backend: BackendDouble, _ lifetime: Int) async {
        var pause: Duration = .milliseconds(20)
        if defect == .doublesAfterThreeSeconds { await clock.pause(.seconds(3)) }
        guard await spend(pace.push, backend, lifetime) else { return }
        while backend.process.lifetime == lifetime, index < disk.outbox.count {
            switch await call(disk.outbox[index]) {
            case .accepted, .refused:
                guard backend.process.lifetime == lifetime, index < disk.outbox.count else {
                    return
                }
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

    /// Whether pushes have no key; with a key, OneSignal drops repeated pushes.
    private var pushesWithoutKey: Bool {
        switch defect {
        case .pushesWithoutKey, .checksBeforeItStores, .remembersIDsInMemory: true
        default: storesEachCopy
        }
    }

    private func call(_ push: Push) async -> Sent {
        let request = PurchaseModel.notification(
            to: push.user,
            text: push.text,
            key: pushesWithoutKey ? nil : push.key
        )
        // The fake belongs to Assay's process and responds when that process has time.
        let fakes = fakes
        let reply = await withTaskExecutorPreference(machine.core(.assay)) {
            await SimulatedClock(machine: machine).pause(.microseconds(machine.pick(50...500)))
            return FakeServer.reply(to: request, .oneSignal, fakes)
        }
        switch reply.sendMode {
        case .answer: return sent(reply)
        case .reset, .truncatedResponse: return .unknown
        case .never:
            await clock.pause(shape.callTimeout)
            return .unknown
        case .hangThenReset(let milliseconds):
            await clock.pause(min(.milliseconds(milliseconds), shape.callTimeout))
            return .unknown
        case .slow(let milliseconds):
            await clock.pause(min(.milliseconds(milliseconds), shape.callTimeout))
            return .milliseconds(milliseconds) < shape.callTimeout ? sent(reply) : .unknown
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
