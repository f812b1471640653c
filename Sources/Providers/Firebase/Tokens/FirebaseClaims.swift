internal import Values

/// The rules for the claims that an account or a custom token adds to ID tokens (Firebase fact
/// sheet, section 6).
enum FirebaseClaims {
    /// The names of token claims that neither an account nor a custom token may set.
    static let reserved: Set<String> = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase",
        "iat", "iss", "jti", "nbf", "nonce", "sub",
    ]

    /// Checks the custom claims of an account, a string of JSON.
    static func check(_ text: String) throws(FirebaseError) {
        guard text.count <= 1000 else { throw FirebaseError("CLAIMS_TOO_LARGE") }
        guard let object = JSONValue(ifValid: text)?.object else {
            throw FirebaseError("INVALID_CLAIMS")
        }
        if let name = object.keys.first(where: reserved.contains) {
            throw FirebaseError("FORBIDDEN_CLAIM", name)
        }
    }
}
