import Grammar
import Providers
import Testing
import Values

/// A store with one webhook that takes everything, moved by actions and by time.
private final class Shop {
    var services = Services(seed: 7)
    var now = Instant(milliseconds: 1_790_000_000_000)

    /// Carries out an action and returns the events it sent.
    func act(
        _ kind: StoreAction.Kind,
        _ user: String = "ada",
        _ change: (inout StoreAction) -> Void = { _ in }
    ) throws -> [JSONObject] {
        var action = StoreAction(kind, user: user)
        change(&action)
        now = now + .seconds(1)
        try services.revenueCat.carryOut(action, at: now)
        return services.revenueCat.takeEvents()
    }

    /// Lets time pass and returns the events it brought.
    func pass(days: Int64 = 0, seconds: Int64 = 0) -> [JSONObject] {
        now = now + .seconds(days * 86_400 + seconds)
        services.revenueCat.advance(to: now)
        return services.revenueCat.takeEvents()
    }

    func rest(_ user: String = "ada") -> JSONValue {
        let reply = services.revenueCat.respond(
            to: HTTPMessage.Request("GET", "/v1/subscribers/\(user.percentEncoded)"),
            at: now
        )
        return (try? JSONValue(parsing: reply.response.body))?["subscriber"] ?? .null
    }

    func line(_ product: String = "premium_monthly", _ user: String = "ada") -> Purchase? {
        services.revenueCat.customer(user)?.subscription(to: product)
    }

    /// Whether REST gives access, by the access rule of the fact sheet's section 4.2.
    func hasAccess(_ user: String = "ada") -> Bool {
        (rest(user)["entitlements"]?.object?.members ?? []).contains { member in
            guard let text = member.value["expires_date"]?.string else { return true }
            return Instant(iso8601: text).map { $0 > now } ?? false
        }
    }
}

/// `CANCELLATION(UNSUBSCRIBE)`: what a flow of the fact sheet names.
private func names(_ events: [JSONObject]) -> [String] {
    events.map { event in
        let reason = event["cancel_reason"] ?? event["expiration_reason"]
        return (event["type"]?.string ?? "") + (reason?.string.map { "(\($0))" } ?? "")
    }
}

@Suite("Flows of the store")
struct StoreFlowTests {
    private static let day: Int64 = 86_400_000

    @Test(
        "a webhook without paywall events gets none, whatever their names are",
        arguments: [nil, "PAYWALL_CLOSE", "PAYWALL_AUTUMN", "paywall_impression"]
    )
    func withoutPaywallEvents(name: String?) throws {
        let events = try Shop().act(.paywall) { $0.type = name }
        var webhook = WebhookConfiguration(id: "main", url: "http://127.0.0.1:1/")
        #expect(events.count == 1 && events.allSatisfy(webhook.accepts))
        webhook.sendsPaywallEvents = false
        #expect(!events.contains(where: webhook.accepts))
    }

    @Test func `1 and 2: purchase and renewal`() throws {
        let shop = Shop()
        let bought = try shop.act(.purchase)
        #expect(names(bought) == ["INITIAL_PURCHASE"])
        let event = try #require(bought.first)
        let start = try #require(event["purchased_at_ms"]?.int64)
        #expect(event["expiration_at_ms"]?.int64 == start + 30 * Self.day)
        #expect(event["transaction_id"] == event["original_transaction_id"])
        #expect(event["price"] == .number(JSONNumber(9.99)))
        #expect(shop.hasAccess())
        let renewed = shop.pass(days: 30)
        #expect(names(renewed) == ["RENEWAL"])
        #expect(renewed.first?["is_trial_conversion"] == false)
        #expect(renewed.first?["purchased_at_ms"]?.int64 == start + 30 * Self.day)
        #expect(renewed.first?["original_transaction_id"] == event["transaction_id"])
        #expect(renewed.first?["transaction_id"] != event["transaction_id"])
        #expect(shop.hasAccess())
        #expect(names(shop.pass(days: 61)) == ["RENEWAL", "RENEWAL"])
    }

