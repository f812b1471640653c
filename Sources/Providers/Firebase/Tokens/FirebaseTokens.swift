internal import Values

/// Functions that issue and read the tokens of users (Firebase fact sheet, sections 4 and 6).
extension FirebaseState {
    static let tokenLifetimeSeconds: Int64 = 3600
    static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    /// The names of token claims that neither an account nor a custom token may set.
    static let reservedClaims: Set<String> = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase",
        "iat", "iss", "jti", "nbf", "nonce", "sub",
    ]

    /// The contents of a valid ID token, with the user who owns the token.
    struct SignInSession: Sendable {
        let user: FirebaseUser
        let signInProvider: String
        let authTime: Int64
        let extraClaims: JSONObject
        let claims: JSONObject
        var secondFactor: SecondFactor.Proof?
    }

    // MARK: Issuing

    /// Issues an ID token and a refresh token for a user, and records the time of issue in the
    /// user's account.
    ///
    /// `authTime` is the time of the sign-in in seconds since 1970. The default is the user's last
    /// login.
    mutating func tokens(
        for user: FirebaseUser,
        provider: String,
        extraClaims: JSONObject = JSONObject(),
        authTime: Int64? = nil,
        secondFactor: SecondFactor.Proof? = nil,
        _ call: FirebaseCall
    ) -> JSONObject {
        var user = user
        user.lastRefresh = call.now
        editProject(call) { $0.save(user) }
        let authTime = authTime ?? user.lastLogin?.seconds ?? call.now.seconds
        let idToken = WebToken.text(
            claims(
                of: user,
                provider: provider,
                extraClaims,
                authTime: authTime,
                secondFactor,
                call
            ),
            key: signingKey(at: call.now)
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
            "expiresIn": .string(String(Self.tokenLifetimeSeconds)),
        ]
    }

    private func claims(
        of user: FirebaseUser,
        provider: String,
        _ extraClaims: JSONObject,
        authTime: Int64,
        _ secondFactor: SecondFactor.Proof?,
        _ call: FirebaseCall
    ) -> JSONObject {
        var claims = JSONObject()
        for member in user.claims.members + extraClaims.members
        where !Self.reservedClaims.contains(member.key) {
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
        var identities = JSONObject()
        if let email = user.email { identities["email"] = .strings([email]) }
        if let phone = user.phoneNumber { identities["phone"] = .strings([phone]) }
        for account in user.federated {
            let known = identities[account.providerID]?.array ?? []
            identities[account.providerID] = .array(known + [.string(account.rawID)])
        }
        var firebaseClaims: JSONObject = [
            "identities": .object(identities), "sign_in_provider": .string(provider),
        ]
        if let tenant = call.tenantID { firebaseClaims["tenant"] = .string(tenant) }
        if let secondFactor {
            firebaseClaims["sign_in_second_factor"] = .string(secondFactor.kind)
            firebaseClaims["second_factor_identifier"] = .string(secondFactor.id)
        }
        claims["firebase"] = .object(firebaseClaims)
        claims["iat"] = .integer(call.now.seconds)
        claims["exp"] = .integer(call.now.seconds + Self.tokenLifetimeSeconds)
        claims["aud"] = .string(call.projectID)
        claims["iss"] = .string("https://securetoken.google.com/" + call.projectID)
        claims["sub"] = .string(user.localID)
        return claims
    }

    // MARK: Reading

    /// Checks the `idToken` of a call and returns its session.
    ///
    /// Section 4 of the Firebase fact sheet defines the checks and their order.
    func session(_ call: FirebaseCall) throws(FirebaseError) -> SignInSession {
        try session(call.fields["idToken"] ?? "", call)
    }

    func session(_ text: String, _ call: FirebaseCall) throws(FirebaseError) -> SignInSession {
        guard let token = WebToken(text) else { throw FirebaseError("INVALID_ID_TOKEN") }
        if settings.verifiesIDTokens { try verifyToken(token, call) }
        let firebaseClaims = token.claims["firebase"]?.object
        guard firebaseClaims?["tenant"]?.string == call.tenantID else {
            throw FirebaseError("TENANT_ID_MISMATCH")
        }
        // A caller can put any number into an unsigned token, even one that is not a valid date.
        guard let authTime = RequestDate(seconds: token.claims["auth_time"]?.int64 ?? 0) else {
            throw FirebaseError("INVALID_ID_TOKEN")
        }
        let id = token.claims["user_id"]?.string ?? ""
        guard let user = projects[call.key]?.users[id] else {
            throw FirebaseError("USER_NOT_FOUND")
        }
        if let validSince = user.validSince, (token.claims["iat"]?.int64 ?? 0) < validSince {
            throw FirebaseError("TOKEN_EXPIRED")
        }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        let known: Set = [
            "name", "picture", "email", "email_verified", "phone_number", "provider_id", "user_id",
        ]
        let extraClaims = token.claims.members.filter {
            !Self.reservedClaims.contains($0.key) && !known.contains($0.key)
                && user.claims[$0.key] == nil
        }
        return SignInSession(
            user: user,
            signInProvider: firebaseClaims?["sign_in_provider"]?.string ?? "custom",
            authTime: authTime.instant.seconds,
            extraClaims: JSONObject(members: extraClaims),
            claims: token.claims,
            secondFactor: SecondFactor.Proof(
                id: firebaseClaims?["second_factor_identifier"]?.string,
                kind: firebaseClaims?["sign_in_second_factor"]?.string
            )
        )
    }

    private func verifyToken(_ token: WebToken, _ call: FirebaseCall) throws(FirebaseError) {
        let issuer = "https://securetoken.google.com/" + call.projectID
        guard token.claims["aud"]?.string == call.projectID,
            token.claims["iss"]?.string == issuer
        else { throw FirebaseError("INVALID_ID_TOKEN") }
        if settings.tokens == .rs256 {
            guard token.header["alg"] == "RS256",
                let key = keys.first(where: { $0.keyID == token.header["kid"]?.string }),
                key.verifies(token.signature, of: token.signedText)
            else { throw FirebaseError("INVALID_ID_TOKEN") }
        }
        guard (token.claims["exp"]?.int64 ?? 0) > call.now.seconds else {
            throw FirebaseError("TOKEN_EXPIRED")
        }
    }

    /// Refuses a sensitive change when the user's sign-in was too long ago, if the switch
    /// `recentSignInSeconds` is set.
    func requireRecentSignIn(_ session: SignInSession, _ call: FirebaseCall) throws(FirebaseError) {
        guard let limitSeconds = settings.recentSignInSeconds else { return }
        guard call.now.seconds - session.authTime <= limitSeconds else {
            throw FirebaseError("CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        }
    }

    // MARK: Token endpoint, section 4.13

    mutating func refresh(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let refreshTokenText = call.fields.nonEmptyText("refreshToken")
        let token = refreshTokenText.flatMap { Base64.bytes($0) }.flatMap {
            try? JSONValue(parsing: $0)
        }
        // A refresh token that cannot be decoded is reported before the grant type is checked.
        if refreshTokenText != nil, token?["_fakeRefreshToken"] == nil {
            throw FirebaseError("INVALID_REFRESH_TOKEN")
        }
        let grantType = try call.fields.requiredText("grantType", "MISSING_GRANT_TYPE")
        guard grantType == "refresh_token" else { throw FirebaseError("INVALID_GRANT_TYPE") }
        guard let token, let id = token["localId"]?.string else {
            throw FirebaseError("MISSING_REFRESH_TOKEN")
        }
        guard let project = token["projectId"]?.string else {
            throw FirebaseError("INVALID_REFRESH_TOKEN")
        }
        let authTime = token["authTime"]?.int64
        guard authTime.map({ RequestDate(seconds: $0) != nil }) ?? true else {
            throw FirebaseError("INVALID_REFRESH_TOKEN")
        }
        let call = FirebaseCall(
            isAdmin: false,
            projectID: project,
            tenantID: token["tenantId"]?.string,
            fields: call.fields,
            query: call.query,
            host: call.host,
            now: call.now
        )
        // The tenant comes from the refresh token, not from the request.
        try checkTenant(call)
        guard let user = projects[call.key]?.users[id] else {
            throw FirebaseError(
                settings.tellsDeletedUsers ? "USER_NOT_FOUND" : "INVALID_REFRESH_TOKEN"
            )
        }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        if settings.revokesRefreshTokens, let validSince = user.validSince,
            (token["issued"]?.int64 ?? 0) < validSince
        {
            throw FirebaseError("TOKEN_EXPIRED")
        }
        let tokenFields = tokens(
            for: user,
            provider: token["provider"]?.string ?? "custom",
            extraClaims: token["extraClaims"]?.object ?? JSONObject(),
            authTime: authTime,
            secondFactor: SecondFactor.Proof(
                id: token["secondFactor"]?.array?.first?.string,
                kind: token["secondFactor"]?.array?.last?.string
            ),
            call
        )
        return [
            "id_token": tokenFields["idToken"] ?? "", "access_token": tokenFields["idToken"] ?? "",
            "expires_in": tokenFields["expiresIn"] ?? "",
            "refresh_token": tokenFields["refreshToken"] ?? "",
            "token_type": "Bearer", "user_id": .string(id),
            "project_id": .string(Self.projectNumber),
        ]
    }

    // MARK: Session cookies, section 4.14

    mutating func createSessionCookie(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let text = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let seconds =
            call.fields.hasValue("validDuration") ? call.fields.int("validDuration") : 1_209_600
        guard let seconds, (300...1_209_600).contains(seconds) else {
            throw FirebaseError("INVALID_DURATION")
        }
        var claims = try session(text, call).claims
        claims["iat"] = .integer(call.now.seconds)
        claims["exp"] = .integer(call.now.seconds + seconds)
        claims["iss"] = .string("https://session.firebase.google.com/" + call.projectID)
        return ["sessionCookie": .string(WebToken.text(claims, key: cookieKey(at: call.now)))]
    }
}
