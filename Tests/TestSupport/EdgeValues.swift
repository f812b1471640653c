internal import Contracts
import Foundation
package import Values

/// Values at the edges of their types, drawn from a seed, and inputs that contain them.
///
/// The same seed gives the same inputs. `ASSAY_FUZZ` is the number of inputs of each seed; without
/// it the tests use few, so that they stay fast. `ASSAY_FUZZ_LAST` names a file that holds the
/// current input, so that an input that ends the process can be read afterwards.
package struct EdgeValues {
    private var generator: SeededGenerator

    package init(seed: UInt64, text: String) {
        generator = SeededGenerator(seed: seed, text: text)
    }

    // MARK: The amount

    private static let environment = ProcessInfo.processInfo.environment
    private static let wanted = environment["ASSAY_FUZZ"].flatMap(Int.init)
    private static let lastPath = environment["ASSAY_FUZZ_LAST"]

    /// The seeds of each test.
    package static let seeds: [UInt64] = [46, 47]

    /// The number of inputs of one seed.
    ///
    /// - Parameters:
    ///   - standard: The number without `ASSAY_FUZZ`.
    ///   - divisor: The part of `ASSAY_FUZZ` that this test takes, for inputs that cost much.
    /// - Returns: At least 1.
    package static func inputCount(_ standard: Int, divisor: Int = 1) -> Int {
        wanted.map { max(1, $0 / divisor) } ?? standard
    }

    /// Runs one input.
    ///
    /// - Returns: False when `ASSAY_FUZZ` is set and the input took longer than 5 s. A suite that runs
    ///   among others on a loaded machine measures nothing.
    package static func run(
        _ input: @autoclosure () -> [UInt8],
        _ work: () async throws -> Void
    ) async rethrows -> Bool {
        if let lastPath {
            try? Data(input()).write(to: URL(fileURLWithPath: lastPath))
        }
        let start = ContinuousClock.now
        try await work()
        return wanted == nil || ContinuousClock.now - start < .seconds(5)
    }

    /// Whether the process has stayed below 300 MB; always true without `ASSAY_FUZZ`.
    package static var isWithinMemory: Bool {
        guard wanted != nil,
            let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kilobytes = Int(line.filter(\.isNumber))
        else { return true }
        return kilobytes < 300_000
    }

    // MARK: Values

    /// JSON literals of numbers.
    package static let numbers = [
        "0", "-0.0", "1", "-1", "9223372036854775807", "9223372036854775808",
        "9223372036854775806", "-9223372036854775808", "-9223372036854775809",
        "18446744073709551615", "18446744073709551616", "9007199254740991", "9007199254740992",
        "9007199254740993", "-9007199254740993", "1e308", "-1e308", "1e400", "1e-308", "1e-400",
        "0.1", "2147483647", "2147483648", "-2147483649", "4294967296", "65535", "65536",
        "1798761600", "1798761600000", "1798761600000000", "946684799999", "946684800000",
        "4102444800000", "4102444800001", "253402300800000", "-62135596800001",
        "86400000000000000", "1e18", "1e19", String(repeating: "9", count: 400),
        "0." + String(repeating: "0", count: 400) + "1",
    ]

    /// Strings: no content, one letter, places in a path, dates and durations beyond their bounds.
    package static let strings = [
        "", "a", ".", "..", "/", "//", " ", "\u{0}", "a\u{0}b", "\u{feff}", "\u{202e}x", "é", "😀",
        "NaN", "nan", "Infinity", "-inf", "null", "true", "0x7fffffffffffffff", "1e999", "٣",
        "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "1798761600000000", "99999999999999999999999999", "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z",
        "2000-02-30T24:60:60Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-99:99",
        "+292277026596-12-04T15:30:07Z", "2027-01-01T00:00:00.123456Z", "2027-01-01",
        "2027-13-45 99:99:99", "12/31/9999", "Fri Dec 31 9999 23:59:59 GMT-9999",
        "0s", "1ms", "-1d", "9223372036854775807d", "99999999999999ms", "1157407407d", "1e9d",
        "P9999Y", "P1M", "00:00", "http://127.0.0.1:65536/", "http://[::1", "http://", "%00", "%ff",
        "{{now+99999999d}}", "${", "\\", "\"", "'", "\n", "\r\n", "a=b&c", "<script>", "*", "[",
        String(repeating: "x", count: 4096), String(repeating: "/", count: 4096),
        String(repeating: "9", count: 4096),
    ]

    /// JSON literals that are neither a number nor a plain string.
    private static let others = [
        "null", "true", "false", "[]", "{}", "[[]]", "[null]", "{\"\":null}", "[{}]",
        #""\ud800""#, #""\udc00x""#, #""\u0000""#, #"{"a":1,"a":2}"#, "NaN", "-", "01", "\"",
        String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
        String(repeating: "[", count: 2000) + String(repeating: "]", count: 2000),
        String(repeating: "{\"a\":", count: 300) + "1" + String(repeating: "}", count: 300),
    ]

    package mutating func pick<Element>(_ values: [Element]) -> Element {
        values[Int(generator.next() % UInt64(values.count))]
    }

    /// True once in `count` times on average.
    package mutating func isOnce(in count: UInt64) -> Bool { generator.next() % count == 0 }

    package mutating func string() -> String { pick(Self.strings) }

    package mutating func number() -> String { pick(Self.numbers) }

    /// A JSON literal; not all are valid.
    package mutating func literal() -> String {
        switch generator.next() % 8 {
        case 0...2: number()
        case 3...5: JSONValue.string(string()).text
        default: pick(Self.others)
        }
    }

    // MARK: JSON

    /// The value as JSON with one to three of its parts replaced, removed or duplicated.
    package mutating func changed(_ value: JSONValue) -> [UInt8] {
        let count = UInt64(Self.partCount(value))
        let places = (0..<(1 + generator.next() % 3)).map { _ in Int(generator.next() % count) }
        var writer = ChangedJSON(places: Set(places), edges: self)
        writer.write(value)
        generator = writer.edges.generator
        return Array(writer.text.utf8)
    }

    private static func partCount(_ value: JSONValue) -> Int {
        switch value {
        case .object(let object): object.members.reduce(1) { $0 + partCount($1.value) }
        case .array(let elements): elements.reduce(1) { $0 + partCount($1) }
        case .null, .bool, .number, .string: 1
        }
    }

    private struct ChangedJSON {
        let places: Set<Int>
        var edges: EdgeValues
        var text = ""
        private var index = 0

        init(places: Set<Int>, edges: EdgeValues) {
            self.places = places
            self.edges = edges
        }

        mutating func write(_ value: JSONValue) {
            let isChosen = places.contains(index)
            guard !isChosen else {
                index += EdgeValues.partCount(value)
                text += edges.literal()
                return
            }
            index += 1
            switch value {
            case .object(let object): write(object)
            case .array(let elements):
                text += "["
                for (number, element) in elements.enumerated() {
                    if number > 0 { text += "," }
                    write(element)
                }
                text += "]"
            case .null, .bool, .number, .string: text += value.text
            }
        }

        private mutating func write(_ object: JSONObject) {
            var members: [String] = []
            let before = text
            for member in object.members {
                let isChosen = places.contains(index)
                if isChosen, edges.isOnce(in: 8) {
                    // The member is missing.
                    index += EdgeValues.partCount(member.value)
                    continue
                }
                let isRenamed = isChosen && edges.isOnce(in: 16)
                let key = JSONValue.string(isRenamed ? edges.string() : member.key).text
                text = ""
                write(member.value)
                members.append(key + ":" + text)
                if isChosen, edges.isOnce(in: 8) { members.append(key + ":" + edges.literal()) }
            }
            text = before + "{" + members.joined(separator: ",") + "}"
        }
    }

    // MARK: Text

    /// The text with one to three of its numbers or words replaced, and sometimes a byte or its end.
    package mutating func changed(text bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<(1 + generator.next() % 3) {
            guard !bytes.isEmpty else { return bytes }
            let start = Int(generator.next() % UInt64(bytes.count))
            let isNumber = isOnce(in: 2)
            func isPart(_ byte: UInt8) -> Bool {
                let isDigit = (48...57).contains(byte)
                return isDigit || !isNumber && ((97...122).contains(byte | 0x20) || byte == 45)
            }
            guard let first = bytes[start...].firstIndex(where: isPart) else { continue }
            let end = bytes[first...].firstIndex { !isPart($0) } ?? bytes.endIndex
            let isLiteral = isOnce(in: 4)
            let text = isLiteral ? literal() : isNumber ? number() : string()
            bytes.replaceSubrange(first..<end, with: Array(text.utf8))
        }
        if isOnce(in: 16) {
            let index = Int(generator.next() % UInt64(bytes.count))
            bytes[index] = UInt8(truncatingIfNeeded: generator.next())
        }
        if isOnce(in: 16) { bytes.removeLast(Int(generator.next() % UInt64(bytes.count))) }
        return bytes
    }
}
