import Contracts
import Judging
import TestSupport
import Testing
import Values

/// A mapped place that no answer ever had proves nothing, whichever way the expectation points.
@Suite("Reading survey")
struct ReadingSurveyTests {
    /// A refund after a purchase; the profile maps `access` to that place.
    private func refund(
        _ wanted: JSONValue = false,
        at pointer: String = "/activ",
        valueIfPathAbsent: JSONValue? = nil,
        valuePaths: [String]? = ["/active", "/plan"],
        field: String = "access",
        _ documents: JSONValue?...
    ) throws -> EvidenceBuilder {
        var expectation = SampleContract.expectation()
        expectation.states = [
            StateExpectation(
                user: "ada",
                fields: [.init(name: field, value: wanted, location: SampleContract.location)]
            )
        ]
        var builder = EvidenceBuilder(expectation: expectation)
        builder.profile.probes[0].readings = [
            field: Profile.FieldReading(
                pointer: try #require(JSONPointer(pointer)),
                meaning: .value,
                valueIfPathAbsent: valueIfPathAbsent
            )
        ]
        builder.observability.valuePaths = valuePaths.map {
            ["subscription": $0.compactMap { JSONPointer($0) }]
        }
        builder.subject = [EvidenceBuilder.delivery()]
        builder.subject += documents.map {
            EvidenceBuilder.probe($0, status: $0 == nil ? 404 : 200)
        }
        return builder
    }

    @Test func `a misspelt place is inconclusive, whether access is expected or not`() throws {
        for wanted in [true, false] as [JSONValue] {
            let builder = try refund(wanted, ["active": true, "plan": "pro"])
            let finding = try #require(StateRule.findings(in: builder.evidence).first)
            #expect(finding.code == .mappedPathAbsent)
            #expect(finding.code.rawValue == "E912")
            #expect(finding.actual.contains("no response of probe 'subscription' contained /activ"))
            #expect(finding.actual.hasSuffix("the responses have /active"))
            #expect(finding.remedy.contains("{access: /active}"))
            #expect(Judge.judge(builder.evidence).verdict == .inconclusive)
            #expect(Judge.mayResolveWithLongerWait([finding]), "a slow backend may still write it")
        }
    }

