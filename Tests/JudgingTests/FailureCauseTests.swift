import Contracts
import Judging
internal import Providers
import Testing
import Values

/// Cases that fail for the same reason form one cause, and the cause to fix first leads.
@Suite("Causes of failures")
struct FailureCauseTests {
    // MARK: Made cases

    private static func event(_ type: RevenueCatEventType, _ name: String = "event") -> Step {
        .deliver(Delivery(name: name, subject: .event(EventSpec(type: type, user: "ada"))))
    }

    private static func result(
        _ id: String,
        _ steps: [Step],
        _ finding: Finding?,
        _ verdict: Verdict = .failed,
        clause: String = "S-03",
        timeline: [Exchange] = []
    ) -> CaseResult {
        CaseResult(
            contract: Contract(
                id: id,
                variant: "",
                title: id,
                clause: clause,
                level: .must,
                source: "a test",
                needs: [],
                given: [],
                steps: steps,
                expectation: Contracts.Expectation(responses: .statuses([200])),
                location: SourceLocation(path: id, line: 1, column: 1)
            ),
            verdict: verdict,
            findings: finding.map { [$0] } ?? [],
            note: verdict == .notRun ? "no probe maps 'access'" : nil,
            timeline: timeline
        )
    }

    private static func exchange(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ line: String,
        _ outcome: Exchange.Outcome,
        sequence: Int = 1
    ) -> Exchange {
        let words = line.split(separator: " ").map(String.init)
        return Exchange(
            from: from,
            to: to,
            namespace: "n",
            purpose: purpose,
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request(words[0], words[1]),
            sequence: sequence,
            completed: 1,
            outcome: outcome
        )
    }

    private static func delivery(_ status: Int, _ body: String = "", name: String = "event")
        -> Exchange
    {
        exchange(
            .revenueCat,
            .backend,
            .delivery(name: name, attempt: 1),
            "POST /hook",
            .answered(HTTPMessage.Response(status, body: Array(body.utf8)))
        )
    }

    private static func call(_ line: String, _ outcome: Exchange.Outcome) -> Exchange {
        exchange(.backend, .revenueCat, .call, line, outcome, sequence: 2)
    }

    private static let notFound = Exchange.Outcome.answered(HTTPMessage.Response(404))
    private static let status = Finding(
        .responseStatus,
        expected: "200 for 'event'",
        actual: "500",
        evidence: [1]
    )
    private static let missingPush = Finding(
        .wrongEffectCount,
        expected: "exactly 1 push to ada",
        actual: "0"
    )
    private static let unsettled = Finding(
        .settleTimeoutExpired,
        expected: "access of ada is true",
        actual: "false; a later purchase had no effect either"
    )

    private static let wrongValue = {
        var finding = Finding(.wrongStateValue, expected: "access of ada is true", actual: "false")
        finding.firstDifference = ValueDifference(
            path: "user/access",
            expected: "true",
            actual: "false"
        )
        return finding
    }()
    private static let purchase = event(.documented(.initialPurchase), "purchase")
    private static let register = Step.register(user: "ada")

    private static func causes(_ results: [CaseResult]) -> FailureCauses {
        FailureCauses(
            RunReport(
                version: "1",
                suite: "s",
                seed: "1",
                target: "t",
                began: Instant(milliseconds: 0),
                seconds: 1,
                jobs: 1,
                cases: results,
                isInterrupted: false
            )
        )
    }

    // MARK: Groups

