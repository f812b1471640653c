package import Contracts
internal import Grammar
internal import Redaction
package import Values

/// The fake's implementation of RevenueCat's REST v1 (RevenueCat fact sheet, sections 4.1 to 4.3).
extension RevenueCatState {
    enum APIKeyKind { case secret, publicKey, any }

    struct CallV1 {
        let request: HTTPMessage.Request
        let values: PathParameterValues
        /// The App User ID in the call's path; an empty string when the path contains none.
        let appUserID: String
        let body: JSONObject
        let now: Instant
        let usesSecretKey: Bool

        var platform: String? { request[field: "x-platform"] }

        /// Whether the request's API key is the public key of one app in one store.
        var hasAppKey: Bool {
            let sentAuthorization = request.authorization?.credential ?? ""
            return RevenueCatState.publicKeyPrefixes.contains(where: sentAuthorization.hasPrefix)
        }

        /// Returns the value of a path parameter; an empty string when the path has no such
        /// parameter.
        func named(_ name: String) -> String { values[name] ?? "" }
    }

    /// The prefixes of the public API keys that RevenueCat issues to apps.
    static let publicKeyPrefixes = ["appl_", "goog_", "amzn_", "test_", "strp_", "rcb_", "mac_"]

    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        do throws(RevenueCatError) {
            let response = try routedResponse(request, at: now)
            return Reply(response, .documented, of: "revenuecat")
        } catch {
            return Reply(error.response, .inferred, of: "revenuecat")
        }
    }

    /// Returns an error response in the format of the REST version that was called.
    func failureResponse(_ status: Int, isV2: Bool) -> HTTPMessage.Response {
        isV2
            ? RevenueCatError(v2: status, "server_error", "Internal error.").response
            : RevenueCatError(status, 7110, "Internal error.").response
    }

    /// Returns the 429 response of the REST version that was called.
    ///
    /// The body contains the requested pause in milliseconds (RevenueCat fact sheet, sections 4.3
    /// and 4.4). The setting `retryAfterUnit` selects milliseconds or seconds for the header
    /// `Retry-After`.
    func rateLimitedResponse(_ milliseconds: Int64, isV2: Bool) -> HTTPMessage.Response {
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

    private mutating func routedResponse(
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let segments = request.pathSegments, let version = segments.first else {
            throw RevenueCatError(404, 7226, "The request path is not valid.")
        }
        try countCallAgainstRateLimit(request.path, at: now)
        let usesSecretKey = try authorize(request, version)
        advance(to: now)
        if version == "v2" {
            guard usesSecretKey else {
                throw RevenueCatError(v2: 403, "authorization_error", "A secret key is required.")
            }
            return addingRateLimitFields(
                try handleV2Call(request, Array(segments.dropFirst()), at: now),
                max: settings.callsPerMinuteMax ?? 480
            )
        }
        guard version == "v1" else { throw .notFound }
        return addingRateLimitFields(
            try handleV1Call(
                request,
                Array(segments.dropFirst()),
                at: now,
                usesSecretKey: usesSecretKey
            )
        )
    }

    // MARK: Keys and limits

    /// Returns whether the caller has a secret API key; throws when the caller's key is not valid.
    ///
    /// While the fake itself has no key, a caller without the public key of an app counts as a
    /// caller with a secret key.
    private func authorize(
        _ request: HTTPMessage.Request,
        _ version: String
    ) throws(RevenueCatError) -> Bool {
        let sentAuthorization = request.authorization
        let isPublic = Self.publicKeyPrefixes.contains {
            sentAuthorization?.credential.hasPrefix($0) ?? false
        }
        guard let key else { return !isPublic }
        guard let sentAuthorization, sentAuthorization.scheme == "bearer" else {
            throw version == "v2"
                ? RevenueCatError(v2: 401, "authentication_error", "Invalid API key.")
                : RevenueCatError(401, 7224, "Invalid auth token.")
        }
        guard isPublic || sentAuthorization.credential == key.exposed else {
            throw version == "v2"
                ? RevenueCatError(v2: 401, "authentication_error", "Invalid API key.")
                : RevenueCatError(401, 7225, "Invalid API Key.")
        }
        return !isPublic
    }

    func requireKey(_ kind: APIKeyKind, _ call: CallV1) throws(RevenueCatError) {
        switch kind {
        case .any: break
        case .secret:
            guard call.usesSecretKey else { throw RevenueCatError(401, 7225, "Invalid API Key.") }
        case .publicKey:
            let hasSecretKey = call.request.authorization?.credential.hasPrefix("sk_") ?? false
            guard !hasSecretKey else {
                throw RevenueCatError(
                    403,
                    7243,
                    "Secret API keys should not be used in your app."
                )
            }
        }
    }

    private mutating func countCallAgainstRateLimit(_ path: String, at now: Instant)
        throws(RevenueCatError)
    {
        guard let max = settings.callsPerMinuteMax else { return }
        recentCalls.removeAll { now - $0 >= .seconds(60) }
        guard recentCalls.count < max else {
            throw RevenueCatError(rateLimitedResponse(1000, isV2: path.hasPrefix("/v2/")))
        }
        recentCalls.append(now)
    }

    private func addingRateLimitFields(
        _ response: HTTPMessage.Response,
        max: Int? = nil
    ) -> HTTPMessage.Response {
        guard let max = max ?? settings.callsPerMinuteMax else { return response }
        var response = response
        response.fields.append(
            HTTPMessage.Field(
                "RevenueCat-Rate-Limit-Current-Usage",
                String(recentCalls.isEmpty ? 1 : recentCalls.count)
            )
        )
        response.fields.append(
            HTTPMessage.Field("RevenueCat-Rate-Limit-Current-Limit", String(max))
        )
        return response
    }

    // MARK: Routing

    private mutating func handleV1Call(
        _ request: HTTPMessage.Request,
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
        guard let (operation, values) = V1Operation.table.findOperation(request.method, path),
            let operation
        else { throw .notFound }
        var appUserID = ""
        if let id = values["app_user_id"] { appUserID = try Self.validAppUserID(id) }
        let call = CallV1(
            request: request,
            values: values,
            appUserID: appUserID,
            body: body,
            now: now,
            usesSecretKey: usesSecretKey
        )
        return try operation.handle(&self, call)
    }

    static func validAppUserID(_ id: String) throws(RevenueCatError) -> String {
        guard !id.isEmpty else { throw RevenueCatError(400, 7220, "The App User ID is empty.") }
        guard !AppUserID.isBlocked(id), !id.contains("/"), id.utf8.count <= 1500 else {
            throw RevenueCatError(400, 7256, "The App User ID is not valid.")
        }
        return id
    }

    mutating func customerInfo(
        _ number: Int,
        _ status: Int,
        _ call: CallV1,
        extra: JSONObject = JSONObject()
    ) -> HTTPMessage.Response {
        guard let customer = laggedCustomer(number, at: call.now) ?? customers[number] else {
            return RevenueCatError(404, 7259, "Subscriber not found.").response
        }
        var body =
            customer.customerInfo(at: call.now, showsAttributes: call.usesSecretKey).object
            ?? JSONObject()
        for member in extra.members { body[member.key] = member.value }
        return HTTPMessage.Response(status, json: .object(body))
    }
}
