/// The table of the sellers whose purchases generated histories contain.
///
/// The table is a value, so that a test can add a seller that exists only in the test.
package struct SellerTable: Sendable {
    /// The seller of purchases at app stores, followed by the other sellers.
    package let entries: [any SellerModel.Type]
    private let indexesByStore: [String: Int]

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - storeSeller: The seller of the operations whose store is not the store of another
    ///     seller.
    ///   - others: The sellers that have a store name (`SellerModel.storeName`).
    package init(
        storeSeller: any SellerModel.Type,
        _ others: [any SellerModel.Type]
    ) {
        entries = [storeSeller] + others
        var indexes: [String: Int] = [:]
        for (index, seller) in entries.enumerated() {
            if let store = seller.storeName { indexes[store] = index }
        }
        indexesByStore = indexes
    }

    /// The seller of the operations whose store is not the store of another seller.
    package var storeSeller: any SellerModel.Type { entries[0] }

    /// The products that titles do not mention.
    var standardProducts: [String] { entries.map { $0.standardProduct } }

    /// The kinds of IDs by which the events of any seller can name a user.
    var userIDLocations: [String] { entries.flatMap { $0.userIDLocations } }

    /// Returns a table with one more seller.
    package func adding(_ seller: any SellerModel.Type) -> SellerTable {
        SellerTable(storeSeller: storeSeller, entries.dropFirst() + [seller])
    }

    /// Returns the seller of an operation with this store.
    package subscript(store: String?) -> any SellerModel.Type { entries[index(of: store)] }

    /// Returns the index of the seller of an operation with this store.
    func index(of store: String?) -> Int { store.flatMap { indexesByStore[$0] } ?? 0 }

    /// Returns the sellers that a backend with these capabilities supports.
    func sellers(for capabilities: Capabilities) -> [any SellerModel.Type] {
        entries.filter { $0.feature.map(capabilities.has) ?? true }
    }
}

/// Compares two tables by the types of their sellers.
extension SellerTable: Hashable {
    private var identifiers: [ObjectIdentifier] { entries.map { ObjectIdentifier($0) } }

    package static func == (left: SellerTable, right: SellerTable) -> Bool {
        left.identifiers == right.identifiers
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(identifiers) }
}