    @Test func `3: cancel and let lapse`() throws {
        let shop = Shop()
        let end = try shop.act(.purchase).first?["expiration_at_ms"]
        let cancelled = try shop.act(.cancel)
        #expect(names(cancelled) == ["CANCELLATION(UNSUBSCRIBE)"])
        #expect(cancelled.first?["expiration_at_ms"] == end)
        #expect(shop.hasAccess())
        #expect(shop.line()?.unsubscribed != nil)
        let lapsed = shop.pass(days: 31)
        #expect(names(lapsed) == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(lapsed.first?["expiration_at_ms"] == end)
        #expect(!shop.hasAccess())
        #expect(shop.pass(days: 400).isEmpty)
    }

    @Test func `4: cancel and change one's mind`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase)
        _ = try shop.act(.cancel)
        #expect(names(try shop.act(.uncancel)) == ["UNCANCELLATION"])
        #expect(
            shop.rest()["subscriptions"]?["premium_monthly"]?["unsubscribe_detected_at"] == .null
        )
        #expect(names(shop.pass(days: 31)) == ["RENEWAL"])
    }

    @Test func `5: resubscribe after a lapse, either type`() throws {
        for type in [RevenueCatSettings.PurchaseType.initialPurchase, .renewal] {
            let shop = Shop()
            shop.services.revenueCat.settings.resubscriptionEvent = type
            _ = try shop.act(.purchase)
            _ = try shop.act(.cancel)
            _ = shop.pass(days: 40)
            let again = try shop.act(.purchase)
            #expect(names(again) == [type.rawValue])
            #expect(again.first?["original_transaction_id"]?.string?.isEmpty == false)
            #expect(shop.hasAccess())
        }
        let trial = Shop()
        _ = try trial.act(.purchase) { $0.period = "TRIAL" }
        _ = try trial.act(.cancel)
        _ = trial.pass(days: 10)
        let back = try trial.act(.purchase)
        #expect(names(back) == ["RENEWAL"])
        #expect(back.first?["is_trial_conversion"] == true)
    }

    @Test func `6 and 7: billing failure with grace, recovered or not`() throws {
        for recovers in [true, false] {
            let shop = Shop()
            let end = try #require(try shop.act(.purchase).first?["expiration_at_ms"]?.int64)
            let failed = try shop.act(.billingIssue) { $0.grace = .seconds(16 * 86_400) }
            #expect(names(failed) == ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)"])
            #expect(
                failed[0]["grace_period_expiration_at_ms"]?.int64 == end + 16 * Self.day
            )
            #expect(failed[1]["grace_period_expiration_at_ms"] == nil)
            #expect(shop.pass(days: 31).isEmpty)
            #expect(shop.hasAccess(), "grace goes beyond the period")
            if recovers {
                #expect(names(try shop.act(.recover)) == ["RENEWAL"])
                #expect(shop.line()?.graceEnd == nil)
                #expect(shop.hasAccess())
            } else {
                #expect(names(shop.pass(days: 16)) == ["EXPIRATION(BILLING_ERROR)"])
                #expect(!shop.hasAccess())
            }
        }
        let resubscribed = Shop()
        _ = try resubscribed.act(.purchase)
        _ = try resubscribed.act(.billingIssue) { $0.grace = .seconds(16 * 86_400) }
        _ = resubscribed.pass(days: 31)
        #expect(names(try resubscribed.act(.purchase)) == ["RENEWAL"])
    }

    @Test func `8: billing failure without grace`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase)
        let failed = try shop.act(.billingIssue)
        #expect(
            names(failed) == [
                "BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)", "EXPIRATION(BILLING_ERROR)",
            ]
        )
        #expect(failed[0]["grace_period_expiration_at_ms"] == .null)
        #expect(!shop.hasAccess())
        #expect(names(try shop.act(.recover)) == ["RENEWAL"])
        #expect(shop.hasAccess())
    }

    @Test func `8b: Stripe counts the failed period as begun`() throws {
        let shop = Shop()
        let bought = try #require(try shop.act(.purchase) { $0.store = "STRIPE" }.first)
        let end = try #require(bought["expiration_at_ms"]?.int64)
        let failed = try shop.act(.billingIssue)
        #expect(names(failed) == ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)"])
        #expect(failed[0]["expiration_at_ms"]?.int64 == end + 30 * Self.day)
        #expect(failed[0]["renewal_number"] == 2)
        let gap = try #require(failed[1]["event_timestamp_ms"]?.int64)
        #expect(gap == (failed[0]["event_timestamp_ms"]?.int64 ?? 0) + 11)
        #expect(shop.hasAccess())
        let paid = try shop.act(.recover)
        #expect(names(paid) == ["RENEWAL"])
        #expect(paid[0]["expiration_at_ms"] == failed[0]["expiration_at_ms"])
        #expect(paid[0]["renewal_number"] == 2)
        #expect(paid[0]["transaction_id"] == bought["transaction_id"])
    }

    @Test func `9: a Play Store subscription can be paused, an App Store subscription cannot`()
        throws
    {
        let shop = Shop()
        _ = try shop.act(.purchase) { $0.store = "PLAY_STORE" }
        let paused = try shop.act(.pause) { $0.by = .seconds(20 * 86_400) }
        #expect(names(paused) == ["SUBSCRIPTION_PAUSED"])
        let resume = try #require(paused[0]["auto_resume_at_ms"]?.int64)
        #expect(resume > paused[0]["expiration_at_ms"]?.int64 ?? .max)
        #expect(shop.hasAccess(), "until the period ends")
        #expect(names(shop.pass(days: 31)) == ["EXPIRATION(SUBSCRIPTION_PAUSED)"])
        #expect(!shop.hasAccess())
        #expect(names(shop.pass(days: 20)) == ["RENEWAL"])
        #expect(shop.hasAccess())
        let apple = Shop()
        _ = try apple.act(.purchase)
        #expect(throws: StoreAction.Refusal.self) { try apple.act(.pause) }
    }

    @Test(
        "10 to 12: product changes",
        arguments: ["APP_STORE", "STRIPE", "PLAY_STORE"],
        [false, true]
    )
    func changesProduct(store: String, isAtPeriodEnd: Bool) throws {
        let shop = Shop()
        _ = try shop.act(.purchase) { $0.store = store }
        let changed = try shop.act(.changeProduct) {
            $0.newProduct = "premium_yearly"
            $0.isAtPeriodEnd = isAtPeriodEnd
        }
        let suffix = store == "PLAY_STORE" ? ":base-plan" : ""
        #expect(changed[0]["product_id"] == .string("premium_monthly" + suffix))
        if isAtPeriodEnd {
            #expect(names(changed) == ["PRODUCT_CHANGE"])
            #expect(changed[0]["new_product_id"] == .string("premium_yearly" + suffix))
            #expect(shop.line() != nil, "nothing changes before the period ends")
            let renewed = shop.pass(days: 31)
            #expect(names(renewed) == ["RENEWAL"])
            #expect(renewed[0]["product_id"] == .string("premium_yearly" + suffix))
        } else {
            let isPlay = store == "PLAY_STORE"
            #expect(names(changed) == ["PRODUCT_CHANGE", isPlay ? "INITIAL_PURCHASE" : "RENEWAL"])
            #expect((changed[0]["new_product_id"] == nil) == isPlay)
            #expect(changed[1]["product_id"] == .string("premium_yearly" + suffix))
        }
        #expect(shop.line()?.hasEnded == true, "the line that is left stays, with its end")
        #expect(shop.line("premium_yearly")?.hasEnded == false)
        #expect(shop.hasAccess())
    }

    @Test func `13: refund and its reversal`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase)
        let refunded = try shop.act(.refund)
        #expect(
            names(refunded) == ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"]
        )
        #expect(refunded[0]["price"] == .number(JSONNumber(-9.99)))
        let end = try #require(refunded[0]["expiration_at_ms"]?.int64)
        #expect(end <= refunded[0]["event_timestamp_ms"]?.int64 ?? 0)
        #expect(!shop.hasAccess())
        #expect(shop.line()?.refunded != nil)
        let back = try shop.act(.reverseRefund)
        #expect(names(back) == ["REFUND_REVERSED"])
        #expect(back[0]["price"] == .number(JSONNumber(9.99)))
        #expect(shop.hasAccess())
        #expect(shop.line()?.refunded == nil)
    }

    @Test func `13b: the refund of an earlier period says nothing`() throws {
        let shop = Shop()
        let first = try shop.act(.purchase) { $0.store = "PLAY_STORE" }.first?["transaction_id"]
        _ = shop.pass(days: 31)
        let id = try #require(first?.string)
        let request = HTTPMessage.Request("POST", "/v1/subscribers/ada/transactions/\(id)/refund")
        let reply = shop.services.revenueCat.respond(to: request, at: shop.now)
        #expect(reply.response.status == 200)
        #expect(shop.services.revenueCat.takeEvents().isEmpty)
        #expect(shop.hasAccess())
    }

    @Test func `13c: a reversed refund renews, unless the period is over by then`() throws {
        let early = Shop()
        _ = try early.act(.purchase)
        _ = try early.act(.refund)
        _ = try early.act(.reverseRefund)
        #expect(names(early.pass(days: 31)) == ["RENEWAL"])
        let late = Shop()
        _ = try late.act(.purchase)
        _ = try late.act(.refund)
        _ = late.pass(days: 60)
        #expect(names(try late.act(.reverseRefund)) == ["REFUND_REVERSED"])
        #expect(late.pass(days: 60).isEmpty)
        #expect(!late.hasAccess())
    }

    @Test func `endings of the rarer ways`() throws {
        let stripe = Shop()
        _ = try stripe.act(.purchase) { $0.store = "STRIPE" }
        _ = try stripe.act(.billingIssue)
        #expect(names(stripe.pass(days: 90)) == ["EXPIRATION(BILLING_ERROR)"])
        let paused = Shop()
        _ = try paused.act(.purchase) { $0.store = "PLAY_STORE" }
        _ = try paused.act(.pause)
        _ = try paused.act(.cancel)
        #expect(names(paused.pass(days: 90)) == ["EXPIRATION(UNSUBSCRIBE)"])
        let shared = Shop()
        _ = try shared.act(.purchase, "bob")
        _ = try shared.act(.familyShare, "ada") { $0.from = "bob" }
        #expect(names(shared.pass(days: 31)) == ["RENEWAL", "RENEWAL"])
        _ = try shared.act(.cancel, "bob")
        #expect(Set(names(shared.pass(days: 31))) == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(!shared.hasAccess("ada"))
    }

    @Test func `REST may lag behind the webhook`() throws {
        let shop = Shop()
        shop.services.revenueCat.settings.restLagSeconds = 60
        _ = try shop.act(.setAttributes)
        _ = shop.pass(seconds: 120)
        #expect(names(try shop.act(.purchase)) == ["INITIAL_PURCHASE"])
        #expect(!shop.hasAccess(), "the event is out, REST does not show it yet")
        _ = shop.pass(seconds: 61)
        #expect(shop.hasAccess())
    }

    @Test func `repeated actions and actions unsupported by the store are refused`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase)
        _ = try shop.act(.cancel)
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.cancel) }
        _ = try shop.act(.refund)
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.refund) }
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.purchase, "null") }
        let stripe = Shop()
        _ = try stripe.act(.purchase) { $0.store = "STRIPE" }
        for kind in [StoreAction.Kind.uncancel, .reverseRefund, .pause] {
            #expect(throws: StoreAction.Refusal.self) { try stripe.act(kind) }
        }
    }

    @Test func `14 to 16: trial and intro`() throws {
        let trial = Shop()
        let began = try trial.act(.purchase) { $0.period = "TRIAL" }
        #expect(began[0]["price"] == 0 && began[0]["period_type"] == "TRIAL")
        #expect(trial.rest()["subscriptions"]?["premium_monthly"]?["period_type"] == "trial")
        let converted = trial.pass(days: 8)
        #expect(names(converted) == ["RENEWAL"])
        #expect(converted[0]["is_trial_conversion"] == true)
        #expect(
            converted[0]["period_type"] == "NORMAL"
                && converted[0]["price"] == .number(JSONNumber(9.99))
        )

        let left = Shop()
        _ = try left.act(.purchase) { $0.period = "TRIAL" }
        let cancelled = try left.act(.cancel)
        #expect(cancelled[0]["period_type"] == "TRIAL")
        #expect(left.hasAccess())
        #expect(names(left.pass(days: 8)) == ["EXPIRATION(UNSUBSCRIBE)"])

        let intro = Shop()
        let first = try intro.act(.purchase) { $0.period = "INTRO" }
        #expect(first[0]["price"] != 0)
        let renewed = intro.pass(days: 31)
        #expect(renewed[0]["is_trial_conversion"] == false)
    }

    @Test func `17: transfer`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase, "bob")
        let moved = try shop.act(.transfer, "ada") { $0.from = "bob" }
        #expect(names(moved) == ["TRANSFER"])
        #expect(moved[0]["transferred_from"] == ["bob"] && moved[0]["transferred_to"] == ["ada"])
        #expect(shop.hasAccess("ada") && !shop.hasAccess("bob"))
        let later = shop.pass(days: 31)
        #expect(names(later) == ["RENEWAL"])
        #expect(later[0]["app_user_id"] == "ada")
    }

    @Test func `18 and 19: lifetime and consumable`() throws {
        let shop = Shop()
        let bought = try shop.act(.purchase) { $0.product = "lifetime" }
        #expect(names(bought) == ["NON_RENEWING_PURCHASE"])
        #expect(bought[0]["expiration_at_ms"] == .null)
        #expect(shop.hasAccess())
        #expect(shop.pass(days: 4000).isEmpty)
        #expect(
            names(try shop.act(.refund) { $0.product = "lifetime" })
                == ["CANCELLATION(CUSTOMER_SUPPORT)"]
        )
        #expect(shop.rest()["non_subscriptions"] == [:])
        #expect(!shop.hasAccess())
        #expect(
            names(try shop.act(.reverseRefund) { $0.product = "lifetime" })
                == ["REFUND_REVERSED"]
        )
        #expect(shop.hasAccess())

        let coins = Shop()
        for _ in 0..<2 { _ = try coins.act(.purchase) { $0.product = "coins_100" } }
        #expect(coins.rest()["non_subscriptions"]?["coins_100"]?.array?.count == 2)
        #expect(!coins.hasAccess())
    }

    @Test func `a refund that is taken back is the customer's own`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase, "bob") { $0.product = "lifetime" }
        _ = try shop.act(.refund, "bob") { $0.product = "lifetime" }
        _ = try shop.act(.purchase, "ada") { $0.product = "coins_100" }
        #expect(throws: StoreAction.Refusal.self) {
            _ = try shop.act(.reverseRefund, "ada") { $0.product = "lifetime" }
        }
        #expect(!shop.hasAccess("ada"))
        // It goes where the customer's purchases go.
        _ = try shop.act(.purchase, "bob")
        _ = try shop.act(.transfer, "ada") { $0.from = "bob" }
        #expect(
            names(try shop.act(.reverseRefund, "ada") { $0.product = "lifetime" })
                == ["REFUND_REVERSED"]
        )
        #expect(throws: StoreAction.Refusal.self, "it was taken back") {
            _ = try shop.act(.reverseRefund, "ada") { $0.product = "lifetime" }
        }
    }

    @Test func `20 to 22: promotional grants`() throws {
        let shop = Shop()
        let granted = try shop.act(.grant) { $0.duration = "weekly" }
        #expect(names(granted) == ["NON_RENEWING_PURCHASE"])
        #expect(granted[0]["store"] == "PROMOTIONAL" && granted[0]["environment"] == "PRODUCTION")
        #expect(granted[0]["app_id"] == nil)
        #expect(granted[0]["product_id"] == "rc_promo_premium_weekly")
        #expect(shop.rest()["subscriptions"]?["rc_promo_premium_weekly"]?["store"] == "promotional")
        #expect(shop.hasAccess())
        #expect(names(shop.pass(days: 8)) == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(!shop.hasAccess())
        _ = try shop.act(.grant) { $0.duration = "lifetime" }
        let revoked = try shop.act(.revoke)
        #expect(names(revoked) == ["CANCELLATION(DEVELOPER_INITIATED)", "EXPIRATION(UNSUBSCRIBE)"])
        #expect(revoked[0]["expiration_at_ms"] == revoked[1]["expiration_at_ms"])
        let times = revoked.compactMap { $0["event_timestamp_ms"]?.int64 }
        #expect(times[1] - times[0] == 100)
        #expect(!shop.hasAccess())
    }

    @Test func `23: family share`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase, "bob")
        let shared = try shop.act(.familyShare, "ada") { $0.from = "bob" }
        #expect(names(shared) == ["INITIAL_PURCHASE"])
        #expect(shared[0]["is_family_share"] == true && shared[0]["app_user_id"] == "ada")
        #expect(
            shop.rest()["subscriptions"]?["premium_monthly"]?["ownership_type"] == "FAMILY_SHARED"
        )
        #expect(shop.hasAccess("ada") && shop.hasAccess("bob"))
        #expect(names(try shop.act(.stopFamilyShare, "ada")) == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(!shop.hasAccess("ada") && shop.hasAccess("bob"))
    }

    @Test func `24: extension`() throws {
        let shop = Shop()
        let end = try #require(try shop.act(.purchase).first?["expiration_at_ms"]?.int64)
        let extended = try shop.act(.extend) { $0.by = .seconds(10 * 86_400) }
        #expect(names(extended) == ["SUBSCRIPTION_EXTENDED"])
        #expect(extended[0]["expiration_at_ms"]?.int64 == end + 10 * Self.day)
        #expect(shop.pass(days: 35).isEmpty)
        #expect(names(shop.pass(days: 6)) == ["RENEWAL"])
    }

    @Test func `25: store outage`() throws {
        let shop = Shop()
        let granted = try shop.act(.temporaryGrant)
        #expect(names(granted) == ["TEMPORARY_ENTITLEMENT_GRANT"])
        #expect(shop.hasAccess())
        let ended = shop.pass(days: 2)
        #expect(names(ended) == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(ended[0]["transaction_id"] == granted[0]["transaction_id"])
        let validated = Shop()
        _ = try validated.act(.temporaryGrant)
        #expect(names(try validated.act(.purchase)) == ["INITIAL_PURCHASE"])
        #expect(validated.pass(days: 2).isEmpty)
    }

    @Test func `26: a web purchase is claimed`() throws {
        let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        let shop = Shop()
        _ = try shop.act(.purchase, anonymous) { $0.store = "RC_BILLING" }
        let claimed = try shop.act(.redeem, "ada") { $0.from = anonymous }
        #expect(names(claimed) == ["PURCHASE_REDEEMED"])
        #expect(claimed[0]["redemption_outcome"] == "alias")
        #expect(shop.hasAccess("ada"))
        let named = Shop()
        _ = try named.act(.purchase, "web") { $0.store = "RC_BILLING" }
        #expect(
            names(try named.act(.redeem, "ada") { $0.from = "web" })
                == ["PURCHASE_REDEEMED", "TRANSFER"]
        )
        #expect(named.hasAccess("ada") && !named.hasAccess("web"))
    }

    @Test func `impossible actions are refused and create no customer`() throws {
        let shop = Shop()
        for kind in StoreAction.Kind.allCases {
            let before = shop.services.revenueCat.customer("nobody")
            _ = try? shop.act(kind, "nobody") { $0.from = "nobody too" }
            _ = before
        }
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.renew, "stranger") }
        #expect(shop.services.revenueCat.customer("stranger") == nil)
        _ = try shop.act(.purchase)
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.purchase) }
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.recover) }
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.uncancel) }
        #expect(throws: StoreAction.Refusal.self) { try shop.act(.changeProduct) }
        let misspelt = JSONObject(members: [.init(key: "usr", value: "ada")])
        #expect(throws: StoreAction.Refusal.self) { try StoreAction(.cancel, misspelt) }
        let span = JSONObject(members: [.init(key: "grace", value: "soon")])
        #expect(throws: StoreAction.Refusal.self) { try StoreAction(.billingIssue, span) }
    }
}

