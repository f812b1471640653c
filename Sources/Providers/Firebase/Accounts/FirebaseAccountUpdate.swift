internal import Values

/// The operation that changes an account (Firebase fact sheet, section 4.8).
enum FirebaseAccountUpdate {
    static func update(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        if let text = fields.nonEmptyText("oobCode") {
            let (user, code) = try FirebaseActionCodes.apply(text, &state, call)
            var responseFields = response(user, JSONObject(), state)
            if code.kind == .changeEmail {
                responseFields["newEmail"] = user.email.map(JSONValue.string)
            }
            return responseFields
        }
        let (oldUser, session) = try account(state, call)
        var change = FirebaseAccountChange(user: oldUser, session: session, call: call)
        try change.updateAddress(state)
        let setsPassword = try change.updatePassword(&state)
        try change.updateProfile(state)
        try change.updateProviders(state)
        try change.updateSecondFactors(&state)
        let user = change.user
        state.editProject(call) { $0.users.save(user) }
        let isEmailChanged = fields.hasValue("email") && oldUser.email != user.email
        if isEmailChanged, let address = oldUser.email {
            _ = FirebaseActionCodes.create(.recoverEmail, email: address, &state, call)
        }
        var tokenFields = JSONObject()
        if change.hasChangedValidSince, let session {
            let grant = session.grant(
                to: user,
                provider: setsPassword ? "password" : nil,
                secondFactor: session.secondFactor
            )
            tokenFields = grant.issue(&state, call)
        }
        var responseFields = response(user, tokenFields, state)
        if isEmailChanged { responseFields["newEmail"] = user.email.map(JSONValue.string) }
        return responseFields
    }

    /// Returns the account that a call changes, and the session of the caller.
    ///
    /// An administrator's call without an ID token has no session.
    private static func account(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (user: FirebaseUser, session: SignInSession?) {
        let fields = call.fields
        if fields.nonEmptyText("idToken") != nil {
            guard call.isAdmin || !fields.hasValue("customAttributes") else {
                throw FirebaseError("INSUFFICIENT_PERMISSION")
            }
            guard !fields.hasValue("disableUser") else {
                throw FirebaseError("OPERATION_NOT_ALLOWED")
            }
            let session = try SignInSession(of: call, state)
            return (session.user, session)
        }
        guard call.isAdmin else {
            throw FirebaseError("INVALID_REQ_TYPE", "Unsupported request parameters.")
        }
        let id = try fields.requiredText("localId", "MISSING_LOCAL_ID")
        guard let user = state.project(call).users[id] else {
            throw FirebaseError("USER_NOT_FOUND")
        }
        return (user, nil)
    }

    private static func response(
        _ user: FirebaseUser,
        _ tokens: JSONObject,
        _ state: FirebaseState
    ) -> JSONObject {
        let providers = user.providerInfo
        let passwordHash = user.passwordHash(isRedacted: state.settings.redactsPasswordHash)
        return .present(
            [
                ("kind", "identitytoolkit#SetAccountInfoResponse"),
                ("localId", .string(user.localID)),
                ("emailVerified", .bool(user.emailVerified ?? false)),
                ("email", user.email.map(JSONValue.string)),
                ("displayName", user.displayName.map(JSONValue.string)),
                ("photoUrl", user.photoURL.map(JSONValue.string)),
                ("passwordHash", passwordHash.map(JSONValue.string)),
                ("providerUserInfo", providers.isEmpty ? nil : .array(providers)),
            ] + tokens.members.map { ($0.key, $0.value) }
        )
    }
}
