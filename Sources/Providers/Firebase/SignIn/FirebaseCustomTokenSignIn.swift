internal import Values

/// The sign-in with a custom token of the backend (Firebase fact sheet, section 4.4).
enum FirebaseCustomTokenSignIn {
    static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    static func signIn(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let text = try call.fields.requiredText("token", "MISSING_CUSTOM_TOKEN")
        let claims: JSONObject
        if text.hasPrefix("{") {
            guard let object = JSONValue(ifValid: text)?.object else {
                throw FirebaseError(
                    "INVALID_CUSTOM_TOKEN",
                    "((Auth Emulator only accepts strict "
                        + "JSON or JWTs as fake custom tokens.))"
                )
            }
            claims = object
        } else {
            guard let token = WebToken(text) else {
                throw FirebaseError("INVALID_CUSTOM_TOKEN", "Invalid assertion format")
            }
            let audience = token.claims["aud"]?.string ?? ""
            guard audience == customTokenAudience else {
                throw FirebaseError(
                    "INVALID_CUSTOM_TOKEN",
                    "((Invalid aud (audience): \(audience) Note: Firebase ID Tokens / third-party "
                        + "tokens cannot be used with signInWithCustomToken.))"
                )
            }
            claims = token.claims
        }
        let tenant = claims["tenant_id"]?.string ?? claims["tenantId"]?.string
        guard tenant == nil || tenant == call.tenantID else {
            throw FirebaseError("TENANT_ID_MISMATCH")
        }
        let id = [claims["uid"], claims["user_id"]].compactMap { $0?.string }.first { !$0.isEmpty }
        guard let id else { throw FirebaseError("MISSING_IDENTIFIER") }
        var extraClaims = JSONObject()
        if let value = claims["claims"], !value.isNull {
            guard let object = value.object else { throw FirebaseError("INVALID_CLAIMS") }
            if let name = object.keys.first(where: FirebaseClaims.reserved.contains) {
                throw FirebaseError("FORBIDDEN_CLAIM", name)
            }
            extraClaims = object
        }
        let existingRecord = state.project(call).users[id]
        guard existingRecord?.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        var user = existingRecord ?? FirebaseUser(of: call, localID: id, &state.ids)
        user.hasCustomAuth = true
        user.lastLogin = call.now
        let grant = FirebaseTokenGrant(user: user, provider: "custom", extraClaims: extraClaims)
        var responseFields: JSONObject = [
            "kind": "identitytoolkit#VerifyCustomTokenResponse",
            "isNewUser": .bool(existingRecord == nil),
        ]
        for member in grant.issue(&state, call).members {
            responseFields[member.key] = member.value
        }
        return responseFields
    }
}
