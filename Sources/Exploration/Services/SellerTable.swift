/// The table of the sellers whose purchases generated histories contain.
///
/// The table is a value, so that a test can add a seller that exists only in the test.
package struct SellerTable: Sendable {
    /// The seller of purchases at app stores, followed by the other sellers.
    package let entries: [any SellerModel.Type]
    private let indexesByStore: [String: Int]

    /// Creates a table.
    ///
    /// - Parameter sellers: The sellers. Exactly one has no store name (`SellerModel.storeName`):
    ///   the seller of the operations whose store is not the store of another seller.
    package init(_ sellers: [any SellerModel.Type]) {
        let storeSellers = sellers.filter { $0.storeName == nil }
        precondition(storeSellers.count == 1, "exactly one seller sells at all app stores")
        entries = storeSellers + sellers.filter { $0.storeName != nil }
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
