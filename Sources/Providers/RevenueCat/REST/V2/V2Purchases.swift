internal import Values

extension V2Operation {
    static let purchaseRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/purchases",
            .init { state, call throws(RevenueCatError) in try state.searchPurchases(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/purchases/{purchase_id}",
            .init { state, call throws(RevenueCatError) in try state.getPurchase(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/purchases/{purchase_id}/actions/refund",
            .init { state, call throws(RevenueCatError) in try state.refundPurchase(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/purchases/{purchase_id}/entitlements",
            .init { state, call throws(RevenueCatError) in
                try state.listPurchaseEntitlements(call)
            }
        ),
    ]

    static let subscriptionRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/subscriptions",
            .init { state, call throws(RevenueCatError) in try state.searchSubscriptions(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}",
            .init { state, call throws(RevenueCatError) in try state.getSubscription(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/actions/cancel",
            .init { state, call throws(RevenueCatError) in try state.cancelSubscription(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/actions/refund",
            .init { state, call throws(RevenueCatError) in try state.refundSubscription(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/authenticated_management_url",
            .init { state, call throws(RevenueCatError) in try state.getManagementURL(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/entitlements",
            .init { state, call throws(RevenueCatError) in
                try state.listSubscriptionEntitlements(call)
            }
        ),
        .init(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/transactions",
            .init { state, call throws(RevenueCatError) in
                try state.listSubscriptionTransactions(call)
            }
        ),
        .init(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/transactions/{transaction_id}/actions/refund",
            .init { state, call throws(RevenueCatError) in try state.refundTransaction(call) }
        ),
    ]
}

/// The operations of REST v2 on subscriptions and one-time purchases.
extension RevenueCatState {
    // MARK: Subscriptions

    mutating func searchSubscriptions(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let wantedID = try query("store_subscription_identifier", call)
        let items = visibleCustomers(call).flatMap { customer in
            customer.subscriptions.values
                .filter { [$0.transactionID, $0.originalTransactionID].contains(wantedID) }
                .map {
                    (
                        Self.subscriptionID($0),
                        subscription($0, customer, customer.currentID, call)
                    )
                }
        }
        return try pageResponse(items, call.projectPath + "/subscriptions", call)
    }

    mutating func getSubscription(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try requestedSubscription(call)
        return subscriptionResponse(foundPurchase, of: customer, call)
    }

    mutating func cancelSubscription(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try requestedSubscription(call)
        try changeStorePurchase(.cancel, foundPurchase, of: customer, call)
        return subscriptionResponse(foundPurchase, of: customer, call)
    }

    mutating func refundSubscription(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try requestedSubscription(call)
        try changeStorePurchase(.refund, foundPurchase, of: customer, call)
        return subscriptionResponse(foundPurchase, of: customer, call)
    }

    mutating func getManagementURL(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try requestedSubscription(call).purchase
        guard foundPurchase.store == "RC_BILLING", foundPurchase.isActive(at: call.now) else {
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "Only active subscriptions of Web Billing have one."
            )
        }
        let id = call.named("subscription_id")
        let token = Self.objectID("", id + String(call.now.milliseconds))
        return HTTPMessage.Response(
            200,
            json: [
                "object": "authenticated_management_url",
                "management_url": .string("https://pay.rev.cat/manage/\(id)?token=\(token)"),
            ]
        )
    }

    mutating func listSubscriptionEntitlements(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try requestedSubscription(call).purchase
        return try pageResponse(
            entitlements(foundPurchase.entitlements, call),
            "\(call.projectPath)/subscriptions/\(call.named("subscription_id"))/entitlements",
            call
        )
    }

    mutating func listSubscriptionTransactions(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try requestedSubscription(call).purchase
        guard ["APP_STORE", "MAC_APP_STORE", "PLAY_STORE"].contains(foundPurchase.store) else {
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "Only the App Store's and Play's subscriptions have transactions here."
            )
        }
        return try pageResponse(
            [(foundPurchase.transactionID, Self.transaction(foundPurchase))],
            "\(call.projectPath)/subscriptions/\(call.named("subscription_id"))/transactions",
            call
        )
    }

    mutating func refundTransaction(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try requestedSubscription(call)
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
        try changeStorePurchase(.refund, foundPurchase, of: customer, call)
        let refundedPurchase = customers.all.lazy.flatMap(\.purchases)
            .first { $0.transactionID == foundPurchase.transactionID }
        return HTTPMessage.Response(200, json: Self.transaction(refundedPurchase ?? foundPurchase))
    }

    /// Returns the subscription that the call's path names, with its customer; throws 404 when
    /// there is none.
    private mutating func requestedSubscription(
        _ call: CallV2
    ) throws(RevenueCatError) -> (purchase: Purchase, customer: Customer) {
        let wantedID = call.named("subscription_id")
        for customer in visibleCustomers(call) {
            let foundPurchase = customer.subscriptions.values.first {
                Self.subscriptionID($0) == wantedID
            }
            if let foundPurchase { return (foundPurchase, customer) }
        }
        throw .missingResource("subscription")
    }

    /// Returns the response with the current state of a subscription.
    private mutating func subscriptionResponse(
        _ foundPurchase: Purchase,
        of customer: Customer,
        _ call: CallV2
    ) -> HTTPMessage.Response {
        let visibleCustomer = visibleCustomers(call).first { $0.ids == customer.ids } ?? customer
        let currentPurchase =
            visibleCustomer.subscriptions[foundPurchase.productID] ?? foundPurchase
        return HTTPMessage.Response(
            200,
            json: subscription(currentPurchase, visibleCustomer, customer.currentID, call)
        )
    }

    // MARK: One-time purchases

    mutating func searchPurchases(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let wantedID = try query("store_purchase_identifier", call)
        let items = visibleCustomers(call).flatMap { customer in
            customer.oneTimePurchases.filter { $0.transactionID == wantedID }
                .map { (Self.purchaseID($0), purchase($0, customer, customer.currentID, call)) }
        }
        return try pageResponse(items, call.projectPath + "/purchases", call)
    }

    mutating func getPurchase(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try requestedPurchase(call)
        return purchaseResponse(foundPurchase, of: customer, call)
    }

    mutating func refundPurchase(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let (foundPurchase, customer) = try requestedPurchase(call)
        try changeStorePurchase(.refund, foundPurchase, of: customer, call)
        return purchaseResponse(foundPurchase, of: customer, call)
    }

    mutating func listPurchaseEntitlements(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let foundPurchase = try requestedPurchase(call).purchase
        let path = "\(call.projectPath)/purchases/\(call.named("purchase_id"))/entitlements"
        return try pageResponse(entitlements(foundPurchase.entitlements, call), path, call)
    }

    /// Returns the one-time purchase that the call's path names, with its customer; throws 404 when
    /// there is none.
    private mutating func requestedPurchase(
        _ call: CallV2
    ) throws(RevenueCatError) -> (purchase: Purchase, customer: Customer) {
        let wantedID = call.named("purchase_id")
        for customer in visibleCustomers(call) {
            let foundPurchase = customer.oneTimePurchases.first { Self.purchaseID($0) == wantedID }
            if let foundPurchase { return (foundPurchase, customer) }
        }
        throw .missingResource("purchase")
    }

    /// Returns the response with the current state of a one-time purchase.
    private mutating func purchaseResponse(
        _ foundPurchase: Purchase,
        of customer: Customer,
        _ call: CallV2
    ) -> HTTPMessage.Response {
        let wantedID = call.named("purchase_id")
        let visibleCustomer = visibleCustomers(call).first { $0.ids == customer.ids } ?? customer
        let currentPurchase =
            visibleCustomer.oneTimePurchases.first { Self.purchaseID($0) == wantedID }
            ?? foundPurchase
        return HTTPMessage.Response(
            200,
            json: purchase(currentPurchase, visibleCustomer, customer.currentID, call)
        )
    }

    // MARK: Purchases of a customer

    mutating func listSubscriptions(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customer = try existingCustomer(id, call)
        var items: [(id: String, value: JSONValue)] = []
        for purchase in customer.purchases where !purchase.isOneTime {
            guard try call.matchesEnvironmentFilter(purchase) else { continue }
            let customerJSON = subscription(purchase, customer, id, call)
            items.append((Self.subscriptionID(purchase), customerJSON))
        }
        return try pageResponse(items, call.customerPath + "/subscriptions", call)
    }

    mutating func listPurchases(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customer = try existingCustomer(id, call)
        var items: [(id: String, value: JSONValue)] = []
        for bought in customer.oneTimePurchases {
            guard try call.matchesEnvironmentFilter(bought) else { continue }
            items.append((Self.purchaseID(bought), purchase(bought, customer, id, call)))
        }
        return try pageResponse(items, call.customerPath + "/purchases", call)
    }

    // MARK: Lookup and changes

    private func query(_ name: String, _ call: CallV2) throws(RevenueCatError) -> String {
        guard let text = call.query(name), !text.isEmpty else {
            throw RevenueCatError(v2: 400, "parameter_error", "\(name) is required.", param: name)
        }
        return text
    }

    /// Returns all customers in the state that REST shows, oldest first.
    ///
    /// With the REST lag switched on, this state may be older than the current one.
    private mutating func visibleCustomers(_ call: CallV2) -> [Customer] {
        customers.all.sorted { ($0.firstSeen, $0.originalID) < ($1.firstSeen, $1.originalID) }
            .compactMap { customer in
                customerByID[customer.originalID].flatMap { laggedCustomer($0, at: call.now) }
            }
    }

    private mutating func changeStorePurchase(
        _ kind: StoreAction.Kind,
        _ foundPurchase: Purchase,
        of customer: Customer,
        _ call: CallV2
    ) throws(RevenueCatError) {
        var action = StoreAction(kind, user: customer.currentID)
        action.product = foundPurchase.productID
        do throws(StoreAction.Refusal) {
            try carryOut(action, at: call.now)
        } catch {
            throw RevenueCatError(v2: error)
        }
    }

    // MARK: JSON of resources

    private static func transaction(_ purchase: Purchase) -> JSONValue {
        [
            "object": "subscription_transaction", "id": .string(purchase.transactionID),
            "purchased_at": .integer(purchase.purchased.milliseconds),
            "product_store_identifier": .string(purchase.webhookProductID),
            "expiration_date": time(purchase.expires),
            "effective_expiration_date": time(purchase.effectiveEnd),
        ]
    }

    static func subscriptionID(_ purchase: Purchase) -> String {
        "sub" + Digest.sha256(Array(purchase.originalTransactionID.utf8)).dropFirst(7).prefix(12)
    }

    static func purchaseID(_ purchase: Purchase) -> String {
        "purch" + Digest.sha256(Array(purchase.transactionID.utf8)).dropFirst(7).prefix(12)
    }

    /// Returns the revenue from a purchase in US dollars: the gross amount, the store's commission,
    /// the tax and the proceeds.
    ///
    /// The gross amount of a refunded purchase is zero. The store's commission is 30 %
    /// (*inferred*).
    static func revenueJSON(_ purchase: Purchase) -> JSONValue {
        var grossRevenue = 0.0
        if case .number(let price) = purchase.priceUSD { grossRevenue = price.double ?? 0 }
        if purchase.refunded != nil { grossRevenue = 0 }
        let commission = (grossRevenue * 30).rounded() / 100
        return [
            "currency": "USD", "gross": .number(JSONNumber(grossRevenue)),
            "commission": .number(JSONNumber(commission)), "tax": 0,
            "proceeds": .number(JSONNumber(((grossRevenue - commission) * 100).rounded() / 100)),
        ]
    }

    func subscription(
        _ purchase: Purchase,
        _ customer: Customer,
        _ id: String,
        _ call: CallV2
    ) -> JSONValue {
        let now = call.now
        let isActive = purchase.isActive(at: now)
        let isInGrace = isActive && (purchase.graceEnd.map { $0 > now } ?? false)
        let status =
            purchase.isPaused
            ? "paused"
            : isInGrace
                ? "in_grace_period"
                : isActive
                    ? purchase.period == "TRIAL" ? "trialing" : "active"
                    : purchase.billingIssue != nil && !purchase.hasEnded
                        ? "in_billing_retry" : "expired"
        let renewal =
            purchase.nextProductID != nil
            ? "will_change_product"
            : purchase.willRenew && purchase.unsubscribed == nil
                ? "will_renew" : "will_not_renew"
        let resourceID = Self.subscriptionID(purchase)
        var fields: JSONObject = [
            "object": "subscription", "id": .string(resourceID), "customer_id": .string(id),
            "original_customer_id": .string(customer.originalID),
            // A promotional grant belongs to no product.
            "product_id": purchase.store == "PROMOTIONAL"
                ? .null : .string(Self.productID(purchase.productID)),
            "starts_at": Self.time(purchase.originallyPurchased),
            "current_period_starts_at": Self.time(purchase.purchased),
            "current_period_ends_at": Self.time(purchase.effectiveEnd),
            // In the real service, this time differs from `current_period_ends_at` only if a
            // following period is already paid.
            "ends_at": Self.time(purchase.effectiveEnd),
            "gives_access": .bool(isActive), "pending_payment": false,
            "auto_renewal_status": .string(renewal), "status": .string(status),
            "total_revenue_in_usd": Self.revenueJSON(purchase),
            "presented_offering_id": purchase.offering.map { .string(Self.offeringID($0)) }
                ?? .null,
            "entitlements": Self.listJSON(
                entitlements(purchase.entitlements, call).map(\.value),
                "\(call.projectPath)/subscriptions/\(resourceID)/entitlements"
            ),
            "environment": .string(purchase.environment.lowercased()),
            "store": .string(purchase.store.lowercased()),
            "store_subscription_identifier": .string(purchase.originalTransactionID),
            "ownership": purchase.isFamilyShared ? "family_shared" : "purchased",
            "management_url": purchase.managementURL, "country": .null,
        ]
        if let nextProductID = purchase.nextProductID {
            fields["pending_changes"] = ["product": product(nextProductID, call)]
        }
        return .object(fields)
    }

    func purchase(
        _ purchase: Purchase,
        _ customer: Customer,
        _ id: String,
        _ call: CallV2
    ) -> JSONValue {
        let resourceID = Self.purchaseID(purchase)
        return [
            "object": "purchase", "id": .string(resourceID), "customer_id": .string(id),
            "original_customer_id": .string(customer.originalID),
            "product_id": .string(Self.productID(purchase.productID)),
            "purchased_at": .integer(purchase.purchased.milliseconds),
            "revenue_in_usd": Self.revenueJSON(purchase), "quantity": 1,
            "status": purchase.refunded == nil ? "owned" : "refunded",
            "presented_offering_id": purchase.offering.map { .string(Self.offeringID($0)) }
                ?? .null,
            "entitlements": Self.listJSON(
                entitlements(purchase.entitlements, call).map(\.value),
                "\(call.projectPath)/purchases/\(resourceID)/entitlements"
            ),
            "environment": .string(purchase.environment.lowercased()),
            "store": .string(purchase.store.lowercased()),
            "store_purchase_identifier": .string(purchase.transactionID),
            "ownership": purchase.isFamilyShared ? "family_shared" : "purchased",
            "country": .null,
        ]
    }
}
