internal import Values

/// The operations of REST v2 on the entitlements of customers.
enum V2CustomerEntitlements {
    static func grant(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try state.customers.requiredNumber(of: id)
        let entitlementID = try call.text("entitlement_id")
        var action = StoreAction(.grant, user: id)
        action.entitlement = try V2Entitlements.name(ofID: entitlementID, state)
        let end = call.body["expires_at"]?.int64.flatMap { RequestDate(milliseconds: $0) }
        guard let end = end?.instant, end > call.now else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "expires_at must lie in the future, before 2100-01-01.",
                param: "expires_at"
            )
        }
        state.saveLaggedState(at: call.now)
        do throws(StoreAction.Refusal) {
            try Granting.grant(&state, action, until: end, call.now)
        } catch {
            throw RevenueCatError(v2: error)
        }
        return try V2Customers.response(state, customerNumber, id, 201, call)
    }

    static func revoke(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try state.customers.requiredNumber(of: id)
        let entitlement = try V2Entitlements.name(ofID: try call.text("entitlement_id"), state)
        state.saveLaggedState(at: call.now)
        do throws(StoreAction.Refusal) {
            try Granting.revoke(&state, id, entitlement, call.now)
        } catch {
            throw RevenueCatError(v2: error)
        }
        return try V2Customers.response(state, customerNumber, id, 200, call)
    }

    static func listActive(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let items = try state.customers.requiredCustomer(id, call).activeEntitlementItems(
            at: call.now
        )
        return try V2List.response(items, call.customerPath + "/active_entitlements", call)
    }
}

extension Customer {
    /// Returns the customer's active entitlements as items of a list.
    func activeEntitlementItems(at now: Instant) -> [V2List.Item] {
        let activePurchases = purchases.filter { $0.isActive(at: now) }
        return Self.entitlementSources(among: activePurchases, false, at: now).map {
            name,
            purchase in
            let id = V2ResourceID.entitlement(name)
            return (
                id,
                [
                    "object": "customer.active_entitlement", "entitlement_id": .string(id),
                    "expires_at": .v2Time(purchase.effectiveEnd),
                ]
            )
        }
    }
}
