internal import Values

/// The sign-in with a link from an email (Firebase fact sheet, section 4.7).
enum FirebaseEmailLinkSignIn {
    static func signIn(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        guard state.settings.emailLinkProvider else { throw FirebaseError("OPERATION_NOT_ALLOWED") }
        let sessionToLink =
            call.fields.nonEmptyText("idToken") == nil ? nil : try SignInSession(of: call, state)
        let email = try call.fields.requiredText("email", "MISSING_EMAIL").lowercased()
        let text = try call.fields.requiredText("oobCode", "MISSING_OOB_CODE")
        let code = try FirebaseActionCodes.find(text, [.emailSignIn], state, call)
        guard code.email == email else {
            throw FirebaseError(
                "INVALID_EMAIL",
                "The email provided does not match the sign-in email address."
            )
        }
        FirebaseActionCodes.consume(code, &state, call)
        let existingRecord = state.project(call).users[email: email]
        var user: FirebaseUser
        if let sessionToLink {
            guard existingRecord == nil || existingRecord?.localID == sessionToLink.user.localID
            else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = sessionToLink.user
        } else {
            guard existingRecord?.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
            user = existingRecord ?? FirebaseUser(of: call, &state.ids)
        }
        user.email = email
        user.emailVerified = true
        user.hasEmailLink = true
        user.lastLogin = call.now
        let tokenFields = FirebaseSecondFactorSignIn.finishFirstStep(
            user,
            previousUser: existingRecord,
            provider: "password",
            sessionToLink: sessionToLink,
            &state,
            call
        )
        var responseFields: JSONObject = [
            "kind": "identitytoolkit#EmailLinkSigninResponse", "email": .string(email),
            "localId": .string(user.localID),
            "isNewUser": .bool(existingRecord == nil && sessionToLink == nil),
        ]
        for member in tokenFields.members { responseFields[member.key] = member.value }
        return responseFields
    }
}
