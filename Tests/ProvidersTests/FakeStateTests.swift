import Contracts
import Grammar
import Providers
import Redaction
import Testing
import Values

@Suite("Fake OneSignal")
struct OneSignalStateTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let app = "a55a4000-0000-4000-8000-000000000000"

    private func body(_ change: (inout JSONValue) -> Void = { _ in }) -> JSONValue {
        var body: JSONValue = [
            "app_id": .string(Self.app), "target_channel": "push",
            "include_aliases": ["external_id": ["ada-id"]], "contents": ["en": "Hello"],
        ]
        change(&body)
        return body
    }

    private func post(
        _ state: inout Services,
        _ body: JSONValue,
        path: String = "/notifications",
        authorization: String? = "Key secret",
        at now: Instant = now
    ) -> Reply {
        let fields = authorization.map { [HTTPMessage.Field("Authorization", $0)] } ?? []
        let request = HTTPMessage.Request("POST", path, fields: fields, body: body.bytes)
        return state.respond(.oneSignal, to: request, at: now)
    }

    private func json(_ reply: Reply) -> JSONValue? {
        try? JSONValue(parsing: reply.response.body)
    }

    private func state() -> Services {
        Services(seed: 0, keys: [.oneSignal: Secret("secret")])
    }

    @Test func `a push is accepted and named`() {
        var state = state()
        let reply = post(&state, body())
        #expect(reply.response.status == 200)
        #expect(json(reply)?["id"]?.string?.isEmpty == false)
        #expect(json(reply)?["external_id"] == .null)
        #expect(json(reply)?["errors"] == nil)
        #expect(reply.effects.first?.recipients == ["ada-id"])
        #expect(reply.response[field: "x-assay-fake"] == "onesignal; documented")
        #expect(post(&state, body(), path: "/api/v1/notifications").response.status == 200)
    }

    @Test(
        "schemes of the key are accepted in any case",
        arguments: ["Key", "key", "Basic", "Bearer"]
    )
    func acceptsSchemes(scheme: String) {
        var state = state()
        #expect(post(&state, body(), authorization: "\(scheme) secret").response.status == 200)
    }

    @Test("wrong keys are refused", arguments: [nil, "Key other", "secret", "Key", "Key secret x"])
    func refusesKeys(authorization: String?) {
        var state = state()
        let reply = post(&state, body(), authorization: authorization)
        #expect(reply.response.status == 403)
        #expect(json(reply)?["errors"]?.strings.first?.hasPrefix("Access denied.  Please") == true)
        #expect(reply.effects.isEmpty)
    }

    @Test(
        "missing members are reported with OneSignal's error messages",
        arguments: [
            ("/contents", "Message Notifications must have English language content"),
            (
                "/include_aliases",
                "You must include which players, segments, or tags you wish to send this "
                    + "notification to."
            ), ("/app_id", "app_id must be a valid UUID"),
        ]
    )
    func complains(pointer: String, text: String) throws {
        var state = state()
        let place = try #require(JSONPointer(pointer))
        let reply = post(&state, body { $0.set(place, to: nil) })
        #expect(reply.response.status == 400)
        #expect(json(reply)?["errors"] == .strings([text]))
    }

    @Test func `a key is answered with the first result for thirty days`() {
        var state = state()
        let keyed = body {
            $0.set(JSONPointer(tokens: ["idempotency_key"]), to: "a55a4000-0000-5000-8000-1")
        }
        let first = post(&state, keyed)
        let second = post(&state, keyed)
        #expect(first.response.body == second.response.body)
        #expect(second.response[field: "Idempotent-Replayed"] == "true")
        #expect(first.response[field: "Idempotent-Replayed"] == nil)
        #expect(second.effects.isEmpty)
        let later = post(&state, keyed, at: Self.now + .seconds(31 * 86_400))
        #expect(later.effects.count == 1)
        #expect(post(&state, body()).effects.count == 1)
        #expect(post(&state, body()).effects.count == 1)
    }

    @Test func `the shapes of 200 and the faults come in the order of the plan`() {
        var state = state()
        state.plans[.oneSignal] = ProviderPlan(
            provider: .oneSignal,
            responses: [
                .noSubscribers, .invalidAliases, .status(429), .status(503), .reset, .lostResponse,
                .never, .malformed, .truncatedResponse, .slow(5),
            ]
        )
        let none = post(&state, body())
        #expect(json(none)?["id"] == "")
        #expect(none.effects.isEmpty)
        let partly = post(&state, body())
        #expect(json(partly)?["id"]?.string?.isEmpty == false)
        #expect(json(partly)?["errors"]?["invalid_aliases"]?["external_id"] != nil)
        #expect(partly.effects.count == 1)
        let limited = post(&state, body())
        #expect(limited.response.status == 429)
        #expect(limited.response[field: "Retry-After"] == "1")
        #expect(post(&state, body()).response.status == 503)
        let reset = post(&state, body())
        #expect(reset.sendMode == .reset && reset.effects.isEmpty)
        let lost = post(&state, body())
        #expect(lost.sendMode == .reset && lost.effects.count == 1)
        #expect(post(&state, body()).sendMode == .never)
        let broken = post(&state, body())
        #expect(broken.response.status == 200 && json(broken) == nil)
        #expect(post(&state, body()).sendMode == .truncatedResponse)
        #expect(post(&state, body()).sendMode == .slow(5))
        #expect(post(&state, body()).effects.count == 1)
    }

    @Test("any request is answered and none traps", arguments: 0..<UInt64(100))
    func survivesNoise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = body().bytes
        for _ in 0..<4 {
            let index = Int.random(in: bytes.indices, using: &generator)
            bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
        }
        var state = OneSignalState(key: nil)
        let paths = ["/notifications", "/%ff/x", "//", "", "/notifications?x=%"]
        for path in paths {
            let request = HTTPMessage.Request("POST", path, body: bytes)
            #expect((200..<500).contains(state.respond(to: request, at: Self.now).response.status))
        }
    }
}