    @Test func `a refused event explains every finding after it`() throws {
        let renewal = [Self.event(.documented(.renewal))]
        let refused = Self.delivery(500, #"{"error":"no row 17"}"#)
        let alsoRefused = Self.delivery(500, #"{"error":"no row 4711"}"#)
        let causes = Self.causes([
            Self.result("a", renewal, Self.missingPush, timeline: [refused]),
            Self.result("b", renewal, Self.status, timeline: [alsoRefused]),
            Self.result("c", renewal, Self.unsettled, .inconclusive, timeline: [refused]),
        ])
        let cause = try #require(causes.all.first)
        #expect(causes.all.count == 1 && cause.caseIndices == [0, 1, 2])
        #expect(cause.kind == .unexpectedStatus)
        #expect(cause.title.hasPrefix("POST /hook returns 500 to RENEWAL events: "))
        #expect(causes.share(of: cause) == "3 of 3 cases")
    }

    @Test func `types that fail alike are separate causes up to three, then one`() {
        let types: [RevenueCatEventType.Documented] = [
            .renewal, .cancellation, .expiration, .billingIssue,
        ]
        for count in 1...types.count {
            let causes = Self.causes(
                types.prefix(count).map { type in
                    Self.result(
                        type.rawValue,
                        [Self.event(.documented(type))],
                        Self.status,
                        timeline: [Self.delivery(500)]
                    )
                }
            )
            #expect(causes.all.count == (count > 3 ? 1 : count))
            #expect(causes.caseCount == count)
        }
    }

    @Test func `unknown types are one kind of event, whatever their names`() throws {
        let causes = Self.causes(
            ["FUTURE_A", "FUTURE_B", "FUTURE_C", "FUTURE_D"].map { type in
                Self.result(
                    type,
                    [Self.event(.unknown(type))],
                    Self.status,
                    timeline: [Self.delivery(500, "unsupported type \(type)")]
                )
            }
        )
        #expect(causes.all.count == 1)
        #expect(causes.all.first?.title.contains("events of an unknown type") == true)
    }

    @Test func `bodies with other words are other causes`() {
        let renewal = [Self.event(.documented(.renewal))]
        let bodies = [#"{"error":"no user"}"#, #"{"error":"no product"}"#, "<html>", ""]
        let causes = Self.causes(
            bodies.enumerated().map { number, body in
                Self.result(
                    "\(number)",
                    renewal,
                    Self.status,
                    timeline: [Self.delivery(500, body)]
                )
            }
        )
        #expect(causes.all.count == bodies.count)
    }

    @Test func `a planned failure of the backend explains nothing`() {
        var delivery = Delivery(
            name: "event",
            subject: .event(EventSpec(type: .documented(.renewal), user: "ada"))
        )
        delivery.databaseFailureCount = 1
        let causes = Self.causes([
            Self.result(
                "a",
                [.deliver(delivery)],
                Self.missingPush,
                timeline: [Self.delivery(500)]
            )
        ])
        #expect(causes.all.map(\.kind) == [.unmetRequirement])
    }

    @Test func `the event of the shortest contained case names the cause`() throws {
        let renewal = Self.event(.documented(.renewal))
        let causes = Self.causes([
            Self.result(
                "long",
                [renewal, Self.event(.documented(.cancellation), "later")],
                Self.wrongValue
            ),
            Self.result("short", [renewal], Self.wrongValue),
        ])
        let cause = try #require(causes.all.first)
        #expect(causes.all.count == 1)
        #expect(cause.representativeIndex == 1)
        #expect(cause.title == "user/access is false instead of true after RENEWAL events")
    }

    @Test(
        "two faults are two causes, whatever other steps their cases have",
        arguments: UInt64(0)..<100
    )
    func twoFaults(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let types = [
            RevenueCatEventType.Documented.renewal, .cancellation, .expiration, .billingIssue,
            .transfer, .subscriptionExtended,
        ].shuffled(using: &generator).prefix(2)
        let extra: [Step] = [
            .probe(user: "ada"), .register(user: "bob"), Self.event(.documented(.test), "test"),
        ]
        var results = types.enumerated().flatMap { number, type in
            (0...Int.random(in: 0...9, using: &generator)).map { index in
                var steps = [Self.purchase, Self.event(.documented(type))]
                for step in extra where index > 0 && Bool.random(using: &generator) {
                    steps.insert(step, at: Int.random(in: 0...steps.count, using: &generator))
                }
                return Self.result("\(number)/\(index)", steps, Self.wrongValue)
            }
        }
        results.shuffle(using: &generator)
        let causes = Self.causes(results)
        #expect(causes.all.count == 2)
        #expect(causes.all.map(\.caseCount) == causes.all.map(\.caseCount).sorted(by: >))
        #expect(causes.caseCount == results.count)
        for cause in causes.all {
            let faults = cause.caseIndices.map { results[$0].contract.id.prefix(1) }
            #expect(Set(faults).count == 1)
            #expect(results[cause.representativeIndex].contract.steps.count == 2)
        }
        #expect(causes == Self.causes(results))
    }

    @Test func `a wrong value after a later event is a cause for each type`() {
        let types = RevenueCatEventType.Documented.allCases.prefix(8)
        func causes(_ before: [Step]) -> FailureCauses {
            Self.causes(
                types.map { type in
                    Self.result(
                        type.rawValue,
                        before + [Self.event(.documented(type))],
                        Self.wrongValue
                    )
                }
            )
        }
        #expect(causes([Self.purchase]).all.count == types.count)
        #expect(causes([]).all.count == 1)
    }

    @Test func `deviations in the cases of one clause are one cause that lists them`() {
        func causes(_ count: Int, clause: (Int) -> String) -> FailureCauses {
            Self.causes(
                RevenueCatEventType.Documented.allCases.prefix(count).enumerated().map {
                    var finding = Finding(.stateDiffers, expected: "true", actual: "false")
                    finding.firstDifference = Self.wrongValue.firstDifference
                    return Self.result(
                        $1.rawValue,
                        [Self.purchase, Self.event(.documented($1))],
                        finding,
                        clause: clause($0)
                    )
                }
            )
        }
        let pair = causes(2) { _ in "S-09" }
        #expect(pair.all[0].title.hasSuffix(", and 1 other deviation in cases of S-09"))
        let merged = causes(6) { _ in "S-09" }
        #expect(merged.all.map(\.caseCount) == [6])
        #expect(merged.all[0].title.hasSuffix(", and 5 other deviations in cases of S-09"))
        let others = merged.all[0].otherDeviations
        #expect(others.map(\.caseCount) == Array(repeating: 1, count: 5))
        #expect(Set(others.map(\.representativeIndex)) == Set(1...5))
        #expect(causes(6) { "S-\(10 + $0)" }.all.count == 6)
    }

    @Test func `a route that violates two clauses has two causes`() {
        let call = Self.exchange(
            .app,
            .backend,
            .appCall("protected"),
            "GET /me",
            .answered(HTTPMessage.Response(200, body: []))
        )
        func result(_ clause: String) -> CaseResult {
            Self.result(
                clause,
                [Self.purchase],
                Finding(.responseStatus, expected: "401", actual: "200", evidence: [1]),
                clause: clause,
                timeline: [call]
            )
        }
        let causes = Self.causes([result("F-03"), result("F-07"), result("F-07")])
        #expect(causes.all.map(\.caseCount) == [2, 1])
    }

    @Test func `clauses with the same event are separate causes, and their titles name them`() {
        func result(_ id: String, _ before: [Step], _ clause: String) -> CaseResult {
            let steps = before + [Self.event(.documented(.expiration))]
            return Self.result(id, steps, Self.wrongValue, clause: clause)
        }
        let twice = [Self.event(.documented(.renewal), "renewal")]
        let causes = Self.causes([
            result("ordering", twice, "S-09"), result("plan", [Self.purchase], "S-13"),
            result("app", [Self.register, Self.purchase], "A-04"),
        ])
        #expect(
            causes.all.map(\.title)
                == ["S-13", "S-09"].map {
                    "user/access is false instead of true after EXPIRATION events (\($0))"
                }
        )
        #expect(causes.all.map(\.caseCount) == [2, 1])
    }

    @Test func `the end of a period decides, not the event before it`() {
        let waiting = Step.waitForEnd(delivery: "purchase")
        let causes = Self.causes([
            Self.result("a", [Self.register, Self.purchase, waiting], Self.wrongValue)
        ])
        #expect(
            causes.all.map(\.title) == [
                "user/access is false instead of true after the end of a period"
            ]
        )
    }

    @Test func `a cause of many types names three of them`() {
        let types = RevenueCatEventType.Documented.allCases
        let repeated = RevenueCatEventType.Documented.renewal
        let causes = Self.causes(
            (types + [repeated]).map { type in
                Self.result(
                    type.rawValue,
                    [Self.event(.documented(type))],
                    Self.status,
                    timeline: [Self.delivery(500)]
                )
            }
        )
        let others = types.map(\.rawValue).filter { $0 != repeated.rawValue }.sorted()
        #expect(
            causes.all.map(\.title) == [
                "POST /hook returns 500 to events of the types RENEWAL, \(others[0]), \(others[1]) "
                    + "and \(types.count - 3) other types"
            ]
        )
    }

