package import Values

/// A JSON web token in compact form, signed or unsigned (RFC 7519).
package struct WebToken: Hashable, Sendable {
    package let header: JSONObject
    package let claims: JSONObject
    package let signature: [UInt8]
    /// The part of the token that the signature covers: header and claims.
    package let signedText: String

    /// Decodes a token without verifying its signature; returns nil when the string is not a token.
    package init?(_ text: String) {
        let tokenParts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard tokenParts.count == 3, let head = Self.object(tokenParts[0]),
            let body = Self.object(tokenParts[1]),
            let signature = Base64.bytes(tokenParts[2])
        else { return nil }
        header = head
        claims = body
        self.signature = signature
        signedText = tokenParts[0] + "." + tokenParts[1]
    }

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = Base64.bytes(part),
            let value = JSONValue(
                ifValid: bytes,
                options: .init(depthMax: 64, duplicateKeys: .keep)
            )
        else { return nil }
        return value.object
    }

    /// Encodes a token with these claims.
    ///
    /// Without a key, the token is unsigned and ends in a dot.
    package static func text(_ claims: JSONObject, key: SigningKey?) -> String {
        var header: JSONObject = ["alg": .string(key == nil ? "none" : "RS256")]
        if let key { header["kid"] = .string(key.keyID) }
        header["typ"] = "JWT"
        let message =
            Base64.url(JSONValue.object(header).bytes) + "."
            + Base64.url(JSONValue.object(claims).bytes)
        return message + "." + (key?.signature(of: message).map { Base64.url($0) } ?? "")
    }
}
