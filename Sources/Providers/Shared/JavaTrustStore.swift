internal import Crypto

/// An encoder for a Java key store (JKS, version 2) that contains trusted certificates.
///
/// Java does not read trusted certificates from a PEM file. JKS is the only format of a Java key
/// store that needs no cipher.
package enum JavaTrustStore {
    /// The password of the key store.
    ///
    /// It is not a secret, since the key store contains only certificates.
    package static let password = "assay-trust"

    /// Encodes a key store file with these trusted certificates.
    ///
    /// - Parameter certificates: The certificates in DER format.
    /// - Returns: The bytes of the file.
    package static func bytes(_ certificates: [[UInt8]]) -> [UInt8] {
        var data: [UInt8] = []
        func append(_ number: UInt32) {
            data += (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
        }
        func append(text: String) {
            let bytes = Array(text.utf8)
            data += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes
        }
        append(0xFEED_FEED)
        append(2)
        append(UInt32(certificates.count))
        for (number, certificate) in certificates.enumerated() {
            append(2)
            append(text: "assay-\(number)")
            // The time at which the entry was added, in milliseconds; Java ignores it.
            append(0)
            append(0)
            append(text: "X.509")
            append(UInt32(certificate.count))
            data += certificate
        }
        // The checksum: SHA-1 of the password in UTF-16, the phrase that Java defines, and the
        // data.
        var digest = Insecure.SHA1()
        digest.update(data: password.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] })
        digest.update(data: Array("Mighty Aphrodite".utf8))
        digest.update(data: data)
        return data + digest.finalize()
    }

    /// Returns the certificates of a PEM file in DER format; skips the other contents of the file.
    package static func certificates(inPEM text: String) -> [[UInt8]] {
        var derCertificates: [[UInt8]] = []
        var base64Body: String?
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN CERTIFICATE-----") {
                base64Body = ""
            } else if line.hasPrefix("-----END CERTIFICATE-----") {
                if let bytes = base64Body.flatMap(Base64.bytes) { derCertificates.append(bytes) }
                base64Body = nil
            } else {
                base64Body?.append(contentsOf: line)
            }
        }
        return derCertificates
    }
}
