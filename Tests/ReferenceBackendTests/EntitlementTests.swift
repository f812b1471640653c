import Foundation
import Testing

@testable import ReferenceBackend

/// The effect table C.1 of the identity rules, row by row.
@Suite("Effects of events on subscriptions")
struct EntitlementTests {
    private static let policy = Entitlement.Policy()

    /// A subscription that runs until 5000, as of 1000.
    private func running(_ change: (inout Subscription) -> Void = { _ in }) -> Subscription {
        var subscription = Subscription(
            userID: 1,
            productID: "premium_monthly",
            isSandbox: false,
            expiresAt: 5000,
            asOf: 1000
        )
        change(&subscription)
        return subscription
    }

    private func after(
        _ type: String,
        _ members: [String: Any] = [:],
        _ subscription: Subscription
    ) throws -> Subscription {
        var subscription = subscription
        let all = ["type": type, "event_timestamp_ms": 2000].merging(members) { $1 }
        Self.policy.apply(try StoreFixture.event(all), to: &subscription)
        return subscription
    }

    // MARK: Access

    @Test(
        "access follows from the dates",
        arguments: [
            (5000, nil, false, 4999, true), (5000, nil, false, 5000, false),
            (5000, nil, false, 5001, false), (nil, nil, false, .max, true),
            (nil, nil, true, 0, false), (5000, nil, true, 0, false),
            (5000, 7000, false, 6999, true), (5000, 7000, false, 7000, false),
            (5000, 3000, false, 4000, true), (5000, 7000, true, 6000, false),
        ] as [(Int64?, Int64?, Bool, Int64, Bool)]
    )
    func access(expires: Int64?, grace: Int64?, hasEnded: Bool, now: Int64, hasAccess: Bool) {
        let subscription = running {
            $0.expiresAt = expires
            $0.graceEndsAt = grace
            $0.hasEnded = hasEnded
        }
        #expect(Entitlement.givesAccess(subscription, at: now) == hasAccess)
    }

    @Test(
        "a grant of Purchasely's as well",
        arguments: [
            (true, nil, .max, true), (true, 5000, 4999, true), (true, 5000, 5000, false),
            (false, nil, 0, false), (false, 5000, 0, false),
        ] as [(Bool, Int64?, Int64, Bool)]
    )
    func grants(isActive: Bool, expires: Int64?, now: Int64, hasAccess: Bool) {
        let grant = Grant(
            subscriptionID: "s",
            plan: "p",
            userID: 1,
            isActive: isActive,
            expiresAt: expires,
            asOf: 0
        )
        #expect(grant.givesAccess(at: now) == hasAccess)
    }

    // MARK: Beginnings

    @Test("paid events clear problems", arguments: ["INITIAL_PURCHASE", "RENEWAL"])
    func heals(type: String) throws {
        let broken = running {
            $0.graceEndsAt = 6000
            $0.hasEnded = true
            $0.refunded = true
            $0.willRenew = false
            $0.billingIssue = true
            $0.pendingProductID = "other"
        }
        let now = try after(type, ["expiration_at_ms": 9000], broken)
        #expect(now.expiresAt == 9000)
        #expect(now.graceEndsAt == nil)
        #expect(!now.hasEnded && !now.refunded && !now.billingIssue)
        #expect(now.willRenew)
        #expect(now.pendingProductID == nil)
    }

    @Test(
        "events that restore access leave renewal and billing unchanged",
        arguments: [
            "NON_RENEWING_PURCHASE", "REFUND_REVERSED", "SUBSCRIPTION_EXTENDED",
            "TEMPORARY_ENTITLEMENT_GRANT",
        ]
    )
    func givesBack(type: String) throws {
        let broken = running {
            $0.hasEnded = true
            $0.refunded = true
            $0.willRenew = false
            $0.billingIssue = true
            $0.pendingProductID = "other"
        }
        let now = try after(type, ["expiration_at_ms": 9000], broken)
        #expect(now.expiresAt == 9000)
        #expect(!now.hasEnded && !now.refunded)
        #expect(!now.willRenew && now.billingIssue)
        #expect(now.pendingProductID == "other")
    }

    @Test func `without an expiry it never ends`() throws {
        let now = try after(
            "NON_RENEWING_PURCHASE",
            ["expiration_at_ms": NSNull()],
            running()
        )
        #expect(now.expiresAt == nil)
        #expect(Entitlement.givesAccess(now, at: .max))
    }

    // MARK: Ends

    @Test(
        "a cancellation without a refund ends renewal but not access, for every reason",
        arguments: ["UNSUBSCRIBE", "DEVELOPER_INITIATED", "PRICE_INCREASE", "UNKNOWN", "NEW"]
    )
    func cancels(reason: String) throws {
        let now = try after(
            "CANCELLATION",
            ["cancel_reason": reason, "expiration_at_ms": 1500],
            running()
        )
        #expect(!now.willRenew)
        #expect(now.expiresAt == 5000, "the period that was paid for goes on")
        #expect(!now.refunded && !now.billingIssue && !now.hasEnded)
    }

