internal import Foundation
internal import NIOSSL

/// The trust settings of HTTPS clients: the system's CA certificates, and additional ones.
package enum CertificateTrust {
    /// Returns the problem with a PEM file of CA certificates; nil if it contains at least one
    /// certificate.
    package static func problem(with path: String) -> String? {
        guard FileManager.default.isReadableFile(atPath: path) else {
            return "the file does not exist or is not readable"
        }
        do {
            return try NIOSSLCertificate.fromPEMFile(path).isEmpty
                ? "the file contains no certificate" : nil
        } catch NIOSSLError.failedToLoadCertificate {
            return "the file is not in PEM format (-----BEGIN CERTIFICATE-----)"
        } catch {
            return "the file cannot be read"
        }
    }

    /// Returns the TLS configuration of a client.
    ///
    /// - Parameter authority: A PEM file with additional CA certificates; nil to trust only those
    ///   of the system.
    /// - Returns: The TLS configuration.
    static func configuration(_ authority: String?) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authority { configuration.additionalTrustRoots = [.file(authority)] }
        return configuration
    }

    /// Returns a message about a TLS handshake that failed; nil for any other error.
    static func text(_ error: any Error) -> String? {
        guard error is NIOSSLError || error is NIOSSLExtraError else { return nil }
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return
                "its certificate is not signed by a trusted CA; pass the CA certificate with "
                + "--ca FILE"
        }
        if error as? NIOSSLExtraError == .failedToValidateHostname {
            return "its certificate is for another host"
        }
        if text.contains("WRONG_VERSION_NUMBER") {
            return "the server does not speak TLS; try http://"
        }
        return "the TLS connection failed: \(text)"
    }
}
