internal import Values

/// An operation of RevenueCat's REST v1 that the fake supports (API description of REST v1;
/// RevenueCat fact sheet, sections 4.1 to 4.3).
struct V1Operation: Sendable {
    typealias Row = OperationTable<V1Operation>.Row
    typealias Handler =
        @Sendable (inout RevenueCatState, RevenueCatState.CallV1) throws(RevenueCatError)
        -> HTTPMessage.Response

    /// The function that changes the state and returns the response to a call.
    let handle: Handler

    init(_ handle: @escaping Handler) {
        self.handle = handle
    }

    static let table = OperationTable<V1Operation>(
        "REST v1",
        root: "/v1",
        hasDescription: true,
        rows
    )

    private static let rows: [Row] = [
        // This row must precede the row that would take `logIn` for the ID of a customer.
        .undescribed(
            "POST",
            "/subscribers/identify",
            .init { state, call throws(RevenueCatError) in try state.logIn(call) }
        ),
        .init(
            "GET",
            "/subscribers/{app_user_id}",
            .init { state, call in state.readCustomer(call) }
        ),
        .init(
            "DELETE",
            "/subscribers/{app_user_id}",
            .init { state, call throws(RevenueCatError) in try state.deleteCustomer(call) }
        ),
        .init(
            "POST",
            "/receipts",
            .init { state, call throws(RevenueCatError) in try state.receipt(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/attribution",
            .init { state, call in state.acceptAttribution(call) },
            deviation: "the data is accepted but not stored, because the fake never reads it"
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/entitlements/{entitlement_identifier}/promotional",
            .init { state, call throws(RevenueCatError) in
                try state.grantPromotionalEntitlement(call)
            }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/entitlements/{entitlement_identifier}/revoke_promotionals",
            .init { state, call throws(RevenueCatError) in
                try state.revokePromotionalEntitlements(call)
            }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{product_identifier}/revoke",
            .init { state, call throws(RevenueCatError) in try state.revokePlaySubscription(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/attributes",
            .init { state, call throws(RevenueCatError) in try state.setAttributes(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{product_identifier}/defer",
            .init { state, call throws(RevenueCatError) in try state.deferPlaySubscription(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/offerings/{offering_uuid}/override",
            .init { state, call throws(RevenueCatError) in try state.overrideOffering(call) }
        ),
        .init(
            "DELETE",
            "/subscribers/{app_user_id}/offerings/override",
            .init { state, call throws(RevenueCatError) in try state.deleteOfferingOverride(call) }
        ),
        .init(
            "GET",
            "/subscribers/{app_user_id}/offerings",
            .init { state, call throws(RevenueCatError) in try state.offerings(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/transactions/{store_transaction_identifier}/refund",
            .init { state, call throws(RevenueCatError) in try state.refundPlayTransaction(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{store_transaction_identifier}/cancel",
            .init { state, call throws(RevenueCatError) in try state.cancelPlaySubscription(call) }
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{store_transaction_identifier}/extend",
            .init { state, call throws(RevenueCatError) in try state.extendSubscription(call) }
        ),
        // In RevenueCat's guide about cancellations, the path contains the product before the
        // transaction.
        .undescribed(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{product}/{transaction}/cancel",
            .init { state, call throws(RevenueCatError) in try state.cancelPlaySubscription(call) }
        ),
        .undescribed(
            "POST",
            "/subscribers/{app_user_id}/restore_behavior",
            .init { state, call throws(RevenueCatError) in try state.setRestoreBehavior(call) }
        ),
        .undescribed(
            "GET",
            "/subscribers/{app_user_id}/virtual_currencies",
            .init { state, call in state.virtualCurrencies(call) }
        ),
    ]
}
