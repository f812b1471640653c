import Contracts
import Grammar
import Judging
import Providers
import TestSupport
import Testing
import Values

/// Evidence in which a code must appear, and evidence that looks almost the same in which it must
/// not: what tells a rule that is too lenient from one that is too strict.
struct FindingExample: Sendable, CustomTestStringConvertible {
    let code: FindingCode
    let what: String
    let broken: @Sendable () -> CaseEvidence
    let right: @Sendable () -> CaseEvidence

    var testDescription: String { "\(code.rawValue) \(code.rule): \(what)" }

    init(
        _ code: FindingCode,
        _ what: String,
        broken: @escaping @Sendable () -> CaseEvidence,
        right: @escaping @Sendable () -> CaseEvidence
    ) {
        self.code = code
        self.what = what
        self.broken = broken
        self.right = right
    }
}

// MARK: - Building blocks

extension EvidenceBuilder {
    /// A case of one purchase with an expectation of its own.
    static func bought(
        _ expect: (inout Expectation) -> Void = { _ in },
        _ subject: [Exchange] = [delivery()]
    ) -> EvidenceBuilder {
        var expectation = SampleContract.expectation()
        expect(&expectation)
        var builder = EvidenceBuilder(expectation: expectation)
        builder.subject = subject
        if expectation.effects.contains(where: \.countsOnlyEffectsOfSteps) {
            builder.addBaselineBeforeSteps()
        }
        return builder
    }

    /// The same case with something changed.
    func with(_ change: (inout EvidenceBuilder) -> Void) -> EvidenceBuilder {
        var copy = self
        change(&copy)
        return copy
    }

    /// The evidence with the record of the judged run changed.
    func evidence(_ change: (inout RunRecord) -> Void) -> CaseEvidence {
        let whole = evidence
        var subject = whole.subject
        change(&subject)
        return CaseEvidence(
            plan: whole.plan,
            subject: subject,
            baselines: whole.baselines,
            profile: whole.profile,
            observability: whole.observability
        )
    }

    /// A purchase answered with this status.
    static func answered(_ status: Int, _ expected: ResponseExpectation = .statuses([200]))
        -> EvidenceBuilder
    {
        outcome(.answered(HTTPMessage.Response(status)), expected)
    }

    /// A purchase that the backend answered with this status, and the state of the user afterwards.
    static func refused(_ status: Int, shows state: JSONValue) -> EvidenceBuilder {
        answered(status).with { $0.subject.append(probe(state)) }
    }

    static func outcome(
        _ outcome: Exchange.Outcome,
        _ expected: ResponseExpectation = .statuses([200])
    ) -> EvidenceBuilder {
        bought({ $0.responses = expected }, [delivery("purchase", outcome)])
    }

    /// A case that compares with two twins; each closure makes the lines of one run.
    static func compared(
        _ relation: Expectation.BaselineRelation = .once,
        mine: (String) -> [Exchange],
        baselines: (Int, String) -> [Exchange]
    ) -> EvidenceBuilder {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation(relation))
        builder.subject = [delivery()] + mine(builder.id(of: "ada"))
        builder.baselines = (1...2).map {
            [delivery()] + baselines($0, builder.id(of: "ada", run: $0))
        }
        return builder
    }

    /// A call of the app's to a route of the backend.
    static func call(_ name: String, _ status: Int, _ body: JSONValue = [:]) -> Exchange {
        var exchange = delivery("call", .answered(HTTPMessage.Response(status, json: body)))
        exchange.from = .app
        exchange.purpose = .appCall(name)
        return exchange
    }

    /// An attempt at a push that the provider answered with this status.
    static func attempt(
        _ status: Int,
        at moment: Int64 = 0,
        to recipient: String = "assay-namespace-0-ada",
        key: String? = "k",
        retryAfter: String? = nil
    ) -> Exchange {
        var exchange = push(to: recipient, key: key)
        let fields = retryAfter.map { [HTTPMessage.Field("Retry-After", $0)] } ?? []
        exchange.outcome = .answered(HTTPMessage.Response(status, fields: fields))
        if status != 200 { exchange.effects = [] }
        // The provider says what was asked for, from the request as it is in the end.
        exchange.call = nil
        exchange.invoked = moment
        exchange.completed = moment
        return exchange
    }

    /// A fetch of Firebase's keys by the backend.
    static var keyFetch: Exchange {
        var exchange = attempt(200)
        exchange.to = .firebase
        exchange.request = HTTPMessage.Request("GET", "/robot/v1/metadata/x509/x")
        exchange.effects = []
        return exchange
    }
}

