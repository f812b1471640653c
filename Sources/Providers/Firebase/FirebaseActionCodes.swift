internal import Conformance

/// Mails with a code: password reset, verification, sign-in link, change of address (fact sheet,
/// sections 4.5 and 4.6).
extension FirebaseState {
    typealias ActionCode = FirebaseProject.ActionCode

    /// An unused code of one of these kinds.
    func actionCode(
        _ text: String,
        _ kinds: Set<ActionCode.Kind>,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> ActionCode {
        guard let code = project(call).actionCodes.first(where: { $0.code == text }),
            kinds.contains(code.kind)
        else { throw FirebaseError("INVALID_OOB_CODE") }
        if let seconds = settings.actionCodeSeconds, call.now - code.made > .seconds(seconds) {
            throw FirebaseError("EXPIRED_OOB_CODE")
        }
        return code
    }

    mutating func consume(_ code: ActionCode, _ call: FirebaseCall) {
        edit(call) { $0.actionCodes.removeAll { $0.code == code.code } }
    }

    mutating func makeCode(
        _ kind: ActionCode.Kind,
        email: String,
        newEmail: String? = nil,
        _ call: FirebaseCall
    ) -> ActionCode {
        let text = ids.draw(
            54,
            from: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        )
        var link =
            "http://\(call.host)/emulator/action?mode=\(kind.mode)&lang=en&oobCode=\(text)"
            + "&apiKey=fake-api-key"
        if let uri = call.fields.filled("continueUrl") {
            link += "&continueUrl=\(uri.percentEncoded)"
        }
        if let tenant = call.tenantID { link += "&tenantId=\(tenant.percentEncoded)" }
        let code = ActionCode(
            code: text,
            kind: kind,
            email: email,
            newEmail: newEmail,
            link: link,
            made: call.now
        )
        edit(call) { $0.actionCodes.append(code) }
        return code
    }

    // MARK: sendOobCode

    /// Numbers stand for the kinds in the order of the API's enumeration (section 2.3).
    private static let kindNumbers = [
        "1": "PASSWORD_RESET", "2": "OLD_EMAIL_AGREE", "3": "NEW_EMAIL_ACCEPT",
        "4": "VERIFY_EMAIL", "5": "RECOVER_EMAIL", "6": "EMAIL_SIGNIN",
        "7": "VERIFY_AND_CHANGE_EMAIL", "8": "REVERT_SECOND_FACTOR_ADDITION",
    ]

    mutating func sendActionCode(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        let sent = try fields.required("requestType", "MISSING_REQ_TYPE")
        let name = Self.kindNumbers[sent] ?? sent
        guard name != "OOB_REQ_TYPE_UNSPECIFIED", name != "0" else {
            throw FirebaseError("MISSING_REQ_TYPE")
        }
        guard Self.kindNumbers.values.contains(name) else {
            throw .argument("/requestType must be equal to one of the allowed values")
        }
        let returnsLink = fields.flag("returnOobLink") == true
        guard call.isAdmin || !returnsLink else { throw FirebaseError("INSUFFICIENT_PERMISSION") }
        if let uri = fields.filled("continueUrl"), !Self.isAbsolute(uri) {
            throw FirebaseError(
                "INVALID_CONTINUE_URI",
                "((expected an absolute URI with valid "
                    + "scheme and host))"
            )
        }
        let project = project(call)
        let kind = ActionCode.Kind(rawValue: name)
        var email: String
        var newEmail: String?
        switch kind {
        case .passwordReset:
            email = try fields.required("email", "MISSING_EMAIL").lowercased()
            guard project.user(withEmail: email) != nil else {
                guard project.enumerationProtection else { throw FirebaseError("EMAIL_NOT_FOUND") }
                return Self.mailed(email)
            }
            try countResetMail(email, call)
        case .verifyEmail:
            if returnsLink, fields.filled("idToken") == nil {
                email = try fields.required("email", "MISSING_EMAIL").lowercased()
                guard project.user(withEmail: email) != nil else {
                    throw FirebaseError("USER_NOT_FOUND")
                }
            } else {
                guard let known = try session(call).user.email else {
                    throw FirebaseError("MISSING_EMAIL")
                }
                email = known
            }
        case .emailSignIn:
            guard settings.emailLinkProvider else { throw FirebaseError("OPERATION_NOT_ALLOWED") }
            email = try fields.required("email", "MISSING_EMAIL").lowercased()
        case .changeEmail:
            let wanted = try fields.required("newEmail", "MISSING_NEW_EMAIL").lowercased()
            if returnsLink, fields.filled("idToken") == nil {
                email = try fields.required("email", "MISSING_EMAIL").lowercased()
                guard project.user(withEmail: email) != nil else {
                    throw FirebaseError("USER_NOT_FOUND")
                }
            } else {
                _ = try fields.required("idToken", "MISSING_ID_TOKEN")
                let session = try session(call)
                try requireRecentSignIn(session, call)
                guard let known = session.user.email else { throw FirebaseError("MISSING_EMAIL") }
                email = known
            }
            guard project.user(withEmail: wanted) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            newEmail = wanted
        case .recoverEmail, nil:
            throw .notImplemented("\(name) is not implemented in the Auth Emulator.")
        }
        guard Self.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        guard let kind else { throw .notFound }
        let code = makeCode(kind, email: email, newEmail: newEmail, call)
        var answer = Self.mailed(email)
        if returnsLink {
            answer["oobCode"] = .string(code.code)
            answer["oobLink"] = .string(code.link)
        }
        return answer
    }

    private static func mailed(_ email: String) -> JSONObject {
        [
            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": .string(email),
        ]
    }

    private mutating func countResetMail(
        _ email: String,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        let max = settings.resetMailsMax
        let isTooMuch = edit(call) {
            $0.isTooMuch(
                "reset",
                email,
                max: max,
                within: .seconds(3600),
                at: call.now,
                counts: true
            )
        }
        if isTooMuch { throw FirebaseError("RESET_PASSWORD_EXCEED_LIMIT") }
    }

    // MARK: resetPassword

    mutating func resetPassword(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        guard settings.passwordProvider else { throw FirebaseError("PASSWORD_LOGIN_DISABLED") }
        let text = try call.fields.required("oobCode", "MISSING_OOB_CODE")
        guard let password = call.fields.filled("newPassword") else {
            let code = try actionCode(text, Set(ActionCode.Kind.allCases), call)
            return .present([
                ("kind", "identitytoolkit#ResetPasswordResponse"),
                ("requestType", .string(code.kind.rawValue)),
                ("email", code.kind == .emailSignIn ? nil : .string(code.email)),
                ("newEmail", code.newEmail.map(JSONValue.string)),
            ])
        }
        let code = try actionCode(text, [.passwordReset], call)
        guard password.count >= 6 else { throw .weakPassword }
        consume(code, call)
        guard var user = project(call).user(withEmail: code.email) else {
            throw FirebaseError("INVALID_OOB_CODE")
        }
        setPassword(password, of: &user, at: call.now)
        user.emailVerified = true
        // Whoever linked a Google account before the reset is no longer trusted (trap T15).
        user.federated = []
        edit(call) { $0.save(user) }
        return [
            "kind": "identitytoolkit#ResetPasswordResponse",
            "requestType": .string(code.kind.rawValue), "email": .string(code.email),
        ]
    }

    /// Carries out a code that changes an account's address or verifies it (section 4.8).
    mutating func applyCode(
        _ text: String,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (user: FirebaseUser, code: ActionCode) {
        let code = try actionCode(text, [.verifyEmail, .changeEmail, .recoverEmail], call)
        consume(code, call)
        let project = project(call)
        var user: FirebaseUser
        switch code.kind {
        case .verifyEmail:
            guard let known = project.user(withEmail: code.email) else {
                throw FirebaseError("INVALID_OOB_CODE")
            }
            user = known
        case .changeEmail:
            guard let known = project.user(withEmail: code.email), let wanted = code.newEmail else {
                throw FirebaseError("INVALID_OOB_CODE")
            }
            guard project.user(withEmail: wanted) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = known
            user.email = wanted
            user.validSince = call.now.seconds
        default:
            let known = project.users.values.first { $0.initialEmail == code.email }
            guard let known else { throw FirebaseError("INVALID_OOB_CODE") }
            guard project.user(withEmail: code.email) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = known
            user.email = code.email
            user.validSince = call.now.seconds
        }
        user.emailVerified = true
        edit(call) { $0.save(user) }
        return (user, code)
    }
}
