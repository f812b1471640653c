internal import Conformance

/// The operations of REST v2 on subscriptions and one-time purchases.
extension RevenueCatState {
    /// Returns the response to an operation of REST v2 on a purchase; nil when the operation
    /// concerns no purchase.
    mutating func handlePurchaseCall(
        _ name: V2Operation,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response? {
        switch name {
        case .getSubscription, .listSubscriptionEntitlements, .listSubscriptionTransactions,
            .cancelSubscription, .refundSubscription, .refundTransaction, .getManagementURL:
            return try handleOperation(name, toSubscription: call.named("subscription_id"), call)
        case .getPurchase, .listPurchaseEntitlements, .refundPurchase:
            return try handleOperation(name, toPurchase: call.named("purchase_id"), call)
        case .searchSubscriptions:
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
        case .searchPurchases:
            let wantedID = try query("store_purchase_identifier", call)
            let items = visibleCustomers(call).flatMap { customer in
                customer.oneTimePurchases.filter { $0.transactionID == wantedID }
                    .map { (Self.purchaseID($0), purchase($0, customer, customer.currentID, call)) }
            }
            return try pageResponse(items, call.projectPath + "/purchases", call)
        default: return nil
        }
    }

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

    private mutating func handleOperation(
        _ name: V2Operation,
        toSubscription wantedID: String,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        for customer in visibleCustomers(call) {
            guard
                let foundPurchase = customer.subscriptions.values.first(where: {
                    Self.subscriptionID($0) == wantedID
                })
            else { continue }
            let path = "\(call.projectPath)/subscriptions/\(wantedID)"
            switch name {
            case .listSubscriptionEntitlements:
                return try pageResponse(
                    entitlements(foundPurchase.entitlements, call),
                    path + "/entitlements",
                    call
                )
            case .listSubscriptionTransactions:
                guard ["APP_STORE", "MAC_APP_STORE", "PLAY_STORE"].contains(foundPurchase.store)
                else {
                    throw RevenueCatError(
                        v2: 400,
                        "invalid_request",
                        "Only the App Store's and Play's subscriptions have transactions here."
                    )
                }
                return try pageResponse(
                    [(foundPurchase.transactionID, Self.transaction(foundPurchase))],
                    path + "/transactions",
                    call
                )
            case .refundTransaction:
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
                return HTTPMessage.Response(
                    200,
                    json: Self.transaction(refundedPurchase ?? foundPurchase)
                )
            case .getManagementURL:
                guard foundPurchase.store == "RC_BILLING", foundPurchase.isActive(at: call.now)
                else {
                    throw RevenueCatError(
                        v2: 400,
                        "invalid_request",
                        "Only active subscriptions of Web Billing have one."
                    )
                }
                let token = Self.objectID("", wantedID + String(call.now.milliseconds))
                return HTTPMessage.Response(
                    200,
                    json: [
                        "object": "authenticated_management_url",
                        "management_url": .string(
                            "https://pay.rev.cat/manage/\(wantedID)?token=\(token)"
                        ),
                    ]
                )
            case .cancelSubscription, .refundSubscription:
                let kind = name == .cancelSubscription ? StoreAction.Kind.cancel : .refund
                try changeStorePurchase(kind, foundPurchase, of: customer, call)
            case .getSubscription: break
            default: throw .missingResource("resource")
            }
            let visibleCustomer =
                visibleCustomers(call).first { $0.ids == customer.ids } ?? customer
            let currentPurchase =
                visibleCustomer.subscriptions[foundPurchase.productID] ?? foundPurchase
            return HTTPMessage.Response(
                200,
                json: subscription(currentPurchase, visibleCustomer, customer.currentID, call)
            )
        }
        throw .missingResource("subscription")
    }

    private mutating func handleOperation(
        _ name: V2Operation,
        toPurchase wantedID: String,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        for customer in visibleCustomers(call) {
            guard
                let foundPurchase = customer.oneTimePurchases.first(where: {
                    Self.purchaseID($0) == wantedID
                })
            else { continue }
            if name == .listPurchaseEntitlements {
                let path = "\(call.projectPath)/purchases/\(wantedID)/entitlements"
                return try pageResponse(entitlements(foundPurchase.entitlements, call), path, call)
            }
            if name == .refundPurchase {
                try changeStorePurchase(.refund, foundPurchase, of: customer, call)
            }
            let visibleCustomer =
                visibleCustomers(call).first { $0.ids == customer.ids } ?? customer
            let currentPurchase =
                visibleCustomer.oneTimePurchases.first { Self.purchaseID($0) == wantedID }
                ?? foundPurchase
            return HTTPMessage.Response(
                200,
                json: purchase(currentPurchase, visibleCustomer, customer.currentID, call)
            )
        }
        throw .missingResource("purchase")
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

    // MARK: Invoices

    /// Returns the response to an operation of REST v2 on invoices; nil when the operation concerns
    /// no invoice.
    ///
    /// The fake has invoices only for purchases in Web Billing, because the other stores issue
    /// their own invoices.
    mutating func handleInvoiceCall(
        _ name: V2Operation,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response? {
        guard [.listCustomerInvoices, .getInvoice].contains(name) else { return nil }
        let id = call.named("customer_id")
        let path = "\(call.projectPath)/customers/\(id.percentEncoded)/invoices"
        let billedPurchases = try existingCustomer(id, call).purchases.filter {
            $0.store == "RC_BILLING"
        }
        if name == .getInvoice {
            let wantedID = call.named("invoice_id")
            guard billedPurchases.contains(where: { Self.invoiceID($0) == wantedID }) else {
                throw .missingResource("invoice")
            }
            return HTTPMessage.Response(
                302,
                fields: [
                    HTTPMessage.Field("location", "https://pay.rev.cat/invoices/\(wantedID).pdf")
                ],
                body: []
            )
        }
        let items = billedPurchases.map { purchase -> (id: String, value: JSONValue) in
            let invoice = Self.invoiceID(purchase)
            let days = catalog.product(purchase.productID).days
            let time = purchase.purchased.milliseconds
            return (
                invoice,
                [
                    "object": "invoice", "id": .string(invoice),
                    "total_amount": Self.revenueJSON(purchase), "issued_at": .integer(time),
                    "paid_at": .integer(time), "invoice_url": .string("\(path)/\(invoice)/file"),
                    "line_items": [
                        [
                            "object": "invoice.line_item", "quantity": 1,
                            "product_identifier": .string(purchase.productID),
                            "product_display_name": .string(purchase.productID),
                            "product_duration": days.map { .string("P\($0)D") } ?? .null,
                            "unit_amount": Self.revenueJSON(purchase),
                        ]
                    ],
                ]
            )
        }
        return try pageResponse(items, path, call)
    }

    private static func invoiceID(_ purchase: Purchase) -> String {
        objectID("rcbin", purchase.transactionID)
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
    private static func revenueJSON(_ purchase: Purchase) -> JSONValue {
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
