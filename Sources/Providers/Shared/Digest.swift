internal import Crypto

/// SHA-256 digests in the format that reports use.
package enum Digest {
    /// Returns the SHA-256 digest of the bytes as `sha256:` followed by 64 hex digits.
    package static func sha256(_ bytes: [UInt8]) -> String {
        "sha256:" + hex(SHA256.hash(data: bytes))
    }

    /// Returns the first 48 bits of the string's HMAC-SHA256 in hex.
    ///
    /// The same string and key always give the same fingerprint, which reveals nothing without the
    /// key.
    package static func fingerprint(_ text: String, key: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(text.utf8),
            using: SymmetricKey(data: key)
        )
        return String(hex(code).prefix(12))
    }

    /// Returns the HMAC-SHA256 of the bytes, which are 32 bytes.
    package static func authenticationCode(_ bytes: [UInt8], key: String) -> [UInt8] {
        Array(
            HMAC<SHA256>.authenticationCode(
                for: bytes,
                using: SymmetricKey(data: Array(key.utf8))
            )
        )
    }

    /// Returns the bytes as lower-case hex digits.
    package static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The SHA-256 digest of data that arrives in parts.
    package struct Stream {
        private var hash = SHA256()

        package init() {}

        package mutating func update(_ bytes: some Sequence<UInt8>) {
            hash.update(data: Array(bytes))
        }

        package var text: String { "sha256:" + Digest.hex(hash.finalize()) }
    }
}
