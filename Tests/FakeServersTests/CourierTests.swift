import Conformance
import FakeServers
import Providers
import Testing

/// A receiver without a network: answers what it is told to, and remembers what came.
private final class Receiver: Messenger {
    private let state: Locked<(statuses: [Int], seen: [(type: String, at: Instant, body: [UInt8])])>
    private let clock: @Sendable () -> Instant
    private let standard: Int

    init(_ statuses: [Int] = [], standard: Int = 200, clock: @escaping @Sendable () -> Instant) {
        state = Locked((statuses, []))
        self.standard = standard
        self.clock = clock
    }

    func send(
        _ request: HTTPMessage.Request,
        to base: String,
        within: Duration
    ) async -> Exchange.Outcome {
        // Others run in between, as they would during a real call.
        await Task.yield()
        let body = try? JSONValue(parsing: request.body)
        let type = body?["event"]?["type"]?.string ?? body?["event_name"]?.string ?? ""
        let now = clock()
        let status = state.withLock { state in
            state.seen.append((type, now, request.body))
            return state.statuses.isEmpty ? standard : state.statuses.removeFirst()
        }
        return .answered(HTTPMessage.Response(status))
    }

    var types: [String] { state.withLock { $0.seen.map(\.type) } }
    var times: [Instant] { state.withLock { $0.seen.map(\.at) } }
    var bodies: [[UInt8]] { state.withLock { $0.seen.map(\.body) } }
}

