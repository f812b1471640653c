internal import Values

/// A code that was sent to a phone, for a sign-in or a second factor.
struct FirebasePhoneCode: Hashable, Codable, Sendable {
    let phoneNumber: String
    let session: String
    let code: String

    /// The code in the format of the emulator's endpoint `verificationCodes`.
    var json: JSONValue {
        [
            "phoneNumber": .string(phoneNumber), "sessionInfo": .string(session),
            "code": .string(code),
        ]
    }
}

/// A proof that the user entered the right code for a phone number.
///
/// It is issued when the number belongs to another account.
struct FirebasePhoneProof: Hashable, Codable, Sendable {
    static let lifetimeSeconds: Int64 = 3600

    let proof: String
    let phoneNumber: String
    let made: Instant
}

/// The codes that a project or a tenant sent to its users and that are not used up.
struct FirebaseSentCodes: Hashable, Sendable {
    /// The codes that were sent by email, by the code itself.
    var actionCodes = SharedLog<FirebaseActionCode>()
    /// The codes that were sent to phones, by the ID of the phone session.
    var phoneCodes = SharedLog<FirebasePhoneCode>()
    /// The proofs of phone numbers, by the string that the user sends.
    var phoneProofs = SharedLog<FirebasePhoneProof>()

    /// Checks a code that was sent to a phone, with the fields of a request.
    ///
    /// Returns the phone number and the session in which the code was sent.
    func verifiedPhone(
        _ fields: JSONObject
    ) throws(FirebaseError) -> (phone: String, session: String) {
        func text(_ name: String, _ code: String) throws(FirebaseError) -> String {
            guard let text = FirebaseFields.text(fields[name]), !text.isEmpty else {
                throw FirebaseError(code)
            }
            return text
        }
        let session = try text("sessionInfo", "MISSING_SESSION_INFO")
        let code = try text("code", "MISSING_CODE")
        guard let sentCode = phoneCodes[session] else {
            throw FirebaseError("INVALID_SESSION_INFO")
        }
        guard sentCode.code == code else { throw FirebaseError("INVALID_CODE") }
        return (sentCode.phoneNumber, session)
    }
}

/// Saves each kind of code as a list in the order in which the codes were sent.
extension FirebaseSentCodes: Codable {
    private enum CodingKeys: String, CodingKey { case actionCodes, phoneCodes, phoneProofs }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        actionCodes = SharedLog(
            try container.decode([FirebaseActionCode].self, forKey: .actionCodes),
            by: \.code
        )
        phoneCodes = SharedLog(
            try container.decode([FirebasePhoneCode].self, forKey: .phoneCodes),
            by: \.session
        )
        phoneProofs = SharedLog(
            try container.decode([FirebasePhoneProof].self, forKey: .phoneProofs),
            by: \.proof
        )
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(actionCodes.all, forKey: .actionCodes)
        try container.encode(phoneCodes.all, forKey: .phoneCodes)
        try container.encode(phoneProofs.all, forKey: .phoneProofs)
    }
}
