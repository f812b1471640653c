import Contracts
import TestSupport
import Testing
import Values

/// What holds for every JSON value: a thousand of each, from seeds.
@Suite("JSON properties")
struct JSONPropertyTests {
    private static let seeds: Range<UInt64> = 0..<1000

    @Test func `written JSON is read back`() throws {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let value = made.json()
            #expect(try JSONValue(parsing: value.bytes) == value, "seed \(seed)")
            #expect(try JSONValue(parsing: value.bytes).text == value.text, "seed \(seed)")
            #expect(try JSONValue(parsing: value.prettyText) == value, "seed \(seed)")
            #expect(try JSONValue(parsing: value.prettyText).text == value.text, "seed \(seed)")
        }
    }

    @Test func `a line stays on one line`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let bytes = made.json().bytes
            #expect(!bytes.contains { $0 < 0x20 }, "seed \(seed): a control character")
        }
    }

    @Test func `order of members changes neither equality nor hash`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let value = made.json()
            let other = made.reordered(value)
            #expect(value == other, "seed \(seed)")
            #expect(value.hashValue == other.hashValue, "seed \(seed)")
            #expect(value.differences(from: other).isEmpty, "seed \(seed)")
        }
    }

    @Test func `two values are equal or differ at some location, in both directions`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let (left, right) = (made.json(), made.json())
            let there = left.differences(from: right)
            let back = right.differences(from: left)
            #expect((left == right) == there.isEmpty, "seed \(seed)")
            #expect(Set(there.map(\.pointer)) == Set(back.map(\.pointer)), "seed \(seed)")
            for (pointer, mine, theirs) in there {
                #expect(left[pointer] == mine, "seed \(seed) at \(pointer)")
                #expect(right[pointer] == theirs, "seed \(seed) at \(pointer)")
            }
        }
    }

    @Test func `applying the differences makes the values equal`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            var left = JSONValue.object(made.object())
            let right = JSONValue.object(made.object())
            for (pointer, _, theirs) in left.differences(from: right) {
                left.set(pointer, to: theirs)
            }
            #expect(left == right, "seed \(seed)")
        }
    }

    @Test func `every location is found by its pointer`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let value = made.json()
            for place in value.allPointers {
                #expect(value[place] != nil, "seed \(seed) at \(place)")
                let read = JSONPointer(place.description)
                #expect(read == place, "seed \(seed) at \(place)")
                #expect(place.isInside(JSONPointer()) && place.isInside(place))
                #expect(!place.isInside(place.appending("x")))
            }
        }
    }

    @Test func `setting a location changes nothing else`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            var value = JSONValue.object(made.object())
            let before = value
            let place = made.one(of: value.allPointers)
            let new = made.json()
            value.set(place, to: new)
            #expect(value[place] == new, "seed \(seed) at \(place)")
            for (changed, _, _) in before.differences(from: value) {
                #expect(changed.isInside(place), "seed \(seed): \(changed) is not in \(place)")
            }
        }
    }

    @Test func `a removed location is gone`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            var value = JSONValue.object(made.object())
            let valuePaths = value.allPointers.filter { !$0.tokens.isEmpty }
            guard !valuePaths.isEmpty else { continue }
            let place = made.one(of: valuePaths)
            let parent = JSONPointer(tokens: place.tokens.dropLast())
            let count = value[parent].map(Self.count)
            value.set(place, to: nil)
            #expect(value[parent].map(Self.count) == count.map { $0 - 1 }, "seed \(seed)")
        }
    }

    private static func count(_ value: JSONValue) -> Int {
        value.array?.count ?? value.object?.members.count ?? 0
    }

    @Test func `replacing leaves keeps the shape`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let value = made.json()
            let same = value.mapLeaves { $0 }
            #expect(same == value && same.text == value.text, "seed \(seed)")
            let marked = value.mapLeaves { _ in "x" }
            #expect(marked.allPointers == value.allPointers, "seed \(seed)")
            #expect(marked.strings.allSatisfy { $0 == "x" }, "seed \(seed)")
        }
    }

    @Test func `values survive encoding and decoding`() throws {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let value = made.json()
            let coded = try JSONValue(encoding: ["value": value])
            #expect(coded["value"]?.text == value.text, "seed \(seed)")
            let back: [String: JSONValue] = try coded.decoded()
            #expect(back["value"]?.text == value.text, "seed \(seed)")
        }
    }

    @Test func `no input makes the parser trap, and accepted input is JSON`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let bytes = made.bytes(40)
            do throws(JSONError) {
                let value = try JSONValue(parsing: bytes)
                #expect((try? JSONValue(parsing: value.bytes)) == value, "seed \(seed)")
            } catch {
                #expect((0...bytes.count).contains(error.offset), "seed \(seed)")
                #expect(error.line >= 1 && error.column >= 1, "seed \(seed)")
            }
        }
    }

    @Test func `truncated JSON is refused`() {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let bytes = JSONValue.object(made.object()).bytes
            let cut = made.int(0...(bytes.count - 1))
            #expect(throws: JSONError.self, "seed \(seed)") {
                try JSONValue(parsing: Array(bytes[..<cut]))
            }
            #expect(throws: JSONError.self, "seed \(seed)") {
                try JSONValue(parsing: bytes + Array("1".utf8))
            }
        }
    }

    @Test func `whitespace between tokens is ignored`() throws {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let value = made.json()
            let blank = made.one(of: [" ", "\n", "\t", "\r\n", "  \n "])
            let text = blank + value.prettyText.replacing("\n", with: "\n" + blank) + blank
            #expect(try JSONValue(parsing: text) == value, "seed \(seed)")
        }
    }

    // MARK: Numbers

    @Test func `numbers keep their spelling and compare by value`() throws {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let (left, right) = (made.number(), made.number())
            let (one, two) = (try number(left), try number(right))
            #expect(one.description == left, "seed \(seed)")
            if one == two {
                #expect(one.hashValue == two.hashValue, "\(left) and \(right)")
                #expect(one.int64 == two.int64, "\(left) and \(right)")
            } else if let mine = one.int64, let theirs = two.int64 {
                #expect(mine != theirs, "\(left) and \(right)")
            }
            if let mine = one.double, let theirs = two.double, mine != theirs {
                #expect(one != two, "\(left) and \(right)")
            }
        }
    }

    private func number(_ text: String) throws -> JSONNumber {
        guard case .number(let number) = try JSONValue(parsing: text) else {
            throw JSONErrorOfTest.notANumber(text)
        }
        return number
    }

    private enum JSONErrorOfTest: Error { case notANumber(String) }

    @Test(
        "trailing zeros and exponents change the spelling, not the value",
        arguments: ["0", "1", "-1", "12", "100", "0.5", "-0.25", "9223372036854775807"]
    )
    func spellings(text: String) throws {
        let plain = try number(text)
        let hasPoint = text.contains(".")
        let others = [
            text + (hasPoint ? "0" : ".0"), text + "e0", text + "E+0", text + "e-0",
            text + (hasPoint ? "000" : ".000") + "e0",
        ]
        for other in others {
            #expect(try number(other) == plain, "\(other)")
            #expect(try number(other).int64 == plain.int64, "\(other)")
        }
    }

    private static let integers: [(String, Int64?)] = [
        ("0", 0), ("-0", 0), ("1e3", 1000), ("1E+3", 1000), ("1000e-3", 1), ("0.001e3", 1),
        ("1.5", nil), ("1e-1", nil), ("9223372036854775807", .max),
        ("-9223372036854775808", .min), ("9223372036854775808", nil),
        ("1e18", 1_000_000_000_000_000_000),
        ("1e19", nil), ("0e999", 0), ("1e99999999999999999999", nil), ("12.0", 12),
    ]

    @Test("an integer is recognized in any spelling", arguments: integers)
    func integer(text: String, value: Int64?) throws {
        #expect(try number(text).int64 == value)
    }

    @Test func `integers and doubles are written so that they are read back`() throws {
        for seed in Self.seeds {
            var made = ArbitraryValues(seed: seed)
            let integer = Int64.random(in: .min ... .max, using: &made.random)
            #expect(try number(JSONNumber(integer).description).int64 == integer)
            let double = Double.random(in: -1e20...1e20, using: &made.random)
            #expect(try number(JSONNumber(double).description).double == double)
            let small = Double.random(in: -1e-5...1e-5, using: &made.random)
            #expect(try number(JSONNumber(small).description).double == small)
        }
        #expect(JSONNumber(Double.nan).description == "0")
        #expect(JSONNumber(Double.infinity).description == "0")
    }

    // MARK: Objects

    @Test func `an object keeps its insertion order`() {
        var object: JSONObject = ["b": 1, "a": 2]
        object["c"] = 3
        object["b"] = 4
        #expect(object.keys == ["b", "a", "c"])
        object["b"] = nil
        object["b"] = 5
        #expect(object.keys == ["a", "c", "b"])
        object["nothing"] = nil
        #expect(object.members.count == 3)
    }

    @Test func `null differs from an absent value`() {
        var object: JSONObject = ["a": .null]
        #expect(object["a"] == .null && object["b"] == nil)
        #expect(JSONValue.object(object) != [:])
        object["a"] = nil
        #expect(JSONValue.object(object) == [:])
    }

    @Test(
        "pointers follow RFC 6901",
        arguments: [
            ("", "whole"), ("/foo", "[\"bar\",\"baz\"]"), ("/foo/0", "\"bar\""), ("/", "0"),
            ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"),
            ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"), ("/foo/2", "nothing"),
            ("/foo/-1", "nothing"), ("/foo/x", "nothing"), ("/zero", "nothing"),
            ("/foo/0/0", "nothing"),
        ]
    )
    func rfc6901(pointer: String, expected: String) throws {
        let document = try JSONValue(
            parsing: #"""
                {"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6,
                " ":7,"m~n":8}
                """#
        )
        let found = document[try #require(JSONPointer(pointer))]
        switch expected {
        case "whole": #expect(found == document)
        case "nothing": #expect(found == nil)
        default: #expect(found?.text == expected)
        }
    }

    @Test func `a tilde is unescaped once`() {
        #expect(JSONPointer("/~01")?.tokens == ["~1"])
        #expect(JSONPointer("/~10")?.tokens == ["/0"])
        #expect(JSONPointer(tokens: ["~1/"]).description == "/~01~1")
        for text in ["a", "a/b", " /a", "#/a"] { #expect(JSONPointer(text) == nil) }
    }
}

@Suite("Unusual JSON keys")
struct JSONKeyTests {
    /// A mark that joins the letter before it, first in a key.
    @Test func `a key may begin with a combining mark`() {
        let pointer = JSONPointer(tokens: ["\u{301}x", "a/\u{301}", "~\u{301}"])
        #expect(JSONPointer(pointer.description) == pointer)
    }

    /// RFC 8259 compares keys by their code points.
    @Test func `two Unicode spellings of a letter are two keys of an object`() throws {
        let value = try JSONValue(parsing: "{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(value.object?.members.count == 2)
    }
}

/// Equal values give equal bytes, however they came to be.
@Suite("Values as JSON")
struct CodingOrderTests {
    private enum Name: String, Hashable, Codable, CaseIterable { case one, two, three, four, five }

    private struct State: Hashable, Codable {
        var names: Set<Name>
        var texts: Set<String>
        var nested: [String: Set<Int>]
        var byName: [Name: String]
        var list: [Int]
    }

    private static func state(seed: UInt64) -> State {
        var generator = SeededGenerator(seed: seed)
        func shuffled<Element>(_ elements: [Element]) -> [Element] {
            elements.shuffled(using: &generator)
        }
        var state = State(names: [], texts: [], nested: [:], byName: [:], list: [3, 1, 2])
        // Room to spare, and others that came and went: another order of the walk.
        state.names.reserveCapacity(Int(seed % 7) * 16)
        state.texts.reserveCapacity(Int(seed % 5) * 32)
        for name in shuffled(Name.allCases) {
            state.names.insert(name)
            state.byName[name] = name.rawValue
        }
        for number in shuffled(Array(0..<20)) {
            state.texts.insert("text \(number)")
            state.nested["key \(number % 3)", default: []].insert(number)
        }
        return state
    }

    @Test func `equal values encode to equal bytes`() throws {
        let first = try JSONValue(encoding: Self.state(seed: 0)).text
        for seed in 1..<UInt64(60) {
            let state = Self.state(seed: seed)
            #expect(state == Self.state(seed: 0))
            #expect(try JSONValue(encoding: state).text == first, "seed \(seed)")
        }
    }

    @Test func `ordered collections keep their order and are read back`() throws {
        let state = Self.state(seed: 3)
        let value = try JSONValue(encoding: state)
        #expect(value["list"] == [3, 1, 2])
        #expect(value["names"] == ["five", "four", "one", "three", "two"])
        #expect(value["byName"]?.array?.prefix(4) == ["five", "five", "four", "four"])
        #expect(try value.decoded(as: State.self) == state)
    }
}
