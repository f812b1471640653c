/// Ids below keys, in the order of the keys and then of the ids; copies share what they have in common.
///
/// What is asked of everybody is asked of an index: who comes next, who belongs to a key.
package struct SharedIndex<
    Key: Comparable & Hashable & Sendable,
    ID: Comparable & Hashable & Sendable
>: Hashable, Sendable {
    package struct Entry: Hashable, Comparable, Sendable {
        package let key: Key
        package let id: ID

        package static func < (left: Entry, right: Entry) -> Bool {
            left.key != right.key ? left.key < right.key : left.id < right.id
        }
    }

    private var entries = SharedOrder<Entry>()

    package init() {}

    package mutating func insert(_ id: ID, under key: Key) {
        entries.insert(Entry(key: key, id: id))
    }

    package mutating func remove(_ id: ID, under key: Key) {
        entries.remove(Entry(key: key, id: id))
    }

    package var first: Entry? { entries.first }

    /// The ids below one key.
    package func ids(under key: Key) -> [ID] {
        ids(skipping: { $0 < key }, while: { $0 == key })
    }

    package func firstID(under key: Key) -> ID? {
        entries.first { $0.key < key }.flatMap { $0.key == key ? $0.id : nil }
    }

    /// The ids below several keys that stand together.
    ///
    /// - Parameters:
    ///   - isBefore: True for the keys before them.
    ///   - isWanted: True for them, and false for the next.
    /// - Returns: The ids in order.
    package func ids(
        skipping isBefore: (Key) -> Bool,
        while isWanted: (Key) -> Bool
    ) -> [ID] {
        entries.run(skipping: { isBefore($0.key) }, while: { isWanted($0.key) }).map(\.id)
    }

    /// The entries up to a key, that one included.
    package func entries(through key: Key) -> [Entry] {
        entries.run(skipping: { _ in false }, while: { $0.key <= key })
    }

    /// At most so many ids from that rank on.
    package func ids(_ limit: Int, from rank: Int) -> [ID] {
        entries.prefix(limit, from: rank).map(\.id)
    }
}
