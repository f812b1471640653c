internal import Values

extension V2Operation {
    static let subscriptionRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/subscriptions",
            .init(V2Subscriptions.search)
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}",
            .init(V2Subscriptions.get)
        ),
        .init(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/actions/cancel",
            .init(V2Subscriptions.cancel)
        ),
        .init(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/actions/refund",
            .init(V2Subscriptions.refund)
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/authenticated_management_url",
            .init(V2Subscriptions.getManagementURL)
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/entitlements",
            .init(V2Subscriptions.listEntitlements)
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/transactions",
            .init(V2Subscriptions.listTransactions)
        ),
        .init(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/transactions/{transaction_id}/actions/refund",
            .init(V2Subscriptions.refundTransaction)
        ),
    ]
}

/// The operations of REST v2 on subscriptions.
enum V2Subscriptions {
    static func search(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let wantedID = try call.requiredQuery("store_subscription_identifier")
        let items = state.customers.visibleCustomers(at: call.now).flatMap { customer in
            customer.subscriptions.values
                .filter { [$0.transactionID, $0.originalTransactionID].contains(wantedID) }
                .map {
                    (
                        V2ResourceID.subscription($0),
                        $0.v2SubscriptionJSON(of: customer, id: customer.currentID, state, call)
                    )
                }
        }
        return try V2List.response(items, call.projectPath + "/subscriptions", call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try find(&state, call)
        return response(&state, foundPurchase, of: customer, call)
    }

    static func cancel(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try find(&state, call)
        try V2Purchases.changeStorePurchase(&state, .cancel, foundPurchase, of: customer, call)
        return response(&state, foundPurchase, of: customer, call)
    }

    static func refund(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try find(&state, call)
        try V2Purchases.changeStorePurchase(&state, .refund, foundPurchase, of: customer, call)
        return response(&state, foundPurchase, of: customer, call)
    }

    static func getManagementURL(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try find(&state, call).purchase
        guard foundPurchase.store == "RC_BILLING", foundPurchase.isActive(at: call.now) else {
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "Only active subscriptions of Web Billing have one."
            )
        }
        let id = call.named("subscription_id")
        let token = V2ResourceID.derivedID("", id + String(call.now.milliseconds))
        return HTTPMessage.Response(
            200,
            json: [
                "object": "authenticated_management_url",
                "management_url": .string("https://pay.rev.cat/manage/\(id)?token=\(token)"),
            ]
        )
    }

    static func listEntitlements(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try find(&state, call).purchase
        return try V2List.response(
            V2Entitlements.items(foundPurchase.entitlements, project: call.project),
            "\(call.projectPath)/subscriptions/\(call.named("subscription_id"))/entitlements",
            call
        )
    }

    static func listTransactions(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try find(&state, call).purchase
        guard ["APP_STORE", "MAC_APP_STORE", "PLAY_STORE"].contains(foundPurchase.store) else {
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "Only the App Store's and Play's subscriptions have transactions here."
            )
        }
        return try V2List.response(
            [(foundPurchase.transactionID, foundPurchase.transactionJSON)],
            "\(call.projectPath)/subscriptions/\(call.named("subscription_id"))/transactions",
            call
        )
    }

    static func refundTransaction(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try find(&state, call)
        guard call.named("transaction_id") == foundPurchase.transactionID else {
            throw .missingResource("transaction")
        }
        guard foundPurchase.store == "PLAY_STORE" else {
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "Only transactions of the Play Store can be refunded here."
            )
        }
        try V2Purchases.changeStorePurchase(&state, .refund, foundPurchase, of: customer, call)
        let refundedPurchase = state.customers.all.lazy.flatMap(\.purchases)
            .first { $0.transactionID == foundPurchase.transactionID }
        return HTTPMessage.Response(200, json: (refundedPurchase ?? foundPurchase).transactionJSON)
    }

    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customer = try state.customers.requiredCustomer(id, call)
        var items: [V2List.Item] = []
        for purchase in customer.purchases where !purchase.isOneTime {
            guard try call.matchesEnvironmentFilter(purchase) else { continue }
            let item = purchase.v2SubscriptionJSON(of: customer, id: id, state, call)
            items.append((V2ResourceID.subscription(purchase), item))
        }
        return try V2List.response(items, call.customerPath + "/subscriptions", call)
    }

    /// Returns the subscription that the call's path names, with its customer; throws 404 when
    /// there is none.
    private static func find(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> (purchase: Purchase, customer: Customer) {
        let wantedID = call.named("subscription_id")
        for customer in state.customers.visibleCustomers(at: call.now) {
            let foundPurchase = customer.subscriptions.values.first {
                V2ResourceID.subscription($0) == wantedID
            }
            if let foundPurchase { return (foundPurchase, customer) }
        }
        throw .missingResource("subscription")
    }

    /// Returns the response with the current state of a subscription.
    private static func response(
        _ state: inout RevenueCatState,
        _ foundPurchase: Purchase,
        of customer: Customer,
        _ call: V2Call
    ) -> HTTPMessage.Response {
        let visibleCustomers = state.customers.visibleCustomers(at: call.now)
        let visibleCustomer = visibleCustomers.first { $0.ids == customer.ids } ?? customer
        let currentPurchase =
            visibleCustomer.subscriptions[foundPurchase.subscriptionKey] ?? foundPurchase
        return HTTPMessage.Response(
            200,
            json: currentPurchase.v2SubscriptionJSON(
                of: visibleCustomer,
                id: customer.currentID,
                state,
                call
            )
        )
    }
}
