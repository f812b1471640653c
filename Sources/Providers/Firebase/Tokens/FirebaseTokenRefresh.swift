internal import Values

/// The operation of the token endpoint, which exchanges a refresh token for new tokens (Firebase
/// fact sheet, section 4.13).
enum FirebaseTokenRefresh {
    static func refresh(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let token = try refreshToken(call)
        guard let id = token["localId"]?.string else {
            throw FirebaseError("MISSING_REFRESH_TOKEN")
        }
        guard let project = token["projectId"]?.string else {
            throw FirebaseError("INVALID_REFRESH_TOKEN")
        }
        let authTime = token["authTime"]?.int64
        guard authTime.map({ RequestDate(seconds: $0) != nil }) ?? true else {
            throw FirebaseError("INVALID_REFRESH_TOKEN")
        }
        // The tenant comes from the refresh token, not from the request.
        let call = call.inProject(project, tenant: token["tenantId"]?.string)
        try FirebaseTenants.check(state, call)
        guard let user = state.projects[call.key]?.users[id] else {
            throw FirebaseError(
                state.settings.tellsDeletedUsers ? "USER_NOT_FOUND" : "INVALID_REFRESH_TOKEN"
            )
        }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        if state.settings.revokesRefreshTokens, let validSince = user.validSince,
            (token["issued"]?.int64 ?? 0) < validSince
        {
            throw FirebaseError("TOKEN_EXPIRED")
        }
        let grant = FirebaseTokenGrant(
            user: user,
            provider: token["provider"]?.string ?? "custom",
            extraClaims: token["extraClaims"]?.object ?? JSONObject(),
            authTime: authTime,
            secondFactor: SecondFactor.Proof(
                id: token["secondFactor"]?.array?.first?.string,
                kind: token["secondFactor"]?.array?.last?.string
            )
        )
        let tokenFields = grant.issue(&state, call)
        return [
            "id_token": tokenFields["idToken"] ?? "", "access_token": tokenFields["idToken"] ?? "",
            "expires_in": tokenFields["expiresIn"] ?? "",
            "refresh_token": tokenFields["refreshToken"] ?? "",
            "token_type": "Bearer", "user_id": .string(id),
            "project_id": .string(FirebaseState.projectNumber),
        ]
    }

    /// Returns the contents of the refresh token of a call.
    private static func refreshToken(_ call: FirebaseCall) throws(FirebaseError) -> JSONValue {
        let text = call.fields.nonEmptyText("refreshToken")
        let token = text.flatMap { Base64.bytes($0) }.flatMap { JSONValue(ifValid: $0) }
        // A refresh token that cannot be decoded is reported before the grant type is checked.
        if text != nil, token?["_fakeRefreshToken"] == nil {
            throw FirebaseError("INVALID_REFRESH_TOKEN")
        }
        let grantType = try call.fields.requiredText("grantType", "MISSING_GRANT_TYPE")
        guard grantType == "refresh_token" else { throw FirebaseError("INVALID_GRANT_TYPE") }
        guard let token else { throw FirebaseError("MISSING_REFRESH_TOKEN") }
        return token
    }
}
