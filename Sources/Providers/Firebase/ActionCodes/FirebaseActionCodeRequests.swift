internal import Values

/// The operation that sends an email with a code: password reset, verification, sign-in link, and
/// change of address (Firebase fact sheet, section 4.5).
enum FirebaseActionCodeRequests {
    /// The numbers that a request may contain in place of the name of a code's kind.
    ///
    /// They follow the order of the API's enumeration (Firebase fact sheet, section 2.3).
    private static let kindNamesByNumber = [
        "1": "PASSWORD_RESET", "2": "OLD_EMAIL_AGREE", "3": "NEW_EMAIL_ACCEPT",
        "4": "VERIFY_EMAIL", "5": "RECOVER_EMAIL", "6": "EMAIL_SIGNIN",
        "7": "VERIFY_AND_CHANGE_EMAIL", "8": "REVERT_SECOND_FACTOR_ADDITION",
    ]

    static func send(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        let requestTypeName = try requestType(fields)
        let returnsLink = fields.flag("returnOobLink") == true
        guard call.isAdmin || !returnsLink else { throw FirebaseError("INSUFFICIENT_PERMISSION") }
        if let continueURL = fields.nonEmptyText("continueUrl"),
            !FirebaseSyntax.isAbsoluteURL(continueURL)
        {
            throw FirebaseError(
                "INVALID_CONTINUE_URI",
                "((expected an absolute URI with valid "
                    + "scheme and host))"
            )
        }
        guard let kind = FirebaseActionCode.Kind(rawValue: requestTypeName), kind != .recoverEmail
        else {
            throw .notImplemented("\(requestTypeName) is not implemented in the Auth Emulator.")
        }
        let (email, newEmail) = try resolveEmailAddresses(kind, &state, call)
        // With enumeration protection, the response does not reveal whether the account exists.
        if kind == .passwordReset, state.project(call).users[email: email] == nil {
            return sentMailResponse(email)
        }
        guard FirebaseSyntax.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        let code = FirebaseActionCodes.create(
            kind,
            email: email,
            newEmail: newEmail,
            &state,
            call
        )
        var responseFields = sentMailResponse(email)
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
    private static func resolveEmailAddresses(
        _ kind: FirebaseActionCode.Kind,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (email: String, newEmail: String?) {
        let fields = call.fields
        switch kind {
        case .passwordReset:
            let email = try fields.requiredText("email", "MISSING_EMAIL").lowercased()
            if state.project(call).users[email: email] != nil {
                try checkResetMailLimit(email, &state, call)
            } else if !state.project(call).configuration.enumerationProtection {
                throw FirebaseError("EMAIL_NOT_FOUND")
            }
            return (email, nil)
        case .verifyEmail:
            if let requestedAddress = try addressForLink(state, call) {
                return (requestedAddress, nil)
            }
            guard let known = try SignInSession(of: call, state).user.email else {
                throw FirebaseError("MISSING_EMAIL")
            }
            return (known, nil)
        case .emailSignIn:
            guard state.settings.emailLinkProvider else {
                throw FirebaseError("OPERATION_NOT_ALLOWED")
            }
            return (try fields.requiredText("email", "MISSING_EMAIL").lowercased(), nil)
        case .changeEmail:
            let requestedNewEmail = try fields.requiredText("newEmail", "MISSING_NEW_EMAIL")
                .lowercased()
            let requestedAddress = try addressForLink(state, call)
            let email =
                if let requestedAddress { requestedAddress } else {
                    try addressOfSession(state, call)
                }
            guard state.project(call).users[email: requestedNewEmail] == nil else {
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
    private static func addressForLink(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> String? {
        guard call.fields.flag("returnOobLink") == true, call.fields.nonEmptyText("idToken") == nil
        else { return nil }
        let email = try call.fields.requiredText("email", "MISSING_EMAIL").lowercased()
        guard state.project(call).users[email: email] != nil else {
            throw FirebaseError("USER_NOT_FOUND")
        }
        return email
    }

    /// Returns the email address of the user who calls, and refuses a user whose sign-in was too
    /// long ago.
    private static func addressOfSession(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> String {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let session = try SignInSession(of: call, state)
        try session.requireRecentSignIn(state.settings, at: call.now)
        guard let known = session.user.email else { throw FirebaseError("MISSING_EMAIL") }
        return known
    }

    private static func sentMailResponse(_ email: String) -> JSONObject {
        [
            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": .string(email),
        ]
    }

    private static func checkResetMailLimit(
        _ email: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        let max = state.settings.resetMailsMax
        let exceedsLimit = state.editProject(call) {
            $0.attempts.exceedsLimit(
                .passwordReset,
                email,
                max: max,
                at: call.now,
                countsAttempt: true
            )
        }
        if exceedsLimit { throw FirebaseError("RESET_PASSWORD_EXCEED_LIMIT") }
    }
}
