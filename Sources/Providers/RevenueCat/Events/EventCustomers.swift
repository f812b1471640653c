internal import Values

/// Functions that make the customers in an event from outside the store model known to REST.
///
/// RevenueCat sends no event about a customer whom its own REST API does not know. So every
/// customer in an event exists from then on, whatever the type of the event. The only exception is
/// the event of the dashboard's test button, whose customer is made up (RevenueCat fact sheet,
/// section 2.1).
enum EventCustomers {
    /// The members of an event that name its customer by an ID or by a list of IDs.
    static let identityKeys = ["app_user_id", "original_app_user_id", "aliases"]

    /// The members of an event that list all IDs of another customer.
    ///
    /// The IDs of each member belong to one side of a transfer or of a redemption (RevenueCat fact
    /// sheet, section 2.6).
    static let partyKeys = [
        "transferred_from", "transferred_to", "redeemed_from", "redeemed_by",
    ]

    /// Returns the IDs that an event contains under these keys, without duplicates.
    ///
    /// RevenueCat knows no customer with an ID that it refuses.
    static func ids(_ event: JSONObject?, _ keys: [String]) -> [String] {
        keys.flatMap { key -> [String] in
            let value = event?[key]
            return value?.array?.compactMap(\.string) ?? value?.string.map { [$0] } ?? []
        }.reduce(into: []) { ids, id in
            if !AppUserID.isBlocked(id), !ids.contains(where: id.isExactly) { ids.append(id) }
        }
    }

    /// Makes all customers in an event known, and returns the number of the customer that the event
    /// concerns; nil for an event that concerns two customers, or none.
    static func record(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        _ asOf: Instant
    ) -> Int? {
        for key in Self.partyKeys {
            let ids = ids(event, [key])
            if let first = ids.first {
                _ = state.customers.findOrCreate(ids, originalID: first, at: asOf)
            }
        }
        let ids = ids(event, Self.identityKeys)
        guard let first = ids.first else { return nil }
        let original = event["original_app_user_id"]?.string ?? ""
        let customers = state.customers
        let known = ids.lazy.compactMap { customers.customer($0)?.originalID }.first
        let customerNumber = state.customers.unite(
            ids,
            originalID: ids.contains(original) ? original : known ?? first,
            at: asOf
        )
        state.customers[customerNumber]?.lastSeenID = first
        recordAttributes(&state, event, of: customerNumber, asOf)
        return customerNumber
    }

    private static func recordAttributes(
        _ state: inout RevenueCatState,
        _ event: JSONObject,
        of customerNumber: Int,
        _ asOf: Instant
    ) {
        for member in event["subscriber_attributes"]?.object?.members ?? [] {
            // The events about paywalls contain plain values.
            let attribute =
                member.value.object == nil
                ? ["value": member.value, "updated_at_ms": .integer(asOf.milliseconds)]
                : member.value
            state.customers[customerNumber]?.attributes[member.key] = attribute
        }
    }
}
