internal import Foundation
internal import NIOSSL

/// Whom a caller of https addresses believes: whom the system trusts, and an authority beside.
package enum Trust {
    /// What is wrong with a file of certificates in PEM; nil when it holds one.
    package static func problem(with path: String) -> String? {
        guard FileManager.default.isReadableFile(atPath: path) else {
            return "there is no such file that can be read"
        }
        do {
            return try NIOSSLCertificate.fromPEMFile(path).isEmpty ? "it holds none" : nil
        } catch NIOSSLError.failedToLoadCertificate {
            return "it is no certificate in PEM (-----BEGIN CERTIFICATE-----)"
        } catch {
            return "it cannot be read"
        }
    }

    /// - Parameter authority: A file of certificates in PEM; nil: the system's alone.
    /// - Returns: Whom a client believes.
    static func configuration(_ authority: String?) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authority { configuration.additionalTrustRoots = [.file(authority)] }
        return configuration
    }

    /// Why a handshake failed, in words; nil when the error is none of one.
    static func text(_ error: any Error) -> String? {
        guard error is NIOSSLError || error is NIOSSLExtraError else { return nil }
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return
                "nobody who is trusted vouches for its certificate; --ca FILE names who signed it"
        }
        if error as? NIOSSLExtraError == .failedToValidateHostname {
            return "its certificate is of another host"
        }
        if text.contains("WRONG_VERSION_NUMBER") { return "it does not speak TLS; is it http://?" }
        return "no connection by TLS: \(text)"
    }
}
