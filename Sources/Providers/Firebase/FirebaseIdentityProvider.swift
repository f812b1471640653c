internal import Values

/// Sign-in with an identity provider such as Google, and linking of its account to a user (Firebase
/// fact sheet, section 4.3).
extension FirebaseState {
    /// The statement of an identity provider about a user who signs in.
    private struct ProviderAssertion {
        let providerID: String
        let rawID: String
        let email: String?
        let isEmailVerified: Bool
        let claims: JSONObject
        let idToken: String
        let accessToken: String?

        func claim(_ name: String) -> String? { claims[name]?.string }

        var provider: FirebaseUser.Provider {
            FirebaseUser.Provider(
                providerID: providerID,
                rawID: rawID,
                email: email,
                displayName: claim("name"),
                photoURL: claim("picture"),
                screenName: claim("screen_name")
            )
        }

        /// The ID of the user's account at the identity provider, in the provider's own format.
        var federatedUserID: String {
            providerID == "google.com" ? "https://accounts.google.com/\(rawID)" : rawID
        }

        /// The response members that describe the user at the identity provider, without those that
        /// depend on the Firebase account.
        var responseFields: [(String, JSONValue?)] {
            let profileFields: [(String, JSONValue?)] = [
                ("id", .string(rawID)), ("name", claims["name"]),
                ("given_name", claims["given_name"]), ("family_name", claims["family_name"]),
                ("verified_email", .bool(isEmailVerified)), ("locale", "en"),
                ("email", email.map(JSONValue.string)), ("picture", claims["picture"]),
                (
                    "granted_scopes",
                    .string(
                        "openid https://www.googleapis.com/auth/userinfo.profile"
                            + (email == nil
                                ? "" : " https://www.googleapis.com/auth/userinfo.email")
                    )
                ),
            ]
            return [
                ("kind", "identitytoolkit#VerifyAssertionResponse"), ("context", ""),
                ("providerId", .string(providerID)), ("federatedId", .string(federatedUserID)),
                ("email", email.map(JSONValue.string)), ("emailVerified", .bool(isEmailVerified)),
                ("displayName", claims["name"]), ("fullName", claims["name"]),
                ("firstName", claims["given_name"]), ("lastName", claims["family_name"]),
                ("photoUrl", claims["picture"]), ("screenName", claims["screen_name"]),
                (
                    // For Google, the fake creates this member in Google's format. For other
                    // identity providers, it contains the claims as received.
                    "rawUserInfo",
                    .string(
                        providerID == "google.com"
                            ? JSONValue.object(.present(profileFields)).text
                            : JSONValue.object(claims).text
                    )
                ),
                ("oauthIdToken", idToken.isEmpty ? nil : .string(idToken)),
                (
                    "oauthAccessToken",
                    .string(accessToken ?? "FirebaseAuthEmulatorFakeAccessToken_\(providerID)")
                ),
            ]
        }
    }

    mutating func signInWithIdp(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let assertion = try assertion(call)
        if call.fields.nonEmptyText("idToken") != nil { return try linkProvider(assertion, call) }
        if let existingUser = project(call).user(
            withProvider: assertion.providerID,
            rawID: assertion.rawID
        ) {
            var user = existingUser
            Self.replaceProvider(assertion.provider, into: &user)
            return try signIn(user, assertion, call)
        }
        let owner = assertion.email.flatMap { project(call).user(withEmail: $0) }
        if let owner, !project(call).allowsDuplicateEmails {
            guard assertion.isEmailVerified else {
                let providers = owner.federated.map(\.providerID)
                return .present(
                    assertion.responseFields + [
                        ("needConfirmation", true), ("localId", .string(owner.localID)),
                        ("verifiedProvider", .strings(providers)),
                    ]
                )
            }
            return try signIn(
                userWithMergedProfile(owner, by: assertion, call),
                assertion,
                call,
                recycledAccount: owner
            )
        }
        var user = newUser(call)
        if !project(call).allowsDuplicateEmails {
            user.email = assertion.email
            user.emailVerified = assertion.isEmailVerified
        }
        user.displayName = assertion.claim("name")
        user.photoURL = assertion.claim("picture")
        user.screenName = assertion.claim("screen_name")
        Self.replaceProvider(assertion.provider, into: &user)
        return try signIn(user, assertion, call, isNew: true)
    }

