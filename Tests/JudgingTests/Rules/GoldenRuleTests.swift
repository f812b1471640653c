import Contracts
import Grammar
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("GoldenRule")
struct GoldenRuleTests {
    private func request(_ name: String, body: JSONValue, answer: JSONValue) -> AppRequest {
        var request = AppRequest(name: name, method: "POST", target: "/x/{{user.ada}}")
        request.body = .json(body)
        var pattern = ResponsePattern(status: 200, location: SampleContract.location)
        pattern.body = .json(answer)
        request.answer = pattern
        return request
    }

    private func answered(_ name: String, _ body: JSONValue, status: Int = 200) -> Exchange {
        var exchange = EvidenceBuilder.delivery()
        exchange.from = .app
        exchange.purpose = .appCall(name)
        exchange.outcome = .answered(HTTPMessage.Response(status, json: body))
        return exchange
    }

    private func findings(
        _ requests: [AppRequest],
        _ seen: [Exchange],
        effects: [EffectExpectation] = []
    ) -> [Finding] {
        var expectation = SampleContract.expectation()
        expectation.effects = effects
        var builder = EvidenceBuilder([], expectation: expectation)
        builder.contract.steps += requests.map(Step.request)
        builder.subject = seen
        return GoldenRule.findings(in: builder.evidence)
    }

