/// A sorted set of IDs under keys, ordered by key and then by ID.
///
/// Copies share the parts that are equal.
///
/// An index replaces a search through all elements, for example for the next due element or for all
/// elements with a certain key.
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

    private var entries = SharedSortedSet<Entry>()

    package init() {}

    package mutating func insert(_ id: ID, under key: Key) {
        entries.insert(Entry(key: key, id: id))
    }

    package mutating func remove(_ id: ID, under key: Key) {
        entries.remove(Entry(key: key, id: id))
    }

    package var first: Entry? { entries.first }

    /// Returns the IDs under this key, in order.
    package func ids(under key: Key) -> [ID] {
        ids(skipping: { $0 < key }, while: { $0 == key })
    }

    package func firstID(under key: Key) -> ID? {
        entries.first { $0.key < key }.flatMap { $0.key == key ? $0.id : nil }
    }

    /// Returns the IDs under several adjacent keys of the index.
    ///
    /// - Parameters:
    ///   - isBefore: Returns true for all keys before the wanted keys.
    ///   - isWanted: Returns true for the wanted keys, and false for the first key after them.
    /// - Returns: The IDs in order.
    package func ids(
        skipping isBefore: (Key) -> Bool,
        while isWanted: (Key) -> Bool
    ) -> [ID] {
        entries.elements(skipping: { isBefore($0.key) }, while: { isWanted($0.key) }).map(\.id)
    }

    /// Returns the entries from the start of the index up to this key, including the key itself.
    package func entries(through key: Key) -> [Entry] {
        entries.elements(skipping: { _ in false }, while: { $0.key <= key })
    }

    /// Returns at most `limit` IDs of the index, starting at the entry with this rank (0 for the
    /// first).
    package func ids(_ limit: Int, from rank: Int) -> [ID] {
        entries.prefix(limit, from: rank).map(\.id)
    }
}
