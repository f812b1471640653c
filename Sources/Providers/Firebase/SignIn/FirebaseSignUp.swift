internal import Values

/// The operation that creates an account: a sign-up of a user, or a new account of an administrator
/// (Firebase fact sheet, section 4.1).
enum FirebaseSignUp {
    static func signUp(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        call.isAdmin ? try createAccount(&state, call) : try signUpUser(&state, call)
    }

    private static func signUpUser(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        guard !fields.hasValue("localId") else {
            throw FirebaseError("UNEXPECTED_PARAMETER", "User ID")
        }
        let hasCredential = ["idToken", "email", "password"].contains {
            fields.nonEmptyText($0) != nil
        }
        guard hasCredential else {
            // A sign-up form with an empty email address must not create an anonymous user.
            guard !fields.hasValue("email") else { throw FirebaseError("INVALID_EMAIL") }
            guard state.settings.anonymousProvider else {
                throw FirebaseError("ADMIN_ONLY_OPERATION")
            }
            var user = FirebaseUser(of: call, &state.ids)
            user.lastLogin = call.now
            let grant = FirebaseTokenGrant(user: user, provider: "anonymous")
            return response(user, grant.issue(&state, call))
        }
        let email = try fields.requiredText("email", "MISSING_EMAIL").lowercased()
        let password = try fields.requiredText("password", "MISSING_PASSWORD")
        guard state.settings.passwordProvider else { throw FirebaseError("OPERATION_NOT_ALLOWED") }
        guard FirebaseSyntax.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        guard state.project(call).users[email: email] == nil else {
            throw FirebaseError("EMAIL_EXISTS")
        }
        guard password.count >= 6 else { throw .weakPassword }
        var user: FirebaseUser
        if fields.nonEmptyText("idToken") != nil {
            let session = try SignInSession(of: call, state)
            try session.requireRecentSignIn(state.settings, at: call.now)
            user = session.user
        } else {
            user = FirebaseUser(of: call, &state.ids)
        }
        user.email = email
        user.emailVerified = false
        if let name = fields.nonEmptyText("displayName") { user.displayName = name }
        user.setPassword(password, &state.ids, at: call.now)
        if fields.nonEmptyText("idToken") == nil { user.acceptFirstTokens(created: call.now) }
        user.lastLogin = call.now
        let grant = FirebaseTokenGrant(user: user, provider: "password")
        return response(user, grant.issue(&state, call))
    }

    private static func createAccount(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        try checkNewAccount(state.project(call), fields)
        var user: FirebaseUser
        if fields.nonEmptyText("idToken") != nil {
            user = try SignInSession(of: call, state).user
        } else {
            user = FirebaseUser(of: call, localID: fields.nonEmptyText("localId"), &state.ids)
        }
        user.phoneNumber = fields.nonEmptyText("phoneNumber") ?? user.phoneNumber
        user.email = fields.nonEmptyText("email")?.lowercased() ?? user.email
        user.emailVerified = fields.flag("emailVerified") ?? false
        user.displayName = fields.nonEmptyText("displayName") ?? user.displayName
        user.photoURL = fields.nonEmptyText("photoUrl") ?? user.photoURL
        if fields.flag("disabled") == true { user.isDisabled = true }
        if let password = fields["password"] {
            user.setPassword(password, &state.ids, at: call.now)
            if fields.nonEmptyText("idToken") == nil {
                user.acceptFirstTokens(created: call.now)
            }
        }
        if fields.hasValue("mfaInfo") {
            user.secondFactors = try SecondFactor.assigned(
                by: fields.list("mfaInfo"),
                givesIDs: true,
                &state.ids,
                at: call.now
            )
        }
        state.editProject(call) { $0.users.save(user) }
        return response(user, JSONObject())
    }

    /// Refuses a new account whose ID, phone number or email address is invalid or belongs to
    /// another account.
    private static func checkNewAccount(
        _ project: FirebaseProject,
        _ fields: FirebaseFields
    ) throws(FirebaseError) {
        if let localID = fields.nonEmptyText("localId") {
            guard fields.nonEmptyText("idToken") == nil else {
                throw FirebaseError("UNEXPECTED_PARAMETER", "User ID")
            }
            guard project.users[localID] == nil else {
                throw FirebaseError("DUPLICATE_LOCAL_ID")
            }
        }
        if let phone = fields.nonEmptyText("phoneNumber") {
            guard FirebaseSyntax.isPhone(phone) else {
                throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
            }
            guard project.users[phone: phone] == nil else {
                throw FirebaseError("PHONE_NUMBER_EXISTS")
            }
        }
        if let email = fields["email"] {
            guard FirebaseSyntax.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
            guard project.users[email: email] == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
        }
        if let password = fields["password"], password.count < 6 { throw .weakPassword }
    }

    private static func response(_ user: FirebaseUser, _ tokens: JSONObject) -> JSONObject {
        .present(
            [
                ("kind", "identitytoolkit#SignupNewUserResponse"),
                ("localId", .string(user.localID)),
                ("email", user.email.map(JSONValue.string)),
                ("displayName", user.displayName.map(JSONValue.string)),
            ] + tokens.members.map { ($0.key, $0.value) }
        )
    }
}
