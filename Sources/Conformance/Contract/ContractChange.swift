/// One thing that two versions of a contract say differently.
///
/// Both are compared as they would be written, so nothing that a contract can say is overlooked.
package struct ContractChange: Hashable, Sendable {
    /// The steps, effects and keys that it lies in, from the outside in.
    package let place: [String]
    /// Where in a JSON value it lies; nil when it is all of it, or none.
    package let pointer: JSONPointer?
    /// What was said, whole; nil: nothing.
    package let old: String?
    /// What is said, whole; nil: nothing.
    package let new: String?
    /// The same is said at another place among its neighbours.
    package var isMove = false

    /// Everything in which the contracts differ, in the order of the file; their words and the date of
    /// the recording do not count.
    ///
    /// - Parameters:
    ///   - old: The version of before.
    ///   - new: The version of now.
    /// - Returns: The changes; none where both ask for the same.
    package static func all(from old: Contract, to new: Contract) -> [ContractChange] {
        func said(_ contract: Contract) -> Written {
            .block(Contract.grammar.entries(contract).filter { !words.contains($0.key) })
        }
        var comparison = Comparison()
        comparison.compare(said(old), said(new), at: [])
        return comparison.changes
    }

    /// Keys that say something to people alone, or when it was recorded.
    private static let words: Set = ["contract", "title", "source", "recorded"]

    private init(
        _ place: [String],
        _ pointer: JSONPointer? = nil,
        old: String?,
        new: String?,
        isMove: Bool = false
    ) {
        self.place = place
        self.pointer = pointer
        self.old = old
        self.new = new
        self.isMove = isMove
    }

    private struct Comparison {
        var changes: [ContractChange] = []

        mutating func compare(_ old: Written, _ new: Written, at place: [String]) {
            if old == new { return }
            switch (old, new) {
            case (.json(let left), .json(let right)):
                for difference in left.differences(from: right) {
                    let pointer = difference.pointer
                    changes.append(
                        ContractChange(
                            place,
                            pointer.tokens.isEmpty ? nil : pointer,
                            old: difference.left?.text,
                            new: difference.right?.text
                        )
                    )
                }
            case (.list(let left), .list(let right)): compare(left, right, at: place)
            default:
                guard let left = old.entries, let right = new.entries else {
                    changes.append(ContractChange(place, old: old.whole, new: new.whole))
                    return
                }
                compare(left, right, at: place)
            }
        }

        /// Keys, in the order of the new version; what is gone comes first.
        private mutating func compare(
            _ old: [Written.Entry],
            _ new: [Written.Entry],
            at place: [String]
        ) {
            for entry in old where !new.contains(where: { $0.key == entry.key }) {
                lose(entry.value, at: place + [entry.key])
            }
            for entry in new {
                let place = place + [entry.key]
                guard let before = old.first(where: { $0.key == entry.key }) else {
                    gain(entry.value, at: place)
                    continue
                }
                compare(before.value, entry.value, at: place)
            }
        }

        /// Elements: what is equal in both stays where it is; of the rest those that bear one name are
        /// compared.
        private mutating func compare(_ old: [Written], _ new: [Written], at place: [String]) {
            let (lost, gained) = Self.rest(old, new)
            var left = new.indices.filter(gained.contains)
            for index in old.indices where lost.contains(index) {
                let element = old[index]
                let place = place + [element.label]
                if let moved = left.first(where: { new[$0] == element }) {
                    left.removeAll { $0 == moved }
                    let (from, to) = ("\(index + 1).", "\(moved + 1).")
                    changes.append(ContractChange(place, old: from, new: to, isMove: true))
                } else if let twin = left.first(where: { new[$0].label == element.label }) {
                    left.removeAll { $0 == twin }
                    compare(element, new[twin], at: place)
                } else {
                    lose(element, at: place)
                }
            }
            for index in left { gain(new[index], at: place + [new[index].label]) }
        }

        private mutating func lose(_ value: Written, at place: [String]) {
            changes.append(ContractChange(place, old: value.whole, new: nil))
        }

        private mutating func gain(_ value: Written, at place: [String]) {
            changes.append(ContractChange(place, old: nil, new: value.whole))
        }

        /// What is left of both sides without their longest common sequence.
        private static func rest(
            _ old: [Written],
            _ new: [Written]
        ) -> (lost: Set<Int>, gained: Set<Int>) {
            var (lost, gained): (Set<Int>, Set<Int>) = ([], [])
            for change in new.difference(from: old) {
                switch change {
                case .remove(let offset, _, _): lost.insert(offset)
                case .insert(let offset, _, _): gained.insert(offset)
                }
            }
            return (lost, gained)
        }
    }
}

extension Written {
    /// Keys and values; nil for what has none.
    fileprivate var entries: [Entry]? {
        switch self {
        case .flow(let entries), .block(let entries): entries
        case .plain, .text, .quoted, .json, .row, .list: nil
        }
    }

    /// What an element of a list is called: its first key, with what that says.
    fileprivate var label: String {
        guard let first = entries?.first else { return line }
        return "\(first.key) \(first.value.content)"
    }

    /// All of it, as it stands in a file.
    fileprivate var whole: String {
        guard let entries, line.count > Written.lineWidth else { return line }
        return String(Written.file(entries).dropLast())
    }
}
