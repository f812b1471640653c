/// RevenueCat's own IDs of resources.
///
/// Such an ID differs from the lookup key and from the store's ID of the resource.
enum V2ResourceID: ProductNaming {
    static func entitlement(_ name: String) -> String { derivedID("entl", name) }
    static func product(_ name: String) -> String { derivedID("prod", name) }

    /// Returns the IDs under which RevenueCat names a product of an event: the store's ID with and
    /// without the base plan, and RevenueCat's own ID, which only REST v2 uses (RevenueCat fact
    /// sheet, section 4.4).
    static func productIDs(idInEvent: String) -> Set<String> {
        let idInV1 = idInEvent.split(separator: ":").first.map(String.init) ?? idInEvent
        return [idInEvent, idInV1, product(idInEvent), product(idInV1)]
    }

    static func offering(_ name: String) -> String { derivedID("ofrng", name) }
    static func package(_ name: String) -> String { derivedID("pkge", name) }
    static func invoice(_ purchase: Purchase) -> String {
        derivedID("rcbin", purchase.transactionID)
    }

    static func subscription(_ purchase: Purchase) -> String {
        // After a product change, two subscriptions have the same first transaction. The sandbox and
        // production have separate subscriptions, and so has each member of a family.
        let parts = [
            purchase.sharedTransactionID ?? purchase.originalTransactionID, purchase.productID,
            purchase.environment,
        ]
        return derivedID("sub", parts.joined(separator: " "), digits: 12)
    }

    static func purchase(_ purchase: Purchase) -> String {
        let parts = [purchase.transactionID, purchase.productID, purchase.environment]
        return derivedID("purch", parts.joined(separator: " "), digits: 12)
    }

    /// Returns an ID with this prefix and digits that are derived from a string.
    static func derivedID(_ prefix: String, _ text: String, digits count: Int = 10) -> String {
        prefix + Digest.sha256(Array(text.utf8)).dropFirst(7).prefix(count)
    }
}
