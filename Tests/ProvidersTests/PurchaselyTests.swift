import Providers
import Redaction
import Testing
import Values

@Suite("Fake Purchasely")
struct PurchaselyTests {
    private static let now = Instant(milliseconds: 1_790_000_000_123)

    private func act(
        _ state: inout PurchaselyState,
        _ action: PurchaselyAction,
        _ body: JSONObject = ["user": "ada"]
    ) throws -> [PurchaselyWebhookEvent] {
        try state.carryOut(action, body, at: Self.now)
        return state.takeEvents()
    }

    private func names(_ events: [PurchaselyWebhookEvent]) -> [String] { events.map(\.name) }

    @Test func `a purchase activates access, other events are informational`() throws {
        var state = PurchaselyState()
        let events = try act(&state, .purchase)
        #expect(names(events) == ["ACTIVATE", "SUBSCRIPTION_STARTED", "TRANSACTION_PROCESSED"])
        let body = events[0].body
        #expect(body["user_id"] == "ada" && body["anonymous_user_id"] == nil)
        #expect(body["event_created_at"] == .string(Self.now.preciseText))
        #expect(body["event_created_at_ms"] == .integer(Self.now.milliseconds))
        #expect(body["previous_offer_type"] == nil, "not on the very first")
        #expect(!body.members.contains { $0.value.isNull }, "absent beats null")
        #expect(events[2].body["amount_in_eur"] == .number(JSONNumber(9.99)))
        #expect(events[2].body["previous_offer_type"] != nil)
        #expect(Set(events.map(\.id)).count == 3)
    }

    @Test func `only ACTIVATE and DEACTIVATE change access, in every flow`() throws {
        let flows: [(PurchaselyAction, JSONObject, [String])] = [
            (.renew, [:], ["ACTIVATE", "SUBSCRIPTION_RENEWED", "TRANSACTION_PROCESSED"]),
            (.disableRenewal, [:], ["RENEWAL_DISABLED"]),
            (.enableRenewal, [:], ["RENEWAL_ENABLED"]),
            (.startGrace, [:], ["ACTIVATE", "GRACE_PERIOD_STARTED"]),
            (
                .enterBillingRetry, [:],
                ["DEACTIVATE", "GRACE_PERIOD_TERMINATED", "ENTERED_BILLING_RETRY"]
            ),
            (
                .recover, [:],
                [
                    "ACTIVATE", "SUBSCRIPTION_RECOVERED_FROM_BILLING_RETRY",
                    "TRANSACTION_PROCESSED",
                ]
            ),
            (
                .changePlan, ["plan": "PLUS_YEARLY"],
                ["DEACTIVATE", "ACTIVATE", "SUBSCRIPTION_UPGRADED"]
            ),
            (.pause, [:], ["DEACTIVATE", "SUBSCRIPTION_PAUSED"]),
            (.unpause, [:], ["ACTIVATE", "SUBSCRIPTION_UNPAUSED"]),
            (
                .refund, [:],
                ["DEACTIVATE", "SUBSCRIPTION_REFUNDED_REVOKED", "TRANSACTION_PROCESSED"]
            ),
        ]
        var state = PurchaselyState()
        _ = try act(&state, .purchase, ["user": "ada", "store": "GOOGLE_PLAY_STORE"])
        for (action, more, expected) in flows {
            var body: JSONObject = ["user": "ada"]
            for member in more.members { body[member.key] = member.value }
            let events = try act(&state, action, body)
            #expect(names(events) == expected, "\(action)")
            let known = state.subscriptions.subscriptionsOwned(by: "ada").first?.isActive
            let last = events.last { $0.name == "ACTIVATE" || $0.name == "DEACTIVATE" }
            if let last { #expect(known == (last.name == "ACTIVATE"), "\(action)") }
        }
    }

    @Test func `trials convert or do not`() throws {
        var state = PurchaselyState()
        let began = try act(&state, .purchase, ["user": "ada", "offer": "FREE_TRIAL"])
        #expect(names(began) == ["ACTIVATE", "SUBSCRIPTION_STARTED", "TRIAL_STARTED"])
        let renewed = try act(&state, .renew)
        #expect(names(renewed).contains("TRIAL_CONVERTED"))
        #expect(renewed[0].body["previous_offer_type"] == "FREE_TRIAL")
        var other = PurchaselyState()
        _ = try act(&other, .purchase, ["user": "ada", "offer": "FREE_TRIAL"])
        #expect(
            names(try act(&other, .expire))
                == ["DEACTIVATE", "SUBSCRIPTION_TERMINATED", "TRIAL_NOT_CONVERTED"]
        )
    }

