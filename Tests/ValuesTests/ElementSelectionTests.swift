import Testing
import TestSupport
import Values

@Suite("Selected elements of arrays")
struct ElementSelectionTests {
    private static let document: JSONValue = [
        "items": [
            ["id": "basic", "n": 1], ["id": "premium", "n": 2, "on": true],
            ["id": "premium", "n": 3],
        ],
        "names": ["a", "b=c", ""],
        "id=x": 5,
    ]

    @Test(
        "a component with an equals sign selects by content",
        arguments: [
            ("/items/id=premium/n", JSONValue.number(JSONNumber(2))), ("/items/n=3/id", "premium"),
            ("/items/on=true/n", 2), ("/names/=a", "a"), ("/names/=b=c", "b=c"), ("/names/=", ""),
            // Only an array has elements to select; an object may have such a key.
            ("/id=x", 5),
        ]
    )
    func selects(path: String, value: JSONValue) throws {
        #expect(Self.document[try #require(JSONPointer(path))] == value)
    }

    @Test(
        "a selection of nothing leads to nothing",
        arguments: [
            "/items/id=gold/n", "/items/id/n", "/items/=premium", "/names/id=a", "/items/9/n",
            "/items/-1/n", "/items/99999999999999999999/n",
        ]
    )
    func selectsNothing(path: String) throws {
        #expect(Self.document[try #require(JSONPointer(path))] == nil)
    }

    @Test(
        "a selection may name each element of its array",
        arguments: [
            ("/items/id=a/n", "/items/0/n", true), ("/items/id=a/n", "/items/1", true),
            ("/items/id=a", "/items/1/n", true), ("/items/id=a/n", "/items/0/m", false),
            ("/items/0/n", "/items/1/n", false), ("/items/id=a/n", "/rows/0/n", false),
            ("/a", "/a", true), ("", "/a", true),
        ]
    )
    func overlap(selection: String, path: String, mayOverlap: Bool) throws {
        let pointer = try #require(JSONPointer(selection))
        #expect(pointer.mayOverlap(try #require(JSONPointer(path))) == mayOverlap)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `any name and text of an element can be selected`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let characters = "ab=/~0 é9"
            func text() -> String {
                String(
                    (0..<Int.random(in: 0...4, using: &generator)).compactMap { _ in
                        characters.randomElement(using: &generator)
                    }
                )
            }
            let member = text().filter { $0 != "=" } + "k"
            let value = text()
            let pointer = JSONPointer(tokens: [
                ElementSelection(member: member, value: value).description, "found",
            ])
            let list: JSONValue = [
                .object([:]), [member: .string(value + "x")],
                [member: .string(value), "found": true],
            ]
            #expect(list[try #require(JSONPointer(pointer.description))] == true)
        }
    }
}
