import Contracts
import Testing
import Values

@Suite("JSON parsing")
struct JSONParserTests {
    @Test(
        "JSON text round-trips unchanged",
        arguments: [
            "null", "true", "false", "0", "-0", "0.0", "0.00", "1E400", "9223372036854775807",
            "18446744073709551616", "0.1000000000000000055511151231257827", "\"\"", "\"a\\nb\"",
            "[]", "{}", "{\"b\":1,\"a\":[1,2.50,{\"c\":null}]}", "\"𝄞 ключ\"",
        ]
    )
    func losesNothing(text: String) throws {
        #expect(try JSONValue(parsing: text).text == text)
    }

    @Test func `escape sequences are decoded to their characters`() throws {
        let value = try JSONValue(parsing: #""\u00e9\ud834\udd1e\/\b\f\t""#)
        #expect(value == .string("é𝄞/\u{8}\u{c}\t"))
    }

    @Test(
        "a problem is reported at its position",
        arguments: [
            ("", JSONError.Problem.unexpectedEnd, 1, 1),
            ("{\"a\":1,\n \"a\":2}", .duplicateKey("a"), 2, 2),
            ("[1,\n2,\n x]", .unexpectedByte(UInt8(ascii: "x"), expected: "a value"), 3, 2),
            ("[01]", .invalidNumber, 1, 2), ("[1.]", .invalidNumber, 1, 2),
            ("[-]", .invalidNumber, 1, 2), ("\"\\x\"", .invalidEscape, 1, 3),
            ("\"\\ud800\"", .unpairedSurrogate, 1, 2), ("\"a\u{1}\"", .controlCharacter(1), 1, 3),
            ("1 2", .trailingBytes, 1, 3), ("tru", .unexpectedEnd, 1, 4),
            ("{\"a\"}", .unexpectedByte(UInt8(ascii: "}"), expected: "':'"), 1, 5),
        ] as [(String, JSONError.Problem, Int, Int)]
    )
    func reportsPlace(text: String, problem: JSONError.Problem, line: Int, column: Int) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        do throws(JSONError) {
            _ = try JSONValue(parsing: text)
        } catch {
            #expect(error.problem == problem)
            #expect(error.line == line)
            #expect(error.column == column)
        }
    }

    @Test func `bytes that are not UTF-8 are reported at the first bad one`() {
        let bytes = Array("[\"good ".utf8) + [0xc3, 0x28] + Array("\"]".utf8)
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes)
            Issue.record("it was accepted")
        } catch {
            #expect(error.problem == .invalidUTF8)
            #expect(error.offset == 7)
        }
    }

    @Test func `nesting depth is limited`() {
        let bytes = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes)
            Issue.record("it was accepted")
        } catch {
            #expect(error.problem == .tooDeep(depthMax: 256))
        }
    }

    @Test(arguments: [1, 3, 200])
    func `of duplicate keys only the last one can be kept`(keyCount: Int) throws {
        let options = JSONValue.ParseOptions(duplicateKeys: .keepLast)
        let keys = (0..<keyCount).map { "\"k\($0)\"" }
        let text = (keys.map { "\($0):1" } + keys.map { "\($0):2" }).joined(separator: ",")
        let value = try JSONValue(parsing: Array("{\(text)}".utf8), options: options)
        let again = try JSONValue(parsing: value.bytes)
        #expect(again == value)
        #expect(value.object?.members.map(\.value) == Array(repeating: 2, count: keyCount))
    }

    @Test func `a duplicate key can be kept, and the last one counts`() throws {
        let options = JSONValue.ParseOptions(duplicateKeys: .keep)
        let value = try JSONValue(parsing: Array("{\"a\":1,\"a\":2}".utf8), options: options)
        #expect(value["a"] == 2)
        #expect(value.text == "{\"a\":1,\"a\":2}")
    }

    @Test("damaged text is refused or read without a trap", arguments: 0..<UInt64(200))
    func survivesDamage(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array(#"{"a":[1,-2.5e+3,"\u00e9\\",true,null,{"b":{}}],"c":"é"}"#.utf8)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let index = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes.remove(at: index)
            default: bytes.insert(UInt8.random(in: .min ... .max, using: &generator), at: index)
            }
        }
        if let value = try? JSONValue(parsing: bytes) {
            #expect((try? JSONValue(parsing: value.bytes)) == value)
        }
    }
}

@Suite("JSON values")
struct JSONValueTests {
    @Test(
        "numbers compare by value, regardless of notation",
        arguments: [
            ("0", "0.00", true), ("0", "-0", true), ("1", "1.0", true), ("100", "1e2", true),
            ("0.5", "5E-1", true), ("1", "1.0000000000000000001", false),
            ("9007199254740993", "9007199254740992", false), ("1e400", "1e400", true),
        ]
    )
    func comparesNumbers(left: String, right: String, isEqual: Bool) throws {
        let (left, right) = (try JSONValue(parsing: left), try JSONValue(parsing: right))
        #expect((left == right) == isEqual)
        if isEqual { #expect(left.hashValue == right.hashValue) }
    }

    @Test func `objects compare without regard to order`() throws {
        let left = try JSONValue(parsing: #"{"a":1,"b":{"c":2,"d":3}}"#)
        let right = try JSONValue(parsing: #"{"b":{"d":3,"c":2},"a":1}"#)
        #expect(left == right)
        #expect(left.differences(from: right).isEmpty)
    }

    @Test func `integers keep 64 bits`() throws {
        #expect(try JSONValue(parsing: "9223372036854775807").int64 == .max)
        #expect(try JSONValue(parsing: "9223372036854775808").int64 == nil)
        #expect(try JSONValue(parsing: "1.5").int64 == nil)
        #expect(try JSONValue(parsing: "2.50e1").int64 == 25)
    }

    @Test func `a pointer reads, sets and removes`() throws {
        var value = try JSONValue(parsing: #"{"event":{"ids":["a","b"],"x/y":1}}"#)
        #expect(value[try #require(JSONPointer("/event/ids/1"))] == "b")
        #expect(value[try #require(JSONPointer("/event/x~1y"))] == 1)
        value.set(try #require(JSONPointer("/event/ids/0")), to: nil)
        value.set(try #require(JSONPointer("/event/new/deep")), to: true)
        #expect(value.text == #"{"event":{"ids":["b"],"x/y":1,"new":{"deep":true}}}"#)
        #expect(JSONPointer("event") == nil)
    }

    @Test func `differences list each location once`() throws {
        let left = try JSONValue(parsing: #"{"a":1,"b":[1,2],"c":{"d":1}}"#)
        let right = try JSONValue(parsing: #"{"a":1,"b":[1,3],"c":{"d":1,"e":2}}"#)
        let places = left.differences(from: right).map(\.pointer.description)
        #expect(places == ["/b/1", "/c/e"])
    }
}