// MARK: - Answers and effects

extension FindingExample {
    static var all: [FindingExample] {
        responses + pushes + relations + states + routes + apps + doubts
    }

    private static let ada = "assay-namespace-0-ada"

    private static let responses: [FindingExample] = [
        FindingExample(.responseStatus, "201 is no 200") {
            EvidenceBuilder.answered(201).evidence
        } right: {
            EvidenceBuilder.answered(200).evidence
        },
        FindingExample(.unauthenticatedAccepted, "a stranger gets a 2xx") {
            EvidenceBuilder.answered(204, .refused).evidence
        } right: {
            EvidenceBuilder.answered(403, .refused).evidence
        },
        FindingExample(.noResponse, "the connection closes") {
            EvidenceBuilder.outcome(.failed(.closed, "closed")).evidence
        } right: {
            EvidenceBuilder.outcome(.failed(.closed, "closed"), .anyOutcome).evidence
        },
        FindingExample(.responseLate, "the sender waited in vain") {
            EvidenceBuilder.outcome(.failed(.timedOut, "60 s")).evidence
        } right: {
            EvidenceBuilder.outcome(.failed(.timedOut, "60 s"), .anyOutcome).evidence
        },
        FindingExample(.appliedButRefused, "500 although the access is on") {
            EvidenceBuilder.refused(500, shows: ["access": true]).evidence
        } right: {
            EvidenceBuilder.refused(200, shows: ["access": true]).evidence
        },
        FindingExample(.responseStatus, "500, and nothing happened") {
            EvidenceBuilder.refused(500, shows: ["access": false]).evidence
        } right: {
            EvidenceBuilder.refused(200, shows: ["access": true]).evidence
        },
        FindingExample(.backendExited, "the program ended") {
            EvidenceBuilder.bought().evidence { $0.backendExitReason = "signal 11" }
        } right: {
            EvidenceBuilder.bought().evidence
        },
        FindingExample(.responseDiffers, "a recorded member has another value") {
            golden(["plan": "silver"]).evidence
        } right: {
            golden(["plan": "gold", "more": true]).evidence
        },
        FindingExample(.backendThrottled, "429 is the limiter's answer") {
            EvidenceBuilder.answered(429).evidence
        } right: {
            EvidenceBuilder.answered(429, .clientError).evidence
        },
    ]

    private static func golden(_ body: JSONValue) -> EvidenceBuilder {
        var request = AppRequest(name: "one", method: "GET", target: "/x")
        var pattern = ResponsePattern(status: 200, location: SampleContract.location)
        pattern.body = .json(["plan": "gold"])
        request.answer = pattern
        return EvidenceBuilder.bought({ _ in }, []).with {
            $0.contract.steps = [.request(request)]
            $0.subject = [EvidenceBuilder.call("one", 200, body)]
        }
    }

