import Contracts
import Judging
import Providers
import Redaction
import TestSupport
import Testing
import Values

/// Fields of a user's state: how a probe's spelling is understood, and what is no answer at all.
@Suite("State table")
struct StateTableTests {
    private func codes(
        _ field: String,
        _ wanted: JSONValue,
        _ document: JSONValue?,
        _ meaning: Profile.FieldReading.Meaning = .value,
        status: Int? = nil,
        _ change: (inout EvidenceBuilder) -> Void = { _ in }
    ) -> [FindingCode] {
        EvidenceBuilder.bought(
            { $0.states = [SampleContract.state(field, wanted)] },
            [
                EvidenceBuilder.delivery(),
                EvidenceBuilder.probe(document, status: status ?? (document == nil ? 404 : 200)),
            ]
        ).with {
            $0.profile.probes[0].readings[field] = Profile.FieldReading(
                pointer: JSONPointer(tokens: ["x"]),
                meaning: meaning
            )
            change(&$0)
        }.codes(StateRule.self)
    }

    // MARK: Flags

    /// What a flag's value says; nil: nobody can know.
    private static let booleanFields: [(JSONValue, Bool?)] = [
        (true, true), (false, false), (1, true), (0, false), (.null, false), ("true", nil),
        ("yes", nil), ("", nil), (2, nil), (-1, nil), ([], nil), ([:], nil),
    ]

    @Test(
        "a flag is understood or asked about",
        arguments: Profile.FieldReading.booleanFields,
        booleanFields
    )
    func flag(field: String, row: (JSONValue, Bool?)) {
        for wanted in [true, false] {
            let expected: [FindingCode] =
                switch row.1 {
                case nil: [.unobservable]
                case wanted: []
                default: [.wrongStateValue]
                }
            let found = codes(field, .bool(wanted), ["x": row.0])
            #expect(found == expected, "\(row.0.text), wanted \(wanted)")
        }
    }

    @Test func `a number with a fraction of zero is the number`() throws {
        let one = try JSONValue(parsing: "1.0")
        #expect(codes("access", true, ["x": one]).isEmpty)
    }

    @Test("a flag of a row that is missing is false", arguments: Profile.FieldReading.booleanFields)
    func missingRow(field: String) {
        #expect(codes(field, false, nil).isEmpty)
        #expect(codes(field, true, nil) == [.wrongStateValue])
        #expect(codes(field, false, nil, status: 410).isEmpty)
    }

    // MARK: Conditions that are combined

    /// `x` is "active", and (`until` is in the future, or null).
    private static let rule: Profile.FieldReading = {
        var until = reading("until", .isFuture)
        until.alternativeConditions = [reading("until", .isOneOf([.null]))]
        var rule = reading("x", .isOneOf(["active"]))
        rule.additionalConditions = [until]
        return rule
    }()

    private static func reading(
        _ name: String,
        _ meaning: Profile.FieldReading.Meaning,
        valueIfPathAbsent: JSONValue? = nil
    ) -> Profile.FieldReading {
        Profile.FieldReading(
            pointer: JSONPointer(tokens: [name]),
            meaning: meaning,
            valueIfPathAbsent: valueIfPathAbsent
        )
    }

    private static let combined: [(JSONValue, Bool)] = [
        (["x": "active", "until": "2099-01-01T00:00:00Z"], true),
        (["x": "active", "until": .null], true),
        (["x": "active", "until": "1999-01-01T00:00:00Z"], false),
        (["x": "canceled", "until": "2099-01-01T00:00:00Z"], false),
        (["x": "canceled", "until": .null], false),
    ]