    // MARK: Order

    @Test func `a call without a route leads, with the missing part of its path`() throws {
        let renewal = [Self.event(.documented(.renewal))]
        let wrongCall = [
            Self.delivery(200), Self.call("GET /subscribers/a1", Self.notFound),
        ]
        let causes = Self.causes(
            (0..<5).map { Self.result("\($0)", renewal, Self.missingPush) } + [
                Self.result("x", renewal, Self.unsettled, .inconclusive, timeline: wrongCall)
            ]
        )
        let cause = try #require(causes.all.first)
        #expect(cause.kind == .unservedCall && cause.caseIndices == [5])
        #expect(cause.title.contains("GET /subscribers/{…}"))
        #expect(cause.remedy.contains("lacks '/v1'"), "\(cause.remedy)")
    }

    @Test("a call without a response leads unless it concerns very few cases", arguments: [19, 20])
    func unansweredCall(others: Int) throws {
        let lost = Self.result(
            "lost",
            [Self.event(.documented(.initialPurchase))],
            Self.missingPush,
            timeline: [
                Self.delivery(200), Self.call("GET /v1/subscribers/u", .failed(.closed, "closed")),
            ]
        )
        let refused = (0..<others).map {
            Self.result(
                "r\($0)",
                [Self.event(.documented(.renewal))],
                Self.status,
                timeline: [Self.delivery(500)]
            )
        }
        let causes = Self.causes(refused + [lost]).all
        #expect(causes.count == 2, "\(causes)")
        let first = try #require(causes.first)
        #expect((first.kind == .unansweredCall) == (others < 20))
    }

