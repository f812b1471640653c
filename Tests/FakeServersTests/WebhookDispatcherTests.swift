import FakeServers
import Providers
import Redaction
import TestBackend
import Testing
import Values

@Suite("Webhooks on the virtual clock")
struct WebhookDispatcherTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)

    private func fakes() -> FakeRegistry {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 22,
            wallClock: { Self.start }
        )
        fakes.edit("") { services, _ in
            services.revenueCat.webhooks = [
                WebhookConfiguration(id: "main", url: "http://127.0.0.1:1/hook")
            ]
            services.purchasely.webhook = PurchaselyWebhook(
                url: "http://127.0.0.1:1/purchasely",
                secret: nil
            )
        }
        return fakes
    }

    private func buy(_ fakes: FakeRegistry, _ user: String = "ada") {
        fakes.edit("") { services, now in
            try? services.revenueCat.carryOut(StoreAction(.purchase, user: user), at: now)
        }
    }

    /// A receiver that keeps the time of each webhook on the virtual clock.
    private func receiver(
        _ fakes: FakeRegistry,
        statuses: [Int] = [],
        then status: Int = 200
    ) -> BackendDouble {
        BackendDouble(statuses: statuses, then: status) {
            (fakes.read("") { $1 } ?? Self.start) - Self.start
        }
    }

    /// The loop in real time runs beside every advance, as in `assay serve`.
    private func with(
        _ fakes: FakeRegistry,
        _ receiver: BackendDouble,
        _ body: (WebhookDispatcher) async throws -> Void
    ) async throws {
        let dispatcher = WebhookDispatcher(fakes: fakes, webhookTransport: receiver)
        let loop = Task { await dispatcher.run() }
        try await body(dispatcher)
        dispatcher.stop()
        loop.cancel()
        await loop.value
    }

    @Test("all senders follow the whole retry schedule", arguments: 0..<40)
    func followsRetrySchedule(round: Int) async throws {
        let fakes = fakes()
        let receiver = receiver(fakes, then: 500)
        try await with(fakes, receiver) { dispatcher in
            buy(fakes)
            let done = await dispatcher.advance("", to: Self.start + .seconds(86_400))
            #expect(done.isSettled)
        }
        let offsets = receiver.arrivals.map { $0.time.components.seconds / 60 }
        #expect(offsets == [0, 5, 15, 35, 75, 155])
        #expect(Set(receiver.arrivals.map(\.request.body)).count == 1, "the body never changes")
        let state = fakes.read("") { services, _ in services.queue.all.first?.state }
        #expect(state == .failed)
    }

    @Test("twenty-five retries of Purchasely", arguments: 0..<10)
    func followsPurchaselyRetrySchedule(round: Int) async throws {
        let fakes = fakes()
        let receiver = receiver(fakes, then: 500)
        try await with(fakes, receiver) { dispatcher in
            fakes.edit("") { services, now in
                services.purchasely.settings.events = ["ACTIVATE"]
                try? services.purchasely.carryOut(.purchase, ["user": "ada"], at: now)
            }
            let done = await dispatcher.advance("", to: nil)
            #expect(done.isSettled && done.attemptCount == 26)
        }
        #expect(receiver.arrivals.count == 26)
    }

    @Test func `200 alone is success, and settling stops there`() async throws {
        for status in [201, 204, 302, 404, 500] {
            let fakes = fakes()
            let receiver = receiver(fakes, statuses: [status])
            try await with(fakes, receiver) { dispatcher in
                buy(fakes)
                let done = await dispatcher.advance("", to: nil)
                #expect(done.isSettled && done.attemptCount == 2, "\(status)")
                #expect(done.now == Self.start + .seconds(300))
            }
        }
    }

    @Test func `events created together are sent in their order`() async throws {
        for _ in 0..<20 {
            let fakes = fakes()
            let receiver = receiver(fakes)
            try await with(fakes, receiver) { dispatcher in
                buy(fakes)
                _ = await dispatcher.flush("")
                fakes.edit("") { services, now in
                    try? services.revenueCat.carryOut(
                        StoreAction(.billingIssue, user: "ada"),
                        at: now
                    )
                }
                _ = await dispatcher.flush("")
            }
            #expect(
                receiver.eventNames == [
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
            let fakes = fakes()
            let receiver = receiver(fakes)
            try await with(fakes, receiver) { dispatcher in
                fakes.edit("") { services, now in
                    services.purchasely.settings.transferOrder = order
                    services.purchasely.settings.events = ["ACTIVATE", "DEACTIVATE"]
                    try? services.purchasely.carryOut(.purchase, ["anonymous": "x"], at: now)
                    try? services.purchasely.carryOut(
                        .logIn,
                        ["from": "x", "user": "ada"],
                        at: now
                    )
                }
                _ = await dispatcher.advance("", to: nil)
            }
            let pair =
                order == .activateFirst ? ["ACTIVATE", "DEACTIVATE"] : ["DEACTIVATE", "ACTIVATE"]
            #expect(receiver.eventNames == ["ACTIVATE"] + pair)
        }
    }

    @Test func `filters select the recipients of each event`() async throws {
        let fakes = fakes()
        fakes.edit("") { services, _ in
            var sandbox = WebhookConfiguration(id: "sandbox", url: "http://127.0.0.1:1/s")
            sandbox.environment = "SANDBOX"
            var types = WebhookConfiguration(id: "types", url: "http://127.0.0.1:1/t")
            types.types = ["CANCELLATION"]
            services.revenueCat.webhooks += [sandbox, types]
        }
        let receiver = receiver(fakes)
        try await with(fakes, receiver) { dispatcher in
            buy(fakes)
            fakes.edit("") { services, now in
                try? services.revenueCat.carryOut(StoreAction(.cancel, user: "ada"), at: now)
            }
            _ = await dispatcher.flush("")
        }
        let seen = fakes.read("") { services, _ in
            services.queue.all.map { $0.configuration + " " + $0.type }.sorted()
        }
        #expect(
            seen == ["main CANCELLATION", "main INITIAL_PURCHASE", "types CANCELLATION"]
        )
    }

    @Test func `TEST is not tried again`() async throws {
        let fakes = fakes()
        let receiver = receiver(fakes, then: 400)
        try await with(fakes, receiver) { dispatcher in
            fakes.edit("") { services, now in
                try? services.revenueCat.carryOut(StoreAction(.test, user: "x"), at: now)
            }
            _ = await dispatcher.advance("", to: Self.start + .seconds(86_400))
        }
        #expect(receiver.eventNames == ["TEST"])
    }

    @Test func `a signature has the real age of the delivery`()
        async throws
    {
        let key = Secret("whsec_courier")
        let fakes = fakes()
        fakes.edit("") { services, _ in
            services.revenueCat.webhooks[0].signingKey = key
            services.purchasely.webhook?.secret = key
            services.purchasely.settings.events = ["ACTIVATE"]
        }
        let receiver = receiver(fakes, then: 500)
        try await with(fakes, receiver) { dispatcher in
            _ = await dispatcher.advance("", to: Self.start + .seconds(40 * 86_400))
            buy(fakes)
            fakes.edit("") { services, now in
                try? services.purchasely.carryOut(.purchase, ["user": "bob"], at: now)
            }
            _ = await dispatcher.advance("", to: nil)
        }
        #expect(receiver.arrivals.count == 6 + 26)
        #expect(Set(receiver.eventNames) == ["INITIAL_PURCHASE", "ACTIVATE"])
        for request in receiver.arrivals.map(\.request) {
            let sender =
                request.path == "/hook"
                ? RevenueCatSender(path: "/hook", authorization: nil, signingKey: key)
                    .proof(of: request, at: Self.start)
                : PurchaselySender(method: "POST", path: request.path, secret: key)
                    .proof(of: request, at: Self.start)
            #expect(sender.signature == .configured, "\(request.fields)")
        }
    }

    @Test func `a resend keeps the event and is dispatched at once`() async throws {
        let fakes = fakes()
        let receiver = receiver(fakes)
        try await with(fakes, receiver) { dispatcher in
            buy(fakes)
            _ = await dispatcher.flush("")
            let id = fakes.read("") { services, _ in services.queue.all.first?.eventID ?? "" } ?? ""
            let count = fakes.edit("") { services, now in
                services.queue.resend(id, to: nil, at: now)
            }
            #expect(count == 1)
            _ = await dispatcher.flush("")
            #expect(
                fakes.edit("") { services, now in
                    services.queue.resend("unknown", to: nil, at: now)
                } == 0
            )
        }
        #expect(receiver.arrivals.count == 2)
        #expect(Set(receiver.arrivals.map(\.request.body)).count == 1)
    }

    @Test func `a customer with a OneSignal id gets tags, and the call is in the journal`()
        async throws
    {
        let fakes = fakes()
        let receiver = receiver(fakes)
        try await with(fakes, receiver) { dispatcher in
            let user = fakes.edit("") { services, now -> String in
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
            buy(fakes)
            _ = await dispatcher.flush("")
        }
        let tags = fakes.read("") { services, _ in services.oneSignal.tags(of: "external_id", "ada")
        }
        #expect(tags??["subscription_status"] == "active")
        #expect(tags??["last_event_type"] == "initial_purchase")
        let calls = fakes.journal.read { $0.exchanges }.filter { $0.to == .oneSignal }
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