    @Test("access may rest on a status and an end", arguments: combined)
    func combination(document: JSONValue, isTrue: Bool) {
        for wanted in [true, false] {
            let found = codes("access", .bool(wanted), document) {
                $0.profile.probes[0].readings["access"] = Self.rule
            }
            #expect(
                found == (wanted == isTrue ? [] : [.wrongStateValue]),
                "\(document.text) \(wanted)"
            )
        }
    }

    /// The place `gone` is never there; whether that matters, the other condition decides.
    private static let half: [(JSONValue, isAnd: Bool, Bool?)] = [
        (true, true, nil), (false, true, false), (true, false, true), (false, false, nil),
        // What cannot be understood is as open as what is not there.
        ("maybe", true, nil), ("maybe", false, nil),
    ]

    @Test("a doubt counts only where the rest leaves it open", arguments: half)
    func doubt(value: JSONValue, isAnd: Bool, known: Bool?) {
        for isFirst in [true, false] {
            var (gone, there) = (Self.reading("gone", .value), Self.reading("x", .value))
            if isFirst { swap(&gone, &there) }
            if isAnd {
                gone.additionalConditions = [there]
            } else {
                gone.alternativeConditions = [there]
            }
            let rule = gone
            for wanted in [true, false] {
                let found = codes("access", .bool(wanted), ["x": value]) {
                    $0.profile.probes[0].readings["access"] = rule
                    $0.observability.valuePaths = ["subscription": [JSONPointer(tokens: ["x"])]]
                }
                let isDecided = found.isEmpty || found == [.wrongStateValue]
                #expect(isDecided == (known != nil), "\(found) \(wanted) \(isFirst)")
                if let known { #expect(found.isEmpty == (known == wanted)) }
            }
        }
    }

    @Test func `each condition may say what absence means`() {
        var rule = Self.reading("x", .value)
        rule.additionalConditions = [Self.reading("gone", .value, valueIfPathAbsent: true)]
        let found = codes("access", true, ["x": true]) {
            $0.profile.probes[0].readings["access"] = rule
            $0.observability.valuePaths = ["subscription": [JSONPointer(tokens: ["x"])]]
        }
        #expect(found.isEmpty)
    }

    // MARK: Meanings

    private static let meanings: [(Profile.FieldReading.Meaning, JSONValue, Bool)] = [
        (.isOneOf(["pro"]), "pro", true), (.isOneOf(["pro"]), "PRO", false),
        (.isOneOf(["pro"]), .null, false), (.isOneOf([1, true]), true, true),
        (.isOneOf([]), 1, false),
        (.isNoneOf(["free"]), "pro", true), (.isNoneOf(["free"]), "free", false),
        (.isNoneOf(["free", .null]), .null, false), (.isNoneOf([]), "x", true),
        (.isFuture, "2099-01-01T00:00:00Z", true), (.isFuture, "1999-01-01T00:00:00Z", false),
        (.isFuture, 4_102_444_800, true), (.isFuture, 4_102_444_800_000, true),
        (.isFuture, 946_684_800, false), (.isFuture, .null, false), (.isFuture, "soon", false),
    ]

    @Test("a profile says what counts as true", arguments: meanings)
    func meaning(meaning: Profile.FieldReading.Meaning, value: JSONValue, isTrue: Bool) {
        #expect(codes("access", .bool(isTrue), ["x": value], meaning).isEmpty)
        #expect(codes("access", .bool(!isTrue), ["x": value], meaning) == [.wrongStateValue])
    }

    @Test func `the future begins when the run ends`() {
        let end = (SampleContract.base + .seconds(3610)).milliseconds
        #expect(codes("access", true, ["x": .integer(end + 1)], .isFuture).isEmpty)
        #expect(codes("access", false, ["x": .integer(end)], .isFuture).isEmpty)
    }

    // MARK: Values

    @Test(
        "a value that is not a Boolean is compared exactly",
        arguments: [
            ("gold" as JSONValue, "gold" as JSONValue, true), ("gold", "Gold", false),
            ("gold", .null, false), (.null, .null, true), ("1", 1, false), (1, 1, true),
        ] as [(JSONValue, JSONValue, Bool)]
    )
    func plain(wanted: JSONValue, found: JSONValue, isEqual: Bool) {
        #expect(codes("source", wanted, ["x": found]) == (isEqual ? [] : [.wrongStateValue]))
    }

    @Test("product names are the profile's", arguments: ["product", "pending-product"])
    func products(field: String) {
        let map: (inout EvidenceBuilder) -> Void = { $0.profile.products = ["gold": "sku_1"] }
        #expect(codes(field, "gold", ["x": "sku_1"], .value, map).isEmpty)
        #expect(codes(field, "gold", ["x": "gold"], .value, map) == [.wrongStateValue])
        #expect(codes(field, "silver", ["x": "silver"], .value, map).isEmpty)
        #expect(codes("source", "gold", ["x": "gold"], .value, map).isEmpty)
    }

    @Test("a product has the ID of any service", arguments: ["product", "pending-product"])
    func productIDs(field: String) throws {
        let names = ["premium_monthly", "sku_1", "gold:base-plan"]
        let ids = names.map(ProviderTable.all.productIDs)
        for (index, name) in names.enumerated() {
            #expect(ids[index].contains(name) && ids[index].contains { $0.hasPrefix("prod") })
            for id in ids[index] {
                #expect(codes(field, .string(name), ["x": .string(id)]).isEmpty)
                #expect(codes("source", .string(name), ["x": .string(id)]).isEmpty == (id == name))
            }
            for other in ids[(index + 1) % names.count] {
                #expect(codes(field, .string(name), ["x": .string(other)]) == [.wrongStateValue])
            }
        }
        #expect(ids[2].contains("gold"))
    }

    private static let moments: [(JSONValue, Bool)] = [
        (1_795_000_000_000, true), (1_795_000_000, true), ("2026-11-18T11:06:40Z", true),
        ("2026-11-18 11:06:40", true), ("2026-11-18T12:06:40+01:00", true),
        (1_795_000_000_999, false), (1_795_000_001_000, false), (1_794_999_999_999, false),
        (1_794_999_999_000, false), (1_795_000_000_001, false), ("2026-11-18T11:06:40.5Z", false),
        ("2026-11-18T11:06:40.000Z", true), ("2026-11-18T11:06:40.001Z", false),
        ("2026-11-18T11:06:41Z", false), (.null, false),
        ("later", false),
    ]

    @Test("one moment has many spellings", arguments: moments)
    func moment(found: JSONValue, isEqual: Bool) {
        let wanted: JSONValue = "{{purchase.expiration_at_ms}}"
        #expect(codes("expires", wanted, ["x": found]) == (isEqual ? [] : [.wrongStateValue]))
    }

    /// A time that a backend stored in one of the usual notations, and the same time with an error.
    private static let drawnTimes: [(milliseconds: Int64, error: Int64)] = {
        var generator = SeededGenerator(seed: 1, text: "times")
        return (0..<100).map { _ in
            (
                1_795_000_000_000 + Int64.random(in: 0..<1_000_000_000, using: &generator),
                Int64.random(in: 1000...5000, using: &generator)
            )
        }
    }()

    @Test("a time is exact to the last digit of its notation", arguments: drawnTimes)
    func notations(milliseconds: Int64, error: Int64) {
        func codes(_ notation: (Int64) -> JSONValue, _ shown: Int64) -> [FindingCode] {
            let event: JSONValue = [
                "event": ["id": "E", "expiration_at_ms": .integer(milliseconds)]
            ]
            return self.codes(
                "expires",
                "{{purchase.expiration_at_ms}}",
                ["x": notation(shown)]
            ) { $0.subject[0] = EvidenceBuilder.delivery(body: event) }
        }
        func text(_ value: Int64, _ digits: Int) -> JSONValue {
            let precise = Instant(milliseconds: value).preciseText
            return .string(String(precise.dropLast(digits == 0 ? 5 : 4 - digits)) + "Z")
        }
        for digits in 0...3 {
            let step: Int64 = [1000, 100, 10, 1][digits]
            #expect(codes({ text($0, digits) }, milliseconds).isEmpty)
            // A rounded time differs by less than a step, so two steps are wrong in any case.
            #expect(codes({ text($0, digits) }, milliseconds + 2 * step) == [.wrongStateValue])
            #expect(codes({ text($0, digits) }, milliseconds - error) == [.wrongStateValue])
        }
        #expect(codes({ .integer($0 / 1000) }, milliseconds).isEmpty)
        #expect(codes({ .integer($0 / 1000) }, milliseconds - error) == [.wrongStateValue])
        #expect(codes({ .integer($0) }, milliseconds).isEmpty)
        #expect(codes({ .integer($0) }, milliseconds + 1) == [.wrongStateValue])
        #expect(
            codes({ .integer($0) }, milliseconds / 1000 * 1000)
                == (milliseconds % 1000 == 0 ? [] : [.wrongStateValue])
        )
    }

    @Test func `a backend that received whole seconds from a service knows no milliseconds`() {
        let shown: JSONValue = ["x": 1_795_000_000_000]
        let event: JSONValue = ["event": ["id": "E", "expiration_at_ms": 1_795_000_000_750]]
        func codes(_ received: String?) -> [FindingCode] {
            self.codes("expires", "{{purchase.expiration_at_ms}}", shown) { builder in
                builder.subject[0] = EvidenceBuilder.delivery(body: event)
                guard let received else { return }
                var read = EvidenceBuilder.probe(nil)
                (read.from, read.to, read.purpose) = (.backend, .revenueCat, .call)
                read.outcome = .answered(HTTPMessage.Response(200, body: Array(received.utf8)))
                builder.subject.append(read)
            }
        }
        #expect(codes(nil) == [.wrongStateValue])
        #expect(codes(#"{"expires_date":"2026-11-18T11:06:40Z"}"#).isEmpty)
        #expect(codes(#"{"ends_at":1795000000750}"#) == [.wrongStateValue])
    }

    @Test func `only a moment is compared as one`() {
        #expect(codes("source", 1_795_000_000_000, ["x": 1_795_000_000]) == [.wrongStateValue])
    }

    @Test func `a template of a null event field expects null`() {
        let event: JSONValue = ["event": ["id": "E1", "expiration_at_ms": .null]]
        let lifetime: (inout EvidenceBuilder) -> Void = {
            $0.subject[0] = EvidenceBuilder.delivery(body: event)
        }
        let wanted: JSONValue = "{{purchase.expiration_at_ms}}"
        #expect(codes("expires", wanted, ["x": .null], .value, lifetime).isEmpty)
        #expect(codes("expires", wanted, ["x": 1_795_000_000_000], .value, lifetime) != [])
    }

    // MARK: Several users and fields

    private func either(_ ada: JSONValue, _ bob: JSONValue) -> [FindingCode] {
        EvidenceBuilder.bought(
            { $0.states = [SampleContract.state("access", true, user: "ada|bob")] },
            [
                EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": ada]),
                EvidenceBuilder.probe(["access": bob], user: "bob"),
            ]
        ).codes(StateRule.self)
    }

    @Test func `of several users one is enough`() {
        #expect(either(true, true).isEmpty)
        #expect(either(true, false).isEmpty)
        #expect(either(false, true).isEmpty)
        #expect(either(false, false) == [.wrongStateValue])
    }

    @Test func `each wrong field is reported separately`() {
        let builder = EvidenceBuilder.bought(
            {
                $0.states = [
                    SampleContract.state("access", true), SampleContract.state("expires", 9),
                ]
            },
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": false, "until": 8])]
        )
        #expect(builder.codes(StateRule.self) == [.wrongStateValue, .wrongStateValue])
    }

    @Test func `a field that no probe maps is a doubt only where no other is judged`() {
        let states = [
            SampleContract.state("refunded", true), SampleContract.state("access", true),
        ]
        let lines = [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": true])]
        let beside = EvidenceBuilder.bought({ $0.states = states }, lines)
        #expect(beside.codes(StateRule.self).isEmpty)
        let alone = EvidenceBuilder.bought({ $0.states = [states[0]] }, lines)
        #expect(alone.codes(StateRule.self) == [.unobservable])
    }

    @Test(
        "an error or redirect response to a probe is reported as a failed setup",
        arguments: [500, 401, 302]
    )
    func unreadable(status: Int) {
        #expect(codes("access", true, ["x": true], status: status) == [.setupFailed])
    }

    @Test func `a probe that was never asked decides nothing`() {
        let found = codes("access", true, ["x": true]) { $0.subject.removeLast() }
        #expect(found == [.setupFailed])
    }

    // MARK: Existence

    private func existence(
        _ wanted: Bool,
        hasUserProbe: Bool,
        user: Int?,
        subscription: Int?
    ) -> [FindingCode] {
        var lines = [EvidenceBuilder.delivery()]
        let row: JSONValue = ["row": 1]
        if let user { lines.append(EvidenceBuilder.probe(row, status: user, name: "user")) }
        if let subscription { lines.append(EvidenceBuilder.probe(row, status: subscription)) }
        return EvidenceBuilder.bought(
            { $0.states = [SampleContract.state("exists", .bool(wanted))] },
            lines
        ).with {
            guard hasUserProbe else { return }
            $0.profile.probes.append(
                Profile.Probe(name: "user", source: .get("/u"), readings: [:], ignoredPointers: [])
            )
        }.codes(StateRule.self)
    }

    @Test func `the user probe decides`() {
        #expect(existence(true, hasUserProbe: true, user: 200, subscription: nil).isEmpty)
        #expect(existence(true, hasUserProbe: true, user: 404, subscription: 200) != [])
        #expect(existence(false, hasUserProbe: true, user: 404, subscription: 200).isEmpty)
        #expect(
            existence(false, hasUserProbe: true, user: 200, subscription: nil) == [.unexpectedUser]
        )
        #expect(
            existence(true, hasUserProbe: true, user: 410, subscription: nil) == [.userMissing]
        )
    }

    @Test func `without one, a row proves a user and no row proves nothing`() {
        #expect(existence(true, hasUserProbe: false, user: nil, subscription: 200).isEmpty)
        #expect(
            existence(false, hasUserProbe: false, user: nil, subscription: 200) == [.unexpectedUser]
        )
        for wanted in [true, false] {
            #expect(
                existence(wanted, hasUserProbe: false, user: nil, subscription: 404)
                    == [.unobservable]
            )
        }
    }

    @Test(
        "an unclear response to an existence probe makes existence unobservable",
        arguments: [500, 403, nil] as [Int?]
    )
    func unclear(status: Int?) {
        for wanted in [true, false] {
            let found = existence(wanted, hasUserProbe: true, user: status, subscription: nil)
            #expect(found == [.unobservable])
        }
    }

    // MARK: Forgetting

    private func deletedUserNames(_ lines: [Exchange]) -> [FindingCode] {
        EvidenceBuilder.bought({ $0.deletedUserNames = ["ada"] }, lines).codes(
            DeletedAccountRule.self
        )
    }

    private static let namespace = Namespace(name: "namespace-0", idForm: .string)

    @Test(
        "an account or install id left after deletion is reported as kept personal data",
        arguments: [
            (namespace.accountID(of: "ada"), true), (namespace.installID(of: "phone"), true),
            (namespace.accountID(of: "bob"), false), (namespace.id(of: "ada"), false),
            ("deleted", false),
        ]
    )
    func personal(text: String, isKept: Bool) {
        let nested: JSONValue = ["rows": [["note": .string("was \(text) once")]]]
        let found = deletedUserNames([EvidenceBuilder.probe(nested)])
        #expect(found == (isKept ? [.personalDataKept] : []))
    }

    @Test func `the last look of each probe counts`() {
        let kept = JSONValue.string(Self.namespace.accountID(of: "ada"))
        let gone: JSONValue = [:]
        #expect(
            deletedUserNames([EvidenceBuilder.probe(kept), EvidenceBuilder.probe(gone)]).isEmpty
        )
        #expect(
            deletedUserNames([
                EvidenceBuilder.probe(kept), EvidenceBuilder.probe(gone, name: "user"),
            ]) == [.personalDataKept]
        )
        #expect(deletedUserNames([EvidenceBuilder.probe(kept, user: "bob")]) == [.unobservable])
        #expect(deletedUserNames([]) == [.unobservable])
    }

    // MARK: Secrets

    private func shown(
        _ text: String,
        to party: Exchange.Party = .revenueCat,
        inHeader: Bool = false
    ) -> [FindingCode] {
        var exchange = EvidenceBuilder.delivery(
            "purchase",
            .answered(
                HTTPMessage.Response(
                    200,
                    fields: inHeader ? [.init("x-debug", text)] : [],
                    body: inHeader ? [] : Array(text.utf8)
                )
            )
        )
        exchange.from = party
        return EvidenceBuilder.bought({ $0.hidesSecrets = true }, [exchange])
            .codes(SecretRule.self)
    }

    @Test(
        "each secret of the profile is one",
        arguments: ["Bearer assay-test-token", "os_v2_app_assay", "sk_assay"]
    )
    func secrets(secret: String) {
        #expect(shown("a \(secret) b") == [.secretExposed])
        #expect(shown("a \(secret) b", inHeader: true) == [.secretExposed])
        #expect(shown("a \(secret) b", to: .app) == [.secretExposed])
        #expect(shown("a \(secret) b", to: .assay).isEmpty, "a probe of ours is not the world")
        #expect(shown("a \(secret.dropLast()) b").isEmpty)
    }

    @Test func `a secret of five letters would be found by chance`() {
        var builder = EvidenceBuilder.bought({ $0.hidesSecrets = true }, [])
        builder.profile.secrets = [.oneSignalKey: Secret("abcde")]
        var exchange = EvidenceBuilder.delivery()
        exchange.outcome = .answered(HTTPMessage.Response(200, body: Array("abcdef".utf8)))
        builder.subject = [exchange]
        #expect(builder.codes(SecretRule.self).isEmpty)
        builder.profile.secrets = [.oneSignalKey: Secret("abcdef")]
        #expect(builder.codes(SecretRule.self) == [.secretExposed])
    }

    @Test func `a case that asks for no secrecy judges none`() {
        let builder = EvidenceBuilder.bought(
            { _ in },
            [EvidenceBuilder.delivery(), EvidenceBuilder.attempt(401)]
        )
        #expect(builder.codes(SecretRule.self).isEmpty)
    }
}
