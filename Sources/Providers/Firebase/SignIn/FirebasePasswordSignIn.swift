internal import Values

/// The sign-in with a password (Firebase fact sheet, section 4.2).
enum FirebasePasswordSignIn {
    static func signIn(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        guard state.settings.passwordProvider else {
            throw FirebaseError("PASSWORD_LOGIN_DISABLED")
        }
        guard call.fields.nonEmptyText("idToken") == nil else {
            throw .notImplemented("idToken is no longer in use and not implemented.")
        }
        guard call.fields.hasValue("email") else { throw FirebaseError("MISSING_EMAIL") }
        let email = (call.fields["email"] ?? "").lowercased()
        guard FirebaseSyntax.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        let password = try call.fields.requiredText("password", "MISSING_PASSWORD")
        let failuresMax = state.settings.failedSignInsMax
        let exceedsLimit = state.editProject(call) {
            $0.attempts.exceedsLimit(
                .signIn,
                email,
                max: failuresMax,
                at: call.now,
                countsAttempt: false
            )
        }
        guard !exceedsLimit else {
            throw FirebaseError(
                "TOO_MANY_ATTEMPTS_TRY_LATER",
                "Access to this account has been temporarily disabled due to many failed login "
                    + "attempts."
            )
        }
        guard var user = state.project(call).users[email: email] else {
            throw countFailure("EMAIL_NOT_FOUND", email, &state, call)
        }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        guard user.password == password else {
            throw countFailure("INVALID_PASSWORD", email, &state, call)
        }
        let userBeforeSignIn = user
        user.lastLogin = call.now
        let tokenFields = FirebaseSecondFactorSignIn.finishFirstStep(
            user,
            previousUser: userBeforeSignIn,
            provider: "password",
            &state,
            call
        )
        return .present(
            [
                ("kind", "identitytoolkit#VerifyPasswordResponse"), ("registered", true),
                ("localId", .string(user.localID)), ("email", .string(email)),
                ("displayName", user.displayName.map(JSONValue.string)),
                ("profilePicture", user.photoURL.map(JSONValue.string)),
            ] + tokenFields.members.map { ($0.key, $0.value) }
        )
    }

    /// Counts a failed sign-in, and returns its error.
    ///
    /// With enumeration protection, the error does not reveal whether the account exists.
    private static func countFailure(
        _ code: String,
        _ email: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) -> FirebaseError {
        let failuresMax = state.settings.failedSignInsMax
        return state.editProject(call) { project in
            _ = project.attempts.exceedsLimit(
                .signIn,
                email,
                max: failuresMax,
                at: call.now,
                countsAttempt: true
            )
            let hidesUnknownEmails = project.configuration.enumerationProtection
            return FirebaseError(hidesUnknownEmails ? "INVALID_LOGIN_CREDENTIALS" : code)
        }
    }
}
