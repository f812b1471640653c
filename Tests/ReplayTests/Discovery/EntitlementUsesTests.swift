import Testing

@testable import Replay

/// The entitlement that a backend asks for is found in its code.
@Suite("Uses of entitlements in code")
struct EntitlementUsesTests {
    private static func name(_ text: String) -> String? {
        EntitlementUses(SourceText(path: "app.py", text: text)).mostFrequentName
    }

    @Test(
        "a name that is compared with the entitlements of an event is found",
        arguments: [
            #"active = "gold_pro" in entitlement_ids and not expired"#,
            #"if "gold_pro" not in event["entitlement_ids"]:"#,
            "ENTITLEMENT = 'gold_pro'", "const ENTITLEMENT_ID: string = 'gold_pro';",
            "if (event.entitlement_ids?.includes('gold_pro')) {",
            #"if entitlement_id == "gold_pro" {"#, #"entitlements.get("gold_pro")"#,
            #"subscriber.entitlements["gold_pro"]"#,
            #"slices.Contains(e.EntitlementIDs, "gold_pro")"#,
            "in_array('gold_pro', $event->entitlementIds)",
            #"{"entitlementId": "gold_pro"}"#,
        ]
    )
    func found(text: String) { #expect(Self.name(text) == "gold_pro") }

    @Test(
        "a name of several words is found where an ID is set",
        arguments: [
            "const ENTITLEMENT_ID = 'Acme Pro';", #"entitlementName: "Acme Pro""#,
            #"if entitlement_id == "Acme Pro":"#,
        ]
    )
    func foundWords(text: String) { #expect(Self.name(text) == "Acme Pro") }

    @Test(
        "another text is no entitlement",
        arguments: [
            #"entitlement["expires_date"]"#, #"entitlements.get("active")"#,
            #"event.get("entitlement_ids")"#, #"entitlement = "None""#,
            #"log("entitlement: none")"#,
            "the entitlement 'gold_pro' of a user", #"entitlement: "a b""#,
            #"entitlement_id: "Acme Pro is not in the list of products""#,
        ]
    )
    func notFound(text: String) { #expect(Self.name(text) == nil) }

    @Test("the most frequent name counts, and none of several plans")
    func mostFrequent() {
        let pro = #""pro" in entitlement_ids"#
        let plus = #""plus" in entitlement_ids"#
        #expect(Self.name([pro, plus, pro].joined(separator: "\n")) == "pro")
        #expect(Self.name([pro, plus].joined(separator: "\n")) == nil)
    }

    @Test("a name in a test file does not count")
    func testFile() {
        let silver = "entitlement_ids.includes('silver')"
        let files = [
            SourceSurvey.File(path: "src/hook.js", text: "entitlement_ids.includes('gold')"),
            SourceSurvey.File(path: "test/hook.test.js", text: "\(silver)\n\(silver)"),
        ]
        #expect(SourceSurvey(files).entitlementUses.mostFrequentName == "gold")
    }
}
