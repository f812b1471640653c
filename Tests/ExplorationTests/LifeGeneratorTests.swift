import Conformance
import Exploration
import Providers
import Testing

struct LifeGeneratorTests {
    private static let everything = Means(
        features: Set(Feature.allCases),
        showsState: true,
        choosesIDs: false
    )

    private func lives(_ count: Int, seed: UInt64 = 7, _ means: Means = everything) -> [LifeScript]
    {
        var generator = LifeGenerator(seed: seed, options: .init(means: means))
        return (0..<count).map { _ in generator.next().script }
    }

    @Test func `the same seed draws the same lives, to the byte`() {
        let first = lives(60).map { LifeText.text($0.life) }
        #expect(first == lives(60).map { LifeText.text($0.life) })
        #expect(first != lives(60, seed: 8).map { LifeText.text($0.life) })
    }

    @Test func `a life reads as it was written`() throws {
        for script in lives(300) {
            let text = LifeText.text(script.life)
            let read = try LifeText.life(text)
            #expect(read == script.life)
            let again = try LifeScript(read, Self.everything)
            #expect(again.contract == script.contract)
        }
    }

    /// RevenueCat's REST answers are made from the events that were told, and the model of lives from
    /// what the store did: both must give the same access.
    @Test func `what the events of a life tell is what the store model knows`() throws {
        let base = Instant(milliseconds: 1_800_000_000_000)
        let now = base + .seconds(3600)
        var means = Self.everything
        // What is sold as a plan RevenueCat does not know.
        means.features.remove(.purchasely)
        for script in lives(600, means) {
            let namespace = Namespace(name: "n", idForm: .string)
            let factory = EventFactory(.init(namespace: namespace, base: base))
            var told = RevenueCatState(key: nil)
            let plan = CasePlan(script.contract)
            let specs = plan.subject.deliveries.compactMap { delivery -> (EventSpec, String)? in
                guard case .event(let spec) = delivery.subject else { return nil }
                return (spec, delivery.name)
            }
            for (spec, name) in specs.sorted(by: { $0.0.time < $1.0.time }) {
                told.apply(factory.body(spec, name: name))
            }
            for state in script.contract.expectation.states {
                guard let access = state.fields.first(where: { $0.name == "access" })?.value.bool
                else { continue }
                // After a login it is one of two who has it.
                let purchases = state.user.split(separator: "|").flatMap { user in
                    told.customer(namespace.id(of: String(user)))?.purchases ?? []
                }
                let shows = purchases.contains {
                    !$0.isSandbox && !$0.entitlements.isEmpty && $0.isActive(at: now)
                }
                #expect(shows == access, "\(state.user) in \(LifeText.text(script.life))")
            }
        }
    }

    @Test func `nothing is asked of a backend that it does not have`() {
        let means = Means(features: [.subscription], showsState: true, choosesIDs: true)
        for script in lives(200, means) {
            #expect(script.contract.needs.allSatisfy(means.features.contains))
            #expect(script.life.people.allSatisfy { $0.arrival == .registered })
        }
    }

    @Test func `only what was asked for happens`() {
        var options = LifeGenerator.Options(means: Self.everything)
        options.kinds = [.refund, .transfer]
        options.disturbances = [.late]
        var generator = LifeGenerator(seed: 3, options: options)
        var kinds: Set<Act.Kind> = []
        var mishaps: Set<String> = []
        for _ in 0..<200 {
            let life = generator.next().script.life
            kinds.formUnion(life.steps.map(\.act.kind))
            mishaps.formUnion(life.mishaps.map { $0.disturbance.words })
        }
        #expect(kinds == [.purchase, .wait, .refund, .transfer])
        #expect(mishaps == [Disturbance.late(by: 1).words])
    }

    @Test func `every type that changes nothing is told`() throws {
        var told: Set<String> = []
        for script in lives(400) {
            for act in script.life.steps.map(\.act) { if let type = act.type { told.insert(type) } }
        }
        #expect(told.isSuperset(of: LifeModel.idleTypes))
    }

