/// An operation of REST v2, as its API description lists them.
package struct V2Operation: Hashable, Sendable {
    package let method: String
    /// With names in braces: `/projects/{project_id}/customers`.
    package let path: String
    /// What answers here; nil: it answers as to a key without the permission.
    let call: Call?

    package var isServed: Bool { call != nil }

    /// Those that are served.
    enum Call: Hashable, Sendable, CaseIterable {
        case listProjects, listCustomers, createCustomer, deleteCustomer, getCustomer
        case assignCustomerOffering, grantCustomerEntitlement
        case revokeCustomerGrantedEntitlement, transferCustomerData
        case listCustomerActiveEntitlements, listCustomerAliases, listCustomerAttributes
        case setCustomerAttributes, listCustomerInvoices, listPurchases, listSubscriptions
        case listVirtualCurrenciesBalances, listEntitlements, getEntitlement
        case getProductsFromEntitlement, listOfferings, getOffering, listPackages, getPackage
        case getProductsFromPackage, listProducts, getProduct, searchPurchases, getPurchase
        case refundPurchase, listPurchaseEntitlements, searchSubscriptions, getSubscription
        case cancelSubscription, refundSubscription, listSubscriptionEntitlements
        case listSubscriptionTransactions, listVirtualCurrencies
    }

    private init(_ method: String, _ path: String, _ call: Call? = nil) {
        self.method = method
        self.path = path
        self.call = call
    }

    /// The operation at a path, below `/v2`, with what stands in the place of the names.
    static func find(
        _ method: String,
        _ segments: [String]
    ) -> (operation: V2Operation, values: [String: String])? {
        for operation in all where operation.method == method {
            if let values = operation.values(in: segments) { return (operation, values) }
        }
        return nil
    }

    /// Whether another method is described at the path.
    static func isKnown(_ segments: [String]) -> Bool {
        all.contains { $0.values(in: segments) != nil }
    }

    private func values(in segments: [String]) -> [String: String]? {
        let parts = path.split(separator: "/")
        guard parts.count == segments.count else { return nil }
        var values: [String: String] = [:]
        for (part, segment) in zip(parts, segments) {
            if part.hasPrefix("{") {
                guard !segment.isEmpty else { return nil }
                values[String(part.dropFirst().dropLast())] = segment
            } else if part != segment {
                return nil
            }
        }
        return values
    }

    /// All of them.
    package static let all: [V2Operation] = [
        V2Operation("GET", "/projects", .listProjects),
        V2Operation("POST", "/projects"),
        V2Operation("GET", "/projects/{project_id}/apps"),
        V2Operation("POST", "/projects/{project_id}/apps"),
        V2Operation("DELETE", "/projects/{project_id}/apps/{app_id}"),
        V2Operation("GET", "/projects/{project_id}/apps/{app_id}"),
        V2Operation("POST", "/projects/{project_id}/apps/{app_id}"),
        V2Operation("GET", "/projects/{project_id}/apps/{app_id}/public_api_keys"),
        V2Operation("GET", "/projects/{project_id}/apps/{app_id}/store_kit_config"),
        V2Operation("GET", "/projects/{project_id}/audit_logs"),
        V2Operation("GET", "/projects/{project_id}/charts/{chart_name}"),
        V2Operation("GET", "/projects/{project_id}/charts/{chart_name}/options"),
        V2Operation("GET", "/projects/{project_id}/collaborators"),
        V2Operation("GET", "/projects/{project_id}/customers", .listCustomers),
        V2Operation("POST", "/projects/{project_id}/customers", .createCustomer),
        V2Operation("DELETE", "/projects/{project_id}/customers/{customer_id}", .deleteCustomer),
        V2Operation("GET", "/projects/{project_id}/customers/{customer_id}", .getCustomer),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/assign_offering",
            .assignCustomerOffering
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/grant_entitlement",
            .grantCustomerEntitlement
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/revoke_granted_entitlement",
            .revokeCustomerGrantedEntitlement
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/transfer",
            .transferCustomerData
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/active_entitlements",
            .listCustomerActiveEntitlements
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/aliases",
            .listCustomerAliases
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/attributes",
            .listCustomerAttributes
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/attributes",
            .setCustomerAttributes
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/invoices",
            .listCustomerInvoices
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/invoices/{invoice_id}/file"
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/purchases",
            .listPurchases
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/subscriptions",
            .listSubscriptions
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies",
            .listVirtualCurrenciesBalances
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies/transactions"
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies/update_balance"
        ),
        V2Operation("GET", "/projects/{project_id}/entitlements", .listEntitlements),
        V2Operation("POST", "/projects/{project_id}/entitlements"),
        V2Operation("DELETE", "/projects/{project_id}/entitlements/{entitlement_id}"),
        V2Operation("GET", "/projects/{project_id}/entitlements/{entitlement_id}", .getEntitlement),
        V2Operation("POST", "/projects/{project_id}/entitlements/{entitlement_id}"),
        V2Operation(
            "POST",
            "/projects/{project_id}/entitlements/{entitlement_id}/actions/attach_products"
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/entitlements/{entitlement_id}/actions/detach_products"
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/entitlements/{entitlement_id}/products",
            .getProductsFromEntitlement
        ),
        V2Operation("GET", "/projects/{project_id}/integrations/webhooks"),
        V2Operation("POST", "/projects/{project_id}/integrations/webhooks"),
        V2Operation(
            "DELETE",
            "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"
        ),
        V2Operation("GET", "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"),
        V2Operation(
            "POST",
            "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"
        ),
        V2Operation("GET", "/projects/{project_id}/metrics/overview"),
        V2Operation("GET", "/projects/{project_id}/offerings", .listOfferings),
        V2Operation("POST", "/projects/{project_id}/offerings"),
        V2Operation("DELETE", "/projects/{project_id}/offerings/{offering_id}"),
        V2Operation("GET", "/projects/{project_id}/offerings/{offering_id}", .getOffering),
        V2Operation("POST", "/projects/{project_id}/offerings/{offering_id}"),
        V2Operation(
            "GET",
            "/projects/{project_id}/offerings/{offering_id}/packages",
            .listPackages
        ),
        V2Operation("POST", "/projects/{project_id}/offerings/{offering_id}/packages"),
        V2Operation("DELETE", "/projects/{project_id}/packages/{package_id}"),
        V2Operation("GET", "/projects/{project_id}/packages/{package_id}", .getPackage),
        V2Operation("POST", "/projects/{project_id}/packages/{package_id}"),
        V2Operation("POST", "/projects/{project_id}/packages/{package_id}/actions/attach_products"),
        V2Operation("POST", "/projects/{project_id}/packages/{package_id}/actions/detach_products"),
        V2Operation(
            "GET",
            "/projects/{project_id}/packages/{package_id}/products",
            .getProductsFromPackage
        ),
        V2Operation("GET", "/projects/{project_id}/paywalls"),
        V2Operation("POST", "/projects/{project_id}/paywalls"),
        V2Operation("DELETE", "/projects/{project_id}/paywalls/{paywall_id}"),
        V2Operation("GET", "/projects/{project_id}/paywalls/{paywall_id}"),
        V2Operation("GET", "/projects/{project_id}/products", .listProducts),
        V2Operation("POST", "/projects/{project_id}/products"),
        V2Operation("DELETE", "/projects/{project_id}/products/{product_id}"),
        V2Operation("GET", "/projects/{project_id}/products/{product_id}", .getProduct),
        V2Operation("POST", "/projects/{project_id}/products/{product_id}/create_in_store"),
        V2Operation("GET", "/projects/{project_id}/purchases", .searchPurchases),
        V2Operation("GET", "/projects/{project_id}/purchases/{purchase_id}", .getPurchase),
        V2Operation(
            "POST",
            "/projects/{project_id}/purchases/{purchase_id}/actions/refund",
            .refundPurchase
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/purchases/{purchase_id}/entitlements",
            .listPurchaseEntitlements
        ),
        V2Operation("GET", "/projects/{project_id}/subscriptions", .searchSubscriptions),
        V2Operation(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}",
            .getSubscription
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/actions/cancel",
            .cancelSubscription
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/actions/refund",
            .refundSubscription
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/authenticated_management_url"
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/entitlements",
            .listSubscriptionEntitlements
        ),
        V2Operation(
            "GET",
            "/projects/{project_id}/subscriptions/{subscription_id}/transactions",
            .listSubscriptionTransactions
        ),
        V2Operation(
            "POST",
            "/projects/{project_id}/subscriptions/{subscription_id}/transactions/{transaction_id}/actions/refund"
        ),
        V2Operation("GET", "/projects/{project_id}/virtual_currencies", .listVirtualCurrencies),
        V2Operation("POST", "/projects/{project_id}/virtual_currencies"),
        V2Operation("DELETE", "/projects/{project_id}/virtual_currencies/{virtual_currency_code}"),
        V2Operation("GET", "/projects/{project_id}/virtual_currencies/{virtual_currency_code}"),
        V2Operation("POST", "/projects/{project_id}/virtual_currencies/{virtual_currency_code}"),
    ]
}
