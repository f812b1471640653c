internal import Crypto

/// SHA-256 as reports write it.
package enum Digest {
    /// `sha256:` and 64 hex digits.
    package static func sha256(_ bytes: [UInt8]) -> String {
        "sha256:"
            + SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
    }
}