    private static let pushes: [FindingExample] = [
        FindingExample(.wrongEffectCount, "two pushes where one is allowed") {
            pushed(2) { $0.effects = [SampleContract.effect(0...1)] }
        } right: {
            pushed(1) { $0.effects = [SampleContract.effect(0...1)] }
        },
        FindingExample(.idempotencyKeyChanged, "two attempts with two keys") {
            keys("k", "l")
        } right: {
            keys("k", "k")
        },
        FindingExample(.identicalMessages, "a refund is told like a cancellation") {
            told("Good-bye", "Good-bye")
        } right: {
            told("Refunded", "Good-bye")
        },
        FindingExample(.wrongRecipient, "a push to everyone") {
            addressed("everyone")
        } right: {
            addressed(ada)
        },
        FindingExample(.tooManyAttempts, "a refused push again and again") {
            attempts(4)
        } right: {
            attempts(3)
        },
        FindingExample(.retriedTooEarly, "before Retry-After") {
            paced(899_999)
        } right: {
            paced(900_000)
        },
        FindingExample(.providerCallRefused, "OneSignal says 403") {
            EvidenceBuilder.bought(
                { $0.hidesSecrets = true },
                [EvidenceBuilder.delivery(), EvidenceBuilder.attempt(403)]
            ).evidence
        } right: {
            EvidenceBuilder.bought(
                { $0.hidesSecrets = true },
                [EvidenceBuilder.delivery(), EvidenceBuilder.attempt(404)]
            ).evidence
        },
        FindingExample(.effectHeldUp, "a call without a response delays another push") {
            heldUp(isPushed: false)
        } right: {
            heldUp(isPushed: true)
        },
        FindingExample(.effectContentDiffers, "a push that says something else") {
            pushed(1, text: "Hello") { $0.effects = [expectedContent("Welcome")] }
        } right: {
            pushed(1, text: "Welcome") { $0.effects = [expectedContent("Welcome")] }
        },
    ]

    private static func pushed(
        _ count: Int,
        text: String = "Welcome",
        _ expect: (inout Expectation) -> Void
    ) -> CaseEvidence {
        let pushes = (0..<count).map { _ in EvidenceBuilder.push(to: ada, text) }
        return EvidenceBuilder.bought(expect, [EvidenceBuilder.delivery()] + pushes).evidence
    }

    private static func heldUp(isPushed: Bool) -> CaseEvidence {
        var call = EvidenceBuilder.attempt(200)
        call.outcome = .failed(.timedOut, "no response")
        call.effects = []
        call.completed = nil
        let push = EvidenceBuilder.push(to: "assay-namespace-0-bob")
        return EvidenceBuilder.bought(
            {
                $0.effects = [
                    SampleContract.effect(user: "bob") { $0.userWithHangingCall = "ada" }
                ]
            },
            [EvidenceBuilder.delivery(), call] + (isPushed ? [push] : [])
        ).evidence
    }

    private static func expectedContent(_ text: String) -> EffectExpectation {
        SampleContract.effect(1...1) { $0.expectedContent = ["contents": ["en": .string(text)]] }
    }

    private static func keys(_ keys: String...) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.requiresSameIdempotencyKey = true }] },
            [EvidenceBuilder.delivery()] + keys.map { EvidenceBuilder.push(to: ada, key: $0) }
        ).evidence
    }

    private static func told(_ mine: String, _ theirs: String) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.userWithOtherContent = "bob" }] },
            [
                EvidenceBuilder.delivery(), EvidenceBuilder.push(to: ada, mine),
                EvidenceBuilder.push(to: "assay-namespace-0-bob", theirs),
            ]
        ).evidence
    }

    private static func addressed(_ recipient: String) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.allowedAddresses = .personal }] },
            [EvidenceBuilder.delivery(), EvidenceBuilder.push(to: recipient)]
        ).evidence
    }

    private static func attempts(_ count: Int) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.attemptsMax = 3 }] },
            [EvidenceBuilder.delivery()] + (0..<count).map { _ in EvidenceBuilder.attempt(400) }
        ).evidence
    }

    private static func paced(_ microseconds: Int64) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.obeysRetryAfter = true }] },
            [
                EvidenceBuilder.delivery(), EvidenceBuilder.attempt(429, retryAfter: "1"),
                EvidenceBuilder.attempt(200, at: microseconds),
            ]
        ).evidence
    }
}

// MARK: - Relations and states

