internal import Crypto

/// The signature in the header `X-PURCHASELY-REQUEST-SIGNATURE`.
///
/// It is an HMAC-SHA256 in hex, keyed with the UTF-8 bytes of the shared secret. The message is the
/// timestamp as a string, directly followed by the raw body. Source: Purchasely fact sheet, section
/// 2.
package enum PurchaselySignature {
    package static let fieldName = "X-PURCHASELY-REQUEST-SIGNATURE"
    package static let timestampFieldName = "X-PURCHASELY-TIMESTAMP"
    package static let deprecatedFieldName = "X-PURCHASELY-SIGNATURE"

    package static func code(of body: [UInt8], timestamp: String, secret: String) -> String {
        hmacHex(Array(timestamp.utf8) + body, secret)
    }

    /// Returns the deprecated signature of a webhook request, which covers the timestamp but not
    /// the body.
    package static func deprecatedCode(timestamp: String, secret: String) -> String {
        hmacHex(Array((secret + timestamp).utf8), secret)
    }

    private static func hmacHex(_ message: [UInt8], _ secret: String) -> String {
        HMAC<SHA256>.authenticationCode(
            for: message,
            using: SymmetricKey(data: Array(secret.utf8))
        ).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