@Suite("RevenueCat's OneSignal integration")
struct OneSignalIntegrationTests {
    private func tags(_ shop: Shop, _ event: JSONObject?) throws -> JSONObject {
        let sent = try #require(event)
        let call = try #require(RevenueCatIntegration.call(for: sent, shop.services.revenueCat))
        let body = try JSONValue(parsing: call.body)
        return try #require((body["properties"]?["tags"] ?? body["tags"])?.object)
    }

    @Test func `tags are the documented ones, times in seconds`() throws {
        let shop = Shop()
        _ = try shop.act(.setAttributes) { $0.attributes["$onesignalUserId"] = "os-1" }
        let bought = try shop.act(.purchase)
        let tags = try tags(shop, bought.first)
        #expect(tags["active_subscription"] == "true")
        #expect(tags["subscription_status"] == "active")
        #expect(tags["entitlement_ids"] == "premium")
        #expect(tags["app_user_id"] == "ada" && tags["product_id"] == "premium_monthly")
        let milliseconds = try #require(bought.first?["expiration_at_ms"]?.int64)
        #expect(tags["expiration_at"]?.int64 == milliseconds / 1000)
        _ = try shop.act(.cancel)
        let ended = try self.tags(shop, shop.pass(days: 31).first)
        #expect(ended["active_subscription"] == "false")
        #expect(ended["subscription_status"] == "expired")
        #expect(ended["product_id"] == nil, "the sample of an expiration leaves the others alone")
    }

