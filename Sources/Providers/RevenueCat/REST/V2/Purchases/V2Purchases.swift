internal import Values

extension V2Operation {
    static let purchaseRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/purchases",
            .init(V2Purchases.search)
        ),
        .init(
            "GET",
            "/projects/{project_id}/purchases/{purchase_id}",
            .init(V2Purchases.get)
        ),
        .init(
            "POST",
            "/projects/{project_id}/purchases/{purchase_id}/actions/refund",
            .init(V2Purchases.refund)
        ),
        .init(
            "GET",
            "/projects/{project_id}/purchases/{purchase_id}/entitlements",
            .init(V2Purchases.listEntitlements)
        ),
    ]
}

/// The operations of REST v2 on one-time purchases.
enum V2Purchases {
    static func search(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let wantedID = try call.requiredQuery("store_purchase_identifier")
        let items = state.customers.visibleCustomers(at: call.now).flatMap { customer in
            customer.oneTimePurchases.filter { $0.transactionID == wantedID }
                .map {
                    (
                        V2ResourceID.purchase($0),
                        $0.v2PurchaseJSON(of: customer, id: customer.currentID, call)
                    )
                }
        }
        return try V2List.response(items, call.projectPath + "/purchases", call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try find(&state, call)
        return response(&state, foundPurchase, of: customer, call)
    }

    static func refund(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try find(&state, call)
        try changeStorePurchase(&state, .refund, foundPurchase, of: customer, call)
        return response(&state, foundPurchase, of: customer, call)
    }

    static func listEntitlements(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try find(&state, call).purchase
        let path = "\(call.projectPath)/purchases/\(call.named("purchase_id"))/entitlements"
        let items = V2Entitlements.items(foundPurchase.entitlements, project: call.project)
        return try V2List.response(items, path, call)
    }

    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customer = try state.customers.requiredCustomer(id, call)
        var items: [V2List.Item] = []
        for bought in customer.oneTimePurchases {
            guard try call.matchesEnvironmentFilter(bought) else { continue }
            let item = bought.v2PurchaseJSON(of: customer, id: id, call)
            items.append((V2ResourceID.purchase(bought), item))
        }
        return try V2List.response(items, call.customerPath + "/purchases", call)
    }

    /// Returns the one-time purchase that the call's path names, with its customer; throws 404 when
    /// there is none.
    private static func find(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> (purchase: Purchase, customer: Customer) {
        let wantedID = call.named("purchase_id")
        for customer in state.customers.visibleCustomers(at: call.now) {
            let foundPurchase = customer.oneTimePurchases.first {
                V2ResourceID.purchase($0) == wantedID
            }
            if let foundPurchase { return (foundPurchase, customer) }
        }
        throw .missingResource("purchase")
    }

    /// Returns the response with the current state of a one-time purchase.
    private static func response(
        _ state: inout RevenueCatState,
        _ foundPurchase: Purchase,
        of customer: Customer,
        _ call: V2Call
    ) -> HTTPMessage.Response {
        let wantedID = call.named("purchase_id")
        let visibleCustomers = state.customers.visibleCustomers(at: call.now)
        let visibleCustomer = visibleCustomers.first { $0.ids == customer.ids } ?? customer
        let currentPurchase =
            visibleCustomer.oneTimePurchases.first { V2ResourceID.purchase($0) == wantedID }
            ?? foundPurchase
        return HTTPMessage.Response(
            200,
            json: currentPurchase.v2PurchaseJSON(of: visibleCustomer, id: customer.currentID, call)
        )
    }

    /// Carries out an action of the store model on a purchase or a subscription of a customer.
    static func changeStorePurchase(
        _ state: inout RevenueCatState,
        _ kind: StoreAction.Kind,
        _ foundPurchase: Purchase,
        of customer: Customer,
        _ call: V2Call
    ) throws(RevenueCatError) {
        var action = StoreAction(kind, user: customer.currentID)
        action.product = foundPurchase.productID
        do throws(StoreAction.Refusal) {
            try StoreModel.carryOut(&state, action, at: call.now)
        } catch {
            throw RevenueCatError(v2: error)
        }
    }
}
