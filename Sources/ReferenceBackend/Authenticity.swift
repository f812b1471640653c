internal import Crypto
internal import Foundation

/// Who may deliver: the configured Authorization value, and the signature when one is configured.
struct Authenticity: Sendable {
    let authorization: String?
    let signingKey: String?
    let policy: Policy

    struct Policy: Sendable {
        var isAuthorized = Authenticity.isAuthorized
        var isSigned = Authenticity.isSigned
        /// How far a signature's time may be from ours, in seconds; the documented example.
        var ageMax: Int64 = 300
    }

    func accepts(authorization value: String?, signature: String?, body: Data) -> Bool {
        if let authorization, !policy.isAuthorized(value, authorization) { return false }
        if let signingKey, !policy.isSigned(signature, body, signingKey, policy.ageMax) {
            return false
        }
        return true
    }

    /// The whole value decides.
    static func isAuthorized(_ value: String?, by secret: String) -> Bool {
        guard let value else { return false }
        return isEqual(value, secret)
    }

    /// HMAC-SHA256 over `t`, a full stop and the raw bytes; an old signature proves nothing.
    static func isSigned(_ header: String?, body: Data, key: String, ageMax: Int64) -> Bool {
        var parts: [Substring: Substring] = [:]
        for part in (header ?? "").split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { parts[pair[0]] = pair[1] }
        }
        guard let time = parts["t"], let seconds = Int64(time), let code = parts["v1"],
            isYoung(seconds, ageMax: ageMax)
        else { return false }
        return isEqual(String(code), self.code(of: Data("\(time).".utf8) + body, key: key))
    }

    /// Whether a time is at most so many seconds away from now, in either direction.
    ///
    /// The time is a stranger's: it may be so far away that the distance is no number.
    static func isYoung(_ seconds: Int64, ageMax: Int64) -> Bool {
        let (age, isBeyond) = (WallClock.now() / 1000).subtractingReportingOverflow(seconds)
        return !isBeyond && age.magnitude <= ageMax.magnitude
    }

    /// HMAC-SHA256, in hexadecimal.
    static func code(of message: Data, key: String) -> String {
        HMAC<SHA256>.authenticationCode(
            for: message,
            using: SymmetricKey(data: Data(key.utf8))
        ).hex
    }

    static func isEqual(_ left: String, _ right: String) -> Bool {
        isEqual(Array(left.utf8), Array(right.utf8))
    }

    /// Takes the same time wherever the difference is.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