    @Test func `an element of a list that is missing means no, a wrong name of it means nothing`()
        throws
    {
        let path = "/items/id=pro/active"
        let basic: JSONValue = ["items": [["id": "basic", "active": true]]]
        let lists: [JSONValue] = [basic, ["items": []]]
        for list in lists {
            func codes(_ wanted: JSONValue, at pointer: String) throws -> [FindingCode] {
                try refund(wanted, at: pointer, valuePaths: ["/items/0/active", path], list)
                    .codes(StateRule.self)
            }
            #expect(try codes(false, at: path).isEmpty)
            #expect(try codes(true, at: path) == [.wrongStateValue])
            #expect(try codes(false, at: "/items/name=pro/active") == [.mappedPathAbsent])
        }
        let pro: JSONValue = ["items": [["id": "x"], ["id": "pro", "active": true]]]
        #expect(try refund(true, at: path, valuePaths: nil, pro).codes(StateRule.self).isEmpty)
        #expect(
            try refund(false, at: path, valuePaths: nil, pro).codes(StateRule.self)
                == [.wrongStateValue]
        )
        #expect(
            try refund(true, at: path + "x", valuePaths: [path], pro).codes(StateRule.self)
                == [.mappedPathAbsent]
        )
    }

    @Test func `a place that only a purchase has may be missing for a user without one`() throws {
        let builder = try refund(at: "/active", ["id": "u1"])
        #expect(builder.codes(StateRule.self).isEmpty)
        let expected = try refund(true, at: "/active", ["id": "u1"])
        #expect(expected.codes(StateRule.self) == [.wrongStateValue])
    }

    @Test func `a probe path present in an earlier response may be absent now`() throws {
        let builder = try refund(
            at: "/refundable",
            valuePaths: ["/plan"],
            ["refundable": true],
            ["plan": "free"]
        )
        #expect(builder.codes(StateRule.self).isEmpty)
    }

    @Test func `a baseline response proves that a probe path exists`() throws {
        var builder = try refund(at: "/pause", valuePaths: ["/plan"], ["plan": "free"])
        #expect(builder.codes(StateRule.self) == [.mappedPathAbsent])
        builder.baselines = [[EvidenceBuilder.probe(["pause": true])]]
        #expect(builder.codes(StateRule.self).isEmpty)
    }

    private static let nothing: [JSONValue?] = [nil, .null, [:], [], ["subscription": .null]]

    @Test(
        "an empty probe response counts as absence only at paths known to exist",
        arguments: nothing
    )
    func nothingThere(document: JSONValue?) throws {
        let known = ["/subscription", "/subscription/active"]
        let fine = try refund(at: "/subscription/active", valuePaths: known, document)
        #expect(fine.codes(StateRule.self).isEmpty)
        // A wrong answer is wrong even where no place is known.
        let wrong = try refund(true, at: "/subscription/activ", valuePaths: known, document)
        #expect(wrong.codes(StateRule.self) == [.wrongStateValue])
        // A right one proves something only where the place is known to exist.
        let blind = try refund(at: "/subscription/activ", valuePaths: known, document)
        #expect(blind.codes(StateRule.self) == [.mappedPathAbsent])
        // Records of before did not look.
        let old = try refund(at: "/subscription/activ", valuePaths: nil, document)
        #expect(old.codes(StateRule.self).isEmpty)
    }

    @Test func `a place whose parent is misspelt is nothing's absence`() throws {
        let builder = try refund(
            at: "/subscripton/active",
            valuePaths: nil,
            ["subscription": ["active": true]]
        )
        let finding = try #require(StateRule.findings(in: builder.evidence).first)
        #expect(finding.code == .mappedPathAbsent)
        #expect(finding.actual.hasSuffix("the responses have /subscription/active"))
    }

    @Test func `the profile may say what absence means`() throws {
        let silent = try refund(valueIfPathAbsent: false, ["active": true])
        #expect(silent.codes(StateRule.self).isEmpty)
        let wrong = try refund(true, valueIfPathAbsent: false, ["active": true])
        #expect(wrong.codes(StateRule.self) == [.wrongStateValue])
        let given = try refund(valueIfPathAbsent: true, valuePaths: nil, nil)
        #expect(given.codes(StateRule.self) == [.wrongStateValue])
        let plain = try refund(.null, valueIfPathAbsent: .null, field: "product", ["active": true])
        #expect(plain.codes(StateRule.self).isEmpty)
    }

    @Test func `without an event and without a look at a purchase absence says nothing`() throws {
        var builder = try refund(valuePaths: nil, ["id": "u1"])
        builder.subject.removeFirst()
        #expect(builder.codes(StateRule.self).isEmpty)
    }

    @Test(
        "the nearest place is suggested, on any level",
        arguments: [
            ("/activ", "/active"), ("/active", "/subscription/active"),
            ("/subscription/exipres", "/subscription/expires"),
            ("/expire", "/subscription/expires"),
            ("/zebra", nil),
        ] as [(String, String?)]
    )
    func suggests(pointer: String, near: String?) throws {
        var observability = RunRecord.Observability(
            arePushesObservable: true,
            areProbeChangesObservable: true,
            latency: .zero
        )
        let document: JSONValue =
            pointer == "/activ"
            ? ["active": true] : ["subscription": ["active": true, "expires": 1]]
        observability.valuePaths = ["p": document.valuePaths]
        let survey = ProbePathSurvey(observability: observability)
        let wanted = try #require(JSONPointer(pointer))
        #expect(survey.nearest(to: wanted, in: "p")?.description == near)
        #expect(survey.absenceDescription(of: wanted, in: "p").contains("; the responses have /"))
        #expect(survey.absenceDescription(of: wanted, in: "q").contains("the responses were empty"))
    }

    // MARK: Comparisons

    private func compared(_ fields: [String], _ readings: [String: String]) -> EvidenceBuilder {
        var expectation = SampleContract.expectation(.inOrder)
        expectation.compared = [.fields]
        expectation.comparedFields = fields
        var builder = EvidenceBuilder(expectation: expectation)
        builder.profile.probes[0].readings = readings.compactMapValues { JSONPointer($0) }
            .mapValues { Profile.FieldReading(pointer: $0, meaning: .value) }
        let seen = [
            EvidenceBuilder.delivery(), EvidenceBuilder.probe(["active": true, "sku": "a"]),
        ]
        builder.subject = seen
        builder.baselines = [seen, seen]
        return builder
    }

    @Test func `absent on both sides is not alike`() {
        let blind = compared(["access"], ["access": "/activ"])
        #expect(blind.codes(RelationRule.self) == [.mappedPathAbsent])
        #expect(compared(["access"], ["access": "/active"]).codes(RelationRule.self).isEmpty)
        var silent = blind
        silent.profile.probes[0].readings["access"]?.valueIfPathAbsent = false
        #expect(silent.codes(RelationRule.self).isEmpty)
    }

    @Test func `of all mapped fields those must exist that every purchase has`() {
        let readings = ["access": "/active", "product": "/sku", "pending-product": "/pending"]
        #expect(compared([], readings).codes(RelationRule.self).isEmpty)
        var blind = compared([], readings.merging(["product": "/skew"]) { $1 })
        #expect(blind.codes(RelationRule.self).isEmpty, "nobody looked at a plain purchase")
        blind.observability.valuePaths = ["subscription": [JSONPointer(tokens: ["active"])]]
        #expect(blind.codes(RelationRule.self) == [.mappedPathAbsent])
    }

    @Test func `a difference is reported even when another mapped path is absent`() {
        var builder = compared(["access", "product"], ["access": "/activ", "product": "/sku"])
        builder.subject[1] = EvidenceBuilder.probe(["active": true, "sku": "b"])
        let judged = Judge.judge(builder.evidence)
        #expect(judged.verdict == .failed)
        #expect(judged.findings.map(\.code) == [.stateDiffers])
    }

    @Test func `a observability of before can be read, and the places travel`() throws {
        var observability = RunRecord.Observability(
            arePushesObservable: true,
            areProbeChangesObservable: true,
            latency: .milliseconds(2)
        )
        let text = try JSONValue(encoding: observability).text
        #expect(text.hasPrefix("{") && !text.contains("places"))
        #expect(
            try JSONValue(parsing: text).decoded(as: RunRecord.Observability.self) == observability
        )
        observability.valuePaths = ["p": [JSONPointer(tokens: ["a"])]]
        let again = try JSONValue(encoding: observability).decoded(as: RunRecord.Observability.self)
        #expect(again == observability)
    }
}