    @Test(
        "a transfer names both holders, in either order",
        arguments: [
            PurchaselySettings.TransferOrder.deactivateFirst, .activateFirst,
        ]
    )
    func transfers(order: PurchaselySettings.TransferOrder) throws {
        var state = PurchaselyState()
        state.settings.transferOrder = order
        _ = try act(&state, .purchase, ["anonymous": "6837C35A-949B-4489-B212-62F66ACA6CC2"])
        let events = try act(
            &state,
            .logIn,
            ["from": "6837C35A-949B-4489-B212-62F66ACA6CC2", "user": "ada"]
        )
        let first =
            order == .activateFirst ? ["ACTIVATE", "DEACTIVATE"] : ["DEACTIVATE", "ACTIVATE"]
        #expect(names(events) == first + ["SUBSCRIPTION_TRANSFERRED", "SUBSCRIPTION_RECEIVED"])
        for event in events {
            let isLoser = event.name == "DEACTIVATE" || event.name == "SUBSCRIPTION_TRANSFERRED"
            #expect((event.body["anonymous_user_id"] != nil) == isLoser)
            #expect((event.body["user_id"] != nil) == !isLoser)
            #expect(event.holder == (isLoser ? "6837C35A-949B-4489-B212-62F66ACA6CC2" : "ada"))
        }
        #expect(Set(events.compactMap { $0.body["purchasely_subscription_id"]?.string }).count == 1)
        #expect(Set(events.compactMap { $0.body["event_created_at_ms"]?.int64 }).count == 1)
        #expect(events[2].body["transferred_to_user_id"] == "ada")
    }

    @Test func `one-time purchases stay with the anonymous id, and move by a restore`() throws {
        var state = PurchaselyState()
        let body: JSONObject = ["anonymous": "anon", "type": "NON_CONSUMABLE", "plan": "LIFETIME"]
        let bought = try act(&state, .purchase, body)
        #expect(names(bought) == ["ACTIVATE"])
        #expect(bought[0].body["purchasely_one_time_purchase_id"] != nil)
        #expect(bought[0].body["subscription_status"] == nil)
        #expect(try act(&state, .logIn, ["from": "anon", "user": "ada"]).isEmpty)
        let moved = try act(&state, .transfer, ["from": "anon", "user": "ada"])
        #expect(names(moved).contains("ONE_TIME_PURCHASE_RECEIVED"))
    }

    @Test func `one user's events wait for each other, two users' do not`() throws {
        var queue = DeliveryQueue()
        func add(_ event: String, _ user: String) {
            queue.add(
                .purchasely,
                to: "purchasely",
                event: [:],
                id: event,
                type: "ACTIVATE",
                orderKeys: [user],
                due: Self.now
            )
        }
        add("a1", "ada")
        add("a2", "ada")
        add("b1", "bob")
        let schedule = RetrySchedule.purchasely(takes404: false)
        let first = queue.take(by: Self.now)
        #expect(first.map(\.eventID) == ["a1", "b1"])
        #expect(queue.take(by: Self.now).isEmpty)
        queue.finish(first[0].number, status: 500, failure: nil, by: schedule, at: Self.now)
        queue.finish(first[1].number, status: 200, failure: nil, by: schedule, at: Self.now)
        #expect(queue.take(by: Self.now).isEmpty, "a2 waits behind the retry of a1")
        let retry = try #require(queue.nextDueTime)
        #expect(retry == Self.now + .seconds(15))
        let again = queue.take(by: retry)
        #expect(again.map(\.eventID) == ["a1"])
        queue.finish(again[0].number, status: 200, failure: nil, by: schedule, at: retry)
        #expect(queue.take(by: retry).map(\.eventID) == ["a2"])
    }

