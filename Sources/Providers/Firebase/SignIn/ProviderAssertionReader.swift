internal import Values

/// Functions that read the credential of an identity provider from a sign-in request (Firebase fact
/// sheet, section 4.3).
extension ProviderAssertion {
    /// Reads the statement of the identity provider from a sign-in call.
    static func read(from call: FirebaseCall) throws(FirebaseError) -> ProviderAssertion {
        let requestURI = try call.fields.requiredText("requestUri", "MISSING_REQUEST_URI")
        guard FirebaseSyntax.isAbsoluteURL(requestURI) else {
            throw FirebaseError("INVALID_REQUEST_URI")
        }
        let assertionParameters = parameters(requestURI, postBody: call.fields["postBody"] ?? "")
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
        if text.hasPrefix("{"), let object = JSONValue(ifValid: text)?.object {
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
        guard let subject = claims["sub"], isTruthy(subject) else {
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
            isEmailVerified: isTruthy(claims["email_verified"]),
            claims: claims,
            idToken: name == "id_token" ? text : "",
            accessToken: assertionParameters["access_token"]
        )
    }

    /// Returns the parameters of a sign-in from its three sources.
    private static func parameters(_ requestURI: String, postBody: String) -> [String: String] {
        var parameters: [String: String] = [:]
        let fragment = requestURI.split(separator: "#", maxSplits: 1).dropFirst().first ?? ""
        let uriWithoutFragment = requestURI.prefix { $0 != "#" }
        let query = uriWithoutFragment.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        // Values can come from three sources. A later source overrides an earlier one: the query,
        // the body, the fragment.
        for text in [query, Substring(postBody), fragment] {
            for pair in FormText.pairs(text) { parameters[pair.name] = pair.value }
        }
        return parameters
    }

    /// Returns the credential that the identity provider issued, with its name: an ID token or an
    /// access token.
    ///
    /// For a provider without ID tokens, the caller sends JSON that describes a user in place of
    /// the access token (Firebase fact sheet, section 4.3).
    private static func credential(
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
    private static func samlAssertion(
        _ text: String,
        _ provider: String,
        _ assertionParameters: [String: String]
    ) throws(FirebaseError) -> ProviderAssertion {
        let value = JSONValue(ifValid: text)
        guard let name = value?["assertion"]?["subject"]?["nameId"]?.string, !name.isEmpty else {
            throw FirebaseError("INVALID_IDP_RESPONSE", "Unable to parse SAMLResponse: \(text)")
        }
        let isEmail = FirebaseSyntax.isEmail(name)
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
}
