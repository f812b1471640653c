/// A collection of values by key that keeps the order of their insertion.
///
/// Copies share the parts that are equal.
package struct SharedLog<Value: Hashable & Sendable>: Hashable, Sendable {
    private struct Line: Hashable, Sendable {
        let number: Int
        let value: Value
    }

    private struct Place: Hashable, Comparable, Sendable {
        let number: Int
        let key: String

        static func < (left: Place, right: Place) -> Bool { left.number < right.number }
    }

    private var lines: SharedTable<String, Line> = [:]
    private var order = SharedOrder<Place>()
    private var nextNumber = 0

    package init() {}

    /// - Parameters:
    ///   - values: The values in order.
    ///   - key: Returns the key of a value. If two values have the same key, the later value is
    ///     kept.
    package init(_ values: [Value], by key: (Value) -> String) {
        for value in values { append(value, as: key(value)) }
    }

    package subscript(key: String) -> Value? { lines[key]?.value }

    package mutating func append(_ value: Value, as key: String) {
        remove(key)
        lines[key] = Line(number: nextNumber, value: value)
        order.insert(Place(number: nextNumber, key: key))
        nextNumber += 1
    }

    package mutating func remove(_ key: String) {
        guard let old = lines.removeValue(forKey: key) else { return }
        order.remove(Place(number: old.number, key: key))
    }

    /// All values in the order of their insertion.
    package var all: [Value] { order.all.compactMap { lines[$0.key]?.value } }
}
