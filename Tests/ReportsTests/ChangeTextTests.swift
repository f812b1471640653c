import Contracts
import Reports
import Testing
import TestSupport
import Values

/// What somebody reads who has to say whether a change was meant.
@Suite("Full contract changes")
struct ChangeTextTests {
    private static func contract(_ values: [String: JSONValue], status: Int = 200) -> Contract {
        let request = SmallContracts.request("hello") {
            $0.answer = ResponsePattern(status: status, location: SmallContracts.place)
        }
        return SmallContracts.contract([request]) { $0.values = values }
    }

    private static func lines(
        _ old: [String: JSONValue],
        _ new: [String: JSONValue],
        status: Int = 200,
        isColored: Bool = false
    ) -> [String] {
        let changes = ContractChange.changes(from: contract(old), to: contract(new, status: status))
        return ChangeText(style: TerminalStyle(isColored: isColored)).lines(changes)
    }

    @Test func `both are shown, with marks below what is new`() {
        #expect(
            Self.lines(["a": "Hello Ada."], ["a": "Hello Ada!"], status: 201) == [
                "  values · a", "    was  \"Hello Ada.\"", "    now  \"Hello Ada!\"",
                "                   ^", "  steps · request hello", "    response",
                "    was  200", "    now  201", "           ^",
            ]
        )
    }

    @Test func `added and removed values are shown separately`() {
        #expect(
            Self.lines(["a": 1], ["b": 2]) == [
                "  values · a", "    gone 1", "  values · b", "    new  2",
            ]
        )
    }

    @Test("no end of a long value is lost, and no line is too long", arguments: [90, 91, 400])
    func long(count: Int) {
        let text = String(repeating: "x", count: count)
        let lines = Self.lines(["a": .string(text + ".")], ["a": .string(text + "!")])
        #expect(lines.allSatisfy { $0.count <= 100 })
        let said = lines.dropFirst().filter { !$0.contains("^") }.map { $0.dropFirst(9) }.joined()
        #expect(said == "\"\(text).\"\"\(text)!\"")
        #expect(lines.last?.last == "^", "the mark stands below the end")
    }

    @Test func `backend text cannot move the cursor`() {
        let lines = Self.lines(["a": "x"], ["a": "\u{1b}[2J"])
        #expect(!lines.joined().contains("\u{1b}"))
    }

    @Test func `colours come only where they were asked for`() {
        #expect(!Self.lines(["a": 1], ["a": 2]).joined().contains("\u{1b}["))
        #expect(Self.lines(["a": 1], ["a": 2], isColored: true).joined().contains("\u{1b}[32m2"))
    }
}
