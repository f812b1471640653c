internal import Values

/// The enrollment of an app that computes codes, between its two calls.
///
/// The app keeps it as a session string, which the second call returns.
struct TOTPEnrollment {
    /// The time in seconds within which the enrollment must be finished (*inferred*).
    static let lifetimeSeconds: Int64 = 300

    let secret: String
    let localID: String
    let expiry: Instant

    /// The member `totpSessionInfo` of the response.
    var json: JSONValue {
        let session: JSONObject = [
            "_fakeTotpSession": "DO NOT MODIFY", "secret": .string(secret),
            "localId": .string(localID), "end": .integer(expiry.seconds),
        ]
        return [
            "sharedSecretKey": .string(secret),
            "verificationCodeLength": .integer(Int64(SecondFactor.codeLength)),
            "hashingAlgorithm": "SHA1", "periodSec": .integer(SecondFactor.periodSeconds),
            "sessionInfo": .string(Base64.url(JSONValue.object(session).bytes)),
            "finalizeEnrollmentTime": .string(expiry.preciseText),
        ]
    }

    /// Checks the code with which a user finishes an enrollment.
    ///
    /// Returns the shared secret and the time step of the code.
    static func verifiedSecret(
        _ info: JSONObject,
        of user: FirebaseUser,
        _ rules: SecondFactorRules,
        at now: Instant
    ) throws(FirebaseError) -> (secret: String, step: Int64) {
        guard let text = info["sessionInfo"]?.string, !text.isEmpty else {
            throw FirebaseError("MISSING_SESSION_INFO")
        }
        guard let code = FirebaseFields.text(info["verificationCode"]), !code.isEmpty else {
            throw FirebaseError("MISSING_CODE")
        }
        guard let value = Base64.bytes(text).flatMap({ JSONValue(ifValid: $0) }),
            value["_fakeTotpSession"] != nil, value["localId"]?.string == user.localID,
            let secret = value["secret"]?.string
        else { throw FirebaseError("INVALID_SESSION_INFO") }
        guard now.seconds < value["end"]?.int64 ?? 0 else { throw FirebaseError("SESSION_EXPIRED") }
        let step = SecondFactor.step(of: code, secret, at: now, within: rules.allowedTOTPSteps)
        guard let step else { throw FirebaseError("INVALID_CODE") }
        return (secret, step)
    }
}
