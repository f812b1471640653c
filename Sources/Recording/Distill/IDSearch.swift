/// Finds the user IDs of a session inside strings, quickly even for many IDs.
///
/// At each position a binary search in the sorted IDs finds the longest ID that begins there. The
/// cost is proportional to the length of the string, almost independent of the number of IDs.
struct IDSearch {
    /// The minimum length in bytes of a user ID that is searched for.
    ///
    /// Shorter IDs would also match inside words.
    private static let idLengthMin = 6

    /// The user IDs, sorted by their bytes.
    private let ids: [[UInt8]]
    /// For each user ID, the index of the longest other ID that is a prefix of it; -1 if there is
    /// none.
    private let parentIndices: [Int]
    /// For each byte value, whether a user ID begins with it; used for a quick check.
    private var isFirstByte = [Bool](repeating: false, count: 256)
    /// The first six bytes of each user ID, used for a quick check.
    private var idPrefixKeys: Set<UInt64> = []

    init(_ ids: some Sequence<String>) {
        self.ids = ids.filter { $0.utf8.count >= Self.idLengthMin }.map { Array($0.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        // The IDs that are prefixes of an ID are sorted before it, and each of them is a prefix of
        // the next.
        var ancestorIndices: [Int] = []
        var parentIndices: [Int] = []
        for id in self.ids {
            while let last = ancestorIndices.last, !id.starts(with: self.ids[last]) {
                ancestorIndices.removeLast()
            }
            parentIndices.append(ancestorIndices.last ?? -1)
            ancestorIndices.append(parentIndices.count - 1)
        }
        self.parentIndices = parentIndices
        for id in self.ids {
            isFirstByte[Int(id[0])] = true
            idPrefixKeys.insert(Self.prefixKey(of: id[...]))
        }
    }

    private static func prefixKey(of bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.prefix(idLengthMin).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns a string with every user ID replaced by its template, such as `{{user.ada}}`.
    ///
    /// A user ID whose template is nil stays unchanged.
    func replaced(in text: String, by template: (String) -> String?) -> String {
        guard !ids.isEmpty, text.utf8.count >= Self.idLengthMin else { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        var copiedByteCount = 0
        var index = 0
        while index + Self.idLengthMin <= bytes.count {
            guard isFirstByte[Int(bytes[index])],
                idPrefixKeys.contains(Self.prefixKey(of: bytes[index...])),
                let id = id(in: bytes[index...]),
                let replacementText = template(String(decoding: id, as: UTF8.self))
            else {
                index += 1
                continue
            }
            output += bytes[copiedByteCount..<index]
            output += replacementText.utf8
            index += id.count
            copiedByteCount = index
        }
        return copiedByteCount == 0
            ? text : String(decoding: output + bytes[copiedByteCount...], as: UTF8.self)
    }

    /// Returns the longest user ID that is a prefix of the bytes; nil when there is none.
    private func id(in bytes: ArraySlice<UInt8>) -> [UInt8]? {
        // Finds the last ID that is not sorted after the bytes. Every ID that is a prefix of the
        // bytes is this ID or one of its prefixes.
        var (low, high) = (0, ids.count)
        while low < high {
            let middleIndex = (low + high) / 2
            if bytes.lexicographicallyPrecedes(ids[middleIndex]) {
                high = middleIndex
            } else {
                low = middleIndex + 1
            }
        }
        var candidateIndex = low - 1
        while candidateIndex >= 0, !bytes.starts(with: ids[candidateIndex]) {
            candidateIndex = parentIndices[candidateIndex]
        }
        return candidateIndex < 0 ? nil : ids[candidateIndex]
    }
}
