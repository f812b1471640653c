import Contracts
import Judging
import TestSupport
import Testing
import Values

@Suite("Response rule")
struct ResponseRuleTests {
    @Test(
        "a request without a response expectation must succeed",
        arguments: [(200, true), (204, true), (404, false), (500, false)]
    )
    func bareRequest(status: Int, isFine: Bool) {
        var builder = EvidenceBuilder([], expectation: SampleContract.expectation())
        builder.contract.steps.append(
            .request(AppRequest(name: "one", method: "GET", target: "/x"))
        )
        var exchange = EvidenceBuilder.delivery()
        exchange.purpose = .appCall("one")
        exchange.outcome = .answered(HTTPMessage.Response(status))
        builder.subject = [exchange]
        #expect(ResponseRule.findings(in: builder.evidence).isEmpty == isFine)
        builder.subject = []
        #expect(!ResponseRule.findings(in: builder.evidence).isEmpty, "it was not even made")
    }

    private func codes(
        _ outcome: Exchange.Outcome,
        expecting expected: ResponseExpectation = .statuses([200])
    ) -> [FindingCode] {
        var builder = EvidenceBuilder(expectation: Expectation(responses: expected))
        builder.subject = [EvidenceBuilder.delivery("purchase", outcome)]
        return builder.codes(ResponseRule.self)
    }

    private func answered(_ status: Int) -> Exchange.Outcome {
        .answered(HTTPMessage.Response(status))
    }

    @Test func `only 200 is a success`() {
        #expect(codes(answered(200)).isEmpty)
        for status in [201, 202, 204, 301, 400, 404, 409, 500] {
            #expect(codes(answered(status)) == [.responseStatus], "\(status)")
        }
    }

    @Test func `an unknown user must be refused with 401 or 403`() {
        #expect(codes(answered(401), expecting: .refused).isEmpty)
        #expect(codes(answered(403), expecting: .refused).isEmpty)
        #expect(codes(answered(200), expecting: .refused) == [.unauthenticatedAccepted])
        #expect(codes(answered(500), expecting: .refused) == [.responseStatus])
    }

    @Test func `a throttled request is not a failure`() {
        #expect(codes(answered(429)) == [.backendThrottled])
        #expect(FindingCode.backendThrottled.isInconclusive)
    }

    @Test func `missing, late and pending responses are distinguished`() {
        #expect(codes(.failed(.closed, "closed")) == [.noResponse])
        #expect(codes(.failed(.timedOut, "late")) == [.responseLate])
        #expect(codes(.pending) == [.noResponse])
    }

    @Test func `only the last attempt of a retry schedule counts`() {
        var delivery = SampleContract.purchase()
        delivery.followsRetrySchedule = true
        delivery.lostResponses = 1
        var builder = EvidenceBuilder([delivery], expectation: SampleContract.expectation())
        builder.subject = [
            EvidenceBuilder.delivery(attempt: 1, .answerLost(HTTPMessage.Response(200))),
            EvidenceBuilder.delivery(attempt: 2, answered(503)),
            EvidenceBuilder.delivery(attempt: 3, answered(200)),
        ]
        #expect(builder.codes(ResponseRule.self).isEmpty)
        builder.subject.removeLast()
        #expect(builder.codes(ResponseRule.self) == [.responseStatus])
    }

    @Test func `a delivery that was never sent does not pass`() {
        let builder = EvidenceBuilder(expectation: SampleContract.expectation())
        #expect(builder.codes(ResponseRule.self) == [.setupFailed])
    }
}

@Suite("Overlap rule")
struct ConcurrentRequestsRuleTests {
    private func builder(_ spans: [(Int64, Int64)]) -> EvidenceBuilder {
        var delivery = SampleContract.purchase()
        delivery.sendsCopiesConcurrently = true
        delivery.times = spans.count
        var expectation = SampleContract.expectation()
        expectation.concurrentRequestCountMin = 2
        var builder = EvidenceBuilder([delivery], expectation: expectation)
        builder.subject = spans.enumerated().map { index, span in
            EvidenceBuilder.delivery(attempt: index + 1, invoked: span.0, completed: span.1)
        }
        return builder
    }

    @Test func `concurrent copies overlap`() {
        let racing = builder([(0, 10), (5, 12), (6, 7), (11, 20)])
        #expect(ConcurrentRequestsRule.overlappingRequestCount(in: racing.evidence.subject) == 3)
        #expect(racing.codes(ConcurrentRequestsRule.self).isEmpty)
    }

    @Test func `sequential copies do not count as a race`() {
        let serial = builder([(0, 10), (10, 20), (20, 30)])
        #expect(ConcurrentRequestsRule.overlappingRequestCount(in: serial.evidence.subject) == 1)
        #expect(serial.codes(ConcurrentRequestsRule.self) == [.requestsNotConcurrent])
        #expect(Judge.judge(serial.evidence).verdict == .inconclusive)
    }
}
