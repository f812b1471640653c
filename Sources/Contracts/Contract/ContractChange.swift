internal import Grammar
package import Values

/// One difference between two versions of a contract.
///
/// The comparison uses the YAML form of both versions, so that it covers every key of the contract
/// language.
package struct ContractChange: Hashable, Sendable {
    /// The path to the difference: the keys and list elements that contain it, outermost first.
    package let place: [String]
    /// The location of the difference inside a JSON value; nil when the whole value differs or is
    /// not JSON.
    package let pointer: JSONPointer?
    /// The complete value in the old version; nil when the new version added the value.
    package let old: String?
    /// The complete value in the new version; nil when the new version removed the value.
    package let new: String?
    /// Whether the difference is a list element that moved unchanged to another position.
    ///
    /// In this case, `old` and `new` contain the positions in the list, such as `2.`.
    package var isMove = false

    /// Returns all differences between two versions of a contract, in the order of the contract
    /// file.
    ///
    /// The keys `contract`, `title`, `source` and `recorded` are ignored.
    ///
    /// - Parameters:
    ///   - old: The earlier version of the contract.
    ///   - new: The later version of the contract.
    /// - Returns: The differences; empty when both versions define the same test.
    package static func changes(from old: Contract, to new: Contract) -> [ContractChange] {
        func nodeToCompare(_ contract: Contract) -> YAMLNode {
            .block(Contract.grammar.entries(contract).filter { !ignoredKeys.contains($0.key) })
        }
        var comparison = Comparison()
        comparison.compare(nodeToCompare(old), nodeToCompare(new), at: [])
        return comparison.changes
    }

    /// Keys that the comparison ignores: texts for human readers, and the date of the recording.
    private static let ignoredKeys: Set = ["contract", "title", "source", "recorded"]

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

        mutating func compare(_ old: YAMLNode, _ new: YAMLNode, at place: [String]) {
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
                    changes.append(ContractChange(place, old: old.fullText, new: new.fullText))
                    return
                }
                compare(left, right, at: place)
            }
        }

        /// Compares two YAML mappings key by key: first the keys that only the old mapping has,
        /// then the keys of the new mapping in their order.
        private mutating func compare(
            _ old: [YAMLNode.Entry],
            _ new: [YAMLNode.Entry],
            at place: [String]
        ) {
            for entry in old where !new.contains(where: { $0.key == entry.key }) {
                recordRemoval(entry.value, at: place + [entry.key])
            }
            for entry in new {
                let place = place + [entry.key]
                guard let before = old.first(where: { $0.key == entry.key }) else {
                    recordAddition(entry.value, at: place)
                    continue
                }
                compare(before.value, entry.value, at: place)
            }
        }

        /// Compares two YAML lists: equal elements are paired first, then elements with the same
        /// label (the first key and its value).
        private mutating func compare(_ old: [YAMLNode], _ new: [YAMLNode], at place: [String]) {
            let (removedIndices, addedIndices) = Self.indicesOfDifferences(old, new)
            var left = new.indices.filter(addedIndices.contains)
            for index in old.indices where removedIndices.contains(index) {
                let element = old[index]
                let place = place + [element.label]
                if let newIndex = left.first(where: { new[$0] == element }) {
                    left.removeAll { $0 == newIndex }
                    let (from, to) = ("\(index + 1).", "\(newIndex + 1).")
                    changes.append(ContractChange(place, old: from, new: to, isMove: true))
                } else if let counterpart = left.first(where: { new[$0].label == element.label }) {
                    left.removeAll { $0 == counterpart }
                    compare(element, new[counterpart], at: place)
                } else {
                    recordRemoval(element, at: place)
                }
            }
            for index in left { recordAddition(new[index], at: place + [new[index].label]) }
        }

        private mutating func recordRemoval(_ value: YAMLNode, at place: [String]) {
            changes.append(ContractChange(place, old: value.fullText, new: nil))
        }

        private mutating func recordAddition(_ value: YAMLNode, at place: [String]) {
            changes.append(ContractChange(place, old: nil, new: value.fullText))
        }

        /// Returns, for each of two lists, the indices of the elements that are not in the longest
        /// common subsequence of the lists.
        private static func indicesOfDifferences(
            _ old: [YAMLNode],
            _ new: [YAMLNode]
        ) -> (removedIndices: Set<Int>, addedIndices: Set<Int>) {
            var (removedIndices, addedIndices): (Set<Int>, Set<Int>) = ([], [])
            for change in new.difference(from: old) {
                switch change {
                case .remove(let offset, _, _): removedIndices.insert(offset)
                case .insert(let offset, _, _): addedIndices.insert(offset)
                }
            }
            return (removedIndices, addedIndices)
        }
    }
}

extension YAMLNode {
    /// The keys and values of a YAML mapping; nil for a node that is not a mapping.
    fileprivate var entries: [Entry]? {
        switch self {
        case .flow(let entries), .block(let entries): entries
        case .plain, .text, .quoted, .json, .row, .list: nil
        }
    }

    /// The label that identifies a list element: the first key of a mapping with the key's value,
    /// or the whole line of any other node.
    fileprivate var label: String {
        guard let first = entries?.first else { return line }
        return "\(first.key) \(first.value.content)"
    }

    /// The complete YAML node: on one line if it fits, otherwise with one key per line as in a
    /// file.
    fileprivate var fullText: String {
        guard let entries, line.count > YAMLNode.lineWidth else { return line }
        return String(YAMLNode.file(entries).dropLast())
    }
}