extension FindingExample {
    private static let relations: [FindingExample] = [
        FindingExample(.effectMissing, "the twin was pushed to") {
            compared(mine: [], theirs: ["Hi"])
        } right: {
            compared(mine: ["Hi"], theirs: ["Hi"])
        },
        FindingExample(.unexpectedEffect, "a second push") {
            compared(mine: ["Hi", "Hi"], theirs: ["Hi"])
        } right: {
            compared(mine: ["Hi", "Hi"], theirs: ["Hi", "Hi"])
        },
        FindingExample(.effectDiffers, "another text") {
            compared(mine: ["Hello"], theirs: ["Hi"])
        } right: {
            compared(mine: ["Hi"], theirs: ["Hi"])
        },
        FindingExample(.stateDiffers, "another plan") {
            probed(["plan": "b"]) { _ in ["plan": "a"] }
        } right: {
            probed(["plan": "a"]) { _ in ["plan": "a"] }
        },
        FindingExample(.stateDiffers, "what stood there is gone, though more may come") {
            kept(["devices": ["two"]]) { _ in ["devices": ["one"], "count": 1] }
        } right: {
            kept(["devices": ["one", "two"], "count": 2]) { _ in ["devices": ["one"], "count": 1] }
        },
        FindingExample(.stateDiffers, "more came, where nothing may") {
            probed(["devices": ["one", "two"]]) { _ in ["devices": ["one"]] }
        } right: {
            kept(["devices": ["one", "two"]]) { _ in ["devices": ["one"]] }
        },
        FindingExample(.stateDiffers, "the answer can be read in the twin only") {
            readable(mine: false, theirs: true)
        } right: {
            readable(mine: true, theirs: true)
        },
        FindingExample(.unobservable, "the answer can be read in neither") {
            readable(mine: false, theirs: false)
        } right: {
            readable(mine: true, theirs: true)
        },
        FindingExample(.baselineFailed, "the answer can be read here only") {
            readable(mine: true, theirs: false)
        } right: {
            readable(mine: true, theirs: true)
        },
        FindingExample(.unstableState, "the twins disagree in what is mapped") {
            probed(["access": true]) { ["access": .bool($0 == 1)] }
        } right: {
            probed(["access": true]) { ["access": true, "row": .integer(Int64($0))] }
        },
        FindingExample(.unstableState, "the twins were not told equally often") {
            told { $0 == 1 ? ["Hi"] : [] }
        } right: {
            told { _ in ["Hi"] }
        },
        FindingExample(.allValuesVolatile, "the twins differ everywhere") {
            probed(7) { .integer(Int64($0)) }
        } right: {
            probed(["n": 7, "plan": "a"]) { ["n": .integer(Int64($0)), "plan": "a"] }
        },
        FindingExample(.allValuesVolatile, "the twins differ in all that they hold") {
            probed(["n": 7]) { ["n": .integer(Int64($0))] }
        } right: {
            probed(["n": 7, "plan": "a"]) { ["n": .integer(Int64($0)), "plan": "a"] }
        },
        FindingExample(.baselineFailed, "the plain run got a 500") {
            baseline(responses: 500)
        } right: {
            baseline(responses: 200)
        },
    ]

    private static func compared(mine: [String], theirs: [String]) -> CaseEvidence {
        EvidenceBuilder.compared { id in
            mine.map { EvidenceBuilder.push(to: id, $0) } + [EvidenceBuilder.probe([:])]
        } baselines: { _, id in
            theirs.map { EvidenceBuilder.push(to: id, $0) } + [EvidenceBuilder.probe([:])]
        }.evidence
    }

    private static func probed(
        _ mine: JSONValue,
        _ theirs: (Int) -> JSONValue
    ) -> CaseEvidence {
        EvidenceBuilder.compared { _ in
            [EvidenceBuilder.probe(mine)]
        } baselines: { number, _ in
            [EvidenceBuilder.probe(theirs(number))]
        }.evidence
    }

