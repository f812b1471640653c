internal import Crypto
package import Values

/// A factory for the ID tokens that an app would hold, and for the forged tokens that a backend
/// must refuse.
///
/// Source: Firebase fact sheet, sections 6 and 7.
package struct TokenForge: Sendable {
    package let project: String
    /// The key that signs ID tokens.
    ///
    /// If nil, tokens are unsigned, as in the Firebase emulator.
    package let key: SigningKey?
    package let cookieKey: SigningKey?
    /// A key for forged signatures.
    ///
    /// It was never published.
    package var unpublishedKey: SigningKey?
    /// A key that was published in the past and is now withdrawn.
    package let withdrawnKey: SigningKey?

    package init(
        project: String,
        key: SigningKey?,
        cookieKey: SigningKey?,
        unpublishedKey: SigningKey?,
        withdrawnKey: SigningKey?
    ) {
        self.project = project
        self.key = key
        self.cookieKey = cookieKey
        self.unpublishedKey = unpublishedKey
        self.withdrawnKey = withdrawnKey
    }

    /// Returns the token that the caller sends in `Authorization: Bearer`; nil when the caller
    /// sends no token.
    ///
    /// The placeholders in the claims of `spec` have already been replaced.
    package func text(_ spec: TokenSpec, user: String, at now: Instant) -> String? {
        if let raw = spec.raw { return raw }
        guard spec.kind != .missing else { return nil }
        var claims = claims(spec.kind, user: user, at: now)
        for (name, value) in spec.claims.sorted(by: { $0.key < $1.key }) {
            claims[name] = value
        }
        let key = spec.kind == .sessionCookie && spec.signing != .idTokenKey ? cookieKey : key
        switch spec.signing {
        case .genuine, .idTokenKey: return WebToken.text(claims, key: key)
        case .none: return WebToken.text(claims, key: nil)
        case .unknownKey: return WebToken.text(claims, key: unpublishedKey)
        case .withdrawnKey: return WebToken.text(claims, key: withdrawnKey)
        case .borrowedKeyID:
            guard let key, let unpublishedKey else { return WebToken.text(claims, key: nil) }
            let header: JSONObject = ["alg": "RS256", "kid": .string(key.keyID), "typ": "JWT"]
            return signedToken(header, claims) { unpublishedKey.signature(of: $0) ?? [] }
        case .certificateAsSecret:
            guard let key else { return WebToken.text(claims, key: nil) }
            let header: JSONObject = ["alg": "HS256", "kid": .string(key.keyID), "typ": "JWT"]
            return signedToken(header, claims) { message in
                Array(
                    HMAC<SHA256>.authenticationCode(
                        for: Array(message.utf8),
                        using: SymmetricKey(data: Array(key.certificatePEM.utf8))
                    )
                )
            }
        case .illegible:
            // The `*` replaces one character. A decoder that skips the invalid `*` therefore
            // decodes a token that lacks one character.
            let text = WebToken.text(claims, key: key)
            return text.dropLast(8) + "*" + text.suffix(7)
        case .damaged:
            guard let key else { return WebToken.text(claims, key: nil) + "x" }
            let header: JSONObject = ["alg": "RS256", "kid": .string(key.keyID), "typ": "JWT"]
            return signedToken(header, claims) { message in
                var signature = key.signature(of: message) ?? []
                if let last = signature.indices.last { signature[last] ^= 1 }
                return signature
            }
        }
    }

    private func signedToken(
        _ header: JSONObject,
        _ claims: JSONObject,
        _ sign: (String) -> [UInt8]
    ) -> String {
        let message =
            Base64.url(JSONValue.object(header).bytes) + "."
            + Base64.url(JSONValue.object(claims).bytes)
        return message + "." + Base64.url(sign(message))
    }

    /// The age of a token when it is used for the first time, in seconds.
    ///
    /// A backend whose clock is slightly behind therefore does not reject it as a token from the
    /// future.
    static let tokenAgeSeconds: Int64 = 60

    private func claims(_ kind: TokenSpec.Kind, user: String, at now: Instant) -> JSONObject {
        let issuedAtSeconds = now.seconds - Self.tokenAgeSeconds
        var claims: JSONObject = [
            "iss": .string("https://securetoken.google.com/" + project), "aud": .string(project),
            "sub": .string(user), "user_id": .string(user), "iat": .integer(issuedAtSeconds),
            "auth_time": .integer(issuedAtSeconds), "exp": .integer(issuedAtSeconds + 3600),
            "email": .string(user.prefix(40) + "@example.com"), "email_verified": true,
            "firebase": [
                "identities": ["email": [.string(user.prefix(40) + "@example.com")]],
                "sign_in_provider": "password",
            ],
        ]
        switch kind {
        case .idToken, .missing: break
        case .sessionCookie:
            claims["iss"] = .string("https://session.firebase.google.com/" + project)
        case .customToken:
            let serviceAccount = JSONValue.string(
                "firebase-adminsdk@\(project).iam.gserviceaccount.com"
            )
            claims = [
                "iss": serviceAccount, "sub": serviceAccount,
                "aud": .string(FirebaseCustomTokenSignIn.customTokenAudience), "uid": .string(user),
                "iat": .integer(issuedAtSeconds), "exp": .integer(issuedAtSeconds + 3600),
            ]
        case .namesakeProject:
            claims["iss"] = .string("https://securetoken.google.com/\(project)-staging")
            claims["aud"] = .string(project + "-staging")
        case .google:
            claims["iss"] = "https://accounts.google.com"
            claims["aud"] = "a55a4.apps.googleusercontent.com"
        }
        return claims
    }
}