@Suite("Webhooks on the virtual clock")
struct CourierTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    private func world() -> FakeWorld {
        let world = FakeWorld(
            journalBytesMax: 1 << 22,
            revenueCatKey: nil,
            oneSignalKey: nil,
            wallClock: { Self.start }
        )
        world.edit("") { services, _ in
            services.revenueCat.webhooks = [
                WebhookConfiguration(id: "main", url: "http://127.0.0.1:1/hook")
            ]
            services.purchasely.webhook = PurchaselyWebhook(
                url: "http://127.0.0.1:1/purchasely",
                secret: nil
            )
        }
        return world
    }

    private func buy(_ world: FakeWorld, _ user: String = "ada") {
        world.edit("") { services, now in
            try? services.revenueCat.carryOut(StoreAction(.purchase, user: user), at: now)
        }
    }

    private func clock(_ world: FakeWorld) -> @Sendable () -> Instant {
        { world.read("") { $1 } ?? Self.start }
    }

    /// The loop in real time runs beside every advance, as in `assay serve`.
    private func with(
        _ world: FakeWorld,
        _ receiver: Receiver,
        _ body: (Courier) async throws -> Void
    ) async throws {
        let courier = Courier(world: world, messenger: receiver)
        let loop = Task { await courier.run() }
        try await body(courier)
        courier.stop()
        loop.cancel()
        await loop.value
    }

    @Test("the whole ladder, whoever delivers", arguments: 0..<40)
    func climbsTheLadder(round: Int) async throws {
        let world = world()
        let receiver = Receiver(standard: 500, clock: clock(world))
        try await with(world, receiver) { courier in
            buy(world)
            let done = await courier.advance("", to: Self.start + .seconds(86_400))
            #expect(done.isSettled)
        }
        let offsets = receiver.times.map { ($0 - Self.start).components.seconds / 60 }
        #expect(offsets == [0, 5, 15, 35, 75, 155])
        #expect(Set(receiver.bodies).count == 1, "the body never changes")
        let state = world.read("") { services, _ in services.queue.all.first?.state }
        #expect(state == .failed)
    }

    @Test("twenty-five retries of Purchasely", arguments: 0..<10)
    func climbsPurchaselysLadder(round: Int) async throws {
        let world = world()
        let receiver = Receiver(standard: 500, clock: clock(world))
        try await with(world, receiver) { courier in
            world.edit("") { services, now in
                services.purchasely.settings.events = ["ACTIVATE"]
                try? services.purchasely.carryOut(.purchase, ["user": "ada"], at: now)
            }
            let done = await courier.advance("", to: nil)
            #expect(done.isSettled && done.attemptCount == 26)
        }
        #expect(receiver.times.count == 26)
    }

    @Test func `200 alone is success, and settling stops there`() async throws {
        for status in [201, 204, 302, 404, 500] {
            let world = world()
            let receiver = Receiver([status], clock: clock(world))
            try await with(world, receiver) { courier in
                buy(world)
                let done = await courier.advance("", to: nil)
                #expect(done.isSettled && done.attemptCount == 2, "\(status)")
                #expect(done.now == Self.start + .seconds(300))
            }
        }
    }

    @Test func `events that are born together leave in their order`() async throws {
        for _ in 0..<20 {
            let world = world()
            let receiver = Receiver(clock: clock(world))
            try await with(world, receiver) { courier in
                buy(world)
                _ = await courier.flush("")
                world.edit("") { services, now in
                    try? services.revenueCat.carryOut(
                        StoreAction(.billingIssue, user: "ada"),
                        at: now
                    )
                }
                _ = await courier.flush("")
            }
            #expect(
                receiver.types == [
                    "INITIAL_PURCHASE", "BILLING_ISSUE", "CANCELLATION", "EXPIRATION",
                ]
            )
        }
    }

    @Test(
        "a transfer's order is the chosen one",
        arguments: [PurchaselySettings.TransferOrder.deactivateFirst, .activateFirst]
    )
    func transfersInOrder(order: PurchaselySettings.TransferOrder) async throws {
        for _ in 0..<20 {
            let world = world()
            let receiver = Receiver(clock: clock(world))
            try await with(world, receiver) { courier in
                world.edit("") { services, now in
                    services.purchasely.settings.transferOrder = order
                    services.purchasely.settings.events = ["ACTIVATE", "DEACTIVATE"]
                    try? services.purchasely.carryOut(.purchase, ["anonymous": "x"], at: now)
                    try? services.purchasely.carryOut(
                        .logIn,
                        ["from": "x", "user": "ada"],
                        at: now
                    )
                }
                _ = await courier.advance("", to: nil)
            }
            let pair =
                order == .activateFirst ? ["ACTIVATE", "DEACTIVATE"] : ["DEACTIVATE", "ACTIVATE"]
            #expect(receiver.types == ["ACTIVATE"] + pair)
        }
    }

    @Test func `filters choose who hears of what, each once`() async throws {
        let world = world()
        world.edit("") { services, _ in
            var sandbox = WebhookConfiguration(id: "sandbox", url: "http://127.0.0.1:1/s")
            sandbox.environment = "SANDBOX"
            var types = WebhookConfiguration(id: "types", url: "http://127.0.0.1:1/t")
            types.types = ["CANCELLATION"]
            services.revenueCat.webhooks += [sandbox, types]
        }
        let receiver = Receiver(clock: clock(world))
        try await with(world, receiver) { courier in
            buy(world)
            world.edit("") { services, now in
                try? services.revenueCat.carryOut(StoreAction(.cancel, user: "ada"), at: now)
            }
            _ = await courier.flush("")
        }
        let seen = world.read("") { services, _ in
            services.queue.all.map { $0.configuration + " " + $0.type }.sorted()
        }
        #expect(
            seen == ["main CANCELLATION", "main INITIAL_PURCHASE", "types CANCELLATION"]
        )
    }

    @Test func `TEST is not tried again`() async throws {
        let world = world()
        let receiver = Receiver(standard: 400, clock: clock(world))
        try await with(world, receiver) { courier in
            world.edit("") { services, now in
                try? services.revenueCat.carryOut(StoreAction(.test, user: "x"), at: now)
            }
            _ = await courier.advance("", to: Self.start + .seconds(86_400))
        }
        #expect(receiver.types == ["TEST"])
    }

    @Test func `a resend keeps the event and is dispatched at once`() async throws {
        let world = world()
        let receiver = Receiver(clock: clock(world))
        try await with(world, receiver) { courier in
            buy(world)
            _ = await courier.flush("")
            let id = world.read("") { services, _ in services.queue.all.first?.eventID ?? "" } ?? ""
            let count = world.edit("") { services, now in
                services.queue.resend(id, to: nil, at: now)
            }
            #expect(count == 1)
            _ = await courier.flush("")
            #expect(
                world.edit("") { services, now in
                    services.queue.resend("unknown", to: nil, at: now)
                } == 0
            )
        }
        #expect(receiver.types.count == 2)
        #expect(Set(receiver.bodies).count == 1)
    }

    @Test func `a customer with a OneSignal id gets tags, and the call is in the journal`()
        async throws
    {
        let world = world()
        let receiver = Receiver(clock: clock(world))
        try await with(world, receiver) { courier in
            let user = world.edit("") { services, now -> String in
                let body: JSONValue = ["identity": ["external_id": "ada"]]
                let reply = services.oneSignal.respond(
                    to: HTTPMessage.Request(
                        "POST",
                        "/apps/\(services.revenueCat.settings.oneSignalApp)/users",
                        body: body.bytes
                    ),
                    at: now
                )
                let made = try? JSONValue(parsing: reply.response.body)
                let id = made?["identity"]?["onesignal_id"]?.string ?? ""
                var action = StoreAction(.setAttributes, user: "ada")
                action.attributes["$onesignalUserId"] = .string(id)
                try? services.revenueCat.carryOut(action, at: now)
                return id
            }
            #expect(user?.isEmpty == false)
            buy(world)
            _ = await courier.flush("")
        }
        let tags = world.read("") { services, _ in services.oneSignal.tags(of: "external_id", "ada")
        }
        #expect(tags??["subscription_status"] == "active")
        #expect(tags??["last_event_type"] == "initial_purchase")
        let calls = world.journal.read { $0.exchanges }.filter { $0.to == .oneSignal }
        #expect(calls.count == 1)
        #expect(calls.first?.from == .revenueCat && calls.first?.request.method == "PATCH")
    }

    @Test(
        "a webhook goes to this machine, or to a host allowed by name",
        arguments: [
            ("http://127.0.0.1:8080/a?b=c", "http://127.0.0.1:8080", "/a?b=c"),
            ("http://localhost", "http://localhost", "/"),
            ("https://[::1]:1/x", "https://[::1]:1", "/x"),
            ("http://friend.example/x", "http://friend.example", "/x"),
            ("http://evil.example/x", nil, ""), ("http://127.0.0.1.evil.example/", nil, ""),
            ("http://user@127.0.0.1/", nil, ""), ("ftp://127.0.0.1/", nil, ""), ("", nil, ""),
            ("http://", nil, ""), ("http:///x", nil, ""),
        ] as [(String, String?, String)]
    )
    func readsURLs(text: String, base: String?, target: String) {
        let url = WebhookURL(text, allowedHosts: ["friend.example"])
        #expect(url?.base == base)
        #expect(base == nil || url?.target == target)
    }
}