    @Test func `each id has its own call, and without one there is none`() throws {
        let shop = Shop()
        let silent = try #require(shop.act(.purchase, "bob").first)
        #expect(RevenueCatIntegration.call(for: silent, shop.services.revenueCat) == nil)
        _ = try shop.act(.setAttributes) { $0.attributes["$onesignalId"] = "player-1" }
        let bought = try #require(shop.act(.purchase).first)
        let call = RevenueCatIntegration.call(for: bought, shop.services.revenueCat)
        #expect(call?.method == "PUT" && call?.path == "/api/v1/players/player-1")
        let moved = try #require(shop.act(.transfer, "bob") { $0.from = "ada" }.first)
        #expect(RevenueCatIntegration.call(for: moved, shop.services.revenueCat) == nil)
    }
}

@Suite("Identity at RevenueCat")
struct RevenueCatIdentityTests {
    private static let anonymous = "$RCAnonymousID:00000000000000000000000000000001"
    private static let other = "$RCAnonymousID:00000000000000000000000000000002"

    private func logIn(_ shop: Shop, _ from: String, _ to: String) -> Int {
        let body: JSONValue = ["app_user_id": .string(from), "new_app_user_id": .string(to)]
        let request = HTTPMessage.Request("POST", "/v1/subscribers/identify", body: body.bytes)
        return shop.services.revenueCat.respond(to: request, at: shop.now).response.status
    }