    @Test("a refused duplicate has no remedy against forged requests", arguments: [409, 401, 200])
    func remedyOfStatus(status: Int) throws {
        let finding = Finding(
            .responseStatus,
            expected: "200 for 'event'",
            actual: "\(status)",
            evidence: [1]
        )
        let result = Self.result(
            "forged",
            [Self.event(.documented(.renewal))],
            finding,
            clause: "S-01",
            timeline: [Self.delivery(status)]
        )
        let remedy = try #require(Self.causes([result]).all.first).remedy
        #expect((remedy == FindingCode.responseStatus.facts.remedy) == (status == 409), "\(remedy)")
    }

    @Test func `a user who can no longer sign in is one cause, whatever the clause`() throws {
        let restart = Step.restart(Restart(signal: .kill))
        let lost = Self.exchange(
            .assay,
            .backend,
            .probe(name: "subscription", user: "ada"),
            "GET /me",
            .failed(.loginRefused, "the login request returned 401")
        )
        let state = Finding(.stateDiffers, expected: "as without a fault", actual: "no user")
        let causes = Self.causes([
            Self.result("a", [Self.purchase, restart], state, clause: "S-04", timeline: [lost]),
            Self.result(
                "b",
                [Self.event(.documented(.renewal)), restart],
                Self.missingPush,
                clause: "S-05",
                timeline: [lost]
            ),
            Self.result("c", [restart], Self.wrongValue, clause: "S-32", timeline: [lost]),
        ])
        let cause = try #require(causes.all.first)
        #expect(causes.all.count == 1)
        #expect(
            cause.title
                == "A user who had a session can no longer sign in after a restart of the backend"
        )
        #expect(cause.kind == .userMissing)
        #expect(cause.remedy.contains("Store a registration before its response"))
    }

    @Test func `a missing resource behind a known route is not a wrong address`() {
        let causes = Self.causes([
            Self.result(
                "a",
                [Self.event(.documented(.renewal))],
                Self.missingPush,
                timeline: [Self.call("GET /v1/subscribers/a1", Self.notFound)]
            )
        ])
        #expect(causes.all.map(\.kind) == [.unmetRequirement])
    }

    @Test func `pushes that a fake refuses are one cause of every missing push`() throws {
        let refusal = HTTPMessage.Response(400, body: Array(#"{"errors":["no channel 7"]}"#.utf8))
        var refused = Self.exchange(
            .backend,
            .oneSignal,
            .call,
            "POST /notifications",
            .answered(refusal),
            sequence: 2
        )
        refused.call = ProviderCall(kind: "onesignal.notification", refusal: .form)
        let wrongForm = Finding(
            .wrongRecipient,
            expected: "the provider accepts the format of the push",
            actual: "400",
            evidence: [2]
        )
        let purchase = [Self.event(.documented(.initialPurchase))]
        let renewal = [Self.event(.documented(.renewal))]
        let causes = Self.causes([
            Self.result("a", renewal, Self.missingPush, timeline: [refused]),
            Self.result("b", purchase, wrongForm, timeline: [refused]),
            Self.result("c", purchase, Self.wrongValue, timeline: [refused]),
            Self.result("d", purchase, Self.missingPush),
        ])
        let cause = try #require(causes.all.first)
        #expect(cause.caseIndices == [0, 1] && causes.all.count == 3)
        #expect(
            cause.title
                == #"The fake onesignal refuses the push POST /notifications with 400: "#
                + #"{"errors":["no channel 7"]}"#
        )
        #expect(cause.remedy.hasPrefix("Correct the request as the response says."))
    }

    /// A push to the fake with a key, as the backend sent it.
    private static func push(_ key: String?, text: String = "thanks", sequence: Int) -> Exchange {
        var push = exchange(
            .backend,
            .oneSignal,
            .call,
            "POST /notifications",
            .answered(HTTPMessage.Response(200)),
            sequence: sequence
        )
        // The second push has its members in another order, and its key in capitals.
        let keyText = key.map { #""idempotency_key":"\#(sequence == 3 ? $0.uppercased() : $0)""# }
        let members = [#""text":"\#(text)""#, keyText].compactMap(\.self)
        let body = (sequence == 3 ? members.reversed() : members).joined(separator: ",")
        push.request.body = Array("{\(body)}".utf8)
        push.call = ProviderCall(kind: "onesignal.notification", idempotencyKey: key)
        return push
    }

    @Test("a push that is repeated with another key is one cause of every extra push")
    func newKey() throws {
        let purchase = [Self.event(.documented(.initialPurchase))]
        let renewal = [Self.event(.documented(.renewal))]
        let extra = Finding(.unexpectedEffect, expected: "1 push, as without a fault", actual: "2")
        let count = Finding(.wrongEffectCount, expected: "exactly 1 push to ada", actual: "2")
        let changed = Finding(.idempotencyKeyChanged, expected: "the same key", actual: "a, b")
        let repeated =
            [Self.delivery(200)] + [("key-1", 2), ("key-2", 3)].map { Self.push($0, sequence: $1) }
        let causes = Self.causes([
            Self.result("extra", purchase, extra, clause: "S-05", timeline: repeated),
            Self.result("count", renewal, count, clause: "A-01", timeline: repeated),
            Self.result("changed", renewal, changed, clause: "O-03", timeline: repeated),
        ])
        let cause = try #require(causes.all.first)
        #expect(cause.caseIndices == [0, 1, 2] && causes.all.count == 1)
        #expect(
            cause.title
                == "The backend repeats the push POST /notifications with another idempotency key"
        )
        #expect(cause.remedy.hasPrefix("Derive the key from the event id"))
    }

    @Test(
        "an extra push with the same key, another text, or one for each event has its own cause",
        arguments: [
            [("key-1", "thanks"), ("key-1", "thanks")],
            [("key-1", "thanks"), ("key-2", "goodbye")],
            [(nil, "thanks"), (nil, "thanks")],
        ] as [[(String?, String)]]
    )
    func otherExtraPush(pushes: [(String?, String)]) {
        let extra = Finding(.unexpectedEffect, expected: "1 push, as without a fault", actual: "2")
        let timeline = pushes.enumerated().map {
            Self.push($1.0, text: $1.1, sequence: 2 + $0)
        }
        var second = Self.delivery(200, name: "second")
        second.request.body = [1]
        let pushPerEvent =
            [Self.delivery(200), second]
            + [("key-1", 2), ("key-2", 3)].map { Self.push($0, sequence: $1) }
        let causes = [[Self.delivery(200)] + timeline, pushPerEvent].map { timeline in
            Self.causes([Self.result("extra", [Self.purchase], extra, timeline: timeline)])
        }
        #expect(causes.allSatisfy { $0.all[0].title.hasPrefix("effect-extra after") })
    }

    @Test func `an event that the preflight saw refused leads, with the cases of its type`() {
        let unknown = [Self.event(.unknown("FUTURE_X"))]
        let refused = Self.delivery(400)
        let renewal = [Self.event(.documented(.renewal))]
        let cases =
            (0..<5).map { Self.result("\($0)", renewal, Self.missingPush) }
            + [Self.result("case", unknown, Self.status, timeline: [refused])]
        let check = Self.result("run/check", unknown, Self.status, timeline: [refused])
        #expect(Self.causes(cases).all.map(\.kind) == [.unmetRequirement, .unexpectedStatus])
        let causes = Self.causes(cases + [check])
        #expect(causes.all.map(\.kind) == [.eventRefused, .unmetRequirement])
        #expect(causes.all[0].caseIndices == [5, 6])
    }

    @Test func `a check of the whole run that accepts a request is not a refusal`() {
        let causes = Self.causes([
            Self.result("run/check", [Self.purchase], Self.status, timeline: [Self.delivery(200)])
        ])
        #expect(causes.all.map(\.kind) == [.unexpectedStatus])
    }

    // MARK: Texts

    @Test func `a case without a verdict names the value that was not observed`() {
        let unobservable = Finding(
            .unobservable,
            expected: "exactly 1 push to ada",
            actual: "the backend sent no push after a plain purchase either"
        )
        let setup = Finding(.setupFailed, expected: "user 'ada' is created", actual: "404")
        let causes = Self.causes([
            Self.result("settle", [Self.purchase], Self.unsettled, .inconclusive),
            Self.result("unobservable", [Self.purchase], unobservable, .inconclusive),
            Self.result("setup", [Self.purchase], setup, .inconclusive),
        ])
        #expect(
            Set(causes.all.map(\.title)) == [
                "No verdict, because the settle timeout ended first: expected access of ada is true, "
                    + "observed false; a later purchase had no effect either",
                "No verdict (unobservable): expected exactly 1 push to ada, observed the backend sent "
                    + "no push after a plain purchase either",
                "No verdict, because the preparation failed: expected user 'ada' is created, "
                    + "observed 404",
            ]
        )
    }

    @Test("a remedy without a verdict has something to type", arguments: FindingCode.allCases)
    func inconclusiveRemedy(code: FindingCode) {
        guard code.isInconclusive else { return }
        let remedy = code.facts.remedy
        #expect(remedy.contains("'") || remedy.contains("--"), "\(code): \(remedy)")
    }

    @Test(
        "the remedy of an accepted caller is the one of the clause",
        arguments: ["F-10", "S-26", "S-25"]
    )
    func acceptedCaller(clause: String) throws {
        let accepted = Finding(
            .unauthenticatedAccepted,
            expected: "401 or 403 for 'call'",
            actual: "200",
            evidence: [1]
        )
        let call = Self.exchange(
            .app,
            .backend,
            .appCall("call"),
            "GET /me",
            .answered(HTTPMessage.Response(200))
        )
        let causes = Self.causes([
            Self.result("a", [], accepted, clause: clause, timeline: [call])
        ])
        #expect(causes.all.map(\.kind) == [.unexpectedStatus])
        #expect(causes.all.map(\.remedy) == [Clause.named(clause)?.correctDesign])
    }

    // MARK: Leading causes

    @Test func `a crash and a failed start lead everything`() {
        let exit = Finding(.backendExited, expected: "it runs", actual: "exit code 1")
        let start = Judge.finding(for: .restartFailed("exit code 2"), in: "the case")
        let causes = Self.causes(
            (0..<9).map { Self.result("\($0)", [], Self.missingPush) } + [
                Self.result("exit", [], exit), Self.result("start", [], start, .inconclusive),
            ]
        )
        #expect(causes.all.map(\.kind) == [.backendStopped, .restartFailed, .unmetRequirement])
    }

    @Test("each case that is not green has one cause", arguments: UInt64(0)..<100)
    func partition(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let findings = [Self.status, Self.missingPush, Self.unsettled]
        let types: [RevenueCatEventType] = [
            .documented(.renewal), .documented(.expiration), .unknown("FUTURE_X"),
        ]
        let results = (0..<Int.random(in: 0...40, using: &generator)).map { number in
            let verdict = Verdict.allCases.randomElement(using: &generator) ?? .failed
            var result = Self.result(
                "\(number)",
                [Self.event(types.randomElement(using: &generator) ?? types[0])],
                [.failed, .inconclusive, .knownFailure].contains(verdict)
                    ? findings.randomElement(using: &generator) : nil,
                verdict,
                timeline: Bool.random(using: &generator) ? [Self.delivery(500)] : []
            )
            if Bool.random(using: &generator) { result.contract.level = .may }
            return result
        }
        let causes = Self.causes(results)
        let expected = results.indices.filter {
            results[$0].outcome.isFailure || results[$0].outcome.isIncomplete
        }
        #expect(causes.all.flatMap(\.caseIndices).sorted() == expected)
        #expect(causes.all.allSatisfy { $0.caseIndices.contains($0.representativeIndex) })
        #expect(causes.causesByCaseIndex.count == expected.count)
        #expect(causes.all.allSatisfy { !$0.title.isEmpty && !$0.remedy.isEmpty })
        #expect(causes == Self.causes(results))
    }
}
