internal import Values

/// A call of REST v1, with the values of its path parameters and its body.
struct V1Call {
    enum APIKeyKind { case secret, publicKey }

    private static let platforms: Set<String> = [
        "ios", "android", "amazon", "macos", "uikitformac", "stripe", "roku", "paddle",
    ]

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
        RevenueCatREST.isPublicKey(request.authorization?.credential ?? "")
    }

    /// Returns the value of a path parameter; an empty string when the path has no such
    /// parameter.
    func named(_ name: String) -> String { values[name] ?? "" }

    /// Returns a date from a member of the request body that contains milliseconds; nil when the
    /// member is missing.
    func time(
        _ name: String
    ) throws(StoreAction.Refusal) -> Instant? {
        guard let milliseconds = body[name]?.int64 else { return nil }
        guard let requestedTime = RequestDate(milliseconds: milliseconds) else {
            throw StoreAction.Refusal("\(name) must lie within \(RequestDate.acceptedRangeText).")
        }
        return requestedTime.instant
    }

    // MARK: Preconditions

    func requireKey(_ kind: APIKeyKind) throws(RevenueCatError) {
        switch kind {
        case .secret:
            guard usesSecretKey else { throw RevenueCatError(401, 7225, "Invalid API Key.") }
        case .publicKey:
            let hasSecretKey = request.authorization?.credential.hasPrefix("sk_") ?? false
            guard !hasSecretKey else {
                throw RevenueCatError(
                    403,
                    7243,
                    "Secret API keys should not be used in your app."
                )
            }
        }
    }

    func requirePlatform() throws(RevenueCatError) {
        guard let platform, Self.platforms.contains(platform.lowercased()) else {
            throw RevenueCatError(400, 7000, "Invalid platform.")
        }
    }

    /// Returns the App User ID unless it is not valid.
    static func validAppUserID(_ id: String) throws(RevenueCatError) -> String {
        guard !id.isEmpty else { throw RevenueCatError(400, 7220, "The App User ID is empty.") }
        guard !AppUserID.isBlocked(id), !id.contains("/"), id.utf8.count <= 1500 else {
            throw RevenueCatError(400, 7256, "The App User ID is not valid.")
        }
        return id
    }
}
