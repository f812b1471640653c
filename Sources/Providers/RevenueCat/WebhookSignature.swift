internal import Crypto

/// The signature in the header `X-RevenueCat-Webhook-Signature`:
/// `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`.
///
/// The key is the UTF-8 bytes of the signing secret. `t` and `v1` are new for every attempt.
/// Source: RevenueCat fact sheet, section 1.2.
package struct WebhookSignature: Hashable, Sendable, CustomStringConvertible {
    package static let fieldName = "X-RevenueCat-Webhook-Signature"

    package let timestamp: Int64
    package let code: String

    package init(signing body: [UInt8], key: String, at timestamp: Int64) {
        self.timestamp = timestamp
        let message = Array("\(timestamp).".utf8) + body
        let mac = HMAC<SHA256>.authenticationCode(
            for: message,
            using: SymmetricKey(data: Array(key.utf8))
        )
        code = mac.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Parses the value of the signature header; returns nil when it is not a signature.
    package init?(_ text: String) {
        var partsByName: [Substring: Substring] = [:]
        for part in text.split(separator: ",") {
            guard let equals = part.firstIndex(of: "=") else { return nil }
            partsByName[part[..<equals]] = part[part.index(after: equals)...]
        }
        guard let time = partsByName["t"].flatMap({ Int64($0) }), let code = partsByName["v1"]
        else {
            return nil
        }
        timestamp = time
        self.code = String(code)
    }

    package var description: String { "t=\(timestamp),v1=\(code)" }
}
