internal import Values

/// An operation of RevenueCat's REST v2 that the fake supports.
///
/// The table lists all operations of the API description.
struct V2Operation: Sendable {
    typealias Row = OperationTable<V2Operation>.Row
    typealias Handler =
        @Sendable (inout RevenueCatState, RevenueCatState.CallV2) throws(RevenueCatError)
        -> HTTPMessage.Response

    /// The function that changes the state and returns the response to a call.
    let handle: Handler

    init(_ handle: @escaping Handler) {
        self.handle = handle
    }

    /// The table of all operations in REST v2, in the order of the API description.
    ///
    /// The fake refuses an operation without a handler, with the error for a key without the
    /// permission.
    static let table = OperationTable<V2Operation>(
        "REST v2",
        root: "/v2",
        hasDescription: true,
        Array(rowsBySubject.joined())
    )

    /// The rows of the table, in groups.
    private static let rowsBySubject: [[Row]] = [
        projectRows, customerRows, entitlementRows, webhookRows, metricsRows, offeringRows,
        paywallRows, productRows, purchaseRows, subscriptionRows, virtualCurrencyRows,
    ]

    /// The rows of the operations on webhook integrations, which the fake refuses.
    private static let webhookRows: [Row] = [
        .init("GET", "/projects/{project_id}/integrations/webhooks"),
        .init("POST", "/projects/{project_id}/integrations/webhooks"),
        .init("DELETE", "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"),
        .init("GET", "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"),
        .init("POST", "/projects/{project_id}/integrations/webhooks/{webhook_integration_id}"),
    ]
}
