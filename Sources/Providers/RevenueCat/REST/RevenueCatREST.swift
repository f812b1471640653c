internal import Redaction
internal import Values

/// The fake's implementation of RevenueCat's REST API: routing, API keys, and the limit on the
/// number of calls (RevenueCat fact sheet, sections 4.1 to 4.4).
///
/// Both versions use the same customers and purchases as webhooks and devices.
enum RevenueCatREST {
    /// The prefixes of the public API keys that RevenueCat issues to apps.
    private static let publicKeyPrefixes = [
        "appl_", "goog_", "amzn_", "test_", "strp_", "rcb_", "mac_",
    ]

    /// Whether an API key is the public key of one app in one store.
    static func isPublicKey(_ key: String) -> Bool {
        publicKeyPrefixes.contains(where: key.hasPrefix)
    }

    /// Routes a call to its operation, and returns the response.
    static func respond(
        _ state: inout RevenueCatState,
        to request: HTTPMessage.Request,
        at now: Instant
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let segments = request.pathSegments, let version = segments.first else {
            throw RevenueCatError(404, 7226, "The request path is not valid.")
        }
        if let max = state.settings.callsPerMinuteMax,
            !state.callLimit.admitCall(at: now, max: max)
        {
            let isV2 = request.path.hasPrefix("/v2/")
            throw RevenueCatError(rateLimitedResponse(1000, isV2: isV2, state.settings))
        }
        let usesSecretKey = try authorize(request, version, requiredKey: state.key)
        state.advance(to: now)
        let path = Array(segments.dropFirst())
        if version == "v2" {
            guard usesSecretKey else {
                throw RevenueCatError(v2: 403, "authorization_error", "A secret key is required.")
            }
            let response = try V2Operation.respond(&state, to: request, path, at: now)
            return addingRateLimitFields(
                response,
                state.callLimit,
                max: state.settings.callsPerMinuteMax ?? 480
            )
        }
        guard version == "v1" else { throw .notFound }
        let response = try V1Operation.respond(
            &state,
            to: request,
            path,
            at: now,
            usesSecretKey: usesSecretKey
        )
        guard let max = state.settings.callsPerMinuteMax else { return response }
        return addingRateLimitFields(response, state.callLimit, max: max)
    }

    // MARK: Keys and limits

    /// Returns whether the caller has a secret API key; throws when the caller's key is not valid.
    ///
    /// While the fake itself has no key, a caller without the public key of an app counts as a
    /// caller with a secret key.
    private static func authorize(
        _ request: HTTPMessage.Request,
        _ version: String,
        requiredKey: Secret?
    ) throws(RevenueCatError) -> Bool {
        let sentAuthorization = request.authorization
        let isPublic = isPublicKey(sentAuthorization?.credential ?? "")
        guard let requiredKey else { return !isPublic }
        guard let sentAuthorization, sentAuthorization.scheme == "bearer" else {
            throw version == "v2"
                ? RevenueCatError(v2: 401, "authentication_error", "Invalid API key.")
                : RevenueCatError(401, 7224, "Invalid auth token.")
        }
        guard isPublic || sentAuthorization.credential == requiredKey.exposed else {
            throw version == "v2"
                ? RevenueCatError(v2: 401, "authentication_error", "Invalid API key.")
                : RevenueCatError(401, 7225, "Invalid API Key.")
        }
        return !isPublic
    }

    private static func addingRateLimitFields(
        _ response: HTTPMessage.Response,
        _ limit: CallRateLimit,
        max: Int
    ) -> HTTPMessage.Response {
        var response = response
        response.fields += [
            HTTPMessage.Field("RevenueCat-Rate-Limit-Current-Usage", String(limit.currentUsage)),
            HTTPMessage.Field("RevenueCat-Rate-Limit-Current-Limit", String(max)),
        ]
        return response
    }

    // MARK: Failures

    /// Returns an error response in the format of the REST version that was called.
    static func failureResponse(_ status: Int, isV2: Bool) -> HTTPMessage.Response {
        isV2
            ? RevenueCatError(v2: status, "server_error", "Internal error.").response
            : RevenueCatError(status, 7110, "Internal error.").response
    }

    /// Returns the 429 response of the REST version that was called.
    ///
    /// The body contains the requested pause in milliseconds (RevenueCat fact sheet, sections 4.3
    /// and 4.4). The setting `retryAfterUnit` selects milliseconds or seconds for the header
    /// `Retry-After`.
    static func rateLimitedResponse(
        _ milliseconds: Int64,
        isV2: Bool,
        _ settings: RevenueCatSettings
    ) -> HTTPMessage.Response {
        let message = "Rate limit exceeded"
        var response =
            isV2
            ? RevenueCatError(v2: 429, "rate_limit_error", message, backoff: milliseconds).response
            : HTTPMessage.Response(
                429,
                json: ["message": .string(message), "backoff_ms": .integer(milliseconds)]
            )
        let retryAfterValue =
            settings.retryAfterUnit == .milliseconds ? milliseconds : milliseconds / 1000
        response.fields.append(HTTPMessage.Field("Retry-After", "\(retryAfterValue)"))
        return response
    }
}
