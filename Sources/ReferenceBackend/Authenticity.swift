internal import Crypto
internal import Foundation
internal import NIOConcurrencyHelpers

/// Who may deliver: the configured Authorization value, and the signature when one is configured.
struct Authenticity: Sendable {
    let authorization: String?
    let signingKey: String?
    let defects: Set<Defect>
    /// Only a defect remembers signatures.
    private let seen = NIOLockedValueBox<[Data: String]>([:])

    init(authorization: String?, signingKey: String?, defects: Set<Defect>) {
        self.authorization = authorization
        self.signingKey = signingKey
        self.defects = defects
    }

    /// How far a signature's time may be from ours, in seconds; the documented example.
    private static let ageMax: Int64 = 300

    func accepts(authorization value: String?, signature: String?, body: Data) -> Bool {
        isAuthorized(value) && isSigned(signature, body)
    }

    private func isAuthorized(_ value: String?) -> Bool {
        guard let authorization else { return true }
        // Defect: no-authorization-check and its relatives
        if defects.contains(.noAuthorizationCheck) { return true }
        if defects.contains(.authorizationMissingAllowed), value == nil { return true }
        guard let value else { return false }
        if defects.contains(.authorizationPrefix), !value.isEmpty, authorization.hasPrefix(value),
            value.count > authorization.count / 2
        {
            return true
        }
        if defects.contains(.authorizationExtra), value.hasPrefix(authorization) { return true }
        if defects.contains(.authorizationAnyCase), value.lowercased() == authorization.lowercased()
        {
            return true
        }
        if defects.contains(.authorizationSchemeOnly), value == "Bearer" { return true }
        return Self.isEqual(Array(value.utf8), Array(authorization.utf8))
    }

    /// HMAC-SHA256 over `t`, a full stop and the raw bytes, compared in constant time.
    private func isSigned(_ header: String?, _ body: Data) -> Bool {
        guard let signingKey else { return true }
        // Defect: signature-ignored, signature-missing-allowed, signature-age-ignored
        if defects.contains(.signatureIgnored) { return true }
        if defects.contains(.signatureMissingAllowed), header == nil { return true }
        var parts: [Substring: Substring] = [:]
        for part in (header ?? "").split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { parts[pair[0]] = pair[1] }
        }
        guard let timestampText = parts["t"], let timestamp = Int64(timestampText),
            let code = parts["v1"]
        else { return false }
        let age = abs(Int64(Date().timeIntervalSince1970) - timestamp)
        guard age <= Self.ageMax || defects.contains(.signatureAgeIgnored) else { return false }
        let mac = HMAC<SHA256>.authenticationCode(
            for: Data("\(timestampText).".utf8) + body,
            using: SymmetricKey(data: Data(signingKey.utf8))
        )
        let hex = mac.map { String(format: "%02x", $0) }.joined()
        // Defect: signature-once
        if defects.contains(.signatureOnce),
            seen.withLockedValue({ $0.updateValue(String(code), forKey: body) })
                .map({ $0 != code }) ?? false
        {
            return false
        }
        return Self.isEqual(Array(hex.utf8), Array(code.utf8))
    }

    /// Takes the same time wherever the difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
