internal import Contracts
package import Values

/// Values made up from a seed, for properties that hold for all of them.
package struct ArbitraryValues {
    package var random: SeededGenerator

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    package mutating func int(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    package mutating func bool() -> Bool { Bool.random(using: &random) }

    package mutating func one<Element>(of elements: [Element]) -> Element {
        elements[int(0...(elements.count - 1))]
    }

    /// Text with everything that escapes, patterns and databases stumble over.
    package mutating func text(countMax: Int = 12) -> String {
        let pieces = [
            "a", "B", "7", " ", "\"", "\\", "/", "~", "\n", "\t", "\r", "\u{0}", "\u{1f}",
            "\u{7f}", "é", "e\u{301}", "ß", "日", "🦊", "👩‍👩‍👧", "\u{202e}", "\u{feff}", "{", "}",
            "[", ",", ":", "&", "=", "%", "+", "#", "?", "{{", "}}", "null", "0", "-",
        ]
        return (0..<int(0...countMax)).map { _ in one(of: pieces) }.joined()
    }

    /// A number as JSON writes it, spelt in many ways.
    package mutating func number() -> String {
        let sign = bool() ? "-" : ""
        let whole = one(of: ["0", "1", "9", "10", "42", "9007199254740993", "9223372036854775807"])
        let fraction = one(of: ["", "", ".0", ".5", ".00", ".25", ".1000000000000000055"])
        let exponent = one(of: ["", "", "", "e0", "E1", "e-3", "e+2", "e20", "E400"])
        return sign + whole + fraction + exponent
    }

    package mutating func json(depth: Int = 0) -> JSONValue {
        switch int(0...(depth < 4 ? 8 : 5)) {
        case 0: .null
        case 1: .bool(bool())
        case 2: (try? JSONValue(parsing: number())) ?? .null
        case 3: .integer(Int64(int(-1_000_000...1_000_000)))
        case 4, 5: .string(text())
        case 6: .array((0..<int(0...4)).map { _ in json(depth: depth + 1) })
        default: .object(object(depth: depth))
        }
    }

    package mutating func object(depth: Int = 0) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<int(0...5) { object[text(countMax: 3)] = json(depth: depth + 1) }
        return object
    }

    package mutating func bytes(_ countMax: Int) -> [UInt8] {
        (0..<int(0...countMax)).map { _ in UInt8(int(0...255)) }
    }

    /// The same value with the members of its objects in another order.
    package mutating func reordered(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements):
            var copy: [JSONValue] = []
            for element in elements { copy.append(reordered(element)) }
            return .array(copy)
        case .object(let object):
            var members: [JSONObject.Member] = []
            for member in object.members.shuffled(using: &random) {
                members.append(.init(key: member.key, value: reordered(member.value)))
            }
            return .object(JSONObject(members: members))
        case .null, .bool, .number, .string: return value
        }
    }
}

extension JSONValue {
    /// Every place in it, the whole first.
    package var allPointers: [JSONPointer] { allPointers(at: JSONPointer()) }

    private func allPointers(at pointer: JSONPointer) -> [JSONPointer] {
        switch self {
        case .array(let elements):
            [pointer]
                + elements.enumerated().flatMap {
                    $0.element.allPointers(at: pointer.appending(String($0.offset)))
                }
        case .object(let object):
            [pointer]
                + object.members.flatMap { $0.value.allPointers(at: pointer.appending($0.key)) }
        case .null, .bool, .number, .string: [pointer]
        }
    }
}
