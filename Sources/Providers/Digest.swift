internal import Crypto

/// SHA-256 as reports write it.
package enum Digest {
    /// `sha256:` and 64 hex digits.
    package static func sha256(_ bytes: [UInt8]) -> String {
        "sha256:" + hex(SHA256.hash(data: bytes))
    }

    /// 48 bits of HMAC-SHA256 in hex: equal for equal values under one key, and useless to whoever
    /// has not the key.
    package static func fingerprint(_ text: String, key: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(text.utf8),
            using: SymmetricKey(data: key)
        )
        return String(hex(code).prefix(12))
    }

    fileprivate static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// SHA-256 of what comes in parts.
    package struct Stream {
        private var hash = SHA256()

        package init() {}

        package mutating func update(_ bytes: some Sequence<UInt8>) {
            hash.update(data: Array(bytes))
        }

        package var text: String { "sha256:" + Digest.hex(hash.finalize()) }
    }
}
