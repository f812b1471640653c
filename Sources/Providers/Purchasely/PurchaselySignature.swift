internal import Crypto

/// `X-PURCHASELY-REQUEST-SIGNATURE`: hex HMAC-SHA256 of the timestamp's text and the raw body,
/// without anything between, keyed with the shared secret's UTF-8 bytes.
///
/// Source: Purchasely fact sheet, section 2.
package enum PurchaselySignature {
    package static let fieldName = "X-PURCHASELY-REQUEST-SIGNATURE"
    package static let timestampName = "X-PURCHASELY-TIMESTAMP"
    package static let deprecatedName = "X-PURCHASELY-SIGNATURE"

    package static func code(of body: [UInt8], timestamp: String, secret: String) -> String {
        hex(Array(timestamp.utf8) + body, secret)
    }

    /// The scheme of old, which does not cover the body.
    package static func deprecatedCode(timestamp: String, secret: String) -> String {
        hex(Array((secret + timestamp).utf8), secret)
    }

    private static func hex(_ message: [UInt8], _ secret: String) -> String {
        HMAC<SHA256>.authenticationCode(
            for: message,
            using: SymmetricKey(data: Array(secret.utf8))
        ).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