    /// Returns the account that already has the assertion's email address, with the changes of a
    /// sign-in through the identity provider.
    ///
    /// The provider has verified the address.
    private func userWithMergedProfile(
        _ owner: FirebaseUser,
        by assertion: ProviderAssertion,
        _ call: FirebaseCall
    ) -> FirebaseUser {
        var user = owner
        if user.emailVerified != true {
            // A different person may have signed up with this address. Remove that person's ways to
            // sign in.
            user.password = nil
            user.salt = nil
            user.phoneNumber = nil
            user.hasEmailLink = false
            user.validSince = call.now.seconds
        }
        user.displayName = assertion.claim("name")
        user.photoURL = assertion.claim("picture")
        user.screenName = assertion.claim("screen_name")
        user.emailVerified = true
        Self.replaceProvider(assertion.provider, into: &user)
        return user
    }

    private static func replaceProvider(
        _ provider: FirebaseUser.Provider,
        into user: inout FirebaseUser
    ) {
        user.federated.removeAll { $0.providerID == provider.providerID }
        user.federated.append(provider)
    }

    private mutating func signIn(
        _ user: FirebaseUser,
        _ assertion: ProviderAssertion,
        _ call: FirebaseCall,
        recycledAccount owner: FirebaseUser? = nil,
        isNew: Bool = false,
        sessionToLink session: SignInSession? = nil
    ) throws(FirebaseError) -> JSONObject {
        var user = user
        let previousUser = project(call).users[user.localID]
        user.lastLogin = call.now
        editProject(call) { $0.save(user) }
        // The fake saves the record first, and only then refuses a disabled account.
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        let isAccountRecycled =
            owner?.federated.contains { $0.providerID == assertion.providerID } ?? false
        let tokenFields = signedIn(
            user,
            previousUser: previousUser,
            provider: assertion.providerID,
            sessionToLink: session,
            call
        )
        return .present(
            assertion.responseFields + [
                ("localId", .string(user.localID)), ("isNewUser", isNew ? true : nil),
                ("tenantId", call.tenantID.map(JSONValue.string)),
                ("emailRecycled", isAccountRecycled ? true : nil),
            ] + tokenFields.members.map { ($0.key, $0.value) }
        )
    }

    private mutating func linkProvider(
        _ assertion: ProviderAssertion,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let session = try session(call)
        let owner = assertion.email.flatMap { project(call).user(withEmail: $0) }
        var failureCode: String?
        if project(call).user(withProvider: assertion.providerID, rawID: assertion.rawID) != nil {
            failureCode = "FEDERATED_USER_ID_ALREADY_LINKED"
        } else if !project(call).allowsDuplicateEmails, let owner,
            owner.localID != session.user.localID
        {
            failureCode = "EMAIL_EXISTS"
        }
        if let failureCode {
            guard call.fields.flag("returnIdpCredential") == true else {
                throw FirebaseError(failureCode)
            }
            return .present(assertion.responseFields + [("errorMessage", .string(failureCode))])
        }
        var user = session.user
        if user.email == nil, let email = assertion.email, !project(call).allowsDuplicateEmails {
            user.email = email
            user.emailVerified = assertion.isEmailVerified
        } else if user.email == assertion.email, assertion.isEmailVerified {
            user.emailVerified = true
        }
        Self.replaceProvider(assertion.provider, into: &user)
        return try signIn(user, assertion, call, sessionToLink: session)
    }

    // MARK: Reading the credential