    /// As `probed`, where more may come beside what stood there.
    private static func kept(
        _ mine: JSONValue,
        _ theirs: (Int) -> JSONValue
    ) -> CaseEvidence {
        var builder = EvidenceBuilder.compared { _ in
            [EvidenceBuilder.probe(mine)]
        } baselines: { number, _ in
            [EvidenceBuilder.probe(theirs(number))]
        }
        builder.contract.expectation.compared = [.kept]
        return builder.evidence
    }

    private static func retrying(pause: Duration?, pushes count: Int = 0) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.countMin = 1 }] },
            [EvidenceBuilder.delivery()]
                + (0..<count).map { _ in EvidenceBuilder.push(to: "assay-namespace-0-ada", key: "k")
                }
        ).evidence { $0.openRetryPause = pause }
    }

    private static func blind(_ showsNoPurchase: Bool) -> CaseEvidence {
        var builder = EvidenceBuilder.bought(
            { $0.states = [SampleContract.state("access", false)] },
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": false])]
        )
        if showsNoPurchase { builder.observability.areProbeChangesObservable = false }
        builder.observability.arePushesObservable = false
        return builder.evidence
    }

    private static func compared(showsNoPurchase: Bool) -> CaseEvidence {
        var builder = EvidenceBuilder.compared { _ in
            [EvidenceBuilder.probe(["access": false])]
        } baselines: { _, _ in
            [EvidenceBuilder.probe(["access": false])]
        }
        if showsNoPurchase { builder.observability.areProbeChangesObservable = false }
        builder.observability.arePushesObservable = false
        return builder.evidence
    }

    private static func settled(_ settleEvidence: RunRecord.SettleEvidence) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.states = [SampleContract.state("access", true)] },
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": true])]
        ).evidence { $0.settleEvidence = settleEvidence }
    }

    private static func readable(mine: Bool, theirs: Bool) -> CaseEvidence {
        func probe(_ isReadable: Bool) -> [Exchange] {
            [EvidenceBuilder.probe(["access": true], status: isReadable ? 200 : 500)]
        }
        return EvidenceBuilder.compared { _ in
            probe(mine)
        } baselines: { _, _ in
            probe(theirs)
        }.evidence
    }

    private static func told(_ theirs: (Int) -> [String]) -> CaseEvidence {
        EvidenceBuilder.compared { id in
            [EvidenceBuilder.push(to: id, "Hi"), EvidenceBuilder.probe([:])]
        } baselines: { number, id in
            theirs(number).map { EvidenceBuilder.push(to: id, $0) } + [EvidenceBuilder.probe([:])]
        }.evidence
    }

    private static func baseline(responses status: Int) -> CaseEvidence {
        EvidenceBuilder.compared { _ in
            [EvidenceBuilder.probe([:])]
        } baselines: { _, _ in
            [EvidenceBuilder.probe([:])]
        }.with { builder in
            for index in builder.baselines.indices {
                builder.baselines[index][0].outcome = .answered(HTTPMessage.Response(status))
            }
        }.evidence
    }

    private static let states: [FindingExample] = [
        FindingExample(.wrongStateValue, "access after a refund") {
            seen(["access": true], "access", false)
        } right: {
            seen(["access": false], "access", false)
        },
        FindingExample(.userMissing, "a purchase of nobody known is lost") {
            existing(nil, expectedValue: true)
        } right: {
            existing(["id": "x"], expectedValue: true)
        },
        FindingExample(.unexpectedUser, "a test event makes a user") {
            existing(["id": "x"], expectedValue: false)
        } right: {
            existing(nil, expectedValue: false)
        },
        FindingExample(.userMissing, "the probe answers null") {
            existing(.null, expectedValue: true)
        } right: {
            existing(["id": "x"], expectedValue: true)
        },
        FindingExample(.userMissing, "the probe answers as for an id that nobody has") {
            existing(
                ["user": "assay-namespace-0-ada", "known": false],
                expectedValue: true,
                nobody: true
            )
        } right: {
            existing(
                ["user": "assay-namespace-0-ada", "known": true],
                expectedValue: true,
                nobody: true
            )
        },
        FindingExample(.personalDataKept, "the address is still there") {
            deletedUserNames(["mail": "assay-namespace-0-ada@example.com"])
        } right: {
            deletedUserNames(["mail": "assay-namespace-0-bob@example.com"])
        },
        FindingExample(.unobservable, "a plain purchase shows nowhere, so nobody has access") {
            blind(true)
        } right: {
            blind(false)
        },
        FindingExample(.unobservable, "nothing equals nothing") {
            compared(showsNoPurchase: true)
        } right: {
            compared(showsNoPurchase: false)
        },
        FindingExample(.settleTimeoutExpired, "nothing came yet, and it tries on") {
            retrying(pause: .seconds(20))
        } right: {
            retrying(pause: nil, pushes: 1)
        },
        FindingExample(.settleTimeoutExpired, "a later purchase had no effect either") {
            settled(.window(.milliseconds(15)))
        } right: {
            settled(.sentinel(quietDuration: .milliseconds(15)))
        },
        FindingExample(.mappedPathAbsent, "the mapped place is misspelt") {
            seen(["acces": false, "plan": "free"], "access", false)
        } right: {
            seen(["access": false, "plan": "free"], "access", false)
        },
        FindingExample(.machineBusy, "a push is missing while Assay stood still") {
            starved(pushes: 0)
        } right: {
            starved(pushes: 1)
        },
        FindingExample(.unobservable, "no probe shows it") {
            seen(["access": true], "refunded", true)
        } right: {
            seen(["access": true], "access", true)
        },
    ]

    private static func starved(pushes count: Int) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.effects = [SampleContract.effect { $0.countMin = 1 }] },
            [EvidenceBuilder.delivery()]
                + (0..<count).map { _ in EvidenceBuilder.push(to: "assay-namespace-0-ada", key: "k")
                }
        ).evidence {
            $0.starvation = RunRecord.Starvation(longestPause: .seconds(3), lostTime: .seconds(4))
        }
    }

    private static func seen(
        _ document: JSONValue,
        _ field: String,
        _ value: JSONValue
    ) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.states = [SampleContract.state(field, value)] },
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(document)]
        ).evidence
    }

    private static func existing(
        _ document: JSONValue?,
        expectedValue: Bool,
        nobody: Bool = false
    ) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.states = [SampleContract.state("exists", .bool(expectedValue))] },
            [
                EvidenceBuilder.delivery(),
                EvidenceBuilder.probe(
                    document,
                    status: document == nil ? 404 : 200,
                    name: "user"
                ),
            ]
        ).with {
            if nobody {
                $0.observability.unknownUserDocuments = ["user": ["user": "‹id›", "known": false]]
            }
            $0.profile.probes.append(
                Profile.Probe(name: "user", source: .get("/u"), readings: [:], ignoredPointers: [])
            )
        }.evidence
    }

    private static func deletedUserNames(_ document: JSONValue) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.deletedUserNames = ["ada"] },
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(document, name: "user")]
        ).evidence
    }
}