    @Test(arguments: [("RC_BILLING", true), ("APP_STORE", false)])
    func `what is redeemed was bought on the web`(_ store: String, _ isLegal: Bool) throws {
        let text = """
            history 1
            person ada registered
            operation 0 -40m ada purchase product=premium_monthly store=\(store)
            operation 1 -35m ada irrelevant-event product=premium_monthly type=PURCHASE_REDEEMED

            """
        let life = try LifeText.life(text)
        let script = try? LifeScript(life, Self.everything)
        #expect((script != nil) == isLegal)
    }

    @Test func `what was never played comes before what often was`() {
        var generator = LifeGenerator(seed: 1, options: .init(means: Self.everything))
        for _ in 0..<1500 { _ = generator.next() }
        let atlas = LifeAtlas(stores: ["APP_STORE"])
        let all = (atlas.transitions["APP_STORE"] ?? [:]).flatMap { state, events in
            events.map { LifeCoverage.Feature.transition(store: "APP_STORE", state, $0) }
        }
        let played = all.filter { generator.coverage.count($0) > 0 }
        #expect(played.count > all.count * 8 / 10)
    }

    @Test func `shorter lives are shorter, and end in nothing that could be left out`() {
        for script in lives(100) {
            for life in script.life.shorter {
                #expect(
                    life.eventCount < script.life.eventCount
                        || life.people.count < script.life.people.count
                )
            }
        }
    }

    @Test func `a look in the middle is judged by the life up to it`() throws {
        let scripts = lives(300).filter { !$0.quietPoints.isEmpty }
        #expect(!scripts.isEmpty)
        for script in scripts {
            for point in script.quietPoints {
                let prefix = try LifeScript(point.prefix, Self.everything)
                let names = prefix.contract.steps.compactMap { step in
                    if case .deliver(let delivery) = step { delivery.name } else { nil }
                }
                #expect(!names.contains(point.next))
            }
        }
    }

    /// Clauses S-08, S-18 and P-05: it has no effect.
    @Test func `what changes nothing and comes last is left out of the run beside it`() throws {
        let bought = """
            history 1
            person ada registered
            person bob unknown
            baseline
            operation 0 -40m ada purchase product=premium_monthly store=APP_STORE
            """
        func contract(_ rest: String) throws -> Contract {
            try LifeScript(LifeText.life("\(bought)\n\(rest)\n"), Self.everything).contract
        }
        let told = "operation 1 -35m ada irrelevant-event product=premium_monthly type=TEST"
        let idle = try contract(told)
        #expect(idle.expectation.relation == .before)
        #expect(idle.clause == "S-18")
        #expect((idle.given.count, idle.steps.count) == (2, 1))
        #expect(idle.expectation.comparedFields.isEmpty)
        // What Purchasely tells besides may be shown, but for access (P-05).
        let plan = """
            operation 2 -36m ada purchase product=PLUS_MONTHLY store=PURCHASELY
            operation 3 -35m ada irrelevant-event product=PLUS_MONTHLY store=PURCHASELY type=
            """
        #expect(
            try contract(plan + "ENTERED_BILLING_RETRY").expectation.comparedFields == ["access"]
        )
        #expect(try contract(plan + "FUTURE_STEP").expectation.comparedFields.isEmpty)
        // Somebody may be made for it; what is disturbed is compared with the calm run; and what comes
        // behind it changes something.
        let nobody = try contract("operation 1 -35m bob irrelevant-event type=TEST")
        #expect(nobody.expectation.relation == .before)
        let others = [
            "operation 1 -35m bob irrelevant-event type=EXPERIMENT_ENROLLMENT",
            "operation 1 -36m bob irrelevant-event type=EXPERIMENT_ENROLLMENT\noperation 2 -35m bob irrelevant-event type=TEST",
            told + "\nfault 1.0 duplicate 1",
            told + "\noperation 2 -30m ada cancel product=premium_monthly",
        ]
        for other in others { #expect(try contract(other).expectation.relation != .before) }
        let drawn = lives(400).map(\.contract).filter { $0.expectation.relation == .before }
        #expect(drawn.count > 5)
        #expect(drawn.allSatisfy { $0.steps.count == 1 })
    }
}
