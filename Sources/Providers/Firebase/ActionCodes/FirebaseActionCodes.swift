internal import Values

/// Functions that create emailed codes, and that change accounts with them (Firebase fact sheet,
/// sections 4.6 and 4.8).
enum FirebaseActionCodes {
    /// Returns the unused action code with this text.
    ///
    /// Throws when there is no such code or the code is of another kind.
    static func find(
        _ codeText: String,
        _ kinds: Set<FirebaseActionCode.Kind>,
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> FirebaseActionCode {
        guard let code = state.project(call).sentCodes.actionCodes[codeText],
            kinds.contains(code.kind)
        else { throw FirebaseError("INVALID_OOB_CODE") }
        if let seconds = state.settings.actionCodeSeconds, call.now - code.made > .seconds(seconds)
        {
            throw FirebaseError("EXPIRED_OOB_CODE")
        }
        return code
    }

    /// Removes a code, so that it cannot be used again.
    static func consume(
        _ code: FirebaseActionCode,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) {
        state.editProject(call) { $0.sentCodes.actionCodes.remove(code.code) }
    }

    /// Creates a code, which the emulator's endpoint `oobCodes` returns in place of an email.
    static func create(
        _ kind: FirebaseActionCode.Kind,
        email: String,
        newEmail: String? = nil,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) -> FirebaseActionCode {
        let codeText = state.ids.drawString(
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
        let code = FirebaseActionCode(
            code: codeText,
            kind: kind,
            email: email,
            newEmail: newEmail,
            link: link,
            made: call.now
        )
        state.editProject(call) { $0.sentCodes.actionCodes.append(code, as: codeText) }
        return code
    }

    // MARK: Use

    static func resetPassword(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        guard state.settings.passwordProvider else {
            throw FirebaseError("PASSWORD_LOGIN_DISABLED")
        }
        let codeText = try call.fields.requiredText("oobCode", "MISSING_OOB_CODE")
        guard let password = call.fields.nonEmptyText("newPassword") else {
            let code = try find(codeText, Set(FirebaseActionCode.Kind.allCases), state, call)
            return .present([
                ("kind", "identitytoolkit#ResetPasswordResponse"),
                ("requestType", .string(code.kind.rawValue)),
                ("email", code.kind == .emailSignIn ? nil : .string(code.email)),
                ("newEmail", code.newEmail.map(JSONValue.string)),
            ])
        }
        let code = try find(codeText, [.passwordReset], state, call)
        guard password.count >= 6 else { throw .weakPassword }
        consume(code, &state, call)
        guard var user = state.project(call).users[email: code.email] else {
            throw FirebaseError("INVALID_OOB_CODE")
        }
        user.setPassword(password, &state.ids, at: call.now)
        user.emailVerified = true
        // A Google account that was linked before the reset is no longer trusted (trap T15 of the
        // Firebase fact sheet).
        user.federated = []
        state.editProject(call) { $0.users.save(user) }
        return [
            "kind": "identitytoolkit#ResetPasswordResponse",
            "requestType": .string(code.kind.rawValue), "email": .string(code.email),
        ]
    }

    /// Applies an emailed code that changes or verifies the email address of an account (Firebase
    /// fact sheet, section 4.8).
    ///
    /// Returns the changed account and the code.
    static func apply(
        _ codeText: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (user: FirebaseUser, code: FirebaseActionCode) {
        let code = try find(
            codeText,
            [.verifyEmail, .changeEmail, .recoverEmail],
            state,
            call
        )
        consume(code, &state, call)
        var user: FirebaseUser
        switch code.kind {
        case .verifyEmail:
            guard let known = state.project(call).users[email: code.email] else {
                throw FirebaseError("INVALID_OOB_CODE")
            }
            user = known
        case .changeEmail:
            guard let known = state.project(call).users[email: code.email],
                let requestedNewEmail = code.newEmail
            else {
                throw FirebaseError("INVALID_OOB_CODE")
            }
            guard state.project(call).users[email: requestedNewEmail] == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = known
            user.email = requestedNewEmail
            user.validSince = call.now.seconds
        default:
            let known = state.project(call).users.initialOwner(of: code.email)
            guard let known else { throw FirebaseError("INVALID_OOB_CODE") }
            guard state.project(call).users[email: code.email] == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = known
            user.email = code.email
            user.validSince = call.now.seconds
        }
        user.emailVerified = true
        state.editProject(call) { $0.users.save(user) }
        return (user, code)
    }
}