@Suite("Fake RevenueCat")
struct RevenueCatStateTests {
    private static let base = Instant(milliseconds: 1_790_000_000_000)
    private let namespace = Namespace(name: "run", idForm: .string)

    private func event(
        _ type: String,
        at time: Duration = .zero,
        _ change: (inout EventSpec) -> Void = { _ in }
    ) -> JSONValue {
        var spec = EventSpec(
            type: RevenueCatEventType(rawValue: type),
            user: type == "TRANSFER" ? nil : "ada"
        )
        spec.time = time
        change(&spec)
        let context = EventContext(namespace: namespace, base: Self.base)
        return EventFactory(context).body(spec, name: "\(type)-\(time)")
    }

    private func read(_ state: inout RevenueCatState, _ id: String) -> JSONValue? {
        let request = HTTPMessage.Request("GET", "/v1/subscribers/\(id.percentEncoded)")
        let reply = state.respond(to: request, at: Self.base)
        #expect([200, 201].contains(reply.response.status))
        return (try? JSONValue(parsing: reply.response.body))?["subscriber"]
    }

    @Test func `a read creates the customer, for any id`() {
        var state = RevenueCatState(key: nil)
        let id = "$RCAnonymousID:0123 ü@:"
        #expect(read(&state, id)?["original_app_user_id"] == .string(id))
        #expect(read(&state, id)?["entitlements"] == [:])
    }

    @Test func `a key that is given is demanded`() {
        var state = RevenueCatState(key: Secret("sk"))
        var request = HTTPMessage.Request("GET", "/v1/subscribers/a")
        #expect(state.respond(to: request, at: Self.base).response.status == 401)
        request.fields = [HTTPMessage.Field("authorization", "Bearer sk")]
        #expect(state.respond(to: request, at: Self.base).response.status == 201)
    }

    @Test func `REST matches the event under every ID`() throws {
        var state = RevenueCatState(key: nil)
        let purchase = event("INITIAL_PURCHASE")
        state.apply(purchase)
        let ends = try #require(purchase["event"]?["expiration_at_ms"]?.int64)
        for id in [namespace.id(of: "ada"), namespace.anonymousID(of: "ada")] {
            let subscriber = try #require(read(&state, id))
            let entitlement = subscriber["entitlements"]?["premium"]
            #expect(entitlement?["expires_date"]?.string == Instant(milliseconds: ends).description)
            let subscription = subscriber["subscriptions"]?["premium_monthly"]
            #expect(subscription?["store"] == "app_store")
            #expect(subscription?["period_type"] == "normal")
            #expect(subscription?["ownership_type"] == "PURCHASED")
            #expect(subscription?["unsubscribe_detected_at"] == .null)
        }
    }

    @Test("a late event about an earlier period changes nothing")
    func endOfEarlierPeriod() throws {
        var state = RevenueCatState(key: nil)
        state.apply(event("INITIAL_PURCHASE"))
        state.apply(event("RENEWAL", at: .seconds(60)) { $0.expires = .seconds(86_400 * 60) })
        func ends() -> String? {
            read(&state, namespace.id(of: "ada"))?["subscriptions"]?["premium_monthly"]?[
                "expires_date"
            ]?.string
        }
        let renewed = try #require(ends())
        state.apply(
            event("EXPIRATION", at: .seconds(120)) {
                $0.purchased = .zero
                $0.expires = .seconds(60)
            }
        )
        #expect(ends() == renewed)
        state.apply(
            event("EXPIRATION", at: .seconds(180)) {
                $0.purchased = .seconds(60)
                $0.expires = .seconds(180)
            }
        )
        #expect(ends() != renewed, "the period that runs can be ended")
    }