// MARK: - Routes, apps and doubts

extension FindingExample {
    private static let routes: [FindingExample] = [
        FindingExample(.wrongID, "somebody else's id is answered") {
            routed(["one": (200, ["appUserId": "assay-namespace-0-bob"])]) { $0.calls = [one] }
        } right: {
            routed(["one": (200, ["appUserId": .string(ada)])]) { $0.calls = [one] }
        },
        FindingExample(.revealingResponse, "an unknown account is told apart") {
            routed(["one": (401, ["e": "password"]), "two": (401, ["e": "account"])]) {
                $0.callsWithSameResponse = ["one", "two"]
            }
        } right: {
            routed(["one": (401, ["e": "no"]), "two": (401, ["e": "no"])]) {
                $0.callsWithSameResponse = ["one", "two"]
            }
        },
        FindingExample(.wrongRaceOutcome, "both callers win") {
            routed(["one": (200, [:]), "two": (200, [:])]) { $0.race = race }
        } right: {
            routed(["one": (200, [:]), "two": (409, [:])]) { $0.race = race }
        },
        FindingExample(.secretExposed, "a key stands in an answer") {
            routed(["one": (200, ["e": "os_v2_app_assay"])]) { $0.hidesSecrets = true }
        } right: {
            routed(["one": (200, ["e": "os_v2_app_other"])]) { $0.hidesSecrets = true }
        },
        FindingExample(.tooManyFetches, "every unknown key id makes it fetch") {
            fetched(3)
        } right: {
            fetched(2)
        },
    ]

