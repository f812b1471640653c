import Conformance
import Testing

@Suite("Searches")
struct SearchTests {
    @Test func `every order comes once, the smallest reordering first`() {
        var generator = SeededGenerator(seed: 1)
        let orders = Order.orders(of: 4, sampleSize: 10, generator: &generator)
        #expect(orders.count == 23)
        #expect(Set(orders).count == 23)
        let inversions = orders.map(Order.inversions)
        #expect(inversions == inversions.sorted())
        #expect(orders.first.map(Order.inversions) == 1)
        #expect(orders.last == [3, 2, 1, 0])
    }

    @Test func `a long stream is sampled with every exchange of neighbours`() {
        var generator = SeededGenerator(seed: 1)
        let orders = Order.orders(of: 8, sampleSize: 30, generator: &generator)
        #expect(orders.count == 30)
        #expect(orders.count { Order.inversions($0) == 1 } >= 7)
        var again = SeededGenerator(seed: 1)
        #expect(Order.orders(of: 8, sampleSize: 30, generator: &again) == orders)
    }

    @Test(
        "a variation changes something and comes back from its seed",
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

    @Test func `shrinking ends and never makes a known thing of an unknown one`() {
        let place = JSONPointer(tokens: ["event", "type"])
        var edits = [Delivery.Edit(pointer: place, value: "FUTURE_LONG_TYPE")]
        var rounds = 0
        while let smaller = VariationGenerator.smaller(edits).first, rounds < 100 {
            edits = smaller
            rounds += 1
        }
        #expect(rounds < 100)
        #expect(edits.first?.value?.string?.isEmpty == false)
    }

    @Test func `crash points name each call of the golden run with each fault`() {
        var builder = EvidenceBuilder(expectation: EvidenceBuilder.expectation(.undisturbed))
        builder.subject = [
            EvidenceBuilder.delivery(), EvidenceBuilder.push(to: "x"),
            EvidenceBuilder.push(to: "x"),
        ]
        let points = CasePlan.crashPoints(
            in: builder.evidence.subject,
            faults: [.reset, .killAfter]
        )
        #expect(
            points.map(\.name) == [
                "call:onesignal-1,fault:reset", "call:onesignal-1,fault:kill-after",
                "call:onesignal-2,fault:reset", "call:onesignal-2,fault:kill-after",
            ]
        )
        let plan = CasePlan(builder.contract).disturbed(at: points[3])
        #expect(plan.subject.hasRestart)
        #expect(plan.twin == CasePlan(builder.contract).twin, "the golden run stays golden")
        #expect(plan.contract.caseID == "test/case/call:onesignal-2,fault:kill-after")
    }

    @Test func `a saved run is judged as it was, and holds no secret`() throws {
        var builder = EvidenceBuilder(expectation: EvidenceBuilder.expectation())
        builder.subject = [
            EvidenceBuilder.delivery(
                "purchase",
                .answered(HTTPMessage.Response(500, body: Array("Bearer assay-test-token".utf8)))
            )
        ]
        let result = CaseResult(judging: builder.evidence)
        let report = RunReport(of: [result])
        let text = try SavedRun.lines(report, profile: builder.profile).joined(separator: "\n")
        #expect(!text.contains("assay-test-token"))
        let again = try SavedRun(parsing: text).judged(knownFailures: KnownFailures())
        #expect(again.cases.map(\.verdict) == [.failed])
        #expect(again.cases.first?.findings == result.findings)
        #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: "{}") }
        #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: String(text.prefix(80))) }
    }

    @Test func `a grade needs every must clause of it and of the grades before`() {
        func result(_ clause: String, _ verdict: Verdict, unsupported: Bool = false) -> CaseResult {
            var contract = EvidenceBuilder(expectation: EvidenceBuilder.expectation()).contract
            contract.clause = clause
            return CaseResult(
                contract: contract,
                verdict: verdict,
                isDeclaredUnsupported: unsupported
            )
        }
        func grade(_ cases: [CaseResult]) -> Standing.Grade? {
            Standing(cases, isWhole: true).grade
        }
        let good = ["S-01", "S-03", "S-04", "S-10"].map { result($0, .passed) }
        #expect(grade(good) == .complete)
        #expect(grade(good + [result("S-03", .failed)]) == .receives)
        #expect(grade(good + [result("S-01", .inconclusive)]) == Standing.Grade.none)
        #expect(grade(good + [result("S-10", .notRun, unsupported: true)]) == .complete)
        #expect(grade(good + [result("S-10", .notRun)]) == .resilient)
        #expect(Standing(good, isWhole: false).grade == nil)
        let standing = Standing(good + [result("O-01", .notRun, unsupported: true)], isWhole: true)
        #expect(standing.clauses["O-01"] == .unproven, "not run is not proven")
    }
}