    @Test func `cancellation, billing issue, refund and expiry leave their dates`() throws {
        var state = RevenueCatState(key: nil)
        state.apply(event("INITIAL_PURCHASE"))
        state.apply(event("CANCELLATION", at: .seconds(60)) { $0.expires = .seconds(86_400 * 30) })
        func subscription() -> JSONValue? {
            read(&state, namespace.id(of: "ada"))?["subscriptions"]?["premium_monthly"]
        }
        #expect(subscription()?["unsubscribe_detected_at"] != .null)
        state.apply(
            event("BILLING_ISSUE", at: .seconds(120)) { $0.grace = .seconds(86_400 * 40) }
        )
        #expect(subscription()?["billing_issues_detected_at"] != .null)
        #expect(subscription()?["grace_period_expires_date"] != .null)
        state.apply(event("RENEWAL", at: .seconds(180)) { $0.expires = .seconds(86_400 * 60) })
        #expect(subscription()?["billing_issues_detected_at"] == .null)
        #expect(subscription()?["unsubscribe_detected_at"] == .null)
        state.apply(event("CANCELLATION", at: .seconds(240)) { $0.reason = "CUSTOMER_SUPPORT" })
        #expect(subscription()?["refunded_at"] != .null)
        state.apply(event("EXPIRATION", at: .seconds(300)))
        #expect(subscription()?["refunded_at"] != .null, "the end does not undo the refund")
        let text = try #require(subscription()?["expires_date"]?.string)
        #expect(try #require(Instant(iso8601: text)) <= Self.base + .seconds(300))
        // An older event says nothing new.
        state.apply(event("RENEWAL", at: .seconds(30)) { $0.expires = .seconds(86_400 * 99) })
        #expect(subscription()?["expires_date"]?.string == text)
    }

    @Test(
        "only payments and reactivations clear a billing issue",
        arguments: [
            ("INITIAL_PURCHASE", true), ("RENEWAL", true), ("UNCANCELLATION", true),
            ("TEMPORARY_ENTITLEMENT_GRANT", true), ("SUBSCRIPTION_EXTENDED", false),
            ("SUBSCRIPTION_PAUSED", false), ("REFUND_REVERSED", false), ("EXPIRATION", false),
            ("CANCELLATION", false), ("BILLING_ISSUE", false),
        ]
    )
    func healing(type: String, heals: Bool) {
        var state = RevenueCatState(key: nil)
        let month = Duration.seconds(86_400 * 30)
        state.apply(event("INITIAL_PURCHASE") { $0.expires = month })
        state.apply(event("CANCELLATION", at: .seconds(60)) { $0.expires = month })
        state.apply(event("BILLING_ISSUE", at: .seconds(120)) { $0.expires = month })
        state.apply(event(type, at: .seconds(180)) { $0.expires = month })
        let subscription = read(&state, namespace.id(of: "ada"))?["subscriptions"]?[
            "premium_monthly"
        ]
        for flag in ["unsubscribe_detected_at", "billing_issues_detected_at"] {
            #expect((subscription?[flag] == .null) == heals, "\(flag)")
        }
    }

    @Test func `a transfer moves purchases and leaves nothing behind`() {
        var state = RevenueCatState(key: nil)
        state.apply(event("INITIAL_PURCHASE"))
        state.apply(
            event("TRANSFER", at: .seconds(60)) {
                $0.from = ["ada"]
                $0.to = ["bob"]
            }
        )
        #expect(read(&state, namespace.id(of: "ada"))?["entitlements"] == [:])
        #expect(read(&state, namespace.id(of: "bob"))?["entitlements"]?["premium"] != nil)
    }

    @Test func `one-time purchases and grants appear where the REST API places them`() {
        var state = RevenueCatState(key: nil)
        state.apply(
            event("NON_RENEWING_PURCHASE") {
                $0.product = "coins_100"
                $0.isLifetime = true
            }
        )
        state.apply(event("NON_RENEWING_PURCHASE", at: .seconds(1)) { $0.store = "PROMOTIONAL" })
        let subscriber = read(&state, namespace.id(of: "ada"))
        #expect(subscriber?["non_subscriptions"]?["coins_100"]?.array?.count == 1)
        #expect(subscriber?["subscriptions"]?["premium_monthly"]?["store"] == "promotional")
    }

    @Test(
        "types unrelated to purchases change nothing",
        arguments: [
            "TEST", "INVOICE_ISSUANCE", "EXPERIMENT_ENROLLMENT", "VIRTUAL_CURRENCY_TRANSACTION",
            "PRODUCT_CHANGE", "SUBSCRIBER_ALIAS", "FUTURE_THING",
        ]
    )
    func ignoresOthers(type: String) {
        var state = RevenueCatState(key: nil)
        state.apply(event("INITIAL_PURCHASE"))
        let before = read(&state, namespace.id(of: "ada"))?["subscriptions"]
        state.apply(event(type, at: .seconds(60)))
        #expect(read(&state, namespace.id(of: "ada"))?["subscriptions"] == before)
    }
}
