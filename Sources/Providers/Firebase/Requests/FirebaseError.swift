package import Values

/// An error response of the fake Firebase, in the format of Google's APIs (Firebase fact sheet,
/// sections 2.4 and 5).
package struct FirebaseError: Error, Hashable, Sendable {
    package let status: Int
    package let message: String
    package let reason: String
    /// The member `error.status` of the response.
    ///
    /// Ordinary authentication errors do not have this member.
    package let statusName: String?

    /// Creates an ordinary authentication error: status 400 and a code in capitals.
    ///
    /// If `text` is given, the message continues with ` : ` and this string.
    package init(_ code: String, _ text: String? = nil) {
        status = 400
        message = text.map { "\(code) : \($0)" } ?? code
        reason = "invalid"
        statusName = nil
    }

    package init(status: Int, _ message: String, reason: String, name: String) {
        self.status = status
        self.message = message
        self.reason = reason
        statusName = name
    }

    package static func invalidArgument(_ text: String, reason: String = "invalid") -> FirebaseError
    {
        FirebaseError(
            status: 400,
            "Invalid JSON payload received. \(text)",
            reason: reason,
            name: "INVALID_ARGUMENT"
        )
    }

    package static func notImplemented(_ text: String) -> FirebaseError {
        FirebaseError(status: 501, text, reason: "unimplemented", name: "NOT_IMPLEMENTED")
    }

    package static let notFound = FirebaseError(
        status: 404,
        "Not Found",
        reason: "notFound",
        name: "NOT_FOUND"
    )

    package static let unauthenticated = FirebaseError(
        status: 401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
            + "cookie or other valid authentication credential. See "
            + "https://developers.google.com/identity/sign-in/web/devconsole-project.",
        reason: "authError",
        name: "UNAUTHENTICATED"
    )

    package static let missingAPIKey = FirebaseError(
        status: 403,
        "The request is missing a valid API key.",
        reason: "forbidden",
        name: "PERMISSION_DENIED"
    )

    package static let weakPassword = FirebaseError(
        "WEAK_PASSWORD",
        "Password should be at least 6 characters"
    )

    /// Returns the error for a planned failure with this HTTP status, in Firebase's own format.
    package static func plannedError(_ status: Int) -> FirebaseError {
        switch status {
        case 401: unauthenticated
        case 403: missingAPIKey
        case 404: notFound
        case 429:
            FirebaseError(
                status: 429,
                "QUOTA_EXCEEDED : Exceeded quota.",
                reason: "rateLimitExceeded",
                name: "RESOURCE_EXHAUSTED"
            )
        case 503:
            FirebaseError(
                status: 503,
                "The service is currently unavailable.",
                reason: "backendError",
                name: "UNAVAILABLE"
            )
        default:
            FirebaseError(
                status: status,
                "Internal error encountered.",
                reason: "backendError",
                name: "INTERNAL"
            )
        }
    }

    /// Returns the response for an error code from section 5 of the Firebase fact sheet.
    ///
    /// For some codes, the message continues with ` : ` and more words.
    package static func codedResponse(_ message: String) -> HTTPMessage.Response {
        FirebaseError(message).response
    }

    package var response: HTTPMessage.Response {
        var error: JSONObject = [
            "code": .integer(Int64(status)),
            "message": .string(message),
            "errors": [
                [
                    "message": .string(message), "reason": .string(reason), "domain": "global",
                ]
            ],
        ]
        if let statusName { error["status"] = .string(statusName) }
        return HTTPMessage.Response(status, json: ["error": .object(error)])
    }
}
