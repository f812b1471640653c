internal import Values

/// An operation of RevenueCat's REST v2 that the fake supports.
///
/// The table lists all operations of the API description. Source: RevenueCat fact sheet, section
/// 4.4; API description of REST v2.
struct V2Operation: Sendable {
    typealias Row = OperationTable<V2Operation>.Row
    typealias Handler =
        @Sendable (inout RevenueCatState, V2Call) throws(RevenueCatError)
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

    /// Routes a call to the handler of its operation, and returns the response.
    static func respond(
        _ state: inout RevenueCatState,
        to request: HTTPMessage.Request,
        _ path: [String],
        at now: Instant
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let (matchedOperation, values) = table.findOperation(request.method, path) else {
            guard table.isKnown(path) else { throw .missingResource("resource") }
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "\(request.method) is not described for this resource."
            )
        }
        if let project = values["project_id"] {
            let settings = state.settings
            let isKnown = project == settings.project || settings.knowsItsProjectAlone != true
            guard isKnown else { throw .missingResource("project") }
        }
        guard let operation = matchedOperation else {
            throw RevenueCatError(
                v2: 403,
                "authorization_error",
                "The API key has no permission for this resource."
            )
        }
        var body = JSONObject()
        if request.method == "POST", !request.body.isEmpty {
            guard let object = request.jsonObject().object else {
                throw RevenueCatError(v2: 400, "invalid_request", "The body is no JSON object.")
            }
            body = object
        }
        let call = V2Call(request: request, values: values, body: body, now: now)
        return try operation.handle(&state, call)
    }
}
