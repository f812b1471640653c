import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

/// Effects: how many, to whom, with which words, keys and pauses.
@Suite("Effect table")
struct EffectTableTests {
    private static let ada = "assay-namespace-0-ada"
    private static let bob = "assay-namespace-0-bob"

    private func codes(
        _ effect: EffectExpectation,
        _ exchanges: [Exchange],
        rule: any Rule.Type = EffectRule.self,
        _ change: (inout EvidenceBuilder) -> Void = { _ in }
    ) -> [FindingCode] {
        EvidenceBuilder.bought({ $0.effects = [effect] }, exchanges).with(change).codes(rule)
    }

    private func pushes(_ count: Int, to recipient: String = ada) -> [Exchange] {
        (0..<count).map { _ in EvidenceBuilder.push(to: recipient) }
    }

    // MARK: Whom it reaches

    @Test(
        "an audience is reached exactly, or the message does not count",
        arguments: [
            (Audience(users: ["ada"]), ["ada"], true),
            (Audience(users: ["ada"]), ["ada", "bob"], false),
            (Audience(users: ["ada"]), ["ada", "everyone"], false),
            (Audience(users: ["ada"]), ["bob"], false), (Audience(users: ["ada"]), [], false),
            (Audience(users: ["ada", "bob"]), ["bob", "ada"], true),
            (Audience(users: ["ada", "bob"]), ["ada"], false),
            (Audience(users: ["ada"], otherRecipientCount: 1), ["ada", "device-1"], true),
            (Audience(users: ["ada"], otherRecipientCount: 1), ["ada"], false),
            (
                Audience(users: ["ada"], otherRecipientCount: 1), ["ada", "device-1", "device-2"],
                false
            ),
            (Audience(isEveryone: true), ["everyone"], true),
            (Audience(isEveryone: true), ["everyone", "ada"], false),
            (Audience(otherRecipientCount: 1), ["everyone"], false), (Audience(), [], true),
        ] as [(Audience, [String], Bool)]
    )
    func reaches(audience: Audience, recipients: [String], isReached: Bool) throws {
        var push = EvidenceBuilder.push(to: "")
        push.effects[0].recipients = recipients.map {
            ["ada": Self.ada, "bob": Self.bob][$0] ?? $0
        }
        var effect = SampleContract.effect(1...1)
        (effect.user, effect.audience) = (nil, audience)
        #expect(codes(effect, [push]) == (isReached ? [] : [.wrongEffectCount]))
        effect.expectedContent = push.effects[0].content
        #expect(
            codes(effect, [push], rule: GoldenRule.self)
                == (isReached ? [] : [.effectContentDiffers])
        )
    }

    @Test func `unexpected recipients are shown next to the expected ones`() throws {
        var push = EvidenceBuilder.push(to: Self.ada)
        push.effects[0].recipients.append("everyone")
        var effect = SampleContract.effect(1...1)
        (effect.user, effect.audience) = (nil, Audience(users: ["ada"]))
        effect.expectedContent = push.effects[0].content
        let builder = EvidenceBuilder.bought({ $0.effects = [effect] }, [push])
        let found = try #require(GoldenRule.findings(in: builder.evidence).first)
        #expect(found.nearMiss.contains { $0.contains("ada, a segment") })
        #expect(found.expected.contains("to ada with content"))
    }

    // MARK: Keys

    @Test(
        "one key per event, the same on every attempt",
        arguments: [
            (["a"], 1, true), (["a", "a"], 1, true), (["a", "b"], 1, false),
            (["a", "a", "b"], 2, true), (["a", "a", "a"], 2, false), (["a", nil], 1, false),
            ([nil], 1, false), ([], 1, true),
        ] as [([String?], Int, Bool)]
    )
    func sharedKeys(keys: [String?], count: Int, isRight: Bool) {
        var effect = SampleContract.effect { $0.countMin = 0 }
        (effect.user, effect.idempotencyKeyCount) = (nil, count)
        let attempts = keys.map { EvidenceBuilder.push(to: Self.ada, key: $0) }
        #expect(codes(effect, attempts) == (isRight ? [] : [.idempotencyKeyChanged]))
    }

    // MARK: Counting

    @Test(
        "a number passes only inside its bounds",
        arguments: [0...0, 0...1, 1...1, 1...3, 2...2],
        0...5
    )
    func counts(range: ClosedRange<Int>, count: Int) {
        let found = codes(SampleContract.effect(range), pushes(count))
        #expect(found == (range.contains(count) ? [] : [.wrongEffectCount]))
    }

    @Test func `without a bound above, any number is enough`() {
        let effect = SampleContract.effect { $0.countMin = 2 }
        #expect(codes(effect, pushes(1)) == [.wrongEffectCount])
        #expect(codes(effect, pushes(2)).isEmpty)
        #expect(codes(effect, pushes(50)).isEmpty)
    }

    @Test func `too many is final, too few may still change`() throws {
        func finding(_ count: Int) throws -> Finding {
            try #require(
                EffectRule.findings(
                    in: EvidenceBuilder.bought(
                        { $0.effects = [SampleContract.effect(1...1)] },
                        pushes(count)
                    ).evidence
                ).first
            )
        }
        #expect(try finding(2).isFinal)
        #expect(try !finding(0).isFinal)
        #expect(try finding(2).evidence.count == 2)
        #expect(try finding(0).expected == "exactly 1 onesignal.notification to ada")
    }

    @Test func `only effects of this kind for this user count`() {
        let mine = SampleContract.effect(1...1)
        #expect(codes(mine, pushes(1) + pushes(3, to: Self.bob)).isEmpty)
        #expect(codes(mine, pushes(1, to: Self.bob)) == [.wrongEffectCount])
        let anyone = SampleContract.effect(user: nil, 2...2)
        #expect(codes(anyone, pushes(1) + pushes(1, to: Self.bob)).isEmpty)
        var tag = EvidenceBuilder.push(to: Self.ada)
        tag.effects[0].kind = "onesignal.tags"
        #expect(codes(mine, pushes(1) + [tag]).isEmpty)
        #expect(codes(mine, [tag]) == [.wrongEffectCount])
    }

    @Test func `one push to several users counts for each of them`() {
        var both = EvidenceBuilder.push(to: Self.ada)
        both.effects[0].recipients.append(Self.bob)
        #expect(codes(SampleContract.effect(1...1), [both]).isEmpty)
        #expect(codes(SampleContract.effect(user: "bob", 1...1), [both]).isEmpty)
    }

    @Test func `an accepted push with a lost response counts`() {
        var lost = EvidenceBuilder.push(to: Self.ada)
        lost.outcome = .answerLost(nil)
        #expect(codes(SampleContract.effect(1...1), [lost]).isEmpty)
    }

    @Test(
        "zero pushes of a backend that was never seen to push are inconclusive",
        arguments: [(false, false, true), (false, true, false), (true, false, false)]
    )
    func invisiblePurchaseReason(sees: Bool, isDeclared: Bool, isDoubt: Bool) {
        let found = codes(SampleContract.effect(0...0), []) {
            $0.observability.arePushesObservable = sees
            if isDeclared { $0.profile.unsupportedFeatures = [.push] }
        }
        #expect(found == (isDoubt ? [.unobservable] : []))
    }

    @Test func `an expectation without a count is judged by another rule`() {
        let found = codes(SampleContract.effect { $0.allowedAddresses = .personal }, []) {
            $0.observability.arePushesObservable = false
        }
        #expect(found.isEmpty)
    }

    // MARK: Keys

    private static let keys: [([String?], [FindingCode])] = [
        (["k", "k"], []), (["k", "l"], [.idempotencyKeyChanged]),
        (["k", nil], [.idempotencyKeyChanged]),
        ([nil, nil], [.idempotencyKeyChanged]), (["k"], [.unobservable]), ([], [.unobservable]),
        (["k", "k", "l"], [.idempotencyKeyChanged]),
    ]

    @Test("attempts of one push share their key", arguments: keys)
    func key(keys: [String?], expected: [FindingCode]) {
        let found = codes(
            SampleContract.effect { $0.requiresSameIdempotencyKey = true },
            keys.map { EvidenceBuilder.push(to: Self.ada, key: $0) }
        )
        #expect(found == expected)
    }

    @Test func `the older name of the key is accepted`() {
        var old = EvidenceBuilder.attempt(200, key: nil)
        old.request.body = JSONValue.object(["external_id": "k"]).bytes
        let effect = SampleContract.effect { $0.requiresSameIdempotencyKey = true }
        #expect(codes(effect, [old, old]).isEmpty)
        #expect(codes(effect, [old, EvidenceBuilder.push(to: Self.ada, key: "k")]).isEmpty)
    }

    @Test func `refused attempts carry the key too`() {
        let effect = SampleContract.effect { $0.requiresSameIdempotencyKey = true }
        let refused = EvidenceBuilder.attempt(503, key: "other")
        #expect(
            codes(effect, [refused, EvidenceBuilder.push(to: Self.ada)]) == [.idempotencyKeyChanged]
        )
    }

    // MARK: More than the twin

    @Test("effects beyond the baseline are limited", arguments: [(0, 0), (1, 1), (2, 1), (3, 3)])
    func added(mine: Int, max: Int) {
        var builder = EvidenceBuilder.compared(.before) { id in
            (0..<mine + 1).map { _ in EvidenceBuilder.push(to: id) }
        } baselines: { _, id in
            [EvidenceBuilder.push(to: id)]
        }
        builder.contract.expectation.effects = [
            SampleContract.effect { $0.countMaxAboveBaseline = max }
        ]
        #expect(builder.codes(EffectRule.self) == (mine > max ? [.wrongEffectCount] : []))
    }

    @Test(
        "the steps must add the same number of effects for both users",
        arguments: [(1, 1), (0, 1), (2, 1), (0, 0)]
    )
    func addsSameNumberForBothUsers(mine: Int, theirs: Int) {
        var builder = EvidenceBuilder.compared(.before) { id in
            (0..<mine + 2).map { _ in EvidenceBuilder.push(to: id) }
                + (0..<theirs).map { _ in EvidenceBuilder.push(to: Self.bob) }
        } baselines: { _, id in
            (0..<2).map { _ in EvidenceBuilder.push(to: id) }
        }
        builder.contract.expectation.effects = [
            SampleContract.effect { $0.userWithSameAddedCount = "bob" }
        ]
        #expect(builder.codes(EffectRule.self) == (mine == theirs ? [] : [.wrongEffectCount]))
    }

    @Test(
        "only the effects added by the steps are compared with the baseline",
        arguments: [true, false]
    )
    func comparesOnlyAddedEffects(isSame: Bool) {
        var builder = EvidenceBuilder.compared(.before) { id in
            [
                EvidenceBuilder.push(to: id, "Welcome"), EvidenceBuilder.push(to: id, "Ended"),
                EvidenceBuilder.push(to: Self.bob, isSame ? "Ended" : "Another runs"),
            ]
        } baselines: { _, id in
            [EvidenceBuilder.push(to: id, "Welcome")]
        }
        builder.contract.expectation.effects = [
            SampleContract.effect {
                ($0.userWithOtherContent, $0.countMin) = ("bob", 0)
            }
        ]
        #expect(builder.codes(PushRule.self) == (isSame ? [.identicalMessages] : []))
    }

    // MARK: Addresses

    @Test func `a push to any ID of a case user counts for the case`() {
        let namespace = Namespace(name: "namespace-0", idForm: .string)
        let effect = SampleContract.effect { $0.allowedAddresses = .personal }
        func codes(_ recipients: [String]) -> [FindingCode] {
            var push = EvidenceBuilder.push(to: "")
            push.effects[0].recipients = recipients
            return self.codes(effect, [push], rule: PushRule.self)
        }
        #expect(codes([Self.ada]).isEmpty)
        #expect(codes([namespace.anonymousID(of: "ada")]).isEmpty)
        #expect(codes([]) == [.wrongRecipient], "a segment names nobody")
        #expect(codes([Self.ada, "stranger"]) == [.wrongRecipient])
        #expect(codes([Self.ada.uppercased()]) == [.wrongRecipient])
        #expect(codes([Self.bob]) == [.wrongRecipient], "bob is not of this case")
    }

    @Test(
        "a call refused as malformed reached no recipient",
        arguments: [(400, [FindingCode.wrongRecipient]), (429, []), (500, []), (200, [])]
    )
    func form(status: Int, expected: [FindingCode]) {
        let effect = SampleContract.effect { $0.allowedAddresses = .personal }
        let found = codes(effect, [EvidenceBuilder.attempt(status)], rule: PushRule.self)
        #expect(found == expected)
    }

    // MARK: Words

    private static let texts: [(mine: [String], theirs: [String], isSame: Bool)] = [
        (["Refunded"], ["Cancelled"], false), (["Bye"], ["Bye"], true), ([], [], false),
        ([], ["Bye"], false), (["Bye"], [], false),
        (["Hi", "Refunded"], ["Hi", "Cancelled"], false), (["Hi", "Bye"], ["Hi", "Bye"], true),
        (["Hi", "Bye"], ["Hi"], false),
    ]

    @Test("the messages to two users must not all be the same", arguments: texts)
    func words(mine: [String], theirs: [String], isSame: Bool) {
        let exchanges =
            mine.map { EvidenceBuilder.push(to: Self.ada, $0) }
            + theirs.map { EvidenceBuilder.push(to: Self.bob, $0) }
        let found = codes(
            SampleContract.effect { $0.userWithOtherContent = "bob" },
            exchanges,
            rule: PushRule.self
        )
        #expect(found == (isSame ? [.identicalMessages] : []))
    }

    @Test func `a message that contains the reader's name is the same message`() {
        let found = codes(
            SampleContract.effect { $0.userWithOtherContent = "bob" },
            [
                EvidenceBuilder.push(to: Self.ada, "Bye \(Self.ada)"),
                EvidenceBuilder.push(to: Self.bob, "Bye \(Self.bob)"),
            ],
            rule: PushRule.self
        )
        #expect(found == [.identicalMessages])
    }

    private static let named: [(String, String, Bool)] = [
        // Each reads of himself, in any of the ids that a run knows of him.
        ("Hi \(ada)", "Hi \(bob)", true),
        ("Hi \(ada.uppercased())", "Hi \(bob.uppercased())", true),
        // Ada is told of Bob, and Bob is not.
        ("Hi \(bob)", "Hi \(bob)", false), ("Hi \(bob)", "Hi \(ada)", false),
        ("Hi \(ada)", "Hi stranger", false), ("Refunded, \(ada)", "Cancelled, \(bob)", false),
    ]

    @Test("gendered names do not make messages different", arguments: named)
    func readers(mine: String, theirs: String, isSame: Bool) {
        let found = codes(
            SampleContract.effect { $0.userWithOtherContent = "bob" },
            [EvidenceBuilder.push(to: Self.ada, mine), EvidenceBuilder.push(to: Self.bob, theirs)],
            rule: PushRule.self
        )
        #expect(found == (isSame ? [.identicalMessages] : []))
    }

    // MARK: Attempts

    @Test("attempts are counted regardless of their outcome", arguments: 0...6)
    func attempts(count: Int) {
        let found = codes(
            SampleContract.effect { $0.attemptsMax = 3 },
            (0..<count).map { EvidenceBuilder.attempt($0 % 2 == 0 ? 500 : 200) },
            rule: PushRule.self
        )
        #expect(found == (count > 3 ? [.tooManyAttempts] : []))
    }

    @Test func `only notification calls count as attempts`() {
        var user = EvidenceBuilder.attempt(200)
        user.request = HTTPMessage.Request("PATCH", "/apps/x/users/by/external_id/y")
        var unknownUser = EvidenceBuilder.attempt(200)
        unknownUser.from = .app
        var query = EvidenceBuilder.attempt(200)
        query.request = HTTPMessage.Request("POST", "/notifications?c=push")
        let effect = SampleContract.effect { $0.attemptsMax = 0 }
        #expect(codes(effect, [user, unknownUser], rule: PushRule.self).isEmpty)
        #expect(codes(effect, [query], rule: PushRule.self) == [.tooManyAttempts])
    }

    private static let pauses: [(String?, Int64, [FindingCode])] = [
        ("1", 0, [.retriedTooEarly]), ("1", 899_999, [.retriedTooEarly]), ("1", 900_000, []),
        ("60", 53_999_999, [.retriedTooEarly]), ("60", 54_000_000, []), (nil, 0, []),
        ("soon", 0, []),
        ("0", 0, []),
    ]

    @Test("the next attempt waits for Retry-After", arguments: pauses)
    func pace(retryAfter: String?, wait: Int64, expected: [FindingCode]) {
        let found = codes(
            SampleContract.effect { $0.obeysRetryAfter = true },
            [
                EvidenceBuilder.attempt(429, at: 5, retryAfter: retryAfter),
                EvidenceBuilder.attempt(200, at: 5 + wait),
            ],
            rule: PushRule.self
        )
        #expect(found == expected)
    }

    @Test func `a missing 429 requires no wait, and after a 429 a retry is required`() {
        let effect = SampleContract.effect { $0.obeysRetryAfter = true }
        #expect(codes(effect, [EvidenceBuilder.attempt(503)], rule: PushRule.self).isEmpty)
        let alone = [EvidenceBuilder.attempt(429, retryAfter: "1")]
        #expect(codes(effect, alone, rule: PushRule.self) == [.wrongEffectCount])
    }

    // MARK: Tags

    @Test(
        "each tag reserved by RevenueCat is detected",
        arguments: RevenueCatIntegration.tagNames.sorted()
    )
    func reserved(tag: String) {
        #expect(tags([tag: "x"]) == [.unexpectedEffect])
        #expect(tags(["my_" + tag: "x"]).isEmpty)
        #expect(tags([tag: "x"], method: "GET").isEmpty)
        #expect(tags([tag: "x"], atRoot: true) == [.unexpectedEffect])
    }

    private func tags(
        _ tags: [String: String],
        method: String = "PATCH",
        atRoot: Bool = false
    ) -> [FindingCode] {
        let members = tags.keys.sorted().map {
            JSONObject.Member(key: $0, value: .string(tags[$0] ?? ""))
        }
        let object = JSONValue.object(["tags": .object(JSONObject(members: members))])
        var write = EvidenceBuilder.attempt(200)
        write.effects = []
        write.request = HTTPMessage.Request(
            method,
            "/apps/x/users/by/external_id/y",
            body: (atRoot ? object : ["properties": object]).bytes
        )
        let effect = SampleContract.effect { $0.kind = "onesignal.tags" }
        return codes(effect, [write], rule: PushRule.self)
    }

    // MARK: Recorded words

    private static let recorded: [(texts: [String], range: ClosedRange<Int>, [FindingCode])] = [
        (["Hi"], 1...1, []), (["Hi", "Other"], 1...1, []),
        (["Other"], 1...1, [.effectContentDiffers]),
        ([], 1...1, [.effectContentDiffers]), (["Hi", "Hi"], 1...1, [.effectContentDiffers]),
        (["Hi", "Hi"], 1...2, []), (["Other"], 0...0, []), (["Hi"], 0...0, [.effectContentDiffers]),
    ]

    @Test("only messages with the recorded text count", arguments: recorded)
    func expectedContent(texts: [String], range: ClosedRange<Int>, expected: [FindingCode]) {
        let effect = SampleContract.effect(range) {
            $0.expectedContent = ["contents": ["en": "Hi"]]
        }
        let found = codes(
            effect,
            texts.map { EvidenceBuilder.push(to: Self.ada, $0) },
            rule: GoldenRule.self
        )
        #expect(found == expected)
        #expect(codes(effect, texts.map { EvidenceBuilder.push(to: Self.ada, $0) }).isEmpty)
    }

    // MARK: Disturbances

    private static let plans:
        [([ProviderPlan.PlannedResponse], reads: Bool, calls: [String], isMet: Bool)] =
            [
                ([.reset], false, ["POST"], true), ([.reset], false, [], false),
                ([.reset], false, ["GET"], false), ([.reset], true, ["GET"], true),
                ([.reset], false, ["HEAD", "DELETE"], true),
                ([.asUsual, .reset], false, ["POST"], false),
                ([.asUsual, .reset], false, ["POST", "POST"], true),
                ([.asUsual, .asUsual], false, [], true), ([], false, [], true),
            ]

    @Test("the provider call targeted by a fault was made", arguments: plans)
    func fault(
        responses: [ProviderPlan.PlannedResponse],
        includesReads: Bool,
        calls: [String],
        isMet: Bool
    ) {
        let plan = ProviderPlan(
            provider: .oneSignal,
            responses: responses,
            includesReads: includesReads
        )
        let exchanges = calls.map { method -> Exchange in
            var call = EvidenceBuilder.attempt(200)
            call.request.method = method
            return call
        }
        let builder = EvidenceBuilder.bought({ _ in }, exchanges).with {
            $0.contract.given = [.provider(plan)]
        }
        #expect(builder.codes(PlannedFaultRule.self) == (isMet ? [] : [.faultNotApplied]))
    }

    @Test func `calls to another provider are not affected by a plan`() {
        let plan = ProviderPlan(provider: .revenueCat, responses: [.reset])
        let builder = EvidenceBuilder.bought({ _ in }, [EvidenceBuilder.attempt(200)]).with {
            $0.contract.given = [.provider(plan)]
        }
        #expect(builder.codes(PlannedFaultRule.self) == [.faultNotApplied])
    }
}
