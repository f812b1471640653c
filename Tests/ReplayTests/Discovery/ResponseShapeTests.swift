import Replay
import Testing
import Values

/// Where two answers differ in shape, and where one of them just says nothing.
@Suite("Shapes of responses")
struct ResponseShapeTests {
    private func differences(
        _ live: JSONValue,
        _ fake: JSONValue,
        open: Set<String> = [],
        optional: Set<String> = []
    ) -> [String] {
        ResponseShape(live, userNamedMembers: open)
            .differences(from: ResponseShape(fake, userNamedMembers: open), optional: optional)
            .map { "\($0.valuePath) \($0.kind)" }
    }

    @Test func `an added member, a missing one and a changed kind are three differences`() {
        let found = differences(["a": 1, "new": "x", "c": "1"], ["a": 2, "old": [], "c": 1])
        #expect(found.count == 3)
        #expect(found[0].hasPrefix("/c kinds") && found[1].hasPrefix("/new missingInFake"))
        #expect(found[2].hasPrefix("/old missingInLive"))
    }

    @Test func `empty, null and occasional values do not count as differences`() {
        #expect(differences(["items": []], ["items": [["id": 1]]]).isEmpty)
        #expect(differences(["items": [["id": 1]]], ["items": []]).isEmpty)
        #expect(differences(["a": .null], ["a": "x"]).isEmpty)
        #expect(differences(["a": 1], ["a": .null]).isEmpty)
        let some: JSONValue = ["items": [["id": 1, "plan": "x"], ["id": 2]]]
        #expect(differences(["items": [["id": 1]]], some).isEmpty)
        #expect(differences([:], ["tags": [:]], optional: ["tags"]).isEmpty)
    }

    @Test func `members keyed by user are compared as one`() {
        let live: JSONValue = ["tags": ["tea": "green"]]
        #expect(differences(live, ["tags": ["level": "3"]], open: ["tags"]).isEmpty)
        #expect(differences(live, ["tags": ["level": "3"]]).count == 2)
        #expect(differences(live, ["tags": ["level": 3]], open: ["tags"]).count == 1)
        // All items of a list share one place.
        let found = differences(["l": [["a": 1], ["b": 1]]], ["l": [["a": 1]]])
        #expect(found.count == 1 && found[0].hasPrefix("/l/*/b missingInFake"))
    }
}