/// The event's own fields in an expected state.
@Suite("Templates in states")
struct StateTemplateTests {
    private func codes(_ field: String, _ value: JSONValue, _ document: JSONValue) -> [FindingCode]
    {
        var expectation = SampleContract.expectation()
        expectation.states = [
            StateExpectation(
                user: "ada",
                fields: [.init(name: field, value: value, location: SampleContract.location)]
            )
        ]
        var builder = EvidenceBuilder(expectation: expectation)
        for name in ["account", "product", "expires"] {
            builder.profile.probes[0].readings[name] = Profile.FieldReading(
                pointer: JSONPointer(tokens: [name]),
                meaning: .value
            )
        }
        builder.profile.products["gold"] = "com.acme.gold"
        builder.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.probe(document)]
        return builder.codes(StateRule.self)
    }

    @Test func `templates and product names are resolved in expected state values`() {
        let account = "assay-namespace-0-home@example.com"
        #expect(codes("account", "{{account.home}}", ["account": .string(account)]).isEmpty)
        #expect(
            codes("account", "<{{account.home}}>", ["account": .string("<\(account)>")]).isEmpty
        )
        #expect(codes("expires", "{{now+1h}}", ["expires": 1_790_003_600_000]).isEmpty)
        #expect(codes("product", "gold", ["product": "com.acme.gold"]).isEmpty)
        #expect(codes("product", "{{{{gold}}", ["product": "{{gold}}"]).isEmpty)
    }

    /// It read as null, and a backend without the field was right.
    @Test func `a template of a missing event field is a failed setup, not a wrong value`() {
        let value: JSONValue = "{{purchase.expiration_at_sm}}"
        #expect(codes("expires", value, ["expires": .null]) == [.setupFailed])
        #expect(codes("expires", "{{other.id}}", ["expires": .null]) == [.setupFailed])
    }
}
