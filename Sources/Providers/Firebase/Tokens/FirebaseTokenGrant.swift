internal import Values

/// The grant of an ID token and a refresh token to a user (Firebase fact sheet, sections 4 and 6).
struct FirebaseTokenGrant: Sendable {
    static let lifetimeSeconds: Int64 = 3600

    let user: FirebaseUser
    /// The sign-in provider, for example `password`.
    let provider: String
    var extraClaims = JSONObject()
    /// The time of the sign-in in seconds since 1970.
    ///
    /// If nil, it is the user's last login.
    var authTime: Int64?
    var secondFactor: SecondFactor.Proof?

    /// Issues the tokens, and records the time of issue in the user's account.
    func issue(_ state: inout FirebaseState, _ call: FirebaseCall) -> JSONObject {
        var user = user
        user.lastRefresh = call.now
        state.editProject(call) { $0.users.save(user) }
        let authTime = authTime ?? user.lastLogin?.seconds ?? call.now.seconds
        let idToken = WebToken.text(
            claims(authTime: authTime, call),
            key: state.keys.tokenKey(state.settings.tokens, at: call.now)
        )
        let refresh: JSONObject = [
            "_fakeRefreshToken": "DO NOT MODIFY", "localId": .string(user.localID),
            "provider": .string(provider), "extraClaims": .object(extraClaims),
            "projectId": .string(call.projectID), "authTime": .integer(authTime),
            "issued": .integer(call.now.seconds),
            "tenantId": call.tenantID.map(JSONValue.string) ?? .null,
            "secondFactor": secondFactor.map { .strings([$0.id, $0.kind]) } ?? .null,
        ]
        return [
            "idToken": .string(idToken),
            // Use the URL-safe alphabet: an unencoded `+` in a form would arrive as a space
            // (Firebase fact sheet, section 6.2).
            "refreshToken": .string(Base64.url(JSONValue.object(refresh).bytes)),
            "expiresIn": .string(String(Self.lifetimeSeconds)),
        ]
    }

    /// Returns the claims of the ID token.
    private func claims(authTime: Int64, _ call: FirebaseCall) -> JSONObject {
        var claims = JSONObject()
        for member in user.claims.members + extraClaims.members
        where !FirebaseClaims.reserved.contains(member.key) {
            claims[member.key] = member.value
        }
        if let name = user.displayName { claims["name"] = .string(name) }
        if let photo = user.photoURL { claims["picture"] = .string(photo) }
        if let email = user.email { claims["email"] = .string(email) }
        if let verified = user.emailVerified { claims["email_verified"] = .bool(verified) }
        if let phone = user.phoneNumber { claims["phone_number"] = .string(phone) }
        if provider == "anonymous" { claims["provider_id"] = "anonymous" }
        claims["auth_time"] = .integer(authTime)
        claims["user_id"] = .string(user.localID)
        var firebaseClaims: JSONObject = [
            "identities": .object(user.identities), "sign_in_provider": .string(provider),
        ]
        if let tenant = call.tenantID { firebaseClaims["tenant"] = .string(tenant) }
        if let secondFactor {
            firebaseClaims["sign_in_second_factor"] = .string(secondFactor.kind)
            firebaseClaims["second_factor_identifier"] = .string(secondFactor.id)
        }
        claims["firebase"] = .object(firebaseClaims)
        claims["iat"] = .integer(call.now.seconds)
        claims["exp"] = .integer(call.now.seconds + Self.lifetimeSeconds)
        claims["aud"] = .string(call.projectID)
        claims["iss"] = .string("https://securetoken.google.com/" + call.projectID)
        claims["sub"] = .string(user.localID)
        return claims
    }
}
