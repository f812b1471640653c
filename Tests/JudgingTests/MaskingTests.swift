import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

/// What two runs of one backend do not share: ids, and the moments at which they ran.
@Suite("Masking")
struct MaskingTests {
    private func record(
        _ form: UserIDForm = .string,
        _ change: (inout RunRecord) -> Void = { _ in }
    ) -> RunRecord {
        EvidenceBuilder.bought().evidence { record in
            record.namespace = Namespace(name: "run-1234", idForm: form)
            change(&record)
        }.subject
    }

    @Test("every ID of a user is replaced with a name", arguments: UserIDForm.allCases)
    func ids(form: UserIDForm) {
        let record = record(form)
        let masking = Masking(record)
        let names = record.namespace
        #expect(masking.replaceIDs(in: names.id(of: "ada")) == "‹ada›")
        #expect(masking.replaceIDs(in: names.anonymousID(of: "ada")) == "‹ada anonymous›")
        #expect(masking.replaceIDs(in: names.installID(of: "ada")) == "‹ada install›")
        #expect(masking.replaceIDs(in: names.eventID(of: "purchase")) == "‹purchase id›")
        #expect(masking.replaceIDs(in: "key-" + names.id(of: "ada")) == "key-‹ada›")
        #expect(masking.masked(["id": .string(names.id(of: "ada"))]) == ["id": "‹ada›"])
        let devices = JSONObject(members: [.init(key: names.installID(of: "ada"), value: true)])
        let named = JSONObject(members: [.init(key: "‹ada install›", value: true)])
        #expect(masking.masked(["devices": .object(devices)]) == ["devices": .object(named)])
    }

    @Test(
        "IDs in another letter case are masked",
        arguments: [UserIDForm.uuid, .string, .firebase]
    )
    func cases(form: UserIDForm) {
        let record = record(form)
        let masking = Masking(record)
        let id = record.namespace.id(of: "ada")
        #expect(masking.replaceIDs(in: id.uppercased()) == "‹ada›")
        #expect(masking.replaceIDs(in: id.lowercased()) == "‹ada›")
    }

    @Test("the ID of an account is masked", arguments: [nil, AccountIDForm.uid])
    func accounts(form: AccountIDForm?) {
        let record = record { record in
            record.namespace = Namespace(name: "run-1234", idForm: .string, accountIDForm: form)
            record.plan.steps.append(.createAccount("home"))
            var call = Call(name: "claim", route: .login)
            call.account = "away"
            record.plan.steps.append(.call([call]))
        }
        let masking = Masking(record)
        for account in ["home", "away"] {
            let id = record.namespace.accountID(of: account)
            #expect(masking.masked(["a": .string(id)]) == ["a": .string("‹account \(account)›")])
        }
    }

    @Test func `the ID of an unknown user is kept`() {
        let masking = Masking(record())
        let unknownUser = Namespace(name: "run-9999", idForm: .string).id(of: "ada")
        #expect(masking.replaceIDs(in: unknownUser) == unknownUser)
        #expect(masking.replaceIDs(in: "") == "")
        #expect(masking.replaceIDs(in: "ada") == "ada", "a name is no id")
    }

    @Test func `of two IDs with a common prefix the longer one is masked`() {
        var record = record()
        record.plan.users = ["ada", "ada2"]
        let masking = Masking(record)
        #expect(masking.replaceIDs(in: record.namespace.id(of: "ada2")) == "‹ada2›")
    }

