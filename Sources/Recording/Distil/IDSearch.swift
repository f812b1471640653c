/// Finds the ids of a session inside running text, however many there are.
///
/// At each place the longest id that begins there is found by halving the sorted ids, so that a text
/// costs its length and hardly more where ten thousand people share a device.
struct IDSearch {
    /// Short ids would be found inside words, in bytes.
    private static let lengthMin = 6

    /// In the order of their bytes.
    private let ids: [[UInt8]]
    /// For each id the longest other one that it begins with; -1 without one.
    private let parents: [Int]
    /// What ids begin with: their first bytes, and those that all of them have at least.
    private var firsts = [Bool](repeating: false, count: 256)
    private var beginnings: Set<UInt64> = []

    init(_ ids: some Sequence<String>) {
        self.ids = ids.filter { $0.utf8.count >= Self.lengthMin }.map { Array($0.utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
        // Those that an id begins with stand before it, and each begins with the one before.
        var open: [Int] = []
        var parents: [Int] = []
        for id in self.ids {
            while let last = open.last, !id.starts(with: self.ids[last]) { open.removeLast() }
            parents.append(open.last ?? -1)
            open.append(parents.count - 1)
        }
        self.parents = parents
        for id in self.ids {
            firsts[Int(id[0])] = true
            beginnings.insert(Self.beginning(of: id[...]))
        }
    }

    private static func beginning(of bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.prefix(lengthMin).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The text with every id replaced by what stands for it; nil leaves it where it is.
    func replaced(in text: String, by template: (String) -> String?) -> String {
        guard !ids.isEmpty, text.utf8.count >= Self.lengthMin else { return text }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        var copied = 0
        var index = 0
        while index + Self.lengthMin <= bytes.count {
            guard firsts[Int(bytes[index])],
                beginnings.contains(Self.beginning(of: bytes[index...])),
                let id = id(in: bytes[index...]),
                let word = template(String(decoding: id, as: UTF8.self))
            else {
                index += 1
                continue
            }
            output += bytes[copied..<index]
            output += word.utf8
            index += id.count
            copied = index
        }
        return copied == 0 ? text : String(decoding: output + bytes[copied...], as: UTF8.self)
    }

    /// The longest id that bytes begin with.
    private func id(in bytes: ArraySlice<UInt8>) -> [UInt8]? {
        // The last one that does not come after them; whatever they begin with is among its own
        // beginnings.
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if bytes.lexicographicallyPrecedes(ids[middle]) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        var found = low - 1
        while found >= 0, !bytes.starts(with: ids[found]) { found = parents[found] }
        return found < 0 ? nil : ids[found]
    }
}
