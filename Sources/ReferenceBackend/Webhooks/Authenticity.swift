internal import Crypto
internal import Foundation

/// Authenticates the sender of a RevenueCat webhook by the configured Authorization value, and by
/// the signature if a signing key is configured.
///
/// Without any configured secret, no sender is authentic. An empty secret counts as not configured.
struct Authenticity: Sendable {
    let authorization: String?
    let signingKey: String?
    let policy: Policy

    init(authorization: String?, signingKey: String?, policy: Policy) {
        self.authorization = authorization.flatMap { $0.isEmpty ? nil : $0 }
        self.signingKey = signingKey.flatMap { $0.isEmpty ? nil : $0 }
        self.policy = policy
    }

    struct Policy: Sendable {
        var isAuthorized = Authenticity.isAuthorized
        var isSigned = Authenticity.isSigned
        var acceptsEverySender = Authenticity.acceptsEverySender
        /// The maximum difference between the time in the signature and the clock, in seconds, as
        /// in RevenueCat's documented example.
        var ageMaxInSeconds: Int64 = 300
    }

    func accepts(authorization value: String?, signature: String?, body: Data) -> Bool {
        if policy.acceptsEverySender(authorization, signingKey) { return true }
        if authorization == nil, signingKey == nil { return false }
        if let authorization, !policy.isAuthorized(value, authorization) { return false }
        if let signingKey, !policy.isSigned(signature, body, signingKey, policy.ageMaxInSeconds) {
            return false
        }
        return true
    }

    /// Returns whether the backend accepts every sender with these configured secrets: never, even
    /// when no secret is configured.
    static func acceptsEverySender(_ authorization: String?, _ signingKey: String?) -> Bool {
        false
    }

    /// Returns whether an Authorization value equals the configured secret exactly.
    static func isAuthorized(_ value: String?, by secret: String) -> Bool {
        guard let value else { return false }
        return isEqual(value, secret)
    }

    /// Returns whether a signature header contains the valid HMAC-SHA256 over its time `t`, a
    /// period and the raw body.
    ///
    /// A signature that is too old is not valid.
    static func isSigned(_ header: String?, body: Data, key: String, ageMaxInSeconds: Int64) -> Bool
    {
        var signatureFields: [Substring: Substring] = [:]
        for headerPart in (header ?? "").split(separator: ",") {
            let keyAndValue = headerPart.split(separator: "=", maxSplits: 1)
            if keyAndValue.count == 2 { signatureFields[keyAndValue[0]] = keyAndValue[1] }
        }
        guard let time = signatureFields["t"], let seconds = Int64(time),
            let hmac = signatureFields["v1"],
            isRecent(seconds, ageMaxInSeconds: ageMaxInSeconds)
        else { return false }
        return isEqual(String(hmac), self.hmac(of: Data("\(time).".utf8) + body, key: key))
    }

    /// Returns whether a time differs from the clock by at most `ageMaxInSeconds` seconds, in either
    /// direction.
    ///
    /// The time comes from an unauthenticated sender, so the subtraction must not overflow.
    static func isRecent(_ seconds: Int64, ageMaxInSeconds: Int64) -> Bool {
        let (age, hasOverflow) = (WallClock.now() / 1000).subtractingReportingOverflow(seconds)
        return !hasOverflow && age.magnitude <= ageMaxInSeconds.magnitude
    }

    /// Returns the HMAC-SHA256 of a message in hexadecimal digits.
    static func hmac(of message: Data, key: String) -> String {
        HMAC<SHA256>.authenticationCode(
            for: message,
            using: SymmetricKey(data: Data(key.utf8))
        ).hex
    }

    static func isEqual(_ left: String, _ right: String) -> Bool {
        isEqual(Array(left.utf8), Array(right.utf8))
    }

    /// Returns whether two byte sequences are equal, in a time that does not depend on the position
    /// of a difference.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