    private static let one = CallExpectation(
        call: "one",
        user: "ada",
        location: SampleContract.location
    )
    private static let race = RaceExpectation(
        calls: ["one", "two"],
        winnerCount: 1,
        location: SampleContract.location
    )

    private static func routed(
        _ responses: [String: (Int, JSONValue)],
        _ expect: (inout Expectation) -> Void
    ) -> CaseEvidence {
        EvidenceBuilder.bought(expect, []).with { builder in
            builder.contract.steps = [
                .call(
                    responses.keys.sorted().map { name in
                        var call = Call(name: name, route: .login)
                        call.user = "ada"
                        // What is answered is this rule's business, and no other's.
                        call.responses = .anyOutcome
                        return call
                    }
                )
            ]
            builder.subject = responses.keys.sorted().map {
                EvidenceBuilder.call($0, responses[$0]?.0 ?? 0, responses[$0]?.1 ?? .null)
            }
        }.evidence
    }

    private static func fetched(_ count: Int) -> CaseEvidence {
        EvidenceBuilder.bought(
            { $0.signingKeyFetchCountMax = 2 },
            [EvidenceBuilder.delivery()] + (0..<count).map { _ in EvidenceBuilder.keyFetch }
        ).evidence
    }

    private static func app(
        _ code: FindingCode,
        _ promise: AppInvariant,
        _ what: String,
        _ change: @escaping @Sendable (inout PhoneTimeline) -> Void
    ) -> FindingExample {
        FindingExample(code, what) {
            var scenario: PhoneTimeline = promise == .silent ? .browser : .day
            change(&scenario)
            return scenario.evidence([promise])
        } right: {
            (promise == .silent ? PhoneTimeline.browser : .day).evidence([promise])
        }
    }

    private static let apps: [FindingExample] = [
        app(.unexpectedCommand, .silent, "a browser is no phone") {
            $0.command("registerpush://", at: 1)
        },
        app(.commandMissing, .aliased, "OneSignal was not told") { $0.drop(4020) },
        app(.identitySplit, .endsWithOneUserID, "the vault holds another") {
            $0.look(vault: [:], alias: PhoneTimeline.third)
        },
        app(.unusableID, .usableIDs, "undefined") { $0.command(Bridge.alias("undefined"), at: 9) },
        app(.paywallTooEarly, .registeredBeforePaywall, "nobody is registered") {
            $0.command(Bridge.paywall(PhoneTimeline.first), at: 80)
        },
        app(.paywallRepeated, .singlePaywall, "two at a time") {
            $0.command(Bridge.paywall(PhoneTimeline.first), at: 2011)
        },
        app(.registrationLost, .retriesFailedRegistrations, "never again") { $0.drop(after: 150) },
        app(.registrationRepeated, .repeatsNoRegistration, "again and again") {
            $0.register(PhoneTimeline.third, at: 4300)
        },
        app(.registrationIncomplete, .completeRegistrations, "no source") {
            $0.register(PhoneTimeline.third, at: 4300, ["source": nil])
        },
        app(.malformedCommand, .encoded, "a raw #") { $0.command(Bridge.alias("a#b"), at: 9) },
        app(.wrongUser, .delayedRepliesKeepUserID, "a late reply is believed") {
            $0.command(Bridge.write(PhoneTimeline.first), at: 40_000)
        },
        app(.wrongOrder, .writesIDBeforeRegistering, "registered before it was kept") {
            $0.drop(60)
            $0.command(Bridge.write(PhoneTimeline.first), at: 1900)
        },
        app(.guessableID, .unguessable, "made of the install id") {
            $0.command(Bridge.write(PhoneTimeline.install + "-2"), at: 4015)
        },
        app(.unprotectedSecret, .vaultHoldsNoPrivateValues, "an address lies open") {
            $0.command(Bridge.write("a%40b.example"), at: 4300)
        },
        app(.commandSwallowed, .sendsOneCommandPerTask, "two commands in one task") {
            $0.command(Bridge.alias(PhoneTimeline.first), at: 4300, isInTaskOfOther: true)
        },
        app(.pageBroken, .unbroken, "the page died") { $0.pageError("x is null", at: 4300) },
        FindingExample(.startTooSlow, "nobody is registered in time") {
            started(5001)
        } right: {
            started(5000)
        },
        FindingExample(.screenDiffers, "the page shows access") {
            shown(true)
        } right: {
            shown(false)
        },
    ]

