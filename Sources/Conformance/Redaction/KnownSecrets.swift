/// Values that are secret wherever they stand, and what stands in for each.
///
/// They are found in one pass over the bytes, however many there are.
package struct KnownSecrets: Sendable {
    private struct Entry: Sendable {
        let bytes: [UInt8]
        let mark: [UInt8]
        let isKept: Bool
    }

    /// Shorter values would be found inside words, in bytes.
    package static let lengthMin = 4

    /// The values by their first four bytes.
    private var entries: [UInt32: [Entry]] = [:]
    /// First bytes of those that may be forgotten, the oldest first.
    private var order: [UInt32] = []
    /// Which pairs of bytes a value begins with, so that almost every place is passed quickly;
    /// empty as long as there is no value.
    private var beginnings: [Bool] = []
    private let countMax: Int

    /// - Parameter countMax: Of the values that need not be kept, the oldest is forgotten when there
    ///   are more.
    package init(countMax: Int = 256) {
        self.countMax = countMax
    }

    /// Each declared value, with its mark and those of its parts that are secret by themselves.
    package init(_ declared: [String: Secret], mark: (String) -> String) {
        self.init(countMax: .max)
        for (name, secret) in declared.sorted(by: { $0.key < $1.key }) {
            let value = secret.exposed
            let words = value.split(separator: " ").map(String.init)
            // `Bearer value`: an answer may show the value alone.
            for text in [value] + (words.count == 2 ? [words[1]] : []) {
                add(text, mark(name), isKept: true)
            }
        }
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// From now on, the text is looked for: as it is, as it stands in JSON, and as it stands in a
    /// query.
    package mutating func add(_ text: String, _ mark: String, isKept: Bool) {
        var spellings = [Array(text.utf8)]
        let quoted = Array(JSONValue.string(text).bytes.dropFirst().dropLast())
        let encoded = Array(text.percentEncoded.utf8)
        for spelling in [quoted, encoded] where !spellings.contains(spelling) {
            spellings.append(spelling)
        }
        if beginnings.isEmpty { beginnings = [Bool](repeating: false, count: 65_536) }
        for bytes in spellings where bytes.count >= Self.lengthMin {
            if !isKept {
                if order.count >= countMax {
                    let oldest = order.removeFirst()
                    let kept = entries[oldest, default: []].filter(\.isKept)
                    entries[oldest] = kept.isEmpty ? nil : kept
                }
                order.append(Self.word(bytes, at: 0))
            }
            entries[Self.word(bytes, at: 0), default: []].append(
                Entry(bytes: bytes, mark: Array(mark.utf8), isKept: isKept)
            )
            beginnings[Int(bytes[0]) << 8 | Int(bytes[1])] = true
        }
    }

    private static func word(_ bytes: [UInt8], at start: Int) -> UInt32 {
        bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The bytes with every known value replaced.
    package func replaced(in bytes: [UInt8]) -> [UInt8] {
        if isEmpty { return bytes }
        var output: [UInt8] = []
        var copied = 0
        var index = 0
        while let next = next(in: bytes, from: index) {
            index = next
            if let entry = entry(in: bytes, at: index) {
                output += bytes[copied..<index]
                output += entry.mark
                index += entry.bytes.count
                copied = index
            } else {
                index += 1
            }
        }
        return copied == 0 ? bytes : output + bytes[copied...]
    }

    package func replaced(in text: String) -> String {
        if isEmpty { return text }
        let bytes = Array(text.utf8)
        let clean = replaced(in: bytes)
        return clean.count == bytes.count && clean == bytes
            ? text : String(decoding: clean, as: UTF8.self)
    }

    /// Whether one of them stands in the bytes.
    package func occur(in bytes: [UInt8]) -> Bool { mark(in: bytes) != nil }

    /// What stands in for the first of them in the bytes.
    func mark(in bytes: [UInt8]) -> String? {
        var index = 0
        while let next = next(in: bytes, from: index) {
            if let entry = entry(in: bytes, at: next) {
                return String(decoding: entry.mark, as: UTF8.self)
            }
            index = next + 1
        }
        return nil
    }

    /// The next place where one may begin.
    private func next(in bytes: [UInt8], from start: Int) -> Int? {
        guard !isEmpty, start + Self.lengthMin <= bytes.count else { return nil }
        return beginnings.withUnsafeBufferPointer { beginnings in
            bytes.withUnsafeBufferPointer { bytes in
                var pair = Int(bytes[start])
                for index in start..<(bytes.count - Self.lengthMin + 1) {
                    pair = (pair & 0xff) << 8 | Int(bytes[index + 1])
                    if beginnings[pair] { return index }
                }
                return nil
            }
        }
    }

    /// The longest known value that begins at that place.
    private func entry(in bytes: [UInt8], at start: Int) -> Entry? {
        guard let found = entries[Self.word(bytes, at: start)] else { return nil }
        return found.filter { bytes[start...].starts(with: $0.bytes) }
            .max { $0.bytes.count < $1.bytes.count }
    }
}
