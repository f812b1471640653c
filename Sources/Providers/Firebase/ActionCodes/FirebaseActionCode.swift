internal import Values

/// A code that was sent by email, for example to reset a password.
struct FirebaseActionCode: Hashable, Codable, Sendable {
    enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case passwordReset = "PASSWORD_RESET"
        case verifyEmail = "VERIFY_EMAIL"
        case emailSignIn = "EMAIL_SIGNIN"
        case changeEmail = "VERIFY_AND_CHANGE_EMAIL"
        case recoverEmail = "RECOVER_EMAIL"

        /// The value of the parameter `mode` in the link that the email contains.
        var mode: String {
            switch self {
            case .passwordReset: "resetPassword"
            case .verifyEmail: "verifyEmail"
            case .emailSignIn: "signIn"
            case .changeEmail: "verifyAndChangeEmail"
            case .recoverEmail: "recoverEmail"
            }
        }
    }

    let code: String
    let kind: Kind
    let email: String
    let newEmail: String?
    let link: String
    let made: Instant

    /// The code in the format of the emulator's endpoint `oobCodes`.
    var json: JSONValue {
        .object(
            .present([
                ("email", .string(email)), ("requestType", .string(kind.rawValue)),
                ("oobCode", .string(code)), ("oobLink", .string(link)),
                ("newEmail", newEmail.map(JSONValue.string)),
            ])
        )
    }
}