    @Test func `renewals, expirations and grace periods follow the clock`() throws {
        func after(_ action: PurchaselyAction?, days: Int64) throws -> [String] {
            var state = PurchaselyState()
            _ = try act(&state, .purchase)
            if let action { _ = try act(&state, action) }
            #expect(state.nextChangeTime != nil)
            state.advance(to: Self.now + .seconds(days * 86_400))
            return names(state.takeEvents())
        }
        let renewal = ["ACTIVATE", "SUBSCRIPTION_RENEWED", "TRANSACTION_PROCESSED"]
        #expect(try after(nil, days: 29) == [])
        #expect(try after(nil, days: 61) == renewal + renewal)
        #expect(try after(.disableRenewal, days: 90) == ["DEACTIVATE", "SUBSCRIPTION_TERMINATED"])
        #expect(
            try after(.startGrace, days: 90)
                == ["DEACTIVATE", "GRACE_PERIOD_TERMINATED", "ENTERED_BILLING_RETRY"]
        )
    }

    @Test func `a field that means nothing is refused`() {
        var state = PurchaselyState()
        #expect(throws: StoreAction.Refusal.self) {
            try state.carryOut(.purchase, ["user": "ada", "kind": "x"], at: Self.now)
        }
    }

    @Test func `twenty-five retries over about twenty days, and 404 is a switch`() {
        let schedule = RetrySchedule.purchasely(takes404: false)
        #expect(schedule.attemptCountMax == 26)
        let total = schedule.delays.reduce(Duration.zero, +)
        #expect((19...22).contains(total.components.seconds / 86_400))
        #expect(schedule.responseTimeout == .seconds(10))
        #expect(!schedule.isSuccess(204) && !schedule.isSuccess(404))
        #expect(RetrySchedule.purchasely(takes404: true).isSuccess(404))
    }

    @Test func `a retry gets a new signature and keeps its body`() throws {
        var state = PurchaselyState()
        state.webhook = PurchaselyWebhook(url: "http://127.0.0.1:1/x", secret: Secret("foobar"))
        let first = state.request(Array("{}".utf8), path: "/x", at: Self.now)
        let second = state.request(Array("{}".utf8), path: "/x", at: Self.now + .seconds(15))
        #expect(first.body == second.body)
        #expect(first[field: PurchaselySignature.fieldName]?.utf8.count == 64)
        #expect(
            first[field: PurchaselySignature.fieldName]
                != second[field: PurchaselySignature.fieldName]
        )
        #expect(first[field: PurchaselySignature.deprecatedFieldName] == nil)
    }

    @Test(
        "a body has the members and kinds of the published one",
        .enabled(if: PublishedSamples.areSamplesPresent, "samples are elsewhere"),
        arguments: [
            "activate_anonymous_first_purchase", "activate_one_time_purchase_anonymous",
            "activate_renewal_google", "activate_stripe_web2app", "deactivate_unpaid",
            "grace_period_started", "renewal_disabled", "subscription_refunded_revoked",
            "subscription_renewed", "subscription_started_anonymous", "subscription_upgraded",
            "transaction_processed_refund", "transfer_1_deactivate_anonymous",
            "transfer_2_activate_connected", "transfer_3_subscription_transferred",
            "transfer_4_subscription_received",
        ]
    )
    func equalsSample(name: String) throws {
        let published = try #require(try PublishedSamples.json("purchasely/\(name).json").object)
        let isAnonymous = published["anonymous_user_id"] != nil || name.hasPrefix("transfer")
        let holder: JSONObject = isAnonymous ? ["anonymous": "anon"] : ["user": "ada"]
        var purchase = holder
        purchase["store"] = published["store"]
        if name.contains("one_time") { purchase["type"] = "NON_CONSUMABLE" }
        var state = PurchaselyState()
        var events = try act(&state, .purchase, purchase)
        var more: [(PurchaselyAction, JSONObject)] = []
        switch name {
        case "activate_renewal_google", "subscription_renewed": more = [(.renew, [:])]
        case "deactivate_unpaid": more = [(.renew, [:]), (.enterBillingRetry, [:])]
        case "grace_period_started": more = [(.startGrace, [:])]
        case "renewal_disabled": more = [(.disableRenewal, [:])]
        case "subscription_refunded_revoked", "transaction_processed_refund":
            more = [(.refund, [:])]
        case "subscription_upgraded": more = [(.changePlan, ["plan": "PLUS_YEARLY"])]
        case let name where name.hasPrefix("transfer"):
            more = [(.logIn, ["from": "anon", "user": "ada"])]
        default: break
        }
        for (action, body) in more {
            var body = body
            for member in holder.members where action != .logIn { body[member.key] = member.value }
            events = try act(&state, action, body)
        }
        let made = try #require(
            events.last { $0.name == published["event_name"]?.string }
        ).body
        // Where a purchase began is told by the app and not by the store.
        let context: Set = ["placement", "presentation", "content_id", "attribution"]
        let theirs = Set(published.keys).subtracting(context)
        #expect(Set(made.keys).subtracting(theirs) == [])
        // The very first events lack it in one sample and carry it in others.
        #expect(theirs.subtracting(made.keys).subtracting(["previous_offer_type"]) == [])
        for key in theirs.intersection(made.keys) {
            #expect(made[key]?.kind == published[key]?.kind, "\(key)")
        }
    }
}
