internal import Values

/// An operation of RevenueCat's REST v1 that the fake supports (API description of REST v1;
/// RevenueCat fact sheet, sections 4.1 to 4.3).
struct V1Operation: Sendable {
    typealias Row = OperationTable<V1Operation>.Row
    typealias Handler =
        @Sendable (inout RevenueCatState, V1Call) throws(RevenueCatError)
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
            .init(V1Customers.logIn)
        ),
        .init(
            "GET",
            "/subscribers/{app_user_id}",
            .init(V1Customers.read)
        ),
        .init(
            "DELETE",
            "/subscribers/{app_user_id}",
            .init(V1Customers.delete)
        ),
        .init(
            "POST",
            "/receipts",
            .init(V1Receipts.post)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/attribution",
            .init(V1Attributes.acceptAttribution),
            deviation: "the data is accepted but not stored, because the fake never reads it"
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/entitlements/{entitlement_identifier}/promotional",
            .init(V1Grants.grant)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/entitlements/{entitlement_identifier}/revoke_promotionals",
            .init(V1Grants.revoke)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{product_identifier}/revoke",
            .init(V1Purchases.revoke)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/attributes",
            .init(V1Attributes.set)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{product_identifier}/defer",
            .init(V1Purchases.deferSubscription)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/offerings/{offering_uuid}/override",
            .init(V1Offerings.setOverride)
        ),
        .init(
            "DELETE",
            "/subscribers/{app_user_id}/offerings/override",
            .init(V1Offerings.deleteOverride)
        ),
        .init(
            "GET",
            "/subscribers/{app_user_id}/offerings",
            .init(V1Offerings.list)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/transactions/{store_transaction_identifier}/refund",
            .init(V1Purchases.refundTransaction)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{store_transaction_identifier}/cancel",
            .init(V1Purchases.cancel)
        ),
        .init(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{store_transaction_identifier}/extend",
            .init(V1Purchases.extend)
        ),
        // In RevenueCat's guide about cancellations, the path contains the product before the
        // transaction.
        .undescribed(
            "POST",
            "/subscribers/{app_user_id}/subscriptions/{product}/{transaction}/cancel",
            .init(V1Purchases.cancel)
        ),
        .undescribed(
            "POST",
            "/subscribers/{app_user_id}/restore_behavior",
            .init(V1Customers.setRestoreBehavior)
        ),
        .undescribed(
            "GET",
            "/subscribers/{app_user_id}/virtual_currencies",
            .init(V1Balances.list)
        ),
    ]

    /// Routes a call to the handler of its operation, and returns the response.
    static func respond(
        _ state: inout RevenueCatState,
        to request: HTTPMessage.Request,
        _ path: [String],
        at now: Instant,
        usesSecretKey: Bool
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        var body = JSONObject()
        if request.method == "POST" {
            guard let object = request.jsonObject().object else {
                throw RevenueCatError(400, 7226, "The request body is not a JSON object.")
            }
            body = object
        }
        guard let (operation, values) = table.findOperation(request.method, path), let operation
        else { throw .notFound }
        var appUserID = ""
        if let id = values["app_user_id"] { appUserID = try V1Call.validAppUserID(id) }
        let call = V1Call(
            request: request,
            values: values,
            appUserID: appUserID,
            body: body,
            now: now,
            usesSecretKey: usesSecretKey
        )
        return try operation.handle(&state, call)
    }
}
