internal import Values

/// An error response of RevenueCat's REST v1 or v2 (RevenueCat fact sheet, sections 4.3 and 4.4).
struct RevenueCatError: Error, Hashable, Sendable {
    let response: HTTPMessage.Response

    /// Creates an error in the format of REST v1, with a numeric code and a message.
    init(_ status: Int, _ code: Int64, _ message: String, _ attributes: [JSONValue] = []) {
        var body: JSONObject = ["code": .integer(code), "message": .string(message)]
        if !attributes.isEmpty { body["attribute_errors"] = .array(attributes) }
        response = HTTPMessage.Response(status, json: .object(body))
    }

    /// Creates an error in the format of REST v2, with a type and a message.
    ///
    /// `backoff` is the requested pause in milliseconds.
    init(
        v2 status: Int,
        _ type: String,
        _ message: String,
        param: String? = nil,
        backoff: Int64? = nil
    ) {
        let body = JSONObject.present([
            ("type", .string(type)), ("param", param.map(JSONValue.string)),
            ("message", .string(message)), ("retryable", .bool(status >= 500 || status == 429)),
            (
                "doc_url",
                .string(
                    "https://errors.rev.cat/"
                        + type.split(separator: "_").joined(separator: "-")
                )
            ),
            ("backoff_ms", backoff.map(JSONValue.integer)), ("object", "error"),
        ])
        response = HTTPMessage.Response(status, json: .object(body))
    }

    init(_ response: HTTPMessage.Response) {
        self.response = response
    }

    /// The error for an unknown path of REST v1.
    static let notFound = RevenueCatError(404, 7226, "Not found.")
}

extension RevenueCatError {
    /// Returns the 400 error of REST v2 for an invalid parameter.
    static func invalidParameter(_ text: String, _ name: String) -> RevenueCatError {
        RevenueCatError(v2: 400, "parameter_error", text, param: name)
    }

    /// Returns the 404 error of REST v2 for a resource that does not exist.
    static func missingResource(_ resource: String) -> RevenueCatError {
        RevenueCatError(v2: 404, "resource_missing", "The \(resource) was not found.")
    }

    /// Creates the error of REST v2 for an action that the store model refuses.
    init(v2 refusal: StoreAction.Refusal) {
        self.init(v2: 422, "unprocessable_entity_error", refusal.description)
    }
}
