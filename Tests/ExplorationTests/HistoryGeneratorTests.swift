import Contracts
import Exploration
import Providers
import Testing
import Values

struct HistoryGeneratorTests {
    private static let everything = Capabilities(
        features: Set(Feature.allCases),
        canReadState: true,
        backendChoosesIDs: false
    )

    private func histories(
        _ count: Int,
        seed: UInt64 = 7,
        _ capabilities: Capabilities = everything
    )
        -> [HistoryScript]
    {
        var generator = HistoryGenerator(seed: seed, options: .init(capabilities: capabilities))
        return (0..<count).map { _ in generator.next().script }
    }

    @Test func `the same seed generates identical histories`() {
        let first = histories(60).map { HistoryText.text($0.history) }
        #expect(first == histories(60).map { HistoryText.text($0.history) })
        #expect(first != histories(60, seed: 8).map { HistoryText.text($0.history) })
    }

    @Test func `a history round-trips`() throws {
        for script in histories(300) {
            let text = HistoryText.text(script.history)
            let read = try HistoryText.history(text)
            #expect(read == script.history)
            let again = try HistoryScript(read, Self.everything)
            #expect(again.contract == script.contract)
        }
    }

    /// RevenueCat's REST answers are made from the events that were told, and the model of lives from
    /// what the store did: both must give the same access.
    @Test func `the events of a history match the store model`() throws {
        let base = Instant(milliseconds: 1_800_000_000_000)
        let now = base + .seconds(3600)
        var capabilities = Self.everything
        // What is sold as a plan RevenueCat does not know.
        capabilities.features.remove(.purchasely)
        for script in histories(600, capabilities) {
            let namespace = Namespace(name: "n", idForm: .string)
            let factory = EventFactory(.init(namespace: namespace, base: base))
            var told = RevenueCatState(key: nil)
            let plan = CasePlan(script.contract)
            let specs = plan.subject.deliveries.compactMap { delivery -> (EventSpec, String)? in
                guard let spec = delivery.event?.content as? EventSpec else { return nil }
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
                #expect(shows == access, "\(state.user) in \(HistoryText.text(script.history))")
            }
        }
    }

    @Test func `histories use only capabilities of the backend`() {
        let capabilities = Capabilities(
            features: [.subscription],
            canReadState: true,
            backendChoosesIDs: true
        )
        for script in histories(200, capabilities) {
            #expect(script.contract.needs.allSatisfy(capabilities.features.contains))
            #expect(script.history.users.allSatisfy { $0.arrival == .registered })
        }
    }

    @Test func `only requested operations happen`() {
        var options = HistoryGenerator.Options(capabilities: Self.everything)
        options.kinds = [.refund, .transfer]
        options.faults = [.delayed]
        var generator = HistoryGenerator(seed: 3, options: options)
        var kinds: Set<HistoryOperation.Kind> = []
        var placedFaults: Set<String> = []
        for _ in 0..<200 {
            let history = generator.next().script.history
            kinds.formUnion(history.steps.map(\.operation.kind))
            placedFaults.formUnion(history.placedFaults.map { $0.fault.words })
        }
        #expect(kinds == [.purchase, .wait, .refund, .transfer])
        #expect(placedFaults == [HistoryFault.delayed(by: 1).words])
    }

    @Test func `every irrelevant event type is generated`() throws {
        var told: Set<String> = []
        for script in histories(1200) {
            for operation in script.history.steps.map(\.operation) {
                if let type = operation.type { told.insert(type) }
            }
        }
        #expect(told.isSuperset(of: SellerTable.all.storeSeller.irrelevantEventTypes))
    }

    @Test(arguments: [("RC_BILLING", true), ("APP_STORE", false)])
    func `redeemed purchases were bought on the web`(_ store: String, _ isLegal: Bool) throws {
        let text = """
            history 1
            person ada registered
            operation 0 -40m ada purchase product=premium_monthly store=\(store)
            operation 1 -35m ada irrelevant-event product=premium_monthly type=PURCHASE_REDEEMED

            """
        let history = try HistoryText.history(text)
        let script = try? HistoryScript(history, Self.everything)
        #expect((script != nil) == isLegal)
    }

    @Test func `new coverage comes before frequent coverage`() {
        var generator = HistoryGenerator(seed: 1, options: .init(capabilities: Self.everything))
        for _ in 0..<1500 { _ = generator.next() }
        let reachableTransitions = ReachableTransitions(stores: ["APP_STORE"])
        let all = (reachableTransitions.transitions["APP_STORE"] ?? [:]).flatMap { state, events in
            events.map { HistoryCoverage.Feature.transition(store: "APP_STORE", state, $0) }
        }
        let played = all.filter { generator.coverage.count($0) > 0 }
        #expect(played.count > all.count * 8 / 10)
    }

    @Test func `shorter histories are shorter and end with a necessary operation`() {
        for script in histories(100) {
            for history in script.history.shorterVariants {
                #expect(
                    history.stepAndFaultCount < script.history.stepAndFaultCount
                        || history.users.count < script.history.users.count
                )
            }
        }
    }

    @Test func `a probe in the middle is judged by the history before it`() throws {
        let scripts = histories(300).filter { !$0.stateReadPoints.isEmpty }
        #expect(!scripts.isEmpty)
        for script in scripts {
            for point in script.stateReadPoints {
                let prefix = try HistoryScript(point.prefix, Self.everything)
                let names = prefix.contract.steps.compactMap { step in
                    if case .deliver(let delivery) = step { delivery.name } else { nil }
                }
                #expect(!names.contains(point.next))
            }
        }
    }

    /// Clauses S-08, S-18 and P-05: it has no effect.
    @Test func `a trailing irrelevant event is omitted from the baseline`() throws {
        let bought = """
            history 1
            person ada registered
            person bob unknown
            baseline
            operation 0 -40m ada purchase product=premium_monthly store=APP_STORE
            """
        func contract(_ rest: String) throws -> Contract {
            try HistoryScript(HistoryText.history("\(bought)\n\(rest)\n"), Self.everything).contract
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
        let drawn = histories(400).map(\.contract).filter { $0.expectation.relation == .before }
        #expect(drawn.count > 5)
        #expect(drawn.allSatisfy { $0.steps.count == 1 })
    }
}
