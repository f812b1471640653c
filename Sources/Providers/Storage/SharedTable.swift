internal import HashTreeCollections

/// A dictionary whose copies share the parts that are equal.
///
/// Copying costs nothing, and the first change after it copies only one path of the tree.
///
/// A fake stores all data whose amount is unlimited in such tables. Each element that is read or
/// written counts as a step (`StorageStepCounter`).
package struct SharedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A reference to a value.
    ///
    /// Copying a node of the tree moves one word for each element, however large the values are.
    fileprivate final class ValueBox: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    fileprivate var tree: TreeDictionary<Key, ValueBox> = [:]

    package init() {}

    package var count: Int { tree.count }

    package subscript(key: Key) -> Value? {
        get {
            StorageStepCounter.countSteps()
            return tree[key]?.value
        }
        set {
            StorageStepCounter.countSteps()
            tree[key] = newValue.map(ValueBox.init)
        }
    }

    package subscript(key: Key, default defaultValue: @autoclosure () -> Value) -> Value {
        get { self[key] ?? defaultValue() }
        set { self[key] = newValue }
    }

    package mutating func removeValue(forKey key: Key) -> Value? {
        StorageStepCounter.countSteps()
        return tree.removeValue(forKey: key)?.value
    }

    /// The keys of the table in no particular order.
    ///
    /// Each key that is read counts as a step (`StorageStepCounter`).
    package var keys: some Sequence<Key> {
        tree.keys.lazy.map { key in
            StorageStepCounter.countSteps()
            return key
        }
    }

    /// The values of the table in no particular order.
    ///
    /// Each value that is read counts as a step (`StorageStepCounter`).
    package var values: some Sequence<Value> {
        tree.values.lazy.map { box in
            StorageStepCounter.countSteps()
            return box.value
        }
    }
}

extension SharedTable: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (Key, Value)...) {
        for (key, value) in elements { tree[key] = ValueBox(value) }
    }
}

extension SharedTable.ValueBox: Equatable where Value: Equatable {
    static func == (left: SharedTable.ValueBox, right: SharedTable.ValueBox) -> Bool {
        left === right || left.value == right.value
    }
}

extension SharedTable.ValueBox: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension SharedTable: Equatable where Value: Equatable {}
extension SharedTable: Hashable where Value: Hashable {}

/// Encodes and decodes the table like a dictionary.
extension SharedTable: Codable where Key: Codable, Value: Codable {
    package init(from decoder: any Decoder) throws {
        let dictionary = try Dictionary<Key, Value>(from: decoder)
        for (key, value) in dictionary { tree[key] = ValueBox(value) }
    }

    package func encode(to encoder: any Encoder) throws {
        var dictionary: [Key: Value] = [:]
        dictionary.reserveCapacity(count)
        for (key, box) in tree { dictionary[key] = box.value }
        try dictionary.encode(to: encoder)
    }
}
