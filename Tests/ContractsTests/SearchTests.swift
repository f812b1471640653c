import Contracts
import Providers
import TestSupport
import Testing
import Values

@Suite("Searches")
struct SearchTests {
    @Test func `every order appears once, the smallest reordering first`() {
        var generator = SeededGenerator(seed: 1)
        let orders = EventOrder.orders(of: 4, sampleSize: 10, generator: &generator)
        #expect(orders.count == 23)
        #expect(Set(orders).count == 23)
        let inversionCount = orders.map(EventOrder.inversionCount)
        #expect(inversionCount == inversionCount.sorted())
        #expect(orders.first.map(EventOrder.inversionCount) == 1)
        #expect(orders.last == [3, 2, 1, 0])
    }

    @Test func `a long stream is sampled with every swap of neighbors`() {
        var generator = SeededGenerator(seed: 1)
        let orders = EventOrder.orders(of: 8, sampleSize: 30, generator: &generator)
        #expect(orders.count == 30)
        #expect(orders.count { EventOrder.inversionCount($0) == 1 } >= 7)
        var again = SeededGenerator(seed: 1)
        #expect(EventOrder.orders(of: 8, sampleSize: 30, generator: &again) == orders)
    }

    @Test(
        "a variation changes something and is reproducible from its seed",
        arguments: Variation.allCases
    )
    func variation(kind: Variation) {
        let body: JSONValue = ["event": ["id": "1", "type": "RENEWAL"]]
        func draw() -> [[Delivery.Edit]] {
            var generator = VariationGenerator(kind, body: body, random: SeededGenerator(seed: 7))
            return (0..<20).map { _ in generator.next().edits }
        }
        let first = draw()
        #expect(first == draw())
        if kind != .keyOrder { #expect(first.allSatisfy { !$0.isEmpty }) }
    }

    @Test func `shrinking ends and never turns an unknown type into a known one`() {
        let place = JSONPointer(tokens: ["event", "type"])
        var edits = [Delivery.Edit(pointer: place, value: "FUTURE_LONG_TYPE")]
        var rounds = 0
        while let shrunkEdits = VariationGenerator.shrunkEdits(edits).first, rounds < 100 {
            edits = shrunkEdits
            rounds += 1
        }
        #expect(rounds < 100)
        #expect(edits.first?.value?.string?.isEmpty == false)
    }

    @Test func `crash points name each call of the golden run with each fault`() {
        let contract = SampleContract.contract(relation: .faultFree)
        let push = Exchange(
            from: .backend,
            to: .oneSignal,
            namespace: "n",
            purpose: .call,
            at: SampleContract.base,
            request: HTTPMessage.Request("POST", "/notifications")
        )
        var hook = push
        (hook.from, hook.to) = (.revenueCat, .backend)
        let goldenRun = RunRecord(
            plan: CasePlan(contract).subject,
            namespace: Namespace(name: "n", idForm: .string),
            base: SampleContract.base,
            began: SampleContract.base,
            ended: SampleContract.base,
            exchanges: [hook, push, push],
            settleEvidence: .notNeeded
        )
        let points = CasePlan.crashPoints(in: goldenRun, faults: [.reset, .killAfter])
        #expect(
            points.map(\.name) == [
                "call:onesignal-1,fault:reset", "call:onesignal-1,fault:kill-after",
                "call:onesignal-2,fault:reset", "call:onesignal-2,fault:kill-after",
            ]
        )
        let plan = CasePlan(contract).injectingFault(at: points[3])
        #expect(plan.subject.hasRestart)
        #expect(plan.baseline == CasePlan(contract).baseline, "the golden run stays golden")
        #expect(plan.contract.caseID == "test/case/call:onesignal-2,fault:kill-after")
        let installed = plan.subject.steps[plan.subject.preparationStepCount ?? 0]
        guard case .provider = installed else {
            Issue.record("the fault is installed after the preparation, not before it")
            return
        }
    }
}
