import Contracts
import Judging
import TestSupport
import Testing
import Values

@Suite("Judge")
struct JudgeTests {
    /// Why a run says nothing, with the code that tells so.
    private static let troubles: [(RunRecord.RunProblem, FindingCode)] = [
        (.registrationFailed(user: "ada", "500"), .setupFailed),
        (.backendGone("refused"), .backendGone), (.journalGap, .journalGap),
        (.restartFailed("did not come back"), .setupFailed),
        (.probeFailed("exit 1"), .setupFailed), (.faultNotApplied("no call"), .faultNotApplied),
        (.pageUnusable("blank"), .setupFailed),
    ]

    private func builder(_ relation: Expectation.BaselineRelation? = nil) -> EvidenceBuilder {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation(relation))
        builder.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["plan": "a"])]
        if relation != nil { builder.baselines = [builder.subject, builder.subject] }
        return builder
    }

    @Test("a run problem makes the verdict inconclusive", arguments: troubles)
    func subject(runProblem: RunRecord.RunProblem, code: FindingCode) {
        var broken = builder()
        broken.subject = [EvidenceBuilder.delivery("purchase", .failed(.closed, "closed"))]
        let (verdict, findings) = Judge.judge(broken.evidence { $0.runProblem = runProblem })
        #expect(verdict == .inconclusive)
        #expect(findings.map(\.code) == [code])
    }

    @Test("a problem of a baseline run makes the verdict inconclusive", arguments: troubles)
    func baseline(runProblem: RunRecord.RunProblem, code: FindingCode) {
        let whole = builder(.once).evidence
        for troubled in whole.baselines.indices {
            var baselines = whole.baselines
            baselines[troubled].runProblem = runProblem
            let evidence = CaseEvidence(
                plan: whole.plan,
                subject: whole.subject,
                baselines: baselines,
                profile: whole.profile,
                observability: whole.observability
            )
            let (verdict, findings) = Judge.judge(evidence)
            #expect(verdict == .inconclusive, "twin \(troubled)")
            #expect(findings.map(\.code) == [code])
        }
    }

    @Test func `an unresponsive backend is not excused by a baseline that could not begin`() {
        var builder = builder(.once)
        builder.subject[0] = EvidenceBuilder.delivery("purchase", .failed(.timedOut, "60 s"))
        let whole = builder.evidence
        func verdict(_ runProblem: RunRecord.RunProblem) -> [FindingCode] {
            var baselines = whole.baselines
            baselines[0].runProblem = runProblem
            let evidence = CaseEvidence(
                plan: whole.plan,
                subject: whole.subject,
                baselines: baselines,
                profile: whole.profile,
                observability: whole.observability
            )
            return Judge.judge(evidence).findings.map(\.code)
        }
        #expect(verdict(.registrationFailed(user: "ada", "no complete answer")) == [.responseLate])
        #expect(verdict(.backendGone("refused")) == [.backendGone], "somebody has ended it")
    }

    @Test func `a backend that exited by itself failed`() {
        let evidence = builder().evidence { $0.backendExitReason = "exit 1" }
        let (verdict, findings) = Judge.judge(evidence)
        #expect(verdict == .failed)
        #expect(findings.map(\.code) == [.backendExited])
        #expect(findings.first?.actual == "exit 1")
    }

    @Test func `connection refusals do not excuse a backend that exited`() {
        let evidence = builder().evidence {
            $0.backendExitReason = "exit 1"
            $0.runProblem = .backendGone("the connection was refused")
        }
        #expect(Judge.judge(evidence).findings.map(\.code) == [.backendExited])
    }

    @Test func `a throttle outranks other findings in the run and in the baseline`() {
        var own = builder()
        own.contract.expectation.states = [SampleContract.state("access", true)]
        own.subject = [
            EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(429))),
            EvidenceBuilder.probe(["access": false]),
        ]
        var baseline = EvidenceBuilder(expectation: SampleContract.expectation(.once))
        baseline.contract.expectation.states = own.contract.expectation.states
        baseline.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": false])]
        baseline.baselines = [own.subject]
        for evidence in [own.evidence, baseline.evidence] {
            let (verdict, findings) = Judge.judge(evidence)
            #expect(verdict == .inconclusive)
            #expect(findings.map(\.code) == [.backendThrottled])
        }
    }

    @Test func `a failure outranks a doubt, and the doubt is not reported`() {
        var both = builder()
        both.contract.expectation.states = [SampleContract.state("access", true)]
        both.contract.expectation.effects = [
            SampleContract.effect { $0.requiresSameIdempotencyKey = true }
        ]
        both.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": false])]
        let (verdict, findings) = Judge.judge(both.evidence)
        #expect(verdict == .failed)
        #expect(findings.map(\.code) == [.wrongStateValue])
    }

    @Test func `doubts alone make a case inconclusive`() {
        var doubtful = builder()
        doubtful.contract.expectation.states = [SampleContract.state("refunded", true)]
        let (verdict, findings) = Judge.judge(doubtful.evidence)
        #expect(verdict == .inconclusive)
        #expect(findings.map(\.code) == [.unobservable])
    }

    @Test func `every broken expectation is reported`() {
        var broken = builder()
        broken.contract.expectation.states = [SampleContract.state("access", true)]
        broken.contract.expectation.effects = [SampleContract.effect(1...1)]
        broken.subject = [
            EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(500))),
            EvidenceBuilder.probe(["access": false]),
        ]
        let codes = Set(Judge.judge(broken.evidence).findings.map(\.code))
        #expect(codes == [.responseStatus, .wrongStateValue, .wrongEffectCount])
    }

    @Test func `an empty run of an empty case passes`() {
        var empty = builder()
        empty.contract.steps = []
        empty.subject = []
        #expect(Judge.judge(empty.evidence).verdict == .passed)
    }

    // MARK: Looking at a record

    @Test func `attempts belong to one delivery and keep their order`() {
        let record = builder().with {
            $0.subject = [
                EvidenceBuilder.delivery("a"), EvidenceBuilder.delivery("b"),
                EvidenceBuilder.delivery("a", attempt: 2), EvidenceBuilder.push(to: "x"),
            ]
        }.evidence.subject
        #expect(record.attempts(of: "a").map(\.sequence) == [1, 2])
        #expect(record.attempts(of: "none").isEmpty)
        #expect(record.effects.map(\.effect.recipients) == [["x"]])
    }

    @Test func `an event is read from the first attempt at any nesting depth`() {
        let deep = (0..<2000).reduce(JSONValue.null) { inner, _ in .array([inner]) }
        let record = builder().with {
            $0.subject = [
                EvidenceBuilder.delivery(body: ["event": ["id": "E1", "deep": deep]]),
                EvidenceBuilder.delivery(attempt: 2, body: ["event": ["id": "E2"]]),
            ]
        }.evidence.subject
        #expect(record.event(of: "purchase")?["id"] == "E1")
        #expect(record.event(of: "other") == nil)
    }

    @Test(
        "a probe response is a document, nothing, or unreadable",
        arguments: [
            (200, "{\"a\":1}", ObservedState.document(["a": 1])), (204, "null", .missing),
            (200, "[]", .missing), (200, " {} ", .missing), (200, "0", .document(0)),
            (200, "[null]", .document([.null])),
            (404, "{}", .missing), (410, "", .missing),
            (500, "{}", .unreadable("the probe returned 500: {}")),
            (302, "{}", .unreadable("the probe returned 302: {}")),
            (401, "{}", .unreadable("the probe returned 401: {}")),
        ] as [(Int, String, ObservedState)]
    )
    func observesFinalState(status: Int, body: String, expected: ObservedState) {
        var exchange = EvidenceBuilder.probe(nil)
        exchange.outcome = .answered(HTTPMessage.Response(status, body: Array(body.utf8)))
        #expect(ObservedState(exchange) == expected)
    }

    @Test func `a probe without a response or with invalid JSON is unreadable`() {
        var exchange = EvidenceBuilder.probe(nil)
        exchange.outcome = .failed(.closed, "closed")
        guard case .unreadable(let silence) = ObservedState(exchange) else {
            Issue.record("no answer was taken for one")
            return
        }
        #expect(silence.contains("GET /s/x"))
        exchange.outcome = .answered(HTTPMessage.Response(200, body: Array("<html>".utf8)))
        guard case .unreadable(let page) = ObservedState(exchange) else {
            Issue.record("HTML was taken for a document")
            return
        }
        #expect(page.contains("not JSON"))
    }

    @Test func `the last completed probe counts`() {
        var pending = EvidenceBuilder.probe(["n": 3])
        pending.completed = nil
        let record = builder().with {
            $0.subject = [
                EvidenceBuilder.probe(["n": 1]), EvidenceBuilder.probe(["n": 2]),
                EvidenceBuilder.probe(["n": 9], user: "bob"),
                EvidenceBuilder.probe(["n": 9], name: "user"), pending,
            ]
        }.evidence.subject
        #expect(record.state(of: "ada", probe: "subscription") == .document(["n": 2]))
        #expect(record.state(of: "carol", probe: "subscription") == nil)
    }

    @Test func `a missing push is reported with the time that was waited`() {
        let builder = EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.countMin = 1 }] },
            [EvidenceBuilder.delivery()]
        )
        let plain = Judge.judge(builder.evidence)
        let unsuccessfulWaitTime = Judge.judge(
            builder.evidence { $0.unsuccessfulWaitTime = .seconds(10) }
        )
        #expect(unsuccessfulWaitTime.verdict == .failed)
        #expect(unsuccessfulWaitTime.findings.map(\.code) == plain.findings.map(\.code))
        #expect(
            unsuccessfulWaitTime.findings.first?.actual.hasSuffix("after waiting for 10000 ms")
                == true
        )
        #expect(
            unsuccessfulWaitTime.findings.first?.remedy.contains("'settle-timeout: 30s'") == true
        )
        #expect(plain.findings.first?.actual.contains("waiting") == false)
    }

    @Test(
        "a backend that is silent for much longer than its retry pause has given up",
        arguments: [
            ([0, 1_000], 1_500, 1_000), ([0, 1_000], 6_000, 1_000), ([0, 1_000], 6_001, nil),
            ([0, 1_000, 3_000], 12_000, 2_000), ([0, 1_000, 3_000], 13_001, nil), ([0], 500, nil),
        ] as [([Int64], Int64, Int64?)]
    )
    func givesUp(attempts: [Int64], lastProbeTime: Int64, pause: Int64?) {
        var look = EvidenceBuilder.probe(["access": true])
        look.invoked = lastProbeTime * 1000
        let calls = attempts.map { milliseconds in
            var push = EvidenceBuilder.push(to: "ada")
            push.invoked = milliseconds * 1000
            push.outcome = .answered(HTTPMessage.Response(503))
            return push
        }
        let record = builder().with { $0.subject = calls + [look] }.evidence.subject
        #expect(record.pauseOfFailedRetry == pause.map { .milliseconds($0) })
    }

    @Test(
        "a backend that is slow for most plain purchases is reported",
        arguments: [
            ([], nil), ([900], nil), ([1_000, 1_000], nil), ([20, 20, 5_000], nil),
            ([20, 3_140, 5_000], "takes 3.1 s"),
        ] as [([Int64], String?)]
    )
    func slowness(milliseconds: [Int64], told: String?) {
        let exchanges = milliseconds.map { time in
            var purchase = EvidenceBuilder.delivery(invoked: 7_000, completed: 7_000 + time * 1000)
            purchase.purpose = .sentinel
            return purchase
        }
        // What a case itself waits for is its own affair.
        let slow = EvidenceBuilder.delivery(completed: 50_000_000)
        let note = Slowness.note(exchanges + [slow])
        #expect((note == nil) == (told == nil))
        if let told { #expect(note?.contains(told) == true) }
    }
}