    @Test(
        "a matcher accepts only its kind",
        arguments: [
            ("{{any}}", "1", true), ("{{any.text}}", #""x""#, true), ("{{any.text}}", "1", false),
            ("{{any.number}}", "1.5", true), ("{{any.number}}", #""1""#, false),
            ("{{any.uuid}}", #""6F2D3C6A-0b6e-4c53-9a0e-0123456789ab""#, true),
            ("{{any.uuid}}", #""6F2D3C6A""#, false),
            ("{{any.timestamp}}", #""2026-11-21T10:00:00Z""#, true),
            ("{{any.timestamp}}", "1790000000000", true), ("{{any.timestamp}}", "12", false),
            ("{{now+1h}}", "1790003600000", true), ("{{now+1h}}", "1790003600001", false),
            ("{{now}}", #""2026-09-21T14:13:20Z""#, false),
            ("{{date}}", #""2026-09-21T14:13:20.000Z""#, true),
            ("{{date}}", "1790000000000", false),
            ("{{user.ada}}", #""assay-n-ada""#, true), ("{{user.ada}}", #""assay-n-bob""#, false),
            ("literal", #""literal""#, true), ("literal", #""other""#, false),
            ("ORD-{{any.number}}", #""ORD-0042""#, true),
            ("ORD-{{any.number}}", #""ORD-x""#, false),
            ("ORD-{{any.number}}", #""ORD-""#, false), ("ORD-{{any.number}}", "42", false),
            ("ORD-{{any.number}}!", #""ORD-0042""#, false),
            ("{{any.number}}.{{any.number}} MB", #""12.5 MB""#, true),
            ("{{any.number}} of {{any.number}}", #""-1 of 7""#, true),
            ("{{any.text}}, {{user.ada}}", #""a, b, assay-n-ada""#, true),
            ("{{any.text}}, {{user.ada}}", #""a, b, assay-n-bob""#, false),
            ("a{{any}}b{{any}}c", #""abbcabc""#, true), ("a{{any}}b{{any}}c", #""acb""#, false),
            ("urn:{{any.uuid}}", #""urn:6F2D3C6A-0b6e-4c53-9a0e-0123456789ab""#, true),
            ("urn:{{any.uuid}}", #""urn:6F2D3C6A""#, false),
            ("until {{any.timestamp}}.", #""until 2026-11-21T10:00:00Z.""#, true),
            ("at {{any.timestamp}}", #""at 1790000000""#, true),
            ("at {{any.timestamp}}", #""at last""#, false),
            ("{{{{any}} {{any.number}}", #""{{any}} 7""#, true),
            ("{{{{any}} {{any.number}}", #""x 7""#, false),
        ]
    )
    func matchers(pattern: String, actual: String, isMatch: Bool) throws {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: SampleContract.base
        )
        let value = try JSONValue(parsing: actual)
        #expect(values.match(.string(pattern), value).isEmpty == isMatch)
    }

    /// A cookie beside a date that nobody knows: what stands around the matchers is exact.
    @Test func `a name is captured next to matchers`() {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: SampleContract.base
        )
        let pattern: JSONValue = "sid={{some.sid}}; Path=/; Expires={{any.text}}; HttpOnly"
        #expect(values.match(pattern, "sid=A7; Path=/; Expires=Tue, 24 Nov; HttpOnly").isEmpty)
        #expect(values.fill("{{some.sid}}") == "A7")
        #expect(!values.match(pattern, "sid=B8; Path=/; Expires=Wed, 25 Nov; HttpOnly").isEmpty)
        #expect(!values.match(pattern, "sid=A7; Path=/x; Expires=Wed; HttpOnly").isEmpty)
    }

    @Test func `a long string with many matchers is read once`() {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: SampleContract.base
        )
        let pattern = String(repeating: "{{any}}a", count: 100) + "{{any}}b"
        let text = String(repeating: "a", count: 20_000)
        #expect(!values.match(.string(pattern), .string(text)).isEmpty)
        #expect(values.match(.string(pattern), .string(text + "b")).isEmpty)
    }

    @Test func `a value captured from a response must appear again`() {
        let first = request("one", body: [:], answer: ["token": "{{some.token1}}"])
        let second = request(
            "two",
            body: ["proof": "{{some.token1}}"],
            answer: ["same": "{{some.token1}}"]
        )
        let same = [answered("one", ["token": "T"]), answered("two", ["same": "T"])]
        #expect(findings([first, second], same).isEmpty)
        let other = [answered("one", ["token": "T"]), answered("two", ["same": "U"])]
        #expect(findings([first, second], other).map(\.code) == [.responseDiffers])
    }

    @Test func `objects are open, arrays are closed, and the first difference is named`() throws {
        let wanted: JSONValue = ["a": 1, "list": [1, 2], "deep": ["x": "y"]]
        let one = request("one", body: [:], answer: wanted)
        let more = answered("one", ["a": 1, "list": [1, 2], "deep": ["x": "y"], "new": true])
        #expect(findings([one], [more]).isEmpty)
        let less = answered("one", ["a": 1, "list": [1], "deep": ["x": "z"]])
        let found = findings([one], [less])
        #expect(found.map(\.code) == [.responseDiffers])
        #expect(found.first?.expected.contains("/list") == true)
        #expect(found.first?.nearMiss.contains("/deep/x") == true)
        #expect(try #require(found.first).nearMiss.count <= 12)
        let status = findings([one], [answered("one", [:], status: 500)])
        #expect(status.map(\.code) == [.responseStatus])
    }

    @Test func `the closest message is shown without its secrets`() throws {
        let wanted: JSONValue = ["claimToken": "{{some.token1}}", "plan": "gold"]
        let one = request("one", body: ["proof": "{{some.token1}}"], answer: wanted)
        let seen = answered("one", ["claimToken": "hidden-value-1", "plan": "none"])
        let found = try #require(findings([one], [seen]).first)
        #expect(found.nearMiss.contains("/claimToken") && found.nearMiss.contains("/plan"))
        #expect(!"\(found)".contains("hidden-value-1"))
        let refused = findings(
            [one],
            [answered("one", ["error": "no", "password": "hidden-value-2"], status: 401)]
        )
        #expect(!"\(refused)".contains("hidden-value-2"))
    }

    @Test func `a message counts only if it has the recorded text`() {
        var effect = EffectExpectation(
            kind: "onesignal.notification",
            user: "ada",
            countMin: 1,
            countMax: 1,
            requiresSameIdempotencyKey: false,
            location: SampleContract.location
        )
        effect.expectedContent = ["contents": ["en": "Welcome"]]
        let good = EvidenceBuilder.push(to: "assay-namespace-0-ada")
        #expect(findings([], [good], effects: [effect]).isEmpty)
        let found = findings(
            [],
            [EvidenceBuilder.push(to: "assay-namespace-0-ada", "Hello")],
            effects: [effect]
        )
        #expect(found.map(\.code) == [.effectContentDiffers])
        #expect(found.first?.nearMiss.contains("/contents/en") == true)
        let twice = findings([], [good, good], effects: [effect])
        #expect(twice.map(\.code) == [.effectContentDiffers])
        let unknownUser = findings([], [EvidenceBuilder.push(to: "bob")], effects: [effect])
        #expect(unknownUser.first?.nearMiss.contains("/to") == true)
    }
}