    @Test func `masking twice equals masking once`() {
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            let record = record(made.one(of: UserIDForm.allCases))
            let masking = Masking(record)
            var document = made.json()
            document = .array([
                document,
                .string(made.text() + record.namespace.id(of: "ada") + made.text()),
                .integer(record.began.milliseconds + Int64(made.int(0...5000))),
            ])
            let once = masking.masked(document)
            #expect(masking.masked(once) == once, "seed \(seed)")
        }
    }

    // MARK: Clocks

    private static let moments: [(JSONValue, Bool)] = [
        ("2026-09-21T15:13:20Z", true), ("2026-09-21T15:13:30Z", true),
        ("2026-09-21T15:13:18Z", true), ("2026-09-21T15:13:17Z", false),
        ("2026-09-21T15:13:32Z", true), ("2026-09-21T15:13:33Z", false),
        ("2026-09-21 15:13:25.123456", true), ("2026-09-21T17:13:25+02:00", true),
        (1_790_003_605, true), (1_790_003_605_000, true),
        (1_790_003_500, false), ("1790003605", false), (5, false), (.null, false), (true, false),
        ("2026-09-21", false),
    ]

    /// The run of the evidence takes ten seconds from 15:13:20.
    @Test("timestamps of the backend's clock are masked within two seconds", arguments: moments)
    func clock(value: JSONValue, isMasked: Bool) {
        let masking = Masking(record())
        #expect(masking.masked(value) == (isMasked ? Masking.wallClockToken : value))
    }

    private static let readings: [(JSONValue, Int64?)] = [
        (1_000_000_001, 1_000_000_001_000), (1_000_000_000, nil), (999_999_999, nil),
        (99_999_999_999, 99_999_999_999_000), (100_000_000_000, 100_000_000_000),
        (99_999_999_999_999, 99_999_999_999_999), (100_000_000_000_000, nil), (-5, nil),
        ("2026-11-18T11:06:40Z", 1_795_000_000_000), ("2026-11-18T11:06", nil),
        ("2026-11-18T11:06:40 and more than forty letters", nil), (.null, nil), (false, nil),
        ([1_795_000_000], nil),
    ]

    @Test("seconds and milliseconds are distinguished by magnitude", arguments: readings)
    func instant(value: JSONValue, milliseconds: Int64?) {
        #expect(Instant(timeValue: value)?.milliseconds == milliseconds)
    }

    // MARK: Comparing

    private func compared(_ mine: JSONValue, _ first: JSONValue, _ second: JSONValue)
        -> EvidenceBuilder
    {
        EvidenceBuilder.compared { _ in
            [EvidenceBuilder.probe(mine)]
        } baselines: { number, _ in
            [EvidenceBuilder.probe(number == 1 ? first : second)]
        }
    }

    @Test func `equal runs never differ`() {
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            let document = JSONValue.object(made.object())
            let builder = compared(
                document,
                made.reordered(document),
                made.reordered(document)
            )
            #expect(builder.codes(RelationRule.self).isEmpty, "seed \(seed)")
        }
    }

    @Test func `one stable leaf that differs is found at any depth`() {
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            let document = JSONValue.object(made.object())
            let leaves = document.allPointers.filter {
                !$0.tokens.isEmpty && document[$0]?.array == nil && document[$0]?.object == nil
            }
            guard !leaves.isEmpty else { continue }
            var changed = document
            changed.set(made.one(of: leaves), to: "another value than ever")
            let builder = compared(changed, document, document)
            #expect(builder.codes(RelationRule.self) == [.stateDiffers], "seed \(seed)")
        }
    }

    @Test func `a leaf that differs between baseline runs is never a finding`() {
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            let document = JSONValue.object(made.object())
            let valuePaths = document.allPointers.filter { !$0.tokens.isEmpty }
            guard !valuePaths.isEmpty else { continue }
            let place = made.one(of: valuePaths)
            func with(_ text: String) -> JSONValue {
                var copy = document
                copy.set(place, to: .string(text))
                // Beside something steady, or nothing would be left to compare.
                return ["made": copy, "steady": true]
            }
            let builder = compared(with("one"), with("two"), with("three"))
            #expect(builder.codes(RelationRule.self).isEmpty, "seed \(seed) at \(place)")
            #expect(
                StateComparison(builder.evidence).volatilePaths == ["subscription/made\(place)"]
            )
        }
    }

    @Test func `a row that exists in one run only is reported, either way`() {
        func codes(_ mine: JSONValue?, _ theirs: JSONValue?) -> [FindingCode] {
            EvidenceBuilder.compared(.before) { _ in
                [EvidenceBuilder.probe(mine, status: mine == nil ? 404 : 200)]
            } baselines: { _, _ in
                [EvidenceBuilder.probe(theirs, status: theirs == nil ? 404 : 200)]
            }.codes(RelationRule.self)
        }
        #expect(codes(["a": 1], nil) == [.stateDiffers])
        #expect(codes(nil, ["a": 1]) == [.stateDiffers])
        #expect(codes(nil, nil).isEmpty)
    }

    @Test func `a missing member differs from null`() {
        #expect(compared([:], ["a": .null], ["a": .null]).codes(RelationRule.self) != [])
    }

    @Test(
        "ignored locations hide their contents only",
        arguments: [("/meta", true), ("/meta/n", true), ("/met", false), ("/meta/n/x", false)]
    )
    func ignoredPointers(pointer: String, isHidden: Bool) throws {
        var builder = compared(
            ["meta": ["n": 1], "plan": "a"],
            ["meta": ["n": 2], "plan": "a"],
            ["meta": ["n": 2], "plan": "a"]
        )
        builder.profile.probes[0].ignoredPointers = [try #require(JSONPointer(pointer))]
        #expect(builder.codes(RelationRule.self) == (isHidden ? [] : [.stateDiffers]))
    }

    private static let selections: [(Set<Expectation.Aspect>, [String], state: Bool, Bool)] = [
        ([.state, .effects], [], true, true), ([.state], [], true, false),
        ([.effects], [], false, true), ([.fields], [], false, false),
        ([], [], false, false),
    ]

    /// The documents differ in a member that the profile does not map, the runs in a push.
    @Test("only the selected aspects are compared", arguments: selections)
    func aspects(
        compared: Set<Expectation.Aspect>,
        fields: [String],
        state: Bool,
        effects: Bool
    ) {
        var builder = EvidenceBuilder.compared { id in
            [
                EvidenceBuilder.push(to: id), EvidenceBuilder.push(to: id),
                EvidenceBuilder.probe(["access": true, "source": "a"]),
            ]
        } baselines: { _, id in
            [
                EvidenceBuilder.push(to: id),
                EvidenceBuilder.probe(["access": true, "source": "b"]),
            ]
        }
        builder.contract.expectation.compared = compared
        builder.contract.expectation.comparedFields = fields
        let codes = Set(builder.codes(RelationRule.self))
        #expect(codes.contains(.stateDiffers) == state)
        #expect(codes.contains(.unexpectedEffect) == effects)
    }

    @Test(
        "only the named fields are compared",
        arguments: [(["access"], []), (["expires"], [FindingCode.stateDiffers]), (["none"], [])]
            as [([String], [FindingCode])]
    )
    func fields(names: [String], expected: [FindingCode]) {
        var builder = compared(
            ["access": true, "until": 1],
            ["access": true, "until": 2],
            ["access": true, "until": 2]
        )
        builder.contract.expectation.compared = [.fields]
        builder.contract.expectation.comparedFields = names
        let codes = builder.codes(RelationRule.self).filter { $0 != .unobservable }
        #expect(codes == expected)
    }

    // MARK: Effects of both runs

    @Test func `the order of effects does not matter, their number does`() {
        func codes(_ mine: [String], _ theirs: [String]) -> [FindingCode] {
            EvidenceBuilder.compared { id in
                mine.map { EvidenceBuilder.push(to: id, $0) }
            } baselines: { _, id in
                theirs.map { EvidenceBuilder.push(to: id, $0) }
            }.codes(RelationRule.self)
        }
        #expect(codes(["a", "b"], ["b", "a"]).isEmpty)
        #expect(codes(["a", "a"], ["a", "b"]) == [.effectDiffers])
        #expect(codes(["a"], ["a", "b"]) == [.effectMissing])
        #expect(codes(["a", "b"], ["a"]) == [.unexpectedEffect])
        #expect(codes([], []).isEmpty)
    }

    @Test func `an effect for another user is one missing and one extra effect`() {
        let builder = EvidenceBuilder.compared { _ in
            [EvidenceBuilder.push(to: "somebody")]
        } baselines: { _, id in
            [EvidenceBuilder.push(to: id)]
        }
        #expect(Set(builder.codes(RelationRule.self)) == [.effectMissing, .unexpectedEffect])
    }

    @Test func `the order of unrelated lines changes nothing`() {
        for seed in UInt64(0)..<200 {
            var made = ArbitraryValues(seed: seed)
            var builder = EvidenceBuilder.compared { id in
                [
                    EvidenceBuilder.push(to: id, "a"), EvidenceBuilder.push(to: id, "b"),
                    EvidenceBuilder.probe(["plan": "a"]),
                ]
            } baselines: { _, id in
                [
                    EvidenceBuilder.push(to: id, "b"), EvidenceBuilder.push(to: id, "c"),
                    EvidenceBuilder.probe(["plan": "b"]),
                ]
            }
            let before = Set(builder.codes(RelationRule.self))
            builder.subject.shuffle(using: &made.random)
            #expect(Set(builder.codes(RelationRule.self)) == before, "seed \(seed)")
        }
    }

    @Test func `a throttled baseline is not a failed baseline`() {
        var builder = compared([:], [:], [:])
        builder.baselines[0][0].outcome = .answered(HTTPMessage.Response(429))
        #expect(builder.codes(RelationRule.self) == [.backendThrottled])
        builder.baselines[0][0].outcome = .failed(.closed, "reset")
        #expect(builder.codes(RelationRule.self) == [.baselineFailed])
    }
}