    private static func started(_ time: Int64) -> CaseEvidence {
        var scenario = PhoneTimeline()
        scenario.userAction("launch", at: 0)
        scenario.register(PhoneTimeline.first, at: time)
        scenario.expected.requiresTimelyRegistration = true
        return scenario.evidence()
    }

    private static func shown(_ access: Bool) -> CaseEvidence {
        var scenario = PhoneTimeline.browser
        scenario.screen(["access": .bool(access)])
        scenario.expected.screens = [
            .init(element: .access, expectedValue: false, location: SampleContract.location)
        ]
        return scenario.evidence()
    }

    private static let doubts: [FindingExample] = [
        FindingExample(.requestsNotConcurrent, "copies one after the other") {
            raced(10)
        } right: {
            raced(9)
        },
        FindingExample(.journalGap, "the journal forgot") {
            EvidenceBuilder.bought().evidence { $0.runProblem = .journalGap }
        } right: {
            EvidenceBuilder.bought().evidence
        },
        FindingExample(.backendGone, "nobody answers any more") {
            EvidenceBuilder.bought().evidence { $0.runProblem = .backendGone("refused") }
        } right: {
            EvidenceBuilder.bought().evidence
        },
        FindingExample(.setupFailed, "the delivery was never sent") {
            EvidenceBuilder.bought({ _ in }, []).evidence
        } right: {
            EvidenceBuilder.bought().evidence
        },
        FindingExample(.notRun, "the app was never launched") {
            var scenario = PhoneTimeline.browser
            scenario.drop(0)
            return scenario.evidence([.silent])
        } right: {
            PhoneTimeline.browser.evidence([.silent])
        },
        FindingExample(.faultNotApplied, "nobody called the provider that was to fail") {
            disturbed([])
        } right: {
            disturbed([EvidenceBuilder.attempt(503)])
        },
    ]

    /// Two copies, the second of which begins at that moment; the first ends at 10.
    private static func raced(_ moment: Int64) -> CaseEvidence {
        var delivery = SampleContract.purchase("purchase")
        delivery.sendsCopiesConcurrently = true
        delivery.times = 2
        var expectation = SampleContract.expectation()
        expectation.concurrentRequestCountMin = 2
        var builder = EvidenceBuilder([delivery], expectation: expectation)
        builder.subject = [
            EvidenceBuilder.delivery(invoked: 0, completed: 10),
            EvidenceBuilder.delivery(attempt: 2, invoked: moment, completed: 20),
        ]
        return builder.evidence
    }

    private static func disturbed(_ calls: [Exchange]) -> CaseEvidence {
        EvidenceBuilder.bought({ _ in }, [EvidenceBuilder.delivery()] + calls).with {
            $0.contract.given = [
                .provider(ProviderPlan(provider: .oneSignal, responses: [.status(503)]))
            ]
        }.evidence
    }
}