    @Test func `a refund ends both, and takes the grace period with it`() throws {
        let now = try after(
            "CANCELLATION",
            ["cancel_reason": "CUSTOMER_SUPPORT", "expiration_at_ms": 1500],
            running { $0.graceEndsAt = 9000 }
        )
        #expect(now.refunded)
        #expect(now.expiresAt == 1500)
        #expect(!Entitlement.givesAccess(now, at: 1500))
        #expect(Entitlement.givesAccess(now, at: 1499))
    }

    @Test func `a billing error is recorded and changes no date`() throws {
        let now = try after("CANCELLATION", ["cancel_reason": "BILLING_ERROR"], running())
        #expect(now.billingIssue)
        #expect(now.expiresAt == 5000)
        #expect(!now.refunded)
    }

    @Test func `the team's own grant ends when it is taken back`() throws {
        let members: [String: Any] = ["store": "PROMOTIONAL", "expiration_at_ms": 1500]
        #expect(try after("CANCELLATION", members, running()).expiresAt == 1500)
    }

    @Test func `an expiration ends the subscription, regardless of its date`() throws {
        let now = try after("EXPIRATION", ["expiration_at_ms": 99_000], running())
        #expect(now.hasEnded && !now.willRenew)
        #expect(!Entitlement.givesAccess(now, at: 0))
    }

    // MARK: In between

    @Test func `a billing issue keeps access through the grace period`() throws {
        let now = try after(
            "BILLING_ISSUE",
            ["grace_period_expiration_at_ms": 8000],
            running()
        )
        #expect(now.billingIssue)
        #expect(Entitlement.givesAccess(now, at: 7999))
        #expect(!Entitlement.givesAccess(now, at: 8000))
        let without = try after("BILLING_ISSUE", [:], running { $0.graceEndsAt = 8000 })
        #expect(!Entitlement.givesAccess(without, at: 5000), "none is none")
    }

    @Test func `a product change waits for its renewal`() throws {
        let now = try after(
            "PRODUCT_CHANGE",
            ["new_product_id": "premium_annual"],
            running()
        )
        #expect(now.pendingProductID == "premium_annual")
        #expect(now.productID == "premium_monthly")
        #expect(now.expiresAt == 5000)
    }

    @Test func `an uncancellation turns renewal on and nothing else`() throws {
        let now = try after(
            "UNCANCELLATION",
            ["expiration_at_ms": 1],
            running {
                $0.willRenew = false
                $0.billingIssue = true
            }
        )
        #expect(now.willRenew && now.billingIssue)
        #expect(now.expiresAt == 5000)
    }

    @Test(
        "a pause or an unknown event changes nothing",
        arguments: ["SUBSCRIPTION_PAUSED", "X"]
    )
    func changesNothing(type: String) throws {
        let before = running()
        let now = try after(type, ["expiration_at_ms": 1], before)
        #expect(now.expiresAt == before.expiresAt)
        #expect(now.willRenew == before.willRenew)
        #expect(now.hasEnded == before.hasEnded)
        #expect(now.asOf == 2000, "but it has been heard of")
    }

    @Test func `the time only moves forward, and the store is learnt`() throws {
        let old = running { $0.asOf = 9000 }
        #expect(try after("RENEWAL", [:], old).asOf == 9000)
        #expect(try after("RENEWAL", ["store": "STRIPE"], running()).store == "STRIPE")
        let kept = running { $0.store = "STRIPE" }
        #expect(try after("RENEWAL", ["store": NSNull()], kept).store == "STRIPE")
    }

    // MARK: What people are told

    @Test(
        "one accurate message per incident",
        arguments: [
            ("INITIAL_PURCHASE", nil, "Welcome!"), ("RENEWAL", nil, "renewed"),
            ("UNCANCELLATION", nil, "continues"), ("BILLING_ISSUE", nil, "problem"),
            ("EXPIRATION", nil, "ended"), ("CANCELLATION", "UNSUBSCRIBE", "will not renew"),
            ("CANCELLATION", nil, "will not renew"),
            ("CANCELLATION", "CUSTOMER_SUPPORT", "refunded"),
            ("CANCELLATION", "BILLING_ERROR", nil), ("PRODUCT_CHANGE", nil, nil),
            ("TRANSFER", nil, nil), ("FUTURE", nil, nil),
        ] as [(String, String?, String?)]
    )
    func texts(type: String, reason: String?, part: String?) throws {
        let event = try StoreFixture.event(["type": type, "cancel_reason": reason ?? NSNull()])
        let text = Notification.text(for: event)
        #expect((text == nil) == (part == nil))
        if let part { #expect(text?.contains(part) == true, "\(text ?? "")") }
    }

    @Test(
        "stale and free events send no message",
        arguments: [
            (false, "PRODUCTION", true), (true, "PRODUCTION", false), (false, "SANDBOX", false),
            (true, "SANDBOX", false),
        ]
    )
    func news(isStale: Bool, environment: String, shouldNotify: Bool) throws {
        let event = try StoreFixture.event(["environment": environment])
        #expect(Notification.shouldNotify(event, isStale: isStale) == shouldNotify)
    }
}