@Suite("Control API")
struct ControlAPITests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    private static let bodies: [JSONValue] = [
        ["user": "ada", "product": "premium_monthly", "settle": true, "grace": "3d"],
        ["by": "31d"], ["until": "settled"], ["now": "2027-01-01T00:00:00Z", "frozen": true],
        ["answers": [500, "slow 2s", "reset"], "permanent": true, "reads": true],
        ["firebase": ["tokens": "unsigned"], "onesignal": ["tagsMax": 5]],
        ["url": "http://127.0.0.1:1/x", "types": ["RENEWAL"], "environment": "SANDBOX"],
        ["event": ["type": "RENEWAL", "app_user_id": "ada", "product_id": "p"]],
        ["ids": ["ada"]], ["to": "fork"], ["days": 3, "price": 1, "entitlements": ["x"]],
        ["namespaces": [:], "kind": "services", "assay": 1],
    ]

    /// Near misses of every operation, from a seed: an answer with words, never a trap, and a
    /// state that can still be used.
    @Test("survives what is nearly right", arguments: 0..<UInt64(8))
    func survives(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed, text: "control")
        let world = FakeWorld(
            journalBytesMax: 1 << 20,
            revenueCatKey: nil,
            oneSignalKey: nil,
            wallClock: { Self.start }
        )
        let receiver = Receiver(clock: { Self.start })
        let courier = Courier(world: world, messenger: receiver)
        let control = ControlAPI(world: world, courier: courier, version: "test", servers: [])
        func call(_ method: String, _ path: String, _ body: [UInt8]) async -> HTTPMessage.Response {
            let request = HTTPMessage.Request(
                method,
                path,
                fields: [HTTPMessage.Field("host", "127.0.0.1")],
                body: body
            )
            guard case .whole(let response) = await control.respond(to: request) else {
                return HTTPMessage.Response(200, json: [:])
            }
            return response
        }
        let described = await call("GET", "/assay/v1/openapi.json", [])
        let paths = try JSONValue(parsing: described.body)["paths"]?.object?.members ?? []
        #expect(paths.count > 25)
        let names = ["purchase", "cancel", "ada", "main", "onesignal", "reset", "x"]
        for _ in 0..<300 {
            let place = paths.randomElement(using: &generator)
            let method = place?.value.object?.keys.randomElement(using: &generator) ?? "get"
            let name = names.randomElement(using: &generator) ?? "x"
            let path = (place?.key ?? "").split(separator: "/").map {
                $0.hasPrefix("{") ? name : String($0)
            }.joined(separator: "/")
            // A stream never ends by itself, and that is another test's matter.
            guard !path.hasSuffix("stream") else { continue }
            var bytes = (Self.bodies.randomElement(using: &generator) ?? [:]).bytes
            if Bool.random(using: &generator) {
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            }
            let response = await call(method.uppercased(), "/" + path, bytes)
            #expect(
                response.status < 500,
                "\(method) \(path): \(String(decoding: bytes, as: UTF8.self))"
            )
            let body = try JSONValue(parsing: response.body)
            #expect(response.status == 200 || body["error"]?.string?.isEmpty == false)
        }
        let saved = try world.save()
        try world.load(saved)
        #expect(try world.save() == saved)
    }
}
