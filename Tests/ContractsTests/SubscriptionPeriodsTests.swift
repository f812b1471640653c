import Contracts
import Providers
import TestSupport
import Testing

/// What happens within a period carries its dates (RevenueCat fact sheet, section 3).
@Suite("Periods")
struct PeriodsTests {
    private static func event(
        _ type: String,
        at time: Duration,
        _ change: (inout EventSpec) -> Void = { _ in }
    ) -> Step {
        var spec = EventSpec(type: RevenueCatEventType(rawValue: type), user: "ada")
        spec.time = time
        change(&spec)
        return .deliver(Delivery(name: type, subject: .event(spec)))
    }

    private static let day = Duration.seconds(86_400)

    /// The dates of the last step, in the judged run and in its twin.
    private static func dates(
        _ steps: [Step],
        _ relation: Expectation.BaselineRelation = .faultFree
    ) -> [EventSpec] {
        var contract = SampleContract.contract(relation: relation)
        (contract.given, contract.steps) = (Array(steps.dropLast()), steps.suffix(1))
        let plan = CasePlan(contract)
        return [plan.subject.steps, plan.baseline?.steps ?? []].compactMap { steps in
            guard case .deliver(let delivery) = steps.last,
                let spec = delivery.event?.content as? EventSpec
            else { return nil }
            return spec
        }
    }

    private static let purchase = event("INITIAL_PURCHASE", at: day * -40) {
        $0.expires = day * -10
    }
    private static let renewal = event("RENEWAL", at: day * -10) {
        $0.purchased = day * -9
        $0.expires = day * 20
    }

    @Test(
        "an event within a period refers to it",
        arguments: [
            "CANCELLATION", "UNCANCELLATION", "BILLING_ISSUE", "PRODUCT_CHANGE",
            "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED",
        ]
    )
    func inside(type: String) {
        let specs = Self.dates([Self.purchase, Self.renewal, Self.event(type, at: Self.day * -1)])
        #expect(specs.count == 2)
        for spec in specs {
            #expect(spec.purchased == Self.day * -9)
            #expect(spec.expires == Self.day * 20)
        }
    }

    @Test func `an event before the renewal refers to the earlier period`() {
        let specs = Self.dates([
            Self.renewal, Self.purchase, Self.event("CANCELLATION", at: Self.day * -20),
        ])
        #expect(specs.map(\.purchased) == [Self.day * -40, Self.day * -40])
        #expect(specs.map(\.expires) == [Self.day * -10, Self.day * -10])
    }

    @Test func `a past period ends with its event`() {
        let refund = Self.event("CANCELLATION", at: Self.day * -1) {
            $0.reason = "CUSTOMER_SUPPORT"
        }
        for step in [refund, Self.event("EXPIRATION", at: Self.day * -1)] {
            for spec in Self.dates([Self.renewal, step]) {
                #expect(spec.purchased == Self.day * -9)
                #expect(spec.expires == nil)
            }
        }
    }

    @Test func `a lifetime purchase is cancelled without an end`() {
        let once = Self.event("NON_RENEWING_PURCHASE", at: Self.day * -2) { $0.isLifetime = true }
        let specs = Self.dates([once, Self.event("REFUND_REVERSED", at: Self.day * -1)])
        #expect(specs.map(\.isLifetime) == [true, true])
    }

    @Test func `explicit dates are kept, and a new period has its own dates`() {
        let said = Self.event("CANCELLATION", at: .zero) {
            $0.purchased = .seconds(1)
            $0.expires = .seconds(2)
        }
        #expect(Self.dates([Self.renewal, said]).map(\.purchased) == [.seconds(1), .seconds(1)])
        #expect(Self.dates([Self.purchase, Self.renewal]).map(\.expires).first == Self.day * 20)
        let another = Self.event("RENEWAL", at: .zero)
        #expect(Self.dates([Self.purchase, another]).map(\.purchased) == [nil, nil])
    }

    @Test(
        "a different person, product, store or environment has its own period",
        arguments: [
            { $0.user = "bob" }, { $0.product = "premium_yearly" }, { $0.store = "PLAY_STORE" },
            { $0.environment = "SANDBOX" }, { $0.time = day * -50 },
        ] as [@Sendable (inout EventSpec) -> Void]
    )
    func others(change: @Sendable (inout EventSpec) -> Void) {
        let event = Self.event("CANCELLATION", at: Self.day * -1, change)
        let specs = Self.dates([Self.purchase, Self.renewal, event])
        #expect(specs.map(\.purchased) == [nil, nil])
    }
}

/// Ends that come while a case goes on.
@Suite("Soon")
struct SoonTests {
    private static func plan(_ change: (inout EventSpec) -> Void) -> RunPlan {
        var spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
        change(&spec)
        let delivery = Delivery(name: "a", subject: .event(spec))
        return RunPlan(steps: [.deliver(delivery)], users: ["ada"], observesFinalState: true)
    }

    private static func spec(_ plan: RunPlan) -> EventSpec? {
        guard let spec = plan.deliveries.first?.event?.content as? EventSpec else { return nil }
        return spec
    }

    @Test func `soon is shortly after the start of the run`() {
        let plan = Self.plan { $0.periodEndsSoon = true }
        #expect(plan.hasPeriodEndingSoon)
        let withFixedPeriodEnd = plan.withFixedPeriodEnd(from: .seconds(3600))
        #expect(!withFixedPeriodEnd.hasPeriodEndingSoon)
        #expect(
            Self.spec(withFixedPeriodEnd)?.expires == .seconds(3600) + RunPlan.soonPeriodDefault
        )
        #expect(Self.spec(withFixedPeriodEnd)?.grace == nil)
    }

    @Test func `a slow backend gets more time`() {
        var plan = Self.plan { $0.graceEndsSoon = true }
        plan.timeUntilSoonPeriodEnd = .seconds(27)
        let withFixedPeriodEnd = plan.withFixedPeriodEnd(from: .seconds(10))
        #expect(Self.spec(withFixedPeriodEnd)?.grace == .seconds(37))
        #expect(Self.spec(withFixedPeriodEnd)?.expires == nil)
    }

    @Test func `explicit times are kept`() {
        let plan = Self.plan { $0.expires = .seconds(5) }
        #expect(!plan.hasPeriodEndingSoon)
        #expect(plan.withFixedPeriodEnd(from: .seconds(10)) == plan)
    }
}
