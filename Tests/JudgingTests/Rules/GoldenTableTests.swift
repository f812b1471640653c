import Contracts
import Judging
import TestSupport
import Testing
import Values

/// Golden answers and messages at their edges, and copies that race.
@Suite("Golden table")
struct GoldenTableTests {
    private static let ada = "assay-namespace-0-ada"

    private static func request(_ name: String, _ pattern: JSONValue?, status: Int = 200) -> Step {
        var request = AppRequest(name: name, method: "GET", target: "/" + name)
        var answer = ResponsePattern(status: status, location: SampleContract.location)
        answer.body = pattern.map(AppRequest.Body.json)
        request.answer = answer
        return .request(request)
    }

    private func builder(
        _ steps: [Step],
        _ seen: [Exchange],
        effects: [EffectExpectation] = []
    ) -> EvidenceBuilder {
        var builder = EvidenceBuilder.bought({ $0.effects = effects }, seen)
        builder.contract.steps = steps
        return builder
    }

    private static func answered(
        _ name: String,
        _ outcome: Exchange.Outcome
    ) -> Exchange {
        var exchange = EvidenceBuilder.call(name, 200)
        exchange.outcome = outcome
        return exchange
    }

    // MARK: Answers

    private static let outcomes: [(Exchange.Outcome?, [FindingCode])] = [
        (nil, [.setupFailed]), (.answered(HTTPMessage.Response(200, json: ["a": 1])), []),
        (.answered(HTTPMessage.Response(200, json: ["a": 1, "b": 2])), []),
        (.answered(HTTPMessage.Response(200, json: ["a": 2])), [.responseDiffers]),
        (.answered(HTTPMessage.Response(200, json: [:])), [.responseDiffers]),
        (.answered(HTTPMessage.Response(200, json: [])), [.responseDiffers]),
        (.answered(HTTPMessage.Response(200, body: Array("a".utf8))), [.responseDiffers]),
        (.answered(HTTPMessage.Response(200)), [.responseDiffers]),
        (.answered(HTTPMessage.Response(201, json: ["a": 1])), [.responseStatus]),
        (.answered(HTTPMessage.Response(500, json: ["a": 2])), [.responseStatus]),
        (.failed(.timedOut, "60 s"), [.noResponse]), (.pending, [.noResponse]),
        (.answerLost(nil), [.noResponse]), (.requestCut, [.noResponse]),
    ]

