internal import Values

/// The operation that lists the ways in which a user can sign in (Firebase fact sheet, section 4.11).
enum FirebaseSignInMethods {
    static func createAuthURI(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        if let provider = call.fields.nonEmptyText("providerId") {
            return try authURI(of: provider.lowercased(), &state, call)
        }
        let email = try call.fields.requiredText("identifier", "MISSING_IDENTIFIER").lowercased()
        let continueURI = try call.fields.requiredText("continueUri", "MISSING_CONTINUE_URI")
        guard FirebaseSyntax.isEmail(email) else { throw FirebaseError("INVALID_IDENTIFIER") }
        guard FirebaseSyntax.isAbsoluteURL(continueURI) else {
            throw FirebaseError("INVALID_CONTINUE_URI")
        }
        let session = call.fields.nonEmptyText("sessionId") ?? state.ids.alphanumerics(27)
        var responseFields: JSONObject = [
            "kind": "identitytoolkit#CreateAuthUriResponse", "sessionId": .string(session),
        ]
        guard !state.project(call).configuration.enumerationProtection else {
            return responseFields
        }
        var providers: [String] = []
        var signInMethods: [String] = []
        for user in state.project(call).users.mentioning(email) {
            for provider in user.federated.map(\.providerID) where !providers.contains(provider) {
                providers.append(provider)
                signInMethods.append(provider)
            }
            guard user.email == email else { continue }
            if user.hasPasswordEntry { providers.append("password") }
            if user.password != nil { signInMethods.append("password") }
            if user.hasEmailLink { signInMethods.append("emailLink") }
        }
        responseFields["registered"] = .bool(!providers.isEmpty)
        responseFields["allProviders"] = .strings(providers)
        responseFields["signinMethods"] = .strings(signInMethods)
        return responseFields
    }

    /// The IDs of the identity providers that have a public sign-in page.
    private static let identityProviders: Set = [
        "google.com", "facebook.com", "github.com", "twitter.com", "apple.com", "microsoft.com",
        "yahoo.com", "linkedin.com", "playgames.google.com",
    ]

    /// Returns the URL of the page on which a browser signs in with an identity provider.
    ///
    /// Here it is the page of the Firebase emulator.
    private static func authURI(
        of provider: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let continueURI = try call.fields.requiredText("continueUri", "MISSING_CONTINUE_URI")
        guard FirebaseSyntax.isAbsoluteURL(continueURI) else {
            throw FirebaseError("INVALID_CONTINUE_URI")
        }
        let isCustomProvider = ["oidc.", "saml."].contains(where: provider.hasPrefix)
        guard isCustomProvider || identityProviders.contains(provider) else {
            throw FirebaseError("INVALID_PROVIDER_ID")
        }
        let session = call.fields.nonEmptyText("sessionId") ?? state.ids.alphanumerics(27)
        let page =
            "http://\(call.host)/emulator/auth/handler?providerId=\(provider.percentEncoded)"
            + "&continueUri=\(continueURI.percentEncoded)&sessionId=\(session.percentEncoded)"
        return [
            "kind": "identitytoolkit#CreateAuthUriResponse", "authUri": .string(page),
            "providerId": .string(provider), "sessionId": .string(session),
        ]
    }
}
