internal import Values

/// The JSON of a purchase in responses of REST v2.
extension Purchase {
    /// Returns the subscription of a customer as REST v2 shows it to a caller who named the customer
    /// by this ID.
    func v2SubscriptionJSON(
        of customer: Customer,
        id: String,
        _ state: RevenueCatState,
        _ call: V2Call
    ) -> JSONValue {
        let now = call.now
        let isActive = isActive(at: now)
        let isInGrace = isActive && (shownGraceEnd.map { $0 > now } ?? false)
        // The status agrees with the last event: after a BILLING_ISSUE without a grace period the
        // store retries the payment, also while the subscription still gives access (section 3,
        // flow 8b; inferred).
        let isInBillingRetry = billingIssue != nil && !hasEnded && refunded == nil
        let status =
            isPaused
            ? "paused"
            : isInGrace
                ? "in_grace_period"
                : isInBillingRetry
                    ? "in_billing_retry"
                    : isActive ? period == "TRIAL" ? "trialing" : "active" : "expired"
        let renewal =
            nextProductID != nil
            ? "will_change_product"
            : resume != nil && !isPaused
                ? "will_pause"
                : willRenew && unsubscribed == nil
                    ? "will_renew" : "will_not_renew"
        let resourceID = V2ResourceID.subscription(self)
        var fields: JSONObject = [
            "object": "subscription", "id": .string(resourceID), "customer_id": .string(id),
            "original_customer_id": .string(customer.originalID),
            // A promotional grant belongs to no product.
            "product_id": store == "PROMOTIONAL"
                ? .null : .string(V2ResourceID.product(productID)),
            "starts_at": .v2Time(originallyPurchased),
            "current_period_starts_at": .v2Time(purchased),
            "current_period_ends_at": .v2Time(effectiveEnd),
            // In the real service, this time differs from `current_period_ends_at` only if a
            // following period is already paid.
            "ends_at": .v2Time(effectiveEnd),
            "gives_access": .bool(isActive), "pending_payment": false,
            "auto_renewal_status": .string(renewal), "status": .string(status),
            "total_revenue_in_usd": revenueJSON,
            "presented_offering_id": offering.map { .string(V2ResourceID.offering($0)) }
                ?? .null,
            "entitlements": V2List.json(
                V2Entitlements.items(entitlements, project: call.project).map(\.value),
                "\(call.projectPath)/subscriptions/\(resourceID)/entitlements"
            ),
            "environment": .string(environment.lowercased()),
            "store": .string(store.lowercased()),
            "store_subscription_identifier": .string(originalTransactionID),
            "ownership": isFamilyShared ? "family_shared" : "purchased",
            "management_url": managementURL, "country": .null,
        ]
        if let nextProductID {
            fields["pending_changes"] = ["product": V2Products.json(nextProductID, state)]
        }
        return .object(fields)
    }

    /// Returns the one-time purchase of a customer as REST v2 shows it to a caller who named the
    /// customer by this ID.
    func v2PurchaseJSON(
        of customer: Customer,
        id: String,
        _ call: V2Call
    ) -> JSONValue {
        let resourceID = V2ResourceID.purchase(self)
        return [
            "object": "purchase", "id": .string(resourceID), "customer_id": .string(id),
            "original_customer_id": .string(customer.originalID),
            "product_id": .string(V2ResourceID.product(productID)),
            "purchased_at": .integer(purchased.milliseconds),
            "revenue_in_usd": revenueJSON, "quantity": 1,
            "status": refunded == nil ? "owned" : "refunded",
            "presented_offering_id": offering.map { .string(V2ResourceID.offering($0)) }
                ?? .null,
            "entitlements": V2List.json(
                V2Entitlements.items(entitlements, project: call.project).map(\.value),
                "\(call.projectPath)/purchases/\(resourceID)/entitlements"
            ),
            "environment": .string(environment.lowercased()),
            "store": .string(store.lowercased()),
            "store_purchase_identifier": .string(transactionID),
            "ownership": isFamilyShared ? "family_shared" : "purchased",
            "country": .null,
        ]
    }

    /// The current transaction of the subscription.
    var transactionJSON: JSONValue {
        [
            "object": "subscription_transaction", "id": .string(transactionID),
            "purchased_at": .integer(purchased.milliseconds),
            "product_store_identifier": .string(webhookProductID),
            "expiration_date": .v2Time(shownEnd),
            "effective_expiration_date": .v2Time(effectiveEnd),
        ]
    }

    /// The revenue from a purchase in US dollars: the gross amount, the store's commission,
    /// the tax and the proceeds.
    ///
    /// The gross amount of a refunded purchase is zero. The store's commission is 30 %
    /// (*inferred*).
    var revenueJSON: JSONValue {
        var grossRevenue = 0.0
        if case .number(let price) = priceUSD { grossRevenue = price.double ?? 0 }
        if refunded != nil { grossRevenue = 0 }
        let commission = (grossRevenue * 30).rounded() / 100
        return [
            "currency": "USD", "gross": .number(JSONNumber(grossRevenue)),
            "commission": .number(JSONNumber(commission)), "tax": 0,
            "proceeds": .number(JSONNumber(((grossRevenue - commission) * 100).rounded() / 100)),
        ]
    }
}