    @Test("a response is compared if its status matches", arguments: outcomes)
    func outcome(outcome: Exchange.Outcome?, codes: [FindingCode]) {
        let seen = outcome.map { [Self.answered("one", $0)] } ?? []
        #expect(
            builder([Self.request("one", ["a": 1])], seen).codes(GoldenRule.self) == codes
        )
    }

    @Test func `a request without a body pattern is judged by its status`() {
        let steps = [Self.request("one", nil, status: 404)]
        func codes(_ status: Int) -> [FindingCode] {
            let seen = [Self.answered("one", .answered(HTTPMessage.Response(status)))]
            return builder(steps, seen).codes(GoldenRule.self)
        }
        #expect(codes(404).isEmpty)
        #expect(codes(200) == [.responseStatus])
    }

    @Test func `each differing step is named, and no other`() {
        let steps = ["one", "two", "three", "four"].map { Self.request($0, ["a": 1]) }
        let seen = [
            Self.answered("one", .answered(HTTPMessage.Response(200, json: ["a": 1]))),
            Self.answered("two", .answered(HTTPMessage.Response(200, json: ["a": 2]))),
            Self.answered("three", .answered(HTTPMessage.Response(404, json: ["a": 1]))),
        ]
        let builder = builder(steps, seen)
        #expect(
            GoldenRule.namesOfDifferingSteps(of: builder.evidence.subject) == [
                "two", "three", "four",
            ]
        )
        #expect(
            builder.codes(GoldenRule.self) == [.responseDiffers, .responseStatus, .setupFailed]
        )
    }

    @Test func `an event response is compared, and its status is judged with all events`() {
        var delivery = SampleContract.purchase()
        var pattern = ResponsePattern(status: 200, location: SampleContract.location)
        pattern.body = .json(["received": true])
        delivery.responsePattern = pattern
        func codes(_ response: HTTPMessage.Response) -> [FindingCode] {
            builder(
                [.deliver(delivery)],
                [EvidenceBuilder.delivery("purchase", .answered(response))]
            )
            .codes(GoldenRule.self)
        }
        #expect(codes(HTTPMessage.Response(200, json: ["received": true])).isEmpty)
        #expect(codes(HTTPMessage.Response(200, json: ["received": false])) == [.responseDiffers])
        #expect(codes(HTTPMessage.Response(500)).isEmpty)
        #expect(builder([.deliver(delivery)], []).codes(GoldenRule.self).isEmpty)
    }

    @Test func `the response of the last attempt at an event counts`() {
        var delivery = SampleContract.purchase()
        var pattern = ResponsePattern(status: 200, location: SampleContract.location)
        pattern.body = .json(["n": 2])
        delivery.responsePattern = pattern
        let attempts = (1...2).map { number in
            EvidenceBuilder.delivery(
                "purchase",
                attempt: number,
                .answered(HTTPMessage.Response(200, json: ["n": .integer(Int64(number))]))
            )
        }
        #expect(builder([.deliver(delivery)], attempts).codes(GoldenRule.self).isEmpty)
        let swapped = Array(attempts.reversed())
        #expect(builder([.deliver(delivery)], swapped).codes(GoldenRule.self) == [.responseDiffers])
    }

    @Test("the closest message is shown with at most twelve lines", arguments: [1, 2, 3, 4, 30])
    func nearMiss(count: Int) throws {
        func body(_ value: Int64) -> JSONValue {
            var object = JSONObject()
            for index in 0..<count { object["key\(index)"] = .integer(value) }
            return .object(object)
        }
        let seen = [Self.answered("one", .answered(HTTPMessage.Response(200, json: body(2))))]
        let builder = builder([Self.request("one", body(1))], seen)
        let finding = try #require(GoldenRule.findings(in: builder.evidence).first)
        #expect(finding.nearMiss.count == min(count, 3) * 3 + (count > 3 ? 1 : 0))
        #expect(finding.nearMiss.prefix(3) == ["/key0", "  - 1", "  + 2"])
        if count > 3 { #expect(finding.nearMiss.last == "… and \(count - 3) more differences") }
    }

    @Test func `a case without golden expectations passes this rule`() {
        let plain = builder(
            [.deliver(SampleContract.purchase())],
            [EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(500)))]
        )
        #expect(plain.codes(GoldenRule.self).isEmpty)
    }

    // MARK: Messages

    private static let counts: [(ClosedRange<Int>?, Int, Bool)] = [
        (1...1, 0, false), (1...1, 1, true), (1...1, 2, false), (0...0, 0, true), (0...0, 1, false),
        (2...3, 1, false), (2...3, 2, true), (2...3, 3, true), (2...3, 4, false), (nil, 9, true),
    ]

    @Test("messages with the same text are counted", arguments: counts)
    func messages(range: ClosedRange<Int>?, count: Int, isMet: Bool) throws {
        let effect = SampleContract.effect(range) {
            $0.expectedContent = ["contents": ["en": "Welcome"]]
        }
        let others = [EvidenceBuilder.push(to: Self.ada, "Something else")]
        let pushes = (0..<count).map { _ in EvidenceBuilder.push(to: Self.ada) }
        let found = GoldenRule.findings(
            in: builder([], pushes + others, effects: [effect]).evidence
        )
        #expect(found.map(\.code) == (isMet ? [] : [.effectContentDiffers]))
        if let finding = found.first {
            #expect(finding.actual == "\(count) of \(count + 1) messages match")
            #expect(finding.isFinal == (count > (range?.lowerBound ?? 0)))
            #expect(finding.nearMiss.isEmpty == (count >= (range?.lowerBound ?? 0)))
        }
    }

    @Test func `the closest of several messages is shown`() throws {
        let effect = SampleContract.effect(1...1) {
            $0.expectedContent = ["contents": ["en": "Welcome"]]
        }
        let pushes = [
            EvidenceBuilder.push(to: "stranger", "Hi"), EvidenceBuilder.push(to: Self.ada, "Hello"),
        ]
        let finding = try #require(
            GoldenRule.findings(in: builder([], pushes, effects: [effect]).evidence).first
        )
        #expect(finding.nearMiss.contains("/contents/en") && !finding.nearMiss.contains("/to"))
        #expect(finding.nearMiss.contains("  + \"Hello\""))
    }

    @Test func `a message to no recipient is reported`() throws {
        let effect = SampleContract.effect(1...1) {
            $0.expectedContent = ["contents": ["en": "Welcome"]]
        }
        var push = EvidenceBuilder.push(to: "x")
        push.effects[0].recipients = []
        let finding = try #require(
            GoldenRule.findings(in: builder([], [push], effects: [effect]).evidence).first
        )
        #expect(finding.nearMiss.contains("  + no user"))
    }

    // MARK: Copies that race

    private static let races: [([(Int64, Int64?)], Int)] = [
        ([], 0), ([(0, 10)], 1), ([(0, 10), (10, 20)], 1), ([(0, 10), (9, 20)], 2),
        ([(0, 10), (0, 10), (0, 10)], 3), ([(0, nil), (5, nil)], 2),
        ([(0, 3), (1, 4), (2, 5), (6, 7)], 3),
        ([(0, 100), (1, 2), (3, 4), (5, 6)], 2), ([(5, 5), (5, 5)], 0),
    ]

    @Test("copies overlap if one begins before another ends", arguments: races)
    func overlap(spans: [(Int64, Int64?)], peak: Int) {
        var delivery = SampleContract.purchase()
        delivery.times = spans.count
        delivery.sendsCopiesConcurrently = true
        var builder = EvidenceBuilder([delivery], expectation: SampleContract.expectation())
        builder.contract.expectation.concurrentRequestCountMin = 2
        builder.subject = spans.enumerated().map { index, span in
            EvidenceBuilder.delivery(attempt: index + 1, invoked: span.0, completed: span.1)
        }
        #expect(
            ConcurrentRequestsRule.overlappingRequestCount(in: builder.evidence.subject) == peak
        )
        #expect(
            builder.codes(ConcurrentRequestsRule.self) == (peak < 2 ? [.requestsNotConcurrent] : [])
        )
        builder.subject.shuffleEnds()
        #expect(
            ConcurrentRequestsRule.overlappingRequestCount(in: builder.evidence.subject) == peak,
            "in any order"
        )
    }

    @Test func `a backend that serves one connection at a time makes a race inconclusive`() {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation())
        builder.contract.expectation.concurrentRequestCountMin = 2
        builder.subject = [EvidenceBuilder.delivery()]
        let serialised = builder.evidence { $0.servesOneRequestAtATime = true }
        #expect(
            ConcurrentRequestsRule.findings(in: serialised).map(\.code) == [.requestsNotConcurrent]
        )
        #expect(
            ConcurrentRequestsRule.findings(in: builder.evidence).isEmpty,
            "no copies were meant to race"
        )
        builder.contract.expectation.concurrentRequestCountMin = nil
        let idle = builder.evidence { $0.servesOneRequestAtATime = true }
        #expect(ConcurrentRequestsRule.findings(in: idle).isEmpty, "nobody asked for a race")
    }

    // MARK: Twins that disagree

    @Test func `differences between baseline runs are reported by location and recipient`() {
        let builder = EvidenceBuilder.compared(
            mine: { [EvidenceBuilder.push(to: $0), EvidenceBuilder.probe(["a": 1, "b": 1])] },
            baselines: { number, id in
                [EvidenceBuilder.probe(["a": .integer(Int64(number)), "b": 1])]
                    + (0..<number).map { _ in EvidenceBuilder.push(to: id) }
            }
        )
        #expect(
            builder.evidence.baselineDisagreements
                == ["subscription/a", "onesignal.notification to ‹ada›"]
        )
        let alike = EvidenceBuilder.compared(
            mine: { _ in [] },
            baselines: { _, id in [EvidenceBuilder.push(to: id), EvidenceBuilder.probe(["a": 1])] }
        )
        #expect(alike.evidence.baselineDisagreements.isEmpty)
        #expect(alike.with { $0.baselines = [] }.evidence.baselineDisagreements.isEmpty)
    }
}

extension [Exchange] {
    /// Another order of the same lines.
    fileprivate mutating func shuffleEnds() {
        reverse()
        if count > 2 { swapAt(0, count / 2) }
    }
}
