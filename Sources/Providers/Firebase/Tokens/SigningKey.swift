internal import CryptoExtras
internal import Foundation
internal import SwiftASN1
package import Values
internal import X509

/// An RSA key that signs ID tokens, with the key's certificate (Firebase fact sheet, sections 6.1
/// and 7.2).
package struct SigningKey: Hashable, Codable, Sendable {
    /// The ID of the key in token headers: 40 hex digits from the digest of the public key.
    package let keyID: String
    /// The private key in PKCS #8 format, encoded in Base64.
    private let privateKey: String
    package let certificatePEM: String
    package let made: Instant

    /// Creates an RSA key of 2048 bits.
    ///
    /// Its certificate is valid for ninety days, starting one day before `now`.
    package init(at now: Instant) throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        keyID = String(
            Digest.sha256(Array(key.publicKey.derRepresentation)).dropFirst(7).prefix(40)
        )
        privateKey = Base64.text(key.derRepresentation)
        made = now
        let name = try DistinguishedName {
            CommonName("securetoken.system.gserviceaccount.com")
        }
        let validityStart = Date(timeIntervalSince1970: Double(now.seconds) - 86_400)
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: validityStart,
            notValidAfter: validityStart.addingTimeInterval(90 * 86_400),
            issuer: name,
            subject: name,
            signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: try Certificate.Extensions {
                Critical(KeyUsage(digitalSignature: true))
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
    }

    /// Returns the signature of a message (RSASSA-PKCS1-v1_5 over SHA-256); nil when a saved key is
    /// damaged.
    package func signature(of message: String) -> [UInt8]? {
        // The signature is nil when a saved key is damaged.
        guard let key = rsaKey,
            let signature = try? key.signature(
                for: Array(message.utf8),
                padding: .insecurePKCS1v1_5
            )
        else { return nil }
        return Array(signature.rawRepresentation)
    }

    package func verifies(_ signature: [UInt8], of message: String) -> Bool {
        rsaKey?.publicKey.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: Array(message.utf8),
            padding: .insecurePKCS1v1_5
        ) ?? false
    }

    /// The public key as a JSON Web Key (RFC 7517).
    package var jsonWebKey: JSONValue {
        // A damaged key is published as null.
        guard let numbers = try? rsaKey?.publicKey.getKeyPrimitives() else { return .null }
        return [
            "kid": .string(keyID), "kty": "RSA", "alg": "RS256", "use": "sig",
            "n": .string(Base64.url(Array(numbers.modulus))),
            "e": .string(Base64.url(Array(numbers.publicExponent))),
        ]
    }

    private var rsaKey: _RSA.Signing.PrivateKey? {
        // Nil means that the saved key is damaged.
        Base64.bytes(privateKey).flatMap {
            try? _RSA.Signing.PrivateKey(derRepresentation: $0)
        }
    }
}
