internal import Values

/// The statement of an identity provider about a user who signs in.
struct ProviderAssertion {
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
