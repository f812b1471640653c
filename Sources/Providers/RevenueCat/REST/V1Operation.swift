/// The operations of RevenueCat's REST v1 that the fake supports (API description of REST v1;
/// RevenueCat fact sheet, sections 4.1 to 4.3).
enum V1Operation: Hashable, Sendable {
    case readCustomer, deleteCustomer, receipts, attribution, grant, revokeGrants, setAttributes
    case overrideOffering, deleteOverride, offerings
    /// An operation on a single purchase, mostly on Google Play.
    ///
    /// The last segment of the path is the verb, for example `refund`.
    case changePlaySubscription
    /// Operations that only RevenueCat's own SDKs call.
    case logIn, restoreBehavior, virtualCurrencies

    static let table = OperationTable<V1Operation>(
        "REST v1",
        root: "/v1",
        hasDescription: true,
        [
            // This row must precede the row that would take `logIn` for the ID of a customer.
            .undescribed("POST", "/subscribers/identify", .logIn),
            .init("GET", "/subscribers/{app_user_id}", .readCustomer),
            .init("DELETE", "/subscribers/{app_user_id}", .deleteCustomer),
            .init("POST", "/receipts", .receipts),
            .init(
                "POST",
                "/subscribers/{app_user_id}/attribution",
                .attribution,
                deviation: "the data is accepted but not stored, because the fake never reads it"
            ),
            .init(
                "POST",
                "/subscribers/{app_user_id}/entitlements/{entitlement_identifier}/promotional",
                .grant
            ),
            .init(
                "POST",
                "/subscribers/{app_user_id}/entitlements/{entitlement_identifier}/revoke_promotionals",
                .revokeGrants
            ),
            .init(
                "POST",
                "/subscribers/{app_user_id}/subscriptions/{product_identifier}/revoke",
                .changePlaySubscription
            ),
            .init("POST", "/subscribers/{app_user_id}/attributes", .setAttributes),
            .init(
                "POST",
                "/subscribers/{app_user_id}/subscriptions/{product_identifier}/defer",
                .changePlaySubscription
            ),
            .init(
                "POST",
                "/subscribers/{app_user_id}/offerings/{offering_uuid}/override",
                .overrideOffering
            ),
            .init("DELETE", "/subscribers/{app_user_id}/offerings/override", .deleteOverride),
            .init("GET", "/subscribers/{app_user_id}/offerings", .offerings),
            .init(
                "POST",
                "/subscribers/{app_user_id}/transactions/{store_transaction_identifier}/refund",
                .changePlaySubscription
            ),
            .init(
                "POST",
                "/subscribers/{app_user_id}/subscriptions/{store_transaction_identifier}/cancel",
                .changePlaySubscription
            ),
            .init(
                "POST",
                "/subscribers/{app_user_id}/subscriptions/{store_transaction_identifier}/extend",
                .changePlaySubscription
            ),
            // In RevenueCat's guide about cancellations, the path contains the product before the
            // transaction.
            .undescribed(
                "POST",
                "/subscribers/{app_user_id}/subscriptions/{product}/{transaction}/cancel",
                .changePlaySubscription
            ),
            .undescribed("POST", "/subscribers/{app_user_id}/restore_behavior", .restoreBehavior),
            .undescribed(
                "GET",
                "/subscribers/{app_user_id}/virtual_currencies",
                .virtualCurrencies
            ),
        ]
    )
}
