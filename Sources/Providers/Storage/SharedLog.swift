/// A collection of values by key that keeps the order of their insertion.
///
/// Copies share the parts that are equal.
package struct SharedLog<Value: Hashable & Sendable>: Hashable, Sendable {
    private struct NumberedValue: Hashable, Sendable {
        let number: Int
        let value: Value
    }

    private struct OrderedKey: Hashable, Comparable, Sendable {
        let number: Int
        let key: String

        static func < (left: OrderedKey, right: OrderedKey) -> Bool { left.number < right.number }
    }

    private var valuesByKey: SharedTable<String, NumberedValue> = [:]
    private var sortedKeys = SharedSortedSet<OrderedKey>()
    private var nextNumber = 0

    package init() {}

    /// - Parameters:
    ///   - values: The values in order.
    ///   - key: Returns the key of a value. If two values have the same key, the later value is
    ///     kept.
    package init(_ values: [Value], by key: (Value) -> String) {
        for value in values { append(value, as: key(value)) }
    }

    package subscript(key: String) -> Value? { valuesByKey[key]?.value }

    package mutating func append(_ value: Value, as key: String) {
        remove(key)
        valuesByKey[key] = NumberedValue(number: nextNumber, value: value)
        sortedKeys.insert(OrderedKey(number: nextNumber, key: key))
        nextNumber += 1
    }

    package mutating func remove(_ key: String) {
        guard let oldValue = valuesByKey.removeValue(forKey: key) else { return }
        sortedKeys.remove(OrderedKey(number: oldValue.number, key: key))
    }

    /// All values in the order of their insertion.
    package var all: [Value] { sortedKeys.all.compactMap { valuesByKey[$0.key]?.value } }
}
