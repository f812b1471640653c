import Contracts
import Judging
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
        var builder = EvidenceBuilder(expectation: EvidenceBuilder.expectation(.faultFree))
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
        let plan = CasePlan(builder.contract).injectingFault(at: points[3])
        #expect(plan.subject.hasRestart)
        #expect(plan.baseline == CasePlan(builder.contract).baseline, "the golden run stays golden")
        #expect(plan.contract.caseID == "test/case/call:onesignal-2,fault:kill-after")
    }

    @Test func `a saved run gets the same verdicts and contains no secret`() throws {
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

    @Test func `a grade requires every must clause of it and of the lower grades`() {
        func result(_ clause: String, _ verdict: Verdict, unsupported: Bool = false) -> CaseResult {
            var contract = EvidenceBuilder(expectation: EvidenceBuilder.expectation()).contract
            contract.clause = clause
            return CaseResult(
                contract: contract,
                verdict: verdict,
                isDeclaredUnsupported: unsupported
            )
        }
        func grade(_ cases: [CaseResult]) -> Scorecard.Grade? {
            Scorecard(cases, coversWholeSuite: true).grade
        }
        let good = ["S-01", "S-03", "S-04", "S-10"].map { result($0, .passed) }
        #expect(grade(good) == .complete)
        #expect(grade(good + [result("S-03", .failed)]) == .receives)
        #expect(grade(good + [result("S-01", .inconclusive)]) == Scorecard.Grade.none)
        #expect(grade(good + [result("S-10", .notRun, unsupported: true)]) == .complete)
        #expect(grade(good + [result("S-10", .notRun)]) == .resilient)
        #expect(Scorecard(good, coversWholeSuite: false).grade == nil)
        let scorecard = Scorecard(
            good + [result("O-01", .notRun, unsupported: true)],
            coversWholeSuite: true
        )
        #expect(scorecard.clauses["O-01"] == .unproven, "not run is not proven")
    }
}