    @Test func `an anonymous buyer who logs in is merged without an event`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase, Self.anonymous)
        #expect(logIn(shop, Self.anonymous, "ada") == 201)
        #expect(shop.services.revenueCat.takeEvents().isEmpty)
        #expect(shop.hasAccess("ada"))
        let customer = try #require(shop.services.revenueCat.customer("ada"))
        #expect(customer.originalID == Self.anonymous)
        #expect(Set(customer.ids) == [Self.anonymous, "ada"])
        let later = shop.pass(days: 31)
        #expect(later[0]["app_user_id"] == "ada")
        #expect(later[0]["original_app_user_id"] == .string(Self.anonymous))
    }

    @Test func `an existing customer takes one anonymous alias and no second`() throws {
        let shop = Shop()
        _ = try shop.act(.setAttributes, "ada")
        _ = try shop.act(.purchase, Self.anonymous)
        #expect(logIn(shop, Self.anonymous, "ada") == 200)
        #expect(shop.hasAccess("ada"))
        _ = try shop.act(.purchase, Self.other) { $0.product = "lifetime" }
        #expect(logIn(shop, Self.other, "ada") == 200)
        #expect(shop.rest("ada")["non_subscriptions"] == [:], "it stays with the anonymous id")
        #expect(shop.hasAccess(Self.other))
    }

    @Test func `identified ids are switched and never merged`() throws {
        let shop = Shop()
        _ = try shop.act(.purchase, "bob")
        #expect(logIn(shop, "bob", "ada") == 201)
        #expect(shop.hasAccess("bob") && !shop.hasAccess("ada"))
    }

    @Test(
        "restoring another user's receipt follows the restore behavior",
        arguments: RevenueCatSettings.RestoreBehavior.allCases,
        [true, false]
    )
    func restores(behavior: RevenueCatSettings.RestoreBehavior, isActive: Bool) throws {
        let shop = Shop()
        shop.services.revenueCat.settings.restoreBehavior = behavior
        _ = try shop.act(.purchase, "bob")
        if !isActive {
            _ = try shop.act(.cancel, "bob")
            _ = shop.pass(days: 40)
        }
        let events = Result { try shop.act(.restore, "ada") { $0.from = "bob" } }
        switch behavior {
        case .transfer: #expect(names(try events.get()) == ["TRANSFER"])
        case .transferIfNoActiveSubscriptions:
            if isActive {
                #expect(throws: StoreAction.Refusal.self) { try events.get() }
            } else {
                #expect(names(try events.get()) == ["TRANSFER"])
            }
        case .keep: #expect(throws: StoreAction.Refusal.self) { try events.get() }
        case .share:
            #expect(try events.get().isEmpty)
            #expect(shop.services.revenueCat.customer("ada")?.ids.contains("bob") == true)
        }
        // An anonymous owner is merged under every behaviour.
        _ = try shop.act(.purchase, Self.anonymous) { $0.product = "lifetime" }
        let merged = try shop.act(.restore, "carl") { $0.from = Self.anonymous }
        #expect(merged.isEmpty)
        #expect(shop.hasAccess("carl"))
    }

    @Test func `receipts say whose they are`() throws {
        let shop = Shop()
        func post(_ user: String, _ token: String, _ more: JSONObject = [:]) -> HTTPMessage.Response
        {
            var body: JSONObject = [
                "app_user_id": .string(user), "fetch_token": .string(token),
                "product_id": "premium_monthly",
            ]
            for member in more.members { body[member.key] = member.value }
            let request = HTTPMessage.Request(
                "POST",
                "/v1/receipts",
                fields: [HTTPMessage.Field("X-Platform", "ios")],
                body: JSONValue.object(body).bytes
            )
            return shop.services.revenueCat.respond(to: request, at: shop.now).response
        }
        #expect(post("ada", "invalid").status == 400)
        #expect(post("ada", "r1").status == 200)
        let first = shop.services.revenueCat.takeEvents()
        #expect(names(first) == ["INITIAL_PURCHASE"])
        // What the app showed names no transaction: all events of the purchase agree on the first.
        let unsubscribed = try shop.act(.cancel, "ada")
        let original = "original_transaction_id"
        #expect(unsubscribed.first?[original] == first.first?[original])
        #expect(first.first?[original]?.string?.isEmpty == false)
        #expect(post("ada", "r1").status == 200, "the same receipt again changes nothing")
        #expect(shop.services.revenueCat.takeEvents().isEmpty)
        #expect(post("bob", "r1", ["is_restore": true]).status == 200)
        #expect(names(shop.services.revenueCat.takeEvents()) == ["TRANSFER"])
        #expect(post("carl", "r2", ["create_events": false]).status == 200)
        #expect(shop.services.revenueCat.takeEvents().isEmpty)
        #expect(shop.hasAccess("carl"))
        shop.services.revenueCat.settings.restoreBehavior = .keep
        let refused = post("dora", "r2")
        #expect((try? JSONValue(parsing: refused.body))?["code"] == 7102)
    }
}
