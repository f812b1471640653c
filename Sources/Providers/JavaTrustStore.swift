internal import Crypto

/// A key store of Java's own kind (JKS, version 2) that holds certificates to trust.
///
/// Java reads no PEM file where it is told whom to trust, and this is the one format that needs no
/// cipher.
package enum JavaTrustStore {
    /// No secret: the store holds nothing but certificates.
    package static let password = "assay-trust"

    /// - Parameter certificates: DER.
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
            // When it was put in, in milliseconds: nobody asks.
            append(0)
            append(0)
            append(text: "X.509")
            append(UInt32(certificate.count))
            data += certificate
        }
        // What the password vouches for: UTF-16 of it, the words that Java has there, all of it.
        var digest = Insecure.SHA1()
        digest.update(data: password.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] })
        digest.update(data: Array("Mighty Aphrodite".utf8))
        digest.update(data: data)
        return data + digest.finalize()
    }

    /// The certificates of a PEM file, DER; what is none is left out.
    package static func certificates(inPEM text: String) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var body: String?
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN CERTIFICATE-----") {
                body = ""
            } else if line.hasPrefix("-----END CERTIFICATE-----") {
                if let bytes = body.flatMap(Base64.bytes) { found.append(bytes) }
                body = nil
            } else {
                body?.append(contentsOf: line)
            }
        }
        return found
    }
}
