/// The operations of RevenueCat's REST v2 that the fake supports.
///
/// The table lists all operations of the API description.
enum V2Operation: Hashable, Sendable, CaseIterable {
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
    case listSubscriptionTransactions, listVirtualCurrencies, createVirtualCurrency
    case getVirtualCurrency, updateVirtualCurrency, deleteVirtualCurrency
    case createVirtualCurrenciesTransaction, updateVirtualCurrenciesBalance
    case listApps, getApp, listPublicAPIKeys, listPaywalls, getPaywall, getOverviewMetrics
    case refundTransaction, getManagementURL, getInvoice

    /// The table of all operations in REST v2.
    ///
    /// The fake refuses an operation without a handler, with the error for a key without the
    /// permission.
    static let table = OperationTable<V2Operation>(
        "REST v2",
        root: "/v2",
        hasDescription: true,
        [
            .init("GET", "/projects", .listProjects),
            .init("POST", "/projects"),
            .init("GET", "/projects/{project_id}/apps", .listApps),
            .init("POST", "/projects/{project_id}/apps"),
            .init("DELETE", "/projects/{project_id}/apps/{app_id}"),
            .init("GET", "/projects/{project_id}/apps/{app_id}", .getApp),
            .init("POST", "/projects/{project_id}/apps/{app_id}"),
            .init(
                "GET",
                "/projects/{project_id}/apps/{app_id}/public_api_keys",
                .listPublicAPIKeys
            ),
            .init("GET", "/projects/{project_id}/apps/{app_id}/store_kit_config"),
            .init("GET", "/projects/{project_id}/audit_logs"),
            .init("GET", "/projects/{project_id}/charts/{chart_name}"),
            .init("GET", "/projects/{project_id}/charts/{chart_name}/options"),
            .init("GET", "/projects/{project_id}/collaborators"),
            .init("GET", "/projects/{project_id}/customers", .listCustomers),
            .init("POST", "/projects/{project_id}/customers", .createCustomer),
            .init("DELETE", "/projects/{project_id}/customers/{customer_id}", .deleteCustomer),
            .init("GET", "/projects/{project_id}/customers/{customer_id}", .getCustomer),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/actions/assign_offering",
                .assignCustomerOffering
            ),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/actions/grant_entitlement",
                .grantCustomerEntitlement
            ),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/actions/revoke_granted_entitlement",
                .revokeCustomerGrantedEntitlement
            ),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/actions/transfer",
                .transferCustomerData
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/active_entitlements",
                .listCustomerActiveEntitlements
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/aliases",
                .listCustomerAliases
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/attributes",
                .listCustomerAttributes
            ),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/attributes",
                .setCustomerAttributes
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/invoices",
                .listCustomerInvoices
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/invoices/{invoice_id}/file",
                .getInvoice
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/purchases",
                .listPurchases
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/subscriptions",
                .listSubscriptions
            ),
            .init(
                "GET",
                "/projects/{project_id}/customers/{customer_id}/virtual_currencies",
                .listVirtualCurrenciesBalances
            ),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/virtual_currencies/transactions",
                .createVirtualCurrenciesTransaction
            ),
            .init(
                "POST",
                "/projects/{project_id}/customers/{customer_id}/virtual_currencies/update_balance",
                .updateVirtualCurrenciesBalance
            ),
            .init("GET", "/projects/{project_id}/entitlements", .listEntitlements),
            .init("POST", "/projects/{project_id}/entitlements"),
            .init("DELETE", "/projects/{project_id}/entitlements/{entitlement_id}"),
            .init("GET", "/projects/{project_id}/entitlements/{entitlement_id}", .getEntitlement),
            .init("POST", "/projects/{project_id}/entitlements/{entitlement_id}"),
            .init(
                "POST",
                "/projects/{project_id}/entitlements/{entitlement_id}/actions/attach_products"
            ),
            .init(
                "POST",
                "/projects/{project_id}/entitlements/{entitlement_id}/actions/detach_products"
            ),
            .init(
                "GET",
                "/projects/{project_id}/entitlements/{entitlement_id}/products",
                .getProductsFromEntitlement
            ),
            .init("GET", "/projects/{project_id}/integrations/webhooks"),
            .init("POST", "/projects/{project_id}/integrations/webhooks"),
            .init(
                "DELETE",
                "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"
            ),
            .init("GET", "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"),
            .init(
                "POST",
                "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"
            ),
            .init(
                "GET",
                "/projects/{project_id}/metrics/overview",
                .getOverviewMetrics,
                deviation: "amounts are always in US dollars, whatever currency is requested"
            ),
            .init("GET", "/projects/{project_id}/offerings", .listOfferings),
            .init("POST", "/projects/{project_id}/offerings"),
            .init("DELETE", "/projects/{project_id}/offerings/{offering_id}"),
            .init("GET", "/projects/{project_id}/offerings/{offering_id}", .getOffering),
            .init("POST", "/projects/{project_id}/offerings/{offering_id}"),
            .init(
                "GET",
                "/projects/{project_id}/offerings/{offering_id}/packages",
                .listPackages
            ),
            .init("POST", "/projects/{project_id}/offerings/{offering_id}/packages"),
            .init("DELETE", "/projects/{project_id}/packages/{package_id}"),
            .init("GET", "/projects/{project_id}/packages/{package_id}", .getPackage),
            .init("POST", "/projects/{project_id}/packages/{package_id}"),
            .init("POST", "/projects/{project_id}/packages/{package_id}/actions/attach_products"),
            .init("POST", "/projects/{project_id}/packages/{package_id}/actions/detach_products"),
            .init(
                "GET",
                "/projects/{project_id}/packages/{package_id}/products",
                .getProductsFromPackage
            ),
            .init(
                "GET",
                "/projects/{project_id}/paywalls",
                .listPaywalls,
                deviation: "the list is always empty, because the fake has no paywalls"
            ),
            .init("POST", "/projects/{project_id}/paywalls"),
            .init("DELETE", "/projects/{project_id}/paywalls/{paywall_id}"),
            .init(
                "GET",
                "/projects/{project_id}/paywalls/{paywall_id}",
                .getPaywall,
                deviation: "the status is always 404, because the fake has no paywalls"
            ),
            .init("GET", "/projects/{project_id}/products", .listProducts),
            .init("POST", "/projects/{project_id}/products"),
            .init("DELETE", "/projects/{project_id}/products/{product_id}"),
            .init("GET", "/projects/{project_id}/products/{product_id}", .getProduct),
            .init("POST", "/projects/{project_id}/products/{product_id}/create_in_store"),
            .init("GET", "/projects/{project_id}/purchases", .searchPurchases),
            .init("GET", "/projects/{project_id}/purchases/{purchase_id}", .getPurchase),
            .init(
                "POST",
                "/projects/{project_id}/purchases/{purchase_id}/actions/refund",
                .refundPurchase
            ),
            .init(
                "GET",
                "/projects/{project_id}/purchases/{purchase_id}/entitlements",
                .listPurchaseEntitlements
            ),
            .init("GET", "/projects/{project_id}/subscriptions", .searchSubscriptions),
            .init(
                "GET",
                "/projects/{project_id}/subscriptions/{subscription_id}",
                .getSubscription
            ),
            .init(
                "POST",
                "/projects/{project_id}/subscriptions/{subscription_id}/actions/cancel",
                .cancelSubscription
            ),
            .init(
                "POST",
                "/projects/{project_id}/subscriptions/{subscription_id}/actions/refund",
                .refundSubscription
            ),
            .init(
                "GET",
                "/projects/{project_id}/subscriptions/{subscription_id}/authenticated_management_url",
                .getManagementURL
            ),
            .init(
                "GET",
                "/projects/{project_id}/subscriptions/{subscription_id}/entitlements",
                .listSubscriptionEntitlements
            ),
            .init(
                "GET",
                "/projects/{project_id}/subscriptions/{subscription_id}/transactions",
                .listSubscriptionTransactions
            ),
            .init(
                "POST",
                "/projects/{project_id}/subscriptions/{subscription_id}/transactions/{transaction_id}/actions/refund",
                .refundTransaction
            ),
            .init("GET", "/projects/{project_id}/virtual_currencies", .listVirtualCurrencies),
            .init("POST", "/projects/{project_id}/virtual_currencies", .createVirtualCurrency),
            .init(
                "DELETE",
                "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
                .deleteVirtualCurrency
            ),
            .init(
                "GET",
                "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
                .getVirtualCurrency
            ),
            .init(
                "POST",
                "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
                .updateVirtualCurrency
            ),
        ]
    )
}
