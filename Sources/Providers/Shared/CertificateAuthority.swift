internal import Crypto
internal import Foundation
package import Redaction
internal import SwiftASN1
package import Values
internal import X509

/// The certificate authority that issues TLS certificates for the host names of the fakes.
///
/// The clients of a backend under test accept these certificates when the backend trusts the
/// authority.
///
/// The authority is created for one run, and its private key never leaves the process. Its
/// certificates are therefore worthless after the run. A backend trusts the authority after loading
/// `certificate`.
package struct CertificateAuthority: Sendable {
    /// The certificate of the authority itself, in PEM format.
    package let certificate: String
    /// The certificate of the authority itself, in DER format.
    package let certificateBytes: [UInt8]
    /// The private key that belongs to the certificates of all hosts, in PEM format.
    package let leafPrivateKey: Secret
    private let authorityKey: P256.Signing.PrivateKey
    private let leafPublicKey: P256.Signing.PublicKey
    private let authorityName: DistinguishedName
    private let validityStart: Date

    /// The common name of the certificate authority, as lists of trusted certificates show it.
    package static let commonName = "Assay, for one run"

    /// The lifetime of the authority's certificate, in seconds.
    ///
    /// It is long because a backend under test may move its own clock ahead by months (the `clock`
    /// of a profile).
    private static let validityInSeconds: TimeInterval = 5 * 365 * 86_400

    /// Creates a certificate authority with new private keys.
    ///
    /// - Parameter now: The time at which the authority is created; its certificates are valid from
    ///   one day earlier.
    /// - Throws: An error when the system provides no random numbers.
    package init(at now: Instant) throws {
        let authorityKey = P256.Signing.PrivateKey()
        self.authorityKey = authorityKey
        let leafPrivateKey = P256.Signing.PrivateKey()
        self.leafPrivateKey = Secret(leafPrivateKey.pemRepresentation)
        leafPublicKey = leafPrivateKey.publicKey
        authorityName = try DistinguishedName { CommonName(Self.commonName) }
        validityStart = Date(timeIntervalSince1970: Double(now.seconds) - 86_400)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: Certificate.PublicKey(authorityKey.publicKey))
        }
        let authorityCertificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(authorityKey.publicKey),
            notValidBefore: validityStart,
            notValidAfter: validityStart.addingTimeInterval(Self.validityInSeconds),
            issuer: authorityName,
            subject: authorityName,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(authorityKey)
        )
        let encodedCertificate = try authorityCertificate.serializeAsPEM()
        certificate = encodedCertificate.pemString + "\n"
        certificateBytes = encodedCertificate.derBytes
    }

    /// Issues a certificate for a host name and returns it in PEM format.
    ///
    /// - Throws: An error when the host name is not valid in a certificate.
    package func certificate(of host: String) throws -> String {
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(leafPublicKey),
            notValidBefore: validityStart,
            // Some clients reject certificates that are valid for more than 825 days. A much
            // shorter validity would expire for a clock that a test moves ahead by a year.
            notValidAfter: validityStart.addingTimeInterval(800 * 86_400),
            issuer: authorityName,
            subject: try DistinguishedName { CommonName(String(host.prefix(64))) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([.dnsName(host)])
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(
                        hash: Certificate.PublicKey(authorityKey.publicKey)
                    ).keyIdentifier
                )
            },
            issuerPrivateKey: Certificate.PrivateKey(authorityKey)
        )
        return try certificate.serializeAsPEM().pemString + "\n"
    }
}
