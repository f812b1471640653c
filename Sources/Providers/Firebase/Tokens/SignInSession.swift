internal import Values

/// The contents of a valid ID token, with the user who owns the token.
struct SignInSession: Sendable {
    let user: FirebaseUser
    let signInProvider: String
    let authTime: Int64
    let extraClaims: JSONObject
    let claims: JSONObject
    let secondFactor: SecondFactor.Proof?

    /// Checks the `idToken` of a call and reads its session.
    ///
    /// Section 4 of the Firebase fact sheet defines the checks and their order.
    init(of call: FirebaseCall, _ state: FirebaseState) throws(FirebaseError) {
        guard let token = WebToken(call.fields["idToken"] ?? "") else {
            throw FirebaseError("INVALID_ID_TOKEN")
        }
        if state.settings.verifiesIDTokens { try Self.verify(token, state, call) }
        let firebaseClaims = token.claims["firebase"]?.object
        guard firebaseClaims?["tenant"]?.string == call.tenantID else {
            throw FirebaseError("TENANT_ID_MISMATCH")
        }
        // A caller can put any number into an unsigned token, even one that is not a valid date.
        guard let authTime = RequestDate(seconds: token.claims["auth_time"]?.int64 ?? 0) else {
            throw FirebaseError("INVALID_ID_TOKEN")
        }
        let id = token.claims["user_id"]?.string ?? ""
        guard let user = state.projects[call.key]?.users[id] else {
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
            !FirebaseClaims.reserved.contains($0.key) && !known.contains($0.key)
                && user.claims[$0.key] == nil
        }
        self.user = user
        signInProvider = firebaseClaims?["sign_in_provider"]?.string ?? "custom"
        self.authTime = authTime.instant.seconds
        self.extraClaims = JSONObject(members: extraClaims)
        claims = token.claims
        secondFactor = SecondFactor.Proof(
            id: firebaseClaims?["second_factor_identifier"]?.string,
            kind: firebaseClaims?["sign_in_second_factor"]?.string
        )
    }

    private static func verify(
        _ token: WebToken,
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        let issuer = "https://securetoken.google.com/" + call.projectID
        guard token.claims["aud"]?.string == call.projectID,
            token.claims["iss"]?.string == issuer
        else { throw FirebaseError("INVALID_ID_TOKEN") }
        if state.settings.tokens == .rs256 {
            guard token.header["alg"] == "RS256",
                let key = state.keys.tokenKeys.first(where: {
                    $0.keyID == token.header["kid"]?.string
                }),
                key.verifies(token.signature, of: token.signedText)
            else { throw FirebaseError("INVALID_ID_TOKEN") }
        }
        guard (token.claims["exp"]?.int64 ?? 0) > call.now.seconds else {
            throw FirebaseError("TOKEN_EXPIRED")
        }
    }

    /// Refuses a sensitive change when the user's sign-in was too long ago, if the switch
    /// `recentSignInSeconds` is set.
    func requireRecentSignIn(
        _ settings: FirebaseSettings,
        at now: Instant
    ) throws(FirebaseError) {
        guard let limitSeconds = settings.recentSignInSeconds else { return }
        guard now.seconds - authTime <= limitSeconds else {
            throw FirebaseError("CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        }
    }

    /// Creates the grant of new tokens for this session.
    ///
    /// - Parameters:
    ///   - user: The user after the changes of the call.
    ///   - provider: The sign-in provider of the new tokens; nil for that of the session.
    ///   - secondFactor: The second factor that the new tokens contain.
    /// - Returns: The grant.
    func grant(
        to user: FirebaseUser,
        provider: String? = nil,
        secondFactor: SecondFactor.Proof?
    ) -> FirebaseTokenGrant {
        FirebaseTokenGrant(
            user: user,
            provider: provider ?? signInProvider,
            extraClaims: extraClaims,
            authTime: authTime,
            secondFactor: secondFactor
        )
    }
}
