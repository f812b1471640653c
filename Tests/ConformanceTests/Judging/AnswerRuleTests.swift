import Conformance
import Testing

@Suite("Answer rule")
struct AnswerRuleTests {
    @Test(
        "a request that says nothing about its answer has to succeed",
        arguments: [(200, true), (204, true), (404, false), (500, false)]
    )
    func bareRequest(status: Int, isFine: Bool) {
        var builder = EvidenceBuilder([], expectation: EvidenceBuilder.expectation())
        builder.contract.steps.append(
            .request(AppRequest(name: "one", method: "GET", target: "/x"))
        )
        var exchange = EvidenceBuilder.delivery()
        exchange.purpose = .appCall("one")
        exchange.outcome = .answered(HTTPMessage.Response(status))
        builder.subject = [exchange]
        #expect(AnswerRule.findings(in: builder.evidence).isEmpty == isFine)
        builder.subject = []
        #expect(!AnswerRule.findings(in: builder.evidence).isEmpty, "it was not even made")
    }

    private func codes(
        _ outcome: Exchange.Outcome,
        expecting expected: AnswerExpectation = .statuses([200])
    ) -> [FindingCode] {
        var builder = EvidenceBuilder(expectation: Expectation(answers: expected))
        builder.subject = [EvidenceBuilder.delivery("purchase", outcome)]
        return builder.codes(AnswerRule.self)
    }

    private func answered(_ status: Int) -> Exchange.Outcome {
        .answered(HTTPMessage.Response(status))
    }

    @Test func `200 is success and nothing else`() {
        #expect(codes(answered(200)).isEmpty)
        for status in [201, 202, 204, 301, 400, 404, 409, 500] {
            #expect(codes(answered(status)) == [.answerStatus], "\(status)")
        }
    }

    @Test func `a stranger must be refused by 401 or 403`() {
        #expect(codes(answered(401), expecting: .refused).isEmpty)
        #expect(codes(answered(403), expecting: .refused).isEmpty)
        #expect(codes(answered(200), expecting: .refused) == [.intruderAccepted])
        #expect(codes(answered(500), expecting: .refused) == [.answerStatus])
    }

    @Test func `a throttle is nobody's failure`() {
        #expect(codes(answered(429)) == [.throttled])
        #expect(FindingCode.throttled.isInconclusive)
    }

    @Test func `no answer, a late answer and a pending one are told apart`() {
        #expect(codes(.failed(.closed, "closed")) == [.noAnswer])
        #expect(codes(.failed(.timedOut, "late")) == [.answerLate])
        #expect(codes(.pending) == [.noAnswer])
    }

    @Test func `along the ladder only the last attempt counts`() {
        var delivery = EvidenceBuilder.purchase()
        delivery.isAlongLadder = true
        delivery.answersLost = 1
        var builder = EvidenceBuilder([delivery], expectation: EvidenceBuilder.expectation())
        builder.subject = [
            EvidenceBuilder.delivery(attempt: 1, .answerLost(HTTPMessage.Response(200))),
            EvidenceBuilder.delivery(attempt: 2, answered(503)),
            EvidenceBuilder.delivery(attempt: 3, answered(200)),
        ]
        #expect(builder.codes(AnswerRule.self).isEmpty)
        builder.subject.removeLast()
        #expect(builder.codes(AnswerRule.self) == [.answerStatus])
    }

    @Test func `a delivery that was never sent is not passed`() {
        let builder = EvidenceBuilder(expectation: EvidenceBuilder.expectation())
        #expect(builder.codes(AnswerRule.self) == [.setupFailed])
    }
}

@Suite("Overlap rule")
struct OverlapRuleTests {
    private func builder(_ spans: [(Int64, Int64)]) -> EvidenceBuilder {
        var delivery = EvidenceBuilder.purchase()
        delivery.isTogether = true
        delivery.times = spans.count
        var expectation = EvidenceBuilder.expectation()
        expectation.overlapMin = 2
        var builder = EvidenceBuilder([delivery], expectation: expectation)
        builder.subject = spans.enumerated().map { index, span in
            EvidenceBuilder.delivery(attempt: index + 1, invoked: span.0, completed: span.1)
        }
        return builder
    }

    @Test func `copies that were in flight together overlap`() {
        let racing = builder([(0, 10), (5, 12), (6, 7), (11, 20)])
        #expect(OverlapRule.overlap(in: racing.evidence.subject) == 3)
        #expect(racing.codes(OverlapRule.self).isEmpty)
    }

    @Test func `copies that came one after the other were not raced`() {
        let serial = builder([(0, 10), (10, 20), (20, 30)])
        #expect(OverlapRule.overlap(in: serial.evidence.subject) == 1)
        #expect(serial.codes(OverlapRule.self) == [.noOverlap])
        #expect(Judge.judge(serial.evidence).verdict == .inconclusive)
    }
}
