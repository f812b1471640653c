internal import Values

/// A set of known secret values that are masked in any position, each with the mark that replaces
/// it.
///
/// One pass over the bytes of a message finds all known values, regardless of their number.
package struct KnownSecrets: Sendable {
    private struct Entry: Sendable {
        let bytes: [UInt8]
        let mark: [UInt8]
        let isPermanent: Bool
    }

    /// The minimum length in bytes of a known value; shorter values would also occur inside
    /// ordinary words.
    package static let lengthMin = 4

    /// The known values, keyed by their first four bytes.
    private var entriesByLeadingBytes: [UInt32: [Entry]] = [:]
    /// The first four bytes of each known value that may be dropped, oldest value first.
    private var leadingBytesInInsertionOrder: [UInt32] = []
    /// A table that contains, for each pair of bytes, whether a known value begins with it; empty
    /// until the first value is added.
    ///
    /// With this table, the search skips almost every position of a message quickly.
    private var entryStartsByBytePair: [Bool] = []
    private let removableValueCountMax: Int

    /// Creates an empty set of known secret values.
    ///
    /// - Parameter removableValueCountMax: The maximum number of values that are added without `isPermanent`; when
    ///   there are more, the oldest of these values is dropped.
    package init(removableValueCountMax: Int = 256) {
        self.removableValueCountMax = removableValueCountMax
    }

    /// Creates a set of all declared secret values, and of the credential inside values such as
    /// `Bearer …`.
    package init(_ declared: [String: Secret], mark: (String) -> String) {
        self.init(removableValueCountMax: .max)
        for (name, secret) in declared.sorted(by: { $0.key < $1.key }) {
            let value = secret.exposed
            let words = value.split(separator: " ").map(String.init)
            // A response may contain the credential of a value such as `Bearer abc` without the
            // word `Bearer`.
            for text in [value] + (words.count == 2 ? [words[1]] : []) {
                add(text, mark(name), isPermanent: true)
            }
        }
    }

    package var isEmpty: Bool { entriesByLeadingBytes.isEmpty }

    /// Adds a secret value to the set.
    ///
    /// Messages are searched for the value itself, for its JSON spelling and for its
    /// percent-encoded spelling.
    package mutating func add(_ text: String, _ mark: String, isPermanent: Bool) {
        var spellings = [Array(text.utf8)]
        let jsonSpelling = Array(JSONValue.string(text).bytes.dropFirst().dropLast())
        let percentEncodedSpelling = Array(text.percentEncoded.utf8)
        for spelling in [jsonSpelling, percentEncodedSpelling] where !spellings.contains(spelling) {
            spellings.append(spelling)
        }
        if entryStartsByBytePair.isEmpty {
            entryStartsByBytePair = [Bool](repeating: false, count: 65_536)
        }
        for bytes in spellings where bytes.count >= Self.lengthMin {
            if !isPermanent {
                if leadingBytesInInsertionOrder.count >= removableValueCountMax {
                    removeOldestEntry()
                }
                leadingBytesInInsertionOrder.append(Self.leadingBytes(bytes, at: 0))
            }
            entriesByLeadingBytes[Self.leadingBytes(bytes, at: 0), default: []].append(
                Entry(bytes: bytes, mark: Array(mark.utf8), isPermanent: isPermanent)
            )
            entryStartsByBytePair[Int(bytes[0]) << 8 | Int(bytes[1])] = true
        }
    }

    /// Removes the oldest value that may be dropped, and no other value with the same first four
    /// bytes.
    private mutating func removeOldestEntry() {
        let leadingBytes = leadingBytesInInsertionOrder.removeFirst()
        var entries = entriesByLeadingBytes[leadingBytes, default: []]
        if let index = entries.firstIndex(where: { !$0.isPermanent }) { entries.remove(at: index) }
        entriesByLeadingBytes[leadingBytes] = entries.isEmpty ? nil : entries
    }

    private static func leadingBytes(_ bytes: [UInt8], at start: Int) -> UInt32 {
        bytes[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Returns the bytes with every known secret value replaced by its mark.
    package func maskingSecrets(in bytes: [UInt8]) -> [UInt8] {
        if isEmpty { return bytes }
        var output: [UInt8] = []
        var copiedByteCount = 0
        var index = 0
        while let nextCandidate = nextCandidate(in: bytes, from: index) {
            index = nextCandidate
            if let entry = entry(in: bytes, at: index) {
                output += bytes[copiedByteCount..<index]
                output += entry.mark
                index += entry.bytes.count
                copiedByteCount = index
            } else {
                index += 1
            }
        }
        return copiedByteCount == 0 ? bytes : output + bytes[copiedByteCount...]
    }

    package func maskingSecrets(in text: String) -> String {
        if isEmpty { return text }
        let bytes = Array(text.utf8)
        let maskedBytes = maskingSecrets(in: bytes)
        return maskedBytes.count == bytes.count && maskedBytes == bytes
            ? text : String(decoding: maskedBytes, as: UTF8.self)
    }

    /// Whether a known secret value occurs in the bytes.
    package func areContained(in bytes: [UInt8]) -> Bool { mark(in: bytes) != nil }

    /// Returns the mark of the first known secret value that occurs in the bytes; nil when none
    /// occurs.
    func mark(in bytes: [UInt8]) -> String? {
        var index = 0
        while let nextCandidate = nextCandidate(in: bytes, from: index) {
            if let entry = entry(in: bytes, at: nextCandidate) {
                return String(decoding: entry.mark, as: UTF8.self)
            }
            index = nextCandidate + 1
        }
        return nil
    }

    /// Returns the next position in the bytes at which a known value may begin; nil when there is
    /// none.
    private func nextCandidate(in bytes: [UInt8], from start: Int) -> Int? {
        guard !isEmpty, start + Self.lengthMin <= bytes.count else { return nil }
        return entryStartsByBytePair.withUnsafeBufferPointer { entryStartsByBytePair in
            bytes.withUnsafeBufferPointer { bytes in
                var bytePair = Int(bytes[start])
                for index in start..<(bytes.count - Self.lengthMin + 1) {
                    bytePair = (bytePair & 0xff) << 8 | Int(bytes[index + 1])
                    if entryStartsByBytePair[bytePair] { return index }
                }
                return nil
            }
        }
    }

    /// Returns the longest known value that begins at that position in the bytes; nil when none
    /// does.
    private func entry(in bytes: [UInt8], at start: Int) -> Entry? {
        guard let candidates = entriesByLeadingBytes[Self.leadingBytes(bytes, at: start)] else {
            return nil
        }
        return candidates.filter { bytes[start...].starts(with: $0.bytes) }
            .max { $0.bytes.count < $1.bytes.count }
    }
}
