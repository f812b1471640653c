import Contracts
import Judging
import TestSupport
import Testing
import Values

@Suite("State rule")
struct StateRuleTests {
    private func builder(_ field: String, _ value: JSONValue) -> EvidenceBuilder {
        var expectation = SampleContract.expectation()
        expectation.states = [
            StateExpectation(
                user: "ada",
                fields: [.init(name: field, value: value, location: SampleContract.location)]
            )
        ]
        return EvidenceBuilder(expectation: expectation)
    }

    @Test("access, product and expiry are reported before flags", arguments: ["access", "product"])
    func leadingFields(leading: String) {
        var builder = builder(leading, leading == "access" ? true : "premium_monthly")
        let flags = ["will-renew", "refunded"].map {
            StateExpectation.Field(name: $0, value: true, location: SampleContract.location)
        }
        builder.contract.expectation.states[0].fields.insert(contentsOf: flags, at: 0)
        for name in ["will-renew", "refunded", leading] {
            builder.profile.probes[0].readings[name] = Profile.FieldReading(
                pointer: JSONPointer(tokens: [name]),
                meaning: .value
            )
        }
        builder.subject = [
            EvidenceBuilder.probe([
                "will-renew": false, "refunded": false, "access": false, "product": "other",
            ])
        ]
        let findings = StateRule.findings(in: builder.evidence)
        #expect(findings.count == 3)
        #expect(findings.first?.expected.contains(leading) == true, "\(findings)")
    }

    private static let spellings: [(JSONValue, [FindingCode])] = [
        (["access": true], []), (["access": 1], []), (["access": false], [.wrongStateValue]),
        (["access": .null], [.wrongStateValue]), (["other": true], [.wrongStateValue]),
        (["access": "pro"], [.unobservable]),
    ]

    @Test("access is understood in the usual spellings", arguments: spellings)
    func readsAccess(document: JSONValue, codes: [FindingCode]) {
        var builder = builder("access", true)
        builder.subject = [EvidenceBuilder.probe(document)]
        #expect(builder.codes(StateRule.self) == codes)
    }

    @Test func `a row that is missing gives no access`() {
        var builder = builder("access", false)
        builder.subject = [EvidenceBuilder.probe(nil, status: 404)]
        #expect(builder.codes(StateRule.self).isEmpty)
    }

    @Test func `a plan name and a date can mean access`() {
        func reading(_ meaning: Profile.FieldReading.Meaning, _ document: JSONValue)
            -> [FindingCode]
        {
            var builder = builder("access", true)
            builder.profile.probes[0].readings["access"] = Profile.FieldReading(
                pointer: JSONPointer(tokens: ["x"]),
                meaning: meaning
            )
            builder.subject = [EvidenceBuilder.probe(document)]
            return builder.codes(StateRule.self)
        }
        #expect(reading(.isOneOf(["pro", "max"]), ["x": "pro"]).isEmpty)
        #expect(reading(.isOneOf(["pro", "max"]), ["x": "free"]) == [.wrongStateValue])
        #expect(reading(.isNoneOf(["free", .null]), ["x": "pro"]).isEmpty)
        #expect(reading(.isNoneOf(["free", .null]), ["x": .null]) == [.wrongStateValue])
        #expect(reading(.isFuture, ["x": "2099-01-01T00:00:00Z"]).isEmpty)
        #expect(reading(.isFuture, ["x": 946_684_800]) == [.wrongStateValue])
    }

