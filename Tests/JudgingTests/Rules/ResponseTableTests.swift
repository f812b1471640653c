import Contracts
import Judging
internal import Providers
import TestSupport
import Testing
import Values

/// Which statuses satisfy whom, and what each other outcome of a delivery means.
@Suite("Response table")
struct ResponseTableTests {
    private static let expectations: [ResponseExpectation] = [
        .statuses([200]), .statuses([200, 409]), .statuses([401]), .refused, .failsClosed,
        .clientError,
        .answered,
        .success, .nonSuccess, .conflict, .anyOutcome,
    ]

    /// Said again, in other words than the code does.
    private static func isAccepted(_ status: Int, by expected: ResponseExpectation) -> Bool {
        switch expected {
        case .statuses(let list): list.contains(status)
        case .refused: [401, 403].contains(status)
        case .failsClosed: [401, 403].contains(status) || status / 100 == 5
        case .clientError: status / 100 == 4
        case .answered: [2, 3, 4].contains(status / 100)
        case .success: status / 100 == 2
        case .nonSuccess: status / 100 != 2
        case .conflict: status == 409
        case .anyOutcome: true
        }
    }

    @Test("every status from 200 to 599", arguments: expectations)
    func statuses(expected: ResponseExpectation) {
        for status in 200..<600 {
            #expect(
                expected.accepts(status) == Self.isAccepted(status, by: expected),
                "\(status)"
            )
        }
    }

    @Test("accepted responses pass and each refused one has one code", arguments: expectations)
    func codes(expected: ResponseExpectation) {
        for status in [200, 201, 204, 301, 400, 401, 403, 404, 409, 422, 429, 500, 503] {
            let found = EvidenceBuilder.answered(status, expected).codes(ResponseRule.self)
            let isUnknownUser =
                [.refused, .failsClosed, .nonSuccess, .statuses([401])].contains(expected)
            let code: FindingCode =
                status == 429
                ? .backendThrottled
                : isUnknownUser && (200..<300).contains(status)
                    ? .unauthenticatedAccepted : .responseStatus
            let wanted = Self.isAccepted(status, by: expected) ? [] : [code]
            #expect(found == wanted, "\(status) for \(expected)")
        }
    }

    @Test("a missing response satisfies only an expectation of nothing", arguments: expectations)
    func silence(expected: ResponseExpectation) {
        let outcomes: [(Exchange.Outcome, FindingCode)] = [
            (.failed(.refused, "refused"), .noResponse), (.failed(.closed, "reset"), .noResponse),
            (.failed(.malformed, "no HTTP"), .noResponse),
            (.failed(.timedOut, "60 s"), .responseLate),
        ]
        for (outcome, code) in outcomes {
            let found = EvidenceBuilder.outcome(outcome, expected).codes(ResponseRule.self)
            let isRefusedStart =
                expected == .failsClosed && outcome == .failed(.refused, "refused")
            #expect(
                found == (expected == .anyOutcome || isRefusedStart ? [] : [code]),
                "\(outcome)"
            )
        }
    }

    @Test("every kind of response has a description", arguments: expectations)
    func words(expected: ResponseExpectation) {
        let finding = ResponseRule.findings(
            in: EvidenceBuilder.outcome(.pending, expected).evidence
        ).first
        #expect(finding?.expected.hasPrefix(expected.description) == true)
        #expect(finding?.expected.hasSuffix("'purchase'") == true)
    }

    @Test(
        "a connection cut by the harness is not charged to the backend",
        arguments: [
            Exchange.Outcome.answerLost(HTTPMessage.Response(500)), .answerLost(nil), .requestCut,
        ]
    )
    func cut(outcome: Exchange.Outcome) {
        var builder = EvidenceBuilder.outcome(outcome)
        #expect(builder.codes(ResponseRule.self) == [.setupFailed], "nothing undisturbed was sent")
        builder.subject.append(EvidenceBuilder.delivery(attempt: 2))
        #expect(builder.codes(ResponseRule.self).isEmpty)
    }

    @Test func `every copy needs a response`() {
        var builder = EvidenceBuilder.bought()
        builder.subject = [
            EvidenceBuilder.delivery(),
            EvidenceBuilder.delivery(
                "purchase",
                attempt: 2,
                .answered(HTTPMessage.Response(500))
            ),
            EvidenceBuilder.delivery("purchase", attempt: 3, .failed(.closed, "reset")),
        ]
        let findings = ResponseRule.findings(in: builder.evidence)
        #expect(findings.map(\.code) == [.responseStatus, .noResponse])
        #expect(findings.map(\.evidence) == [[2], [3]])
    }

    @Test func `a delivery's own expectation overrides the contract's`() {
        var delivery = SampleContract.purchase("purchase")
        delivery.responses = .clientError
        var builder = EvidenceBuilder([delivery], expectation: SampleContract.expectation())
        builder.subject = [
            EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(400)))
        ]
        #expect(builder.codes(ResponseRule.self).isEmpty)
        builder.subject = [EvidenceBuilder.delivery()]
        #expect(builder.codes(ResponseRule.self) == [.responseStatus])
    }

    @Test func `given steps must succeed for every kind of expectation`() {
        var builder = EvidenceBuilder(expectation: Expectation(responses: .clientError))
        builder.contract.given = [.deliver(SampleContract.purchase("before"))]
        builder.subject = [
            EvidenceBuilder.delivery("before"),
            EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(400))),
        ]
        #expect(builder.codes(ResponseRule.self).isEmpty)
        builder.subject[0].outcome = .answered(HTTPMessage.Response(400))
        #expect(builder.codes(ResponseRule.self) == [.responseStatus])
    }

    @Test func `a delivery that is dropped by plan needs no response`() {
        var delivery = SampleContract.purchase("purchase")
        delivery.isNeverDelivered = true
        let builder = EvidenceBuilder([delivery], expectation: SampleContract.expectation())
        #expect(builder.codes(ResponseRule.self).isEmpty)
    }

    // MARK: Calls

    private func calls(
        _ expected: ResponseExpectation?,
        _ exchanges: [Exchange],
        race: RaceExpectation? = nil
    ) -> [FindingCode] {
        var call = Call(name: "one", route: .login)
        call.responses = expected
        return EvidenceBuilder.bought({ $0.race = race }, exchanges).with {
            $0.contract.steps = [.call([call])]
        }.codes(ResponseRule.self)
    }

    @Test
    func `an accepted call has the remedy of a call, and an accepted event that of a webhook`() {
        var call = Call(name: "one", route: .login)
        call.responses = .refused
        let evidence = EvidenceBuilder.bought({ _ in }, [EvidenceBuilder.call("one", 200)]).with {
            $0.contract.steps = [.call([call])]
        }.evidence
        #expect(
            ResponseRule.findings(in: evidence).map(\.remedy) == [Diagnosis.acceptedCallRemedy]
        )
        var builder = EvidenceBuilder(expectation: Expectation(responses: .refused))
        builder.subject = [
            EvidenceBuilder.delivery("purchase", .answered(HTTPMessage.Response(200)))
        ]
        #expect(
            ResponseRule.findings(in: builder.evidence).map(\.remedy) == [
                FindingCode.unauthenticatedAccepted.facts.remedy
            ]
        )
    }

    @Test func `a call succeeds unless the contract says otherwise`() {
        #expect(calls(nil, [EvidenceBuilder.call("one", 201)]).isEmpty)
        #expect(calls(nil, [EvidenceBuilder.call("one", 409)]) == [.responseStatus])
        #expect(calls(.conflict, [EvidenceBuilder.call("one", 409)]).isEmpty)
        #expect(calls(.refused, [EvidenceBuilder.call("one", 200)]) == [.unauthenticatedAccepted])
        #expect(
            calls(.nonSuccess, [EvidenceBuilder.call("one", 200)]) == [.unauthenticatedAccepted]
        )
        #expect(calls(nil, []) == [.setupFailed])
    }

    @Test func `racing calls are judged by the race rule only`() {
        let race = RaceExpectation(
            calls: ["one"],
            winnerCount: 1,
            location: SampleContract.location
        )
        #expect(calls(nil, [EvidenceBuilder.call("one", 409)], race: race).isEmpty)
    }

    @Test func `the last call with a name counts`() {
        let again = [EvidenceBuilder.call("one", 500), EvidenceBuilder.call("one", 200)]
        #expect(calls(nil, again).isEmpty)
    }

    // MARK: Calls and ids

    private func ids(
        _ body: JSONValue,
        status: Int = 200,
        pointer: String? = "/appUserId"
    ) -> [FindingCode] {
        EvidenceBuilder.bought(
            {
                $0.calls = [
                    CallExpectation(call: "one", user: "ada", location: SampleContract.location)
                ]
            },
            [EvidenceBuilder.call("one", status, body)]
        ).with {
            $0.contract.steps = [.call([Call(name: "one", route: .login)])]
            $0.profile.endpoints["login"]?.responseIDPointer = pointer.flatMap { JSONPointer($0) }
        }.codes(CallRule.self)
    }

    @Test func `the ID is read at the location in the profile`() {
        let ada = "assay-namespace-0-ada"
        #expect(ids(["appUserId": .string(ada)]).isEmpty)
        #expect(ids(["user": ["id": .string(ada)]], pointer: "/user/id").isEmpty)
        #expect(ids(["appUserId": .string(ada)], pointer: "/user/id") == [.wrongID])
        #expect(ids(["appUserId": .null]) == [.wrongID])
        #expect(ids([:]) == [.wrongID])
        #expect(ids(["appUserId": .string(ada)], pointer: nil) == [.unobservable])
        #expect(ids([:], status: 500).isEmpty, "another rule tells of it")
    }

    @Test func `a numeric ID is an ID`() {
        var builder = EvidenceBuilder.bought(
            {
                $0.calls = [
                    CallExpectation(call: "one", user: "ada", location: SampleContract.location)
                ]
            },
            [EvidenceBuilder.call("one", 200, ["appUserId": 1001])]
        )
        builder.contract.steps = [.call([Call(name: "one", route: .login)])]
        let evidence = builder.evidence { record in
            record.namespace.assign("1001", to: "ada")
        }
        #expect(CallRule.findings(in: evidence).isEmpty)
    }

    @Test(
        "a race has the expected number of winners and no errors",
        arguments: [
            ([200, 409, 409], 1, true), ([200, 201, 409], 1, false), ([409, 409, 409], 1, false),
            ([200, 200, 404], 2, true), ([200, 409, 500], 1, false), ([403, 404, 409], 0, true),
            ([204, 429, 400], 1, true),
        ]
    )
    func race(statuses: [Int], winners: Int, isFair: Bool) {
        let names = ["one", "two", "three"]
        let builder = EvidenceBuilder.bought(
            {
                $0.race = RaceExpectation(
                    calls: names,
                    winnerCount: winners,
                    location: SampleContract.location
                )
            },
            zip(names, statuses).map { EvidenceBuilder.call($0, $1) }
        )
        #expect(builder.codes(CallRule.self) == (isFair ? [] : [.wrongRaceOutcome]))
    }

    @Test func `a racing caller without a response is a failure`() {
        var lost = EvidenceBuilder.call("two", 200)
        lost.outcome = .failed(.closed, "reset")
        let builder = EvidenceBuilder.bought(
            {
                $0.race = RaceExpectation(
                    calls: ["one", "two"],
                    winnerCount: 1,
                    location: SampleContract.location
                )
            },
            [EvidenceBuilder.call("one", 200), lost]
        )
        #expect(builder.codes(CallRule.self) == [.wrongRaceOutcome])
    }

    @Test func `responses that differ only in the caller's ID are equal`() {
        func callsWithSameResponse(_ one: (Int, String), _ two: (Int, String)) -> [FindingCode] {
            let builder = EvidenceBuilder.bought(
                { $0.callsWithSameResponse = ["one", "two"] },
                [
                    EvidenceBuilder.call("one", one.0, ["m": .string(one.1)]),
                    EvidenceBuilder.call("two", two.0, ["m": .string(two.1)]),
                ]
            )
            return builder.codes(CallRule.self)
        }
        let ada = EvidenceBuilder(expectation: SampleContract.expectation()).id(of: "ada")
        #expect(callsWithSameResponse((401, "no"), (401, "no")).isEmpty)
        #expect(callsWithSameResponse((401, "no"), (403, "no")) == [.revealingResponse])
        #expect(callsWithSameResponse((401, "no"), (401, "no.")) == [.revealingResponse])
        #expect(callsWithSameResponse((401, "no \(ada)"), (401, "no \(ada)")).isEmpty)
        #expect(callsWithSameResponse((401, "no \(ada)"), (401, "no bob")) == [.revealingResponse])
    }

    @Test func `only key fetches count, and only above the limit`() {
        func fetches(_ count: Int, max: Int?, _ change: (inout Exchange) -> Void = { _ in })
            -> [FindingCode]
        {
            var fetch = EvidenceBuilder.keyFetch
            change(&fetch)
            return EvidenceBuilder.bought(
                { $0.signingKeyFetchCountMax = max },
                (0..<count).map { _ in fetch }
            ).codes(CallRule.self)
        }
        #expect(fetches(1, max: 1).isEmpty)
        #expect(fetches(2, max: 1) == [.tooManyFetches])
        #expect(fetches(1, max: 0) == [.tooManyFetches])
        #expect(fetches(9, max: nil).isEmpty)
        #expect(fetches(9, max: 1) { $0.request.method = "POST" }.isEmpty)
        #expect(fetches(9, max: 1) { $0.to = .oneSignal }.isEmpty)
        #expect(fetches(9, max: 1) { $0.from = .app }.isEmpty)
    }
}
