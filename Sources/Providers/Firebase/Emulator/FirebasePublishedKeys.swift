internal import Values

/// The endpoints that publish the public keys (Firebase fact sheet, section 7.2).
enum FirebasePublishedKeys {
    /// Returns the response with the public keys that verify tokens, at the same paths as in
    /// production.
    ///
    /// Returns nil for any other path.
    static func response(
        _ segments: [String],
        _ request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response? {
        let accountEmail = "securetoken@system.gserviceaccount.com"
        let requestedKeys: (certificates: Bool, cookies: Bool)
        switch segments {
        case ["robot", "v1", "metadata", "x509", accountEmail]: requestedKeys = (true, false)
        case ["service_accounts", "v1", "jwk", accountEmail],
            ["service_accounts", "v1", "metadata", "jwk", accountEmail]:
            requestedKeys = (false, false)
        case ["identitytoolkit", "v3", "relyingparty", "publicKeys"],
            ["v1", "sessionCookiePublicKeys"]:
            requestedKeys = (segments.count == 4, true)
        default: return nil
        }
        guard request.method == "GET" else { throw .notFound }
        // The first request creates the keys.
        _ = state.currentKeys(at: now)
        let publishedKeys =
            requestedKeys.cookies ? state.keys.cookieKeys : state.keys.tokenKeys
        let body: JSONValue =
            requestedKeys.certificates
            ? .object(
                JSONObject(
                    members: publishedKeys.map {
                        .init(key: $0.keyID, value: .string($0.certificatePEM))
                    }
                )
            ) : ["keys": .array(publishedKeys.map(\.jsonWebKey))]
        let cacheControl =
            "public, max-age=\(state.settings.keySecondsMax), must-revalidate, no-transform"
        return HTTPMessage.Response(
            200,
            json: body,
            fields: [HTTPMessage.Field("Cache-Control", cacheControl)]
        )
    }
}