    @Test(
        "one moment has many spellings",
        arguments: [1_795_000_000_000, "2026-11-18T11:06:40Z", 1_795_000_000] as [JSONValue]
    )
    func comparesMoments(spelling: JSONValue) {
        var builder = builder("expires", "{{purchase.expiration_at_ms}}")
        builder.subject = [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["until": spelling])]
        #expect(builder.codes(StateRule.self).isEmpty)
        builder.subject[1] = EvidenceBuilder.probe(["until": 1_795_000_009_000])
        #expect(builder.codes(StateRule.self) == [.wrongStateValue])
    }

    @Test("the texts of two times differ", arguments: [0, 1, 999, 1000, 60_000] as [Int64])
    func timeTexts(milliseconds: Int64) throws {
        var builder = builder("expires", .integer(1_795_000_000_000))
        let actual = 1_795_000_000_000 + milliseconds
        builder.subject = [EvidenceBuilder.probe(["until": .integer(actual)])]
        let finding = StateRule.findings(in: builder.evidence).first
        #expect((finding == nil) == (milliseconds == 0))
        guard let difference = finding?.firstDifference else { return }
        #expect(difference.expected != difference.actual)
        #expect(difference.expected.contains(".") == (milliseconds < 1000))
    }

    @Test("a probe that creates the user whom it looks for shows nothing about a test event")
    func probeThatCreates() {
        var builder = builder("exists", false)
        let unknown: JSONValue = ["row": 7, "access": false]
        builder.observability.unknownUserDocuments = ["subscription": unknown]
        builder.subject = [EvidenceBuilder.probe(["row": 8, "access": false])]
        #expect(builder.codes(StateRule.self) == [.unobservable])
        // A flag or another member shows that the event created the user.
        for document in [
            ["row": 8, "access": false, "known": true],
            ["row": 8, "access": false, "plan": "free"],
        ] as [JSONValue] {
            builder.subject = [EvidenceBuilder.probe(document)]
            #expect(builder.codes(StateRule.self) == [.unexpectedUser])
        }
        // The event gave this user something that an unknown user does not have.
        builder.subject = [EvidenceBuilder.probe(["row": 8, "access": true])]
        #expect(builder.codes(StateRule.self) == [.unexpectedUser])
        builder.observability.unknownUserDocuments = [:]
        builder.subject = [EvidenceBuilder.probe(["row": 8, "access": false])]
        #expect(builder.codes(StateRule.self) == [.unexpectedUser])
    }

    @Test func `existence needs the user probe to prove absence`() {
        var builder = builder("exists", false)
        builder.subject = [EvidenceBuilder.probe(nil, status: 404)]
        #expect(builder.codes(StateRule.self) == [.unobservable])
        builder.profile.probes.append(
            Profile.Probe(
                name: "user",
                source: .get("/u/{{id}}"),
                readings: [:],
                ignoredPointers: []
            )
        )
        builder.subject = [EvidenceBuilder.probe(nil, status: 404, name: "user")]
        #expect(builder.codes(StateRule.self).isEmpty)
        for status in [400, 422] {
            // The backend refuses to look up an ID that it never accepts.
            builder.subject = [EvidenceBuilder.probe(nil, status: status, name: "user")]
            #expect(builder.codes(StateRule.self).isEmpty)
        }
        builder.subject = [EvidenceBuilder.probe(["id": 1], name: "user")]
        #expect(builder.codes(StateRule.self) == [.unexpectedUser])
        builder.contract.expectation.states[0].fields[0].value = true
        builder.subject = [EvidenceBuilder.probe(nil, status: 404, name: "user")]
        #expect(builder.codes(StateRule.self) == [.userMissing])
    }

    @Test
    func `a 404 from a differently named probe proves absence once it has shown existing users`() {
        var builder = builder("exists", false)
        builder.subject = [EvidenceBuilder.probe(nil, status: 404)]
        builder.observability.probesShowingExistence = [builder.profile.probes[0].name]
        #expect(builder.codes(StateRule.self).isEmpty)
        builder.contract.expectation.states[0].fields[0].value = true
        #expect(builder.codes(StateRule.self) == [.userMissing])
        builder.observability.probesShowingExistence = []
        #expect(builder.codes(StateRule.self) == [.unobservable])
    }

    @Test func `a field that no probe maps is not passed`() {
        var builder = builder("refunded", true)
        builder.subject = [EvidenceBuilder.probe(["access": true])]
        #expect(builder.codes(StateRule.self) == [.unobservable])
    }

    @Test func `a failed probe is reported as a failed setup, not as a backend failure`() {
        var builder = builder("access", true)
        builder.subject = [EvidenceBuilder.probe(["access": true], status: 500)]
        #expect(builder.codes(StateRule.self) == [.setupFailed])
    }
}
