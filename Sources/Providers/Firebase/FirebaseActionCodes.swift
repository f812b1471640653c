internal import Values

/// Operations that send an email with a code: password reset, verification, sign-in link, and
/// change of address (Firebase fact sheet, sections 4.5 and 4.6).
extension FirebaseState {
    typealias ActionCode = FirebaseProject.ActionCode

    /// Returns the unused action code with this text.
    ///
    /// Throws when there is no such code or the code is of another kind.
    func actionCode(
        _ codeText: String,
        _ kinds: Set<ActionCode.Kind>,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> ActionCode {
        guard let code = project(call).actionCodes[codeText],
            kinds.contains(code.kind)
        else { throw FirebaseError("INVALID_OOB_CODE") }
        if let seconds = settings.actionCodeSeconds, call.now - code.made > .seconds(seconds) {
            throw FirebaseError("EXPIRED_OOB_CODE")
        }
        return code
    }

    mutating func consumeActionCode(_ code: ActionCode, _ call: FirebaseCall) {
        editProject(call) { $0.actionCodes.remove(code.code) }
    }

    mutating func createActionCode(
        _ kind: ActionCode.Kind,
        email: String,
        newEmail: String? = nil,
        _ call: FirebaseCall
    ) -> ActionCode {
        let codeText = ids.drawString(
            54,
            from: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        )
        var link =
            "http://\(call.host)/emulator/action?mode=\(kind.mode)&lang=en&oobCode=\(codeText)"
            + "&apiKey=fake-api-key"
        if let continueURL = call.fields.nonEmptyText("continueUrl") {
            link += "&continueUrl=\(continueURL.percentEncoded)"
        }
        if let tenant = call.tenantID { link += "&tenantId=\(tenant.percentEncoded)" }
        let code = ActionCode(
            code: codeText,
            kind: kind,
            email: email,
            newEmail: newEmail,
            link: link,
            made: call.now
        )
        editProject(call) { $0.actionCodes.append(code, as: codeText) }
        return code
    }

    // MARK: sendOobCode

    /// The numbers that a request may contain in place of the name of a code's kind.
    ///
    /// They follow the order of the API's enumeration (Firebase fact sheet, section 2.3).
    private static let kindNamesByNumber = [
        "1": "PASSWORD_RESET", "2": "OLD_EMAIL_AGREE", "3": "NEW_EMAIL_ACCEPT",
        "4": "VERIFY_EMAIL", "5": "RECOVER_EMAIL", "6": "EMAIL_SIGNIN",
        "7": "VERIFY_AND_CHANGE_EMAIL", "8": "REVERT_SECOND_FACTOR_ADDITION",
    ]

    mutating func sendActionCode(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        let requestTypeName = try Self.requestType(fields)
        let returnsLink = fields.flag("returnOobLink") == true
        guard call.isAdmin || !returnsLink else { throw FirebaseError("INSUFFICIENT_PERMISSION") }
        if let continueURL = fields.nonEmptyText("continueUrl"), !Self.isAbsoluteURL(continueURL) {
            throw FirebaseError(
                "INVALID_CONTINUE_URI",
                "((expected an absolute URI with valid "
                    + "scheme and host))"
            )
        }
        guard let kind = ActionCode.Kind(rawValue: requestTypeName), kind != .recoverEmail else {
            throw .notImplemented("\(requestTypeName) is not implemented in the Auth Emulator.")
        }
        let (email, newEmail) = try resolveEmailAddresses(kind, call)
        // With enumeration protection, the response does not reveal whether the account exists.
        if kind == .passwordReset, project(call).user(withEmail: email) == nil {
            return Self.sentMailResponse(email)
        }
        guard Self.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        let code = createActionCode(kind, email: email, newEmail: newEmail, call)
        var responseFields = Self.sentMailResponse(email)
        if returnsLink {
            responseFields["oobCode"] = .string(code.code)
            responseFields["oobLink"] = .string(code.link)
        }
        return responseFields
    }

    private static func requestType(_ fields: FirebaseFields) throws(FirebaseError) -> String {
        let requestTypeText = try fields.requiredText("requestType", "MISSING_REQ_TYPE")
        let requestTypeName = kindNamesByNumber[requestTypeText] ?? requestTypeText
        guard requestTypeName != "OOB_REQ_TYPE_UNSPECIFIED", requestTypeName != "0" else {
            throw FirebaseError("MISSING_REQ_TYPE")
        }
        guard kindNamesByNumber.values.contains(requestTypeName) else {
            throw .invalidArgument("/requestType must be equal to one of the allowed values")
        }
        return requestTypeName
    }

    /// Returns the address to which the email is sent.
    ///
    /// For a change of address, the result also contains the new address.
    private mutating func resolveEmailAddresses(
        _ kind: ActionCode.Kind,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (email: String, newEmail: String?) {
        let fields = call.fields
        switch kind {
        case .passwordReset:
            let email = try fields.requiredText("email", "MISSING_EMAIL").lowercased()
            if project(call).user(withEmail: email) != nil {
                try checkResetMailLimit(email, call)
            } else if !project(call).enumerationProtection {
                throw FirebaseError("EMAIL_NOT_FOUND")
            }
            return (email, nil)
        case .verifyEmail:
            if let requestedAddress = try addressForLink(call) { return (requestedAddress, nil) }
            guard let known = try session(call).user.email else {
                throw FirebaseError("MISSING_EMAIL")
            }
            return (known, nil)
        case .emailSignIn:
            guard settings.emailLinkProvider else { throw FirebaseError("OPERATION_NOT_ALLOWED") }
            return (try fields.requiredText("email", "MISSING_EMAIL").lowercased(), nil)
        case .changeEmail:
            let requestedNewEmail = try fields.requiredText("newEmail", "MISSING_NEW_EMAIL")
                .lowercased()
            let requestedAddress = try addressForLink(call)
            let email =
                if let requestedAddress { requestedAddress } else { try addressOfSession(call) }
            guard project(call).user(withEmail: requestedNewEmail) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            return (email, requestedNewEmail)
        case .recoverEmail:
            throw .notImplemented("RECOVER_EMAIL is not implemented in the Auth Emulator.")
        }
    }

    /// Returns the address for which an administrator requests only the link, without an email.
    ///
    /// Nil for a user's request.
    private func addressForLink(_ call: FirebaseCall) throws(FirebaseError) -> String? {
        guard call.fields.flag("returnOobLink") == true, call.fields.nonEmptyText("idToken") == nil
        else { return nil }
        let email = try call.fields.requiredText("email", "MISSING_EMAIL").lowercased()
        guard project(call).user(withEmail: email) != nil else {
            throw FirebaseError("USER_NOT_FOUND")
        }
        return email
    }

    /// Returns the email address of the user who calls, and refuses a user whose sign-in was too
    /// long ago.
    private mutating func addressOfSession(_ call: FirebaseCall) throws(FirebaseError) -> String {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let session = try session(call)
        try requireRecentSignIn(session, call)
        guard let known = session.user.email else { throw FirebaseError("MISSING_EMAIL") }
        return known
    }

    private static func sentMailResponse(_ email: String) -> JSONObject {
        [
            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": .string(email),
        ]
    }

    private mutating func checkResetMailLimit(
        _ email: String,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        let max = settings.resetMailsMax
        let exceedsLimit = editProject(call) {
            $0.exceedsLimit(
                "reset",
                email,
                max: max,
                within: .seconds(3600),
                at: call.now,
                countsAttempt: true
            )
        }
        if exceedsLimit { throw FirebaseError("RESET_PASSWORD_EXCEED_LIMIT") }
    }

    // MARK: resetPassword

    mutating func resetPassword(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        guard settings.passwordProvider else { throw FirebaseError("PASSWORD_LOGIN_DISABLED") }
        let codeText = try call.fields.requiredText("oobCode", "MISSING_OOB_CODE")
        guard let password = call.fields.nonEmptyText("newPassword") else {
            let code = try actionCode(codeText, Set(ActionCode.Kind.allCases), call)
            return .present([
                ("kind", "identitytoolkit#ResetPasswordResponse"),
                ("requestType", .string(code.kind.rawValue)),
                ("email", code.kind == .emailSignIn ? nil : .string(code.email)),
                ("newEmail", code.newEmail.map(JSONValue.string)),
            ])
        }
        let code = try actionCode(codeText, [.passwordReset], call)
        guard password.count >= 6 else { throw .weakPassword }
        consumeActionCode(code, call)
        guard var user = project(call).user(withEmail: code.email) else {
            throw FirebaseError("INVALID_OOB_CODE")
        }
        setPassword(password, of: &user, at: call.now)
        user.emailVerified = true
        // A Google account that was linked before the reset is no longer trusted (trap T15 of the
        // Firebase fact sheet).
        user.federated = []
        editProject(call) { $0.save(user) }
        return [
            "kind": "identitytoolkit#ResetPasswordResponse",
            "requestType": .string(code.kind.rawValue), "email": .string(code.email),
        ]
    }

    /// Applies an emailed code that changes or verifies the email address of an account (Firebase
    /// fact sheet, section 4.8).
    ///
    /// Returns the changed account and the code.
    mutating func applyCode(
        _ codeText: String,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (user: FirebaseUser, code: ActionCode) {
        let code = try actionCode(codeText, [.verifyEmail, .changeEmail, .recoverEmail], call)
        consumeActionCode(code, call)
        var user: FirebaseUser
        switch code.kind {
        case .verifyEmail:
            guard let known = project(call).user(withEmail: code.email) else {
                throw FirebaseError("INVALID_OOB_CODE")
            }
            user = known
        case .changeEmail:
            guard let known = project(call).user(withEmail: code.email),
                let requestedNewEmail = code.newEmail
            else {
                throw FirebaseError("INVALID_OOB_CODE")
            }
            guard project(call).user(withEmail: requestedNewEmail) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = known
            user.email = requestedNewEmail
            user.validSince = call.now.seconds
        default:
            let known = project(call).user(withInitialEmail: code.email)
            guard let known else { throw FirebaseError("INVALID_OOB_CODE") }
            guard project(call).user(withEmail: code.email) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = known
            user.email = code.email
            user.validSince = call.now.seconds
        }
        user.emailVerified = true
        editProject(call) { $0.save(user) }
        return (user, code)
    }
}