    private func assertion(_ call: FirebaseCall) throws(FirebaseError) -> ProviderAssertion {
        let requestURI = try call.fields.requiredText("requestUri", "MISSING_REQUEST_URI")
        guard Self.isAbsoluteURL(requestURI) else { throw FirebaseError("INVALID_REQUEST_URI") }
        var assertionParameters: [String: String] = [:]
        let fragment = requestURI.split(separator: "#", maxSplits: 1).dropFirst().first ?? ""
        let uriWithoutFragment = requestURI.prefix { $0 != "#" }
        let query = uriWithoutFragment.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        // Values can come from three sources. A later source overrides an earlier one: the query,
        // the body, the fragment.
        for text in [query, Substring(call.fields["postBody"] ?? ""), fragment] {
            for pair in FormText.pairs(text) { assertionParameters[pair.name] = pair.value }
        }
        guard let provider = assertionParameters["providerId"]?.lowercased(), !provider.isEmpty
        else {
            throw FirebaseError(
                "INVALID_CREDENTIAL_OR_PROVIDER_ID",
                "Invalid IdP response/credential: \(requestURI)"
            )
        }
        if let text = assertionParameters["SAMLResponse"], !text.isEmpty {
            return try samlAssertion(text, provider, assertionParameters)
        }
        let (text, name) = try credential(of: provider, assertionParameters)
        let claims: JSONObject
        if text.hasPrefix("{"), let object = (try? JSONValue(parsing: text))?.object {
            claims = object
        } else if !text.hasPrefix("{"), let token = WebToken(text) {
            claims = token.claims
        } else if name == "access_token", !text.hasPrefix("{") {
            throw .notImplemented(
                "The Auth Emulator only supports sign-in with \(provider) using id_token, or JSON "
                    + "in access_token."
            )
        } else {
            throw FirebaseError("INVALID_IDP_RESPONSE", "Unable to parse \(name): \(text)")
        }
        guard let subject = claims["sub"], Self.isTruthy(subject) else {
            throw FirebaseError(
                "INVALID_IDP_RESPONSE",
                "Invalid Idp Response: id_token missing required fields. ((Missing \"sub\" field. "
                    + "This field is required and must be a unique identifier.))"
            )
        }
        guard let rawID = subject.string else {
            throw FirebaseError("INVALID_IDP_RESPONSE", "((The \"sub\" field must be a string.))")
        }
        return ProviderAssertion(
            providerID: provider,
            rawID: rawID,
            email: claims["email"]?.string?.lowercased(),
            isEmailVerified: Self.isTruthy(claims["email_verified"]),
            claims: claims,
            idToken: name == "id_token" ? text : "",
            accessToken: assertionParameters["access_token"]
        )
    }

    /// Returns the credential that the identity provider issued, with its name: an ID token or an
    /// access token.
    ///
    /// For a provider without ID tokens, the caller sends JSON that describes a user in place of
    /// the access token (Firebase fact sheet, section 4.3).
    private func credential(
        of provider: String,
        _ assertionParameters: [String: String]
    ) throws(FirebaseError) -> (text: String, name: String) {
        if let text = assertionParameters["id_token"], !text.isEmpty { return (text, "id_token") }
        guard let text = assertionParameters["access_token"], !text.isEmpty else {
            throw .notImplemented(
                "The Auth Emulator only supports sign-in with credentials (id_token required)."
            )
        }
        guard !["google.com", "apple.com"].contains(provider) else {
            throw .notImplemented(
                "The Auth Emulator only supports sign-in with \(provider) using id_token, not "
                    + "access_token. Please update your code to use id_token."
            )
        }
        return (text, "access_token")
    }

    /// Reads a SAML assertion.
    ///
    /// A caller of the fake sends `{"assertion": {"subject": {"nameId": …}}}` in place of a signed
    /// SAML document.
    private func samlAssertion(
        _ text: String,
        _ provider: String,
        _ assertionParameters: [String: String]
    ) throws(FirebaseError) -> ProviderAssertion {
        let value = try? JSONValue(parsing: text)
        guard let name = value?["assertion"]?["subject"]?["nameId"]?.string, !name.isEmpty else {
            throw FirebaseError("INVALID_IDP_RESPONSE", "Unable to parse SAMLResponse: \(text)")
        }
        let isEmail = Self.isEmail(name)
        var claims: JSONObject = ["sub": .string(name)]
        if isEmail {
            claims["email"] = .string(name)
            claims["email_verified"] = true
        }
        let attributes = value?["assertion"]?["attributeStatements"]?.object ?? JSONObject()
        for member in attributes.members where claims[member.key] == nil {
            claims[member.key] = member.value
        }
        return ProviderAssertion(
            providerID: provider,
            rawID: name,
            email: isEmail ? name.lowercased() : nil,
            isEmailVerified: isEmail,
            claims: claims,
            idToken: "",
            accessToken: assertionParameters["access_token"]
        )
    }

    private static func isTruthy(_ value: JSONValue?) -> Bool {
        switch value {
        case .bool(let flag): flag
        case .string(let text): !text.isEmpty
        case .number(let number): number.double != 0
        case .array, .object: true
        case .null, nil: false
        }
    }

    /// Returns whether a string is an absolute URL: a scheme, a colon, and a rest of more than two
    /// characters.
    static func isAbsoluteURL(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return false }
        let scheme = text[..<colon]
        return scheme.first?.isLetter == true
            && scheme.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
            }
            && text[text.index(after: colon)...].count > 2
    }
}
