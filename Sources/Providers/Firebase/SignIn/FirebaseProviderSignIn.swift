internal import Values

/// The sign-in with an identity provider such as Google, and the linking of its account to a user
/// (Firebase fact sheet, section 4.3).
enum FirebaseProviderSignIn {
    static func signIn(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let assertion = try ProviderAssertion.read(from: call)
        if call.fields.nonEmptyText("idToken") != nil {
            return try linkProvider(assertion, &state, call)
        }
        if let existingUser = state.project(call).users[
            provider: assertion.providerID,
            rawID: assertion.rawID
        ] {
            var user = existingUser
            user.link(assertion.provider)
            return try finish(user, assertion, &state, call)
        }
        let owner = assertion.email.flatMap { state.project(call).users[email: $0] }
        if let owner, !state.project(call).configuration.allowsDuplicateEmails {
            guard assertion.isEmailVerified else {
                let providers = owner.federated.map(\.providerID)
                return .present(
                    assertion.responseFields + [
                        ("needConfirmation", true), ("localId", .string(owner.localID)),
                        ("verifiedProvider", .strings(providers)),
                    ]
                )
            }
            return try finish(
                userWithMergedProfile(owner, by: assertion, call),
                assertion,
                &state,
                call,
                recycledAccount: owner
            )
        }
        var user = FirebaseUser(of: call, &state.ids)
        if !state.project(call).configuration.allowsDuplicateEmails {
            user.email = assertion.email
            user.emailVerified = assertion.isEmailVerified
        }
        user.displayName = assertion.claim("name")
        user.photoURL = assertion.claim("picture")
        user.screenName = assertion.claim("screen_name")
        user.link(assertion.provider)
        return try finish(user, assertion, &state, call, isNew: true)
    }

    /// Returns the account that already has the assertion's email address, with the changes of a
    /// sign-in through the identity provider.
    ///
    /// The provider has verified the address.
    private static func userWithMergedProfile(
        _ owner: FirebaseUser,
        by assertion: ProviderAssertion,
        _ call: FirebaseCall
    ) -> FirebaseUser {
        var user = owner
        if user.emailVerified != true {
            // A different person may have signed up with this address. Remove that person's ways to
            // sign in.
            user.password = nil
            user.salt = nil
            user.phoneNumber = nil
            user.hasEmailLink = false
            user.validSince = call.now.seconds
        }
        user.displayName = assertion.claim("name")
        user.photoURL = assertion.claim("picture")
        user.screenName = assertion.claim("screen_name")
        user.emailVerified = true
        user.link(assertion.provider)
        return user
    }

    private static func finish(
        _ user: FirebaseUser,
        _ assertion: ProviderAssertion,
        _ state: inout FirebaseState,
        _ call: FirebaseCall,
        recycledAccount owner: FirebaseUser? = nil,
        isNew: Bool = false,
        sessionToLink session: SignInSession? = nil
    ) throws(FirebaseError) -> JSONObject {
        var user = user
        let previousUser = state.project(call).users[user.localID]
        user.lastLogin = call.now
        state.editProject(call) { $0.users.save(user) }
        // The fake saves the record first, and only then refuses a disabled account.
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        let isAccountRecycled =
            owner?.federated.contains { $0.providerID == assertion.providerID } ?? false
        let tokenFields = FirebaseSecondFactorSignIn.finishFirstStep(
            user,
            previousUser: previousUser,
            provider: assertion.providerID,
            sessionToLink: session,
            &state,
            call
        )
        return .present(
            assertion.responseFields + [
                ("localId", .string(user.localID)), ("isNewUser", isNew ? true : nil),
                ("tenantId", call.tenantID.map(JSONValue.string)),
                ("emailRecycled", isAccountRecycled ? true : nil),
            ] + tokenFields.members.map { ($0.key, $0.value) }
        )
    }

    private static func linkProvider(
        _ assertion: ProviderAssertion,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let session = try SignInSession(of: call, state)
        let owner = assertion.email.flatMap { state.project(call).users[email: $0] }
        var failureCode: String?
        if state.project(call).users[provider: assertion.providerID, rawID: assertion.rawID] != nil
        {
            failureCode = "FEDERATED_USER_ID_ALREADY_LINKED"
        } else if !state.project(call).configuration.allowsDuplicateEmails, let owner,
            owner.localID != session.user.localID
        {
            failureCode = "EMAIL_EXISTS"
        }
        if let failureCode {
            guard call.fields.flag("returnIdpCredential") == true else {
                throw FirebaseError(failureCode)
            }
            return .present(assertion.responseFields + [("errorMessage", .string(failureCode))])
        }
        var user = session.user
        if user.email == nil, let email = assertion.email,
            !state.project(call).configuration.allowsDuplicateEmails
        {
            user.email = email
            user.emailVerified = assertion.isEmailVerified
        } else if user.email == assertion.email, assertion.isEmailVerified {
            user.emailVerified = true
        }
        user.link(assertion.provider)
        return try finish(user, assertion, &state, call, sessionToLink: session)
    }
}
