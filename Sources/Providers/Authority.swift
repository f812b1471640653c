package import Conformance
internal import Crypto
internal import Foundation
internal import SwiftASN1
internal import X509

/// Vouches for the hosts of services before the clients of a backend under test.
///
/// It is made for one run and its key never leaves the program, so that nothing it signed is worth
/// anything to anybody else; who is to trust it is told of its certificate.
package struct Authority: Sendable {
    /// PEM.
    package let certificate: String
    /// DER.
    package let certificateBytes: [UInt8]
    /// The key of every host's certificate, PEM.
    package let hostKey: Secret
    private let key: P256.Signing.PrivateKey
    private let publicHostKey: P256.Signing.PublicKey
    private let name: DistinguishedName
    private let begin: Date

    /// What it is called where certificates are listed.
    package static let commonName = "Assay, for one run"

    /// Clocks of backends under test go ahead by months (`clock`), so its certificates last longer.
    private static let validity: TimeInterval = 5 * 365 * 86_400

    /// - Parameter now: By which its certificates are dated.
    /// - Throws: When the system has no chance to give.
    package init(at now: Instant) throws {
        let key = P256.Signing.PrivateKey()
        self.key = key
        let hostKey = P256.Signing.PrivateKey()
        self.hostKey = Secret(hostKey.pemRepresentation)
        publicHostKey = hostKey.publicKey
        name = try DistinguishedName { CommonName(Self.commonName) }
        begin = Date(timeIntervalSince1970: Double(now.seconds) - 86_400)
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
        }
        let own = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: begin,
            notValidAfter: begin.addingTimeInterval(Self.validity),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        let document = try own.serializeAsPEM()
        certificate = document.pemString + "\n"
        certificateBytes = document.derBytes
    }

    /// The certificate of a host, PEM.
    ///
    /// - Throws: When the name can stand in no certificate.
    package func certificate(of host: String) throws -> String {
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(publicHostKey),
            notValidBefore: begin,
            // Longer than 825 days is refused by some clients; shorter, and a clock that was moved
            // by a year finds it over.
            notValidAfter: begin.addingTimeInterval(800 * 86_400),
            issuer: name,
            subject: try DistinguishedName { CommonName(String(host.prefix(64))) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([.dnsName(host)])
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(
                        hash: Certificate.PublicKey(key.publicKey)
                    ).keyIdentifier
                )
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        return try certificate.serializeAsPEM().pemString + "\n"
    }
}
