package import Values

/// An error response of OneSignal, in one of the service's four formats (OneSignal fact sheet,
/// section 2).
package struct OneSignalError: Error, Hashable, Sendable {
    package let response: HTTPMessage.Response
    package let confidence: Reply.Confidence

    private init(_ response: HTTPMessage.Response, _ confidence: Reply.Confidence) {
        self.response = response
        self.confidence = confidence
    }

    package init(
        _ status: Int,
        _ messages: String...,
        confidence: Reply.Confidence = .documented,
        fields: [HTTPMessage.Field] = []
    ) {
        self.init(
            HTTPMessage.Response(status, json: ["errors": .strings(messages)], fields: fields),
            confidence
        )
    }

    /// Creates an error in the format of the user model API: `errors` is a list of objects.
    package init(
        _ status: Int,
        code: String? = nil,
        title: String,
        meta: JSONObject? = nil,
        confidence: Reply.Confidence = .captured
    ) {
        let error = JSONObject.present([
            ("code", code.map(JSONValue.string)), ("title", .string(title)),
            ("meta", meta.map(JSONValue.object)),
        ])
        self.init(
            HTTPMessage.Response(status, json: ["errors": [.object(error)]]),
            confidence
        )
    }

    /// The error for a wrong API key.
    ///
    /// Its text contains two spaces after the full stop, as published.
    package static let accessDenied = OneSignalError(
        403,
        "Access denied.  Please include an 'Authorization: ...' header with a valid API key "
            + "(https://documentation.onesignal.com/docs/en/keys-and-ids#api-keys)."
    )

    /// The error for custom events that are sent without an API key.
    ///
    /// Its text is the one of the other errors for missing permission.
    package static let missingAPIKey = OneSignalError(
        401,
        "Access denied.  Please include an 'Authorization: ...' header with a valid API key "
            + "(https://documentation.onesignal.com/docs/en/keys-and-ids#api-keys).",
        confidence: .inferred
    )

    /// The error for a wrong API key at the legacy host of OneSignal.
    package static let legacyAccessDenied = OneSignalError(
        HTTPMessage.Response(
            400,
            json: [
                "errors": [
                    .string(
                        "Please include a case-sensitive header of Authorization: Basic "
                            + "<YOUR-REST-API-KEY-HERE> or Bearer "
                            + "token=\"<YOUR-REST-API-KEY-HERE>\" with a valid REST API key."
                    )
                ],
                "reference": [
                    "https://documentation.onesignal.com/docs/accounts-and-keys#section-keys-ids"
                ],
            ]
        ),
        .captured
    )

    package static let notFound = OneSignalError(404, "Not found", confidence: .inferred)
    package static let userNotFound = OneSignalError(
        404,
        code: "user-1",
        title: "User not found",
        confidence: .inferred
    )
    package static let subscriptionNotFound = OneSignalError(
        404,
        title: "Subscription not found",
        confidence: .inferred
    )
    package static let notificationNotFound = OneSignalError(404, "Notification not found")
    package static let playerNotFound = OneSignalError(
        404,
        "No user with this id found",
        confidence: .inferred
    )
    package static let invalidApp = OneSignalError(
        400,
        "app_id must be a valid UUID",
        confidence: .captured
    )
    package static let noRecipients = OneSignalError(
        400,
        "You must include which players, segments, or tags you wish to send this notification to."
    )
    package static let tooManyTags = OneSignalError(
        400,
        "Please limit your tag updates to 100 per request"
    )
    package static let tagLimitExceeded = OneSignalError(
        409,
        code: "entitlements-tag-limit",
        title: "The tags for this user exceed the limit for this organization's plan."
    )
    package static let rateLimitExceeded = OneSignalError(
        429,
        "API rate limit exceeded.",
        fields: [HTTPMessage.Field("Retry-After", "1")]
    )

    /// Returns the error for a planned failure with this HTTP status, in OneSignal's own format.
    package static func plannedError(_ status: Int) -> OneSignalError {
        switch status {
        case 403: accessDenied
        case 404: notFound
        case 409: tagLimitExceeded
        case 429: rateLimitExceeded
        case 503: OneSignalError(503, "Service temporarily unavailable")
        case 400..<500: OneSignalError(status, "Bad request", confidence: .inferred)
        default: OneSignalError(status, "Internal error", confidence: .inferred)
        }
    }
}
