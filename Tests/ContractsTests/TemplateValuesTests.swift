import Contracts
import Grammar
import Providers
import TestSupport
import Testing
import Values

@Suite("Values of templates")
struct TemplateValuesTests {
    static var values: TemplateValues {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: Instant(milliseconds: 1_790_000_000_000)
        )
        values.tokens["ada"] = "T"
        values.tokens["bob"] = "U"
        values.proofs["first"] = "P"
        values.returnedIDs["first"] = "U"
        values.events["purchase"] = ["expiration_at_ms": 5]
        values.clock = Instant(milliseconds: 1_790_003_600_000)
        return values
    }

    @Test(
        "a name has one meaning, and its unit",
        arguments: [
            ("{{now-1h}}", 1_789_996_400_000), ("{{now}}", 1_790_000_000_000),
            ("{{date+1h}}", "2026-09-21T15:13:20.000Z"), ("{{seconds}}", 1_790_003_600),
            ("{{seconds-1h}}", 1_790_000_000), ("{{user.ada}}", "assay-n-ada"),
            ("{{first.proof}}", "P"), ("{{purchase.expiration_at_ms}}", 5),
        ] as [(String, JSONValue)]
    )
    func units(template: String, value: JSONValue) {
        var values = Self.values
        #expect(values.fill(JSONValue.string(template)) == value)
        #expect(values.fill("a " + template) == "a " + (value.string ?? value.text))
    }

    @Test("a long text has the length that it says", arguments: [1, 5, 100, 101, 4000])
    func long(count: Int) {
        var values = Self.values
        #expect(values.fill("{{long.\(count)}}").count == count)
    }

    @Test func `given values may contain templates, and a self-reference becomes null`() {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: SampleContract.base,
            given: ["mail": "{{user.ada}}@example.com", "self": "x{{some.self}}"]
        )
        #expect(values.fill("{{some.mail}}") == "assay-n-ada@example.com")
        #expect(values.fill("{{some.self}}") == "xnull")
    }

    @Test func `a proof that was never handed out leaves its field out`() {
        var values = Self.values
        #expect(values.fillIfPresent("{{second.proof}}") == nil)
        #expect(values.fill(["a": "{{second.proof}}", "b": 1] as JSONValue) == ["b": 1])
    }

    @Test func `a template with literal braces captures names and compares the braces exactly`() {
        var values = Self.values
        #expect(values.match("{{{{x}} {{some.a}}", "{{x}} 7").isEmpty)
        #expect(values.fill("{{some.a}}") == "7")
        #expect(!values.match("{{{{x}}", "x").isEmpty)
    }

    /// The generated texts that look like templates reach a backend letter by letter.
    @Test func `hostile values stay literal`() {
        var seen = 0
        for seed in 0..<UInt64(100) {
            var generator = VariationGenerator(
                .unicode,
                body: ["event": ["product_id": "p", "offer_code": "o", "country_code": "US"]],
                random: SeededGenerator(seed: seed)
            )
            let edits = generator.next().edits
            for edit in edits + VariationGenerator.shrunkEdits(edits).flatMap(\.self) {
                var values = Self.values
                guard let text = edit.value?.string, text.contains("{{") else { continue }
                seen += 1
                #expect(values.fill(text) == Template(text).plainText, "\(text)")
                let scope = TemplateScope(.request, names: TemplateNames())
                #expect(scope.problems(in: text).isEmpty, "\(text)")
            }
        }
        #expect(seen > 0)
    }
}
