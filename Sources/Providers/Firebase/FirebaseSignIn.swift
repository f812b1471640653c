internal import Values

/// Operations with which users sign up and sign in (Firebase fact sheet, sections 4.1, 4.2, 4.4 and
/// 4.7).
extension FirebaseState {
    static func isEmail(_ text: String) -> Bool {
        let addressParts = text.split(separator: "@", omittingEmptySubsequences: false)
        return addressParts.count == 2 && addressParts.allSatisfy { !$0.isEmpty }
    }

    static func isPhone(_ text: String) -> Bool { text.hasPrefix("+") && text.count > 1 }

    /// Sets the password of a user, which revokes every token issued to the user before.
    mutating func setPassword(_ password: String, of user: inout FirebaseUser, at now: Instant) {
        user.password = password
        user.salt = "fakeSalt" + ids.alphanumerics(20)
        user.passwordUpdated = now
        user.validSince = now.seconds
    }

    mutating func newUser(_ call: FirebaseCall, localID: String? = nil) -> FirebaseUser {
        var user = FirebaseUser(localID: localID ?? ids.alphanumerics(28), created: call.now)
        user.tenantID = call.tenantID
        return user
    }

    // MARK: signUp

    mutating func signUp(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        call.isAdmin ? try createAccount(call) : try signUpUser(call)
    }

    private mutating func signUpUser(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
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
            guard settings.anonymousProvider else { throw FirebaseError("ADMIN_ONLY_OPERATION") }
            var user = newUser(call)
            user.lastLogin = call.now
            return signUpResponse(user, tokens(for: user, provider: "anonymous", call))
        }
        let email = try fields.requiredText("email", "MISSING_EMAIL").lowercased()
        let password = try fields.requiredText("password", "MISSING_PASSWORD")
        guard settings.passwordProvider else { throw FirebaseError("OPERATION_NOT_ALLOWED") }
        guard Self.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        guard project(call).user(withEmail: email) == nil else {
            throw FirebaseError("EMAIL_EXISTS")
        }
        guard password.count >= 6 else { throw .weakPassword }
        var user: FirebaseUser
        if fields.nonEmptyText("idToken") != nil {
            let session = try session(call)
            try requireRecentSignIn(session, call)
            user = session.user
        } else {
            user = newUser(call)
        }
        user.email = email
        user.emailVerified = false
        if let name = fields.nonEmptyText("displayName") { user.displayName = name }
        setPassword(password, of: &user, at: call.now)
        user.lastLogin = call.now
        return signUpResponse(user, tokens(for: user, provider: "password", call))
    }

    private mutating func createAccount(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        let localID = fields.nonEmptyText("localId")
        if let localID {
            guard fields.nonEmptyText("idToken") == nil else {
                throw FirebaseError("UNEXPECTED_PARAMETER", "User ID")
            }
            guard project(call).users[localID] == nil else {
                throw FirebaseError("DUPLICATE_LOCAL_ID")
            }
        }
        var user: FirebaseUser
        if let phone = fields.nonEmptyText("phoneNumber") {
            guard Self.isPhone(phone) else {
                throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
            }
            guard project(call).user(withPhone: phone) == nil else {
                throw FirebaseError("PHONE_NUMBER_EXISTS")
            }
        }
        if let email = fields["email"] {
            guard Self.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
            guard project(call).user(withEmail: email) == nil else {
                throw FirebaseError("EMAIL_EXISTS")
            }
        }
        if let password = fields["password"], password.count < 6 { throw .weakPassword }
        if fields.nonEmptyText("idToken") != nil {
            user = try session(call).user
        } else {
            user = newUser(call, localID: localID)
        }
        user.phoneNumber = fields.nonEmptyText("phoneNumber") ?? user.phoneNumber
        user.email = fields.nonEmptyText("email")?.lowercased() ?? user.email
        user.emailVerified = fields.flag("emailVerified") ?? false
        user.displayName = fields.nonEmptyText("displayName") ?? user.displayName
        user.photoURL = fields.nonEmptyText("photoUrl") ?? user.photoURL
        if fields.flag("disabled") == true { user.isDisabled = true }
        if let password = fields["password"] { setPassword(password, of: &user, at: call.now) }
        if fields.hasValue("mfaInfo") {
            user.secondFactors = try factors(fields.list("mfaInfo"), givesIDs: true, call)
        }
        editProject(call) { $0.save(user) }
        return signUpResponse(user, JSONObject())
    }

    private func signUpResponse(_ user: FirebaseUser, _ tokens: JSONObject) -> JSONObject {
        .present(
            [
                ("kind", "identitytoolkit#SignupNewUserResponse"),
                ("localId", .string(user.localID)),
                ("email", user.email.map(JSONValue.string)),
                ("displayName", user.displayName.map(JSONValue.string)),
            ] + tokens.members.map { ($0.key, $0.value) }
        )
    }

    // MARK: Password

    mutating func signInWithPassword(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        guard settings.passwordProvider else { throw FirebaseError("PASSWORD_LOGIN_DISABLED") }
        guard call.fields.nonEmptyText("idToken") == nil else {
            throw .notImplemented("idToken is no longer in use and not implemented.")
        }
        guard call.fields.hasValue("email") else { throw FirebaseError("MISSING_EMAIL") }
        let email = (call.fields["email"] ?? "").lowercased()
        guard Self.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        let password = try call.fields.requiredText("password", "MISSING_PASSWORD")
        let hidesUnknownEmails = project(call).enumerationProtection
        let failuresMax = settings.failedSignInsMax
        let exceedsLimit = editProject(call) {
            $0.exceedsLimit(
                "sign-in",
                email,
                max: failuresMax,
                within: .seconds(300),
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
        func errorAfterCountingFailure(_ code: String) -> FirebaseError {
            editProject(call) {
                _ = $0.exceedsLimit(
                    "sign-in",
                    email,
                    max: failuresMax,
                    within: .seconds(300),
                    at: call.now,
                    countsAttempt: true
                )
            }
            return FirebaseError(hidesUnknownEmails ? "INVALID_LOGIN_CREDENTIALS" : code)
        }
        guard var user = project(call).user(withEmail: email) else {
            throw errorAfterCountingFailure("EMAIL_NOT_FOUND")
        }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        guard user.password == password else { throw errorAfterCountingFailure("INVALID_PASSWORD") }
        let userBeforeSignIn = user
        user.lastLogin = call.now
        let tokenFields = signedIn(user, previousUser: userBeforeSignIn, provider: "password", call)
        return .present(
            [
                ("kind", "identitytoolkit#VerifyPasswordResponse"), ("registered", true),
                ("localId", .string(user.localID)), ("email", .string(email)),
                ("displayName", user.displayName.map(JSONValue.string)),
                ("profilePicture", user.photoURL.map(JSONValue.string)),
            ] + tokenFields.members.map { ($0.key, $0.value) }
        )
    }

    // MARK: Custom token

    mutating func signInWithCustomToken(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let text = try call.fields.requiredText("token", "MISSING_CUSTOM_TOKEN")
        let claims: JSONObject
        if text.hasPrefix("{") {
            guard let object = (try? JSONValue(parsing: text))?.object else {
                throw FirebaseError(
                    "INVALID_CUSTOM_TOKEN",
                    "((Auth Emulator only accepts strict "
                        + "JSON or JWTs as fake custom tokens.))"
                )
            }
            claims = object
        } else {
            guard let token = WebToken(text) else {
                throw FirebaseError("INVALID_CUSTOM_TOKEN", "Invalid assertion format")
            }
            let audience = token.claims["aud"]?.string ?? ""
            guard audience == Self.customTokenAudience else {
                throw FirebaseError(
                    "INVALID_CUSTOM_TOKEN",
                    "((Invalid aud (audience): \(audience) Note: Firebase ID Tokens / third-party "
                        + "tokens cannot be used with signInWithCustomToken.))"
                )
            }
            claims = token.claims
        }
        let tenant = claims["tenant_id"]?.string ?? claims["tenantId"]?.string
        guard tenant == nil || tenant == call.tenantID else {
            throw FirebaseError("TENANT_ID_MISMATCH")
        }
        let id = [claims["uid"], claims["user_id"]].compactMap { $0?.string }.first { !$0.isEmpty }
        guard let id else { throw FirebaseError("MISSING_IDENTIFIER") }
        var extraClaims = JSONObject()
        if let value = claims["claims"], !value.isNull {
            guard let object = value.object else { throw FirebaseError("INVALID_CLAIMS") }
            if let name = object.keys.first(where: Self.reservedClaims.contains) {
                throw FirebaseError("FORBIDDEN_CLAIM", name)
            }
            extraClaims = object
        }
        let existingRecord = project(call).users[id]
        guard existingRecord?.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        var user = existingRecord ?? newUser(call, localID: id)
        user.hasCustomAuth = true
        user.lastLogin = call.now
        var responseFields: JSONObject = [
            "kind": "identitytoolkit#VerifyCustomTokenResponse",
            "isNewUser": .bool(existingRecord == nil),
        ]
        for member in tokens(for: user, provider: "custom", extraClaims: extraClaims, call).members
        {
            responseFields[member.key] = member.value
        }
        return responseFields
    }

    // MARK: Email link

    mutating func signInWithEmailLink(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        guard settings.emailLinkProvider else { throw FirebaseError("OPERATION_NOT_ALLOWED") }
        let sessionToLink = call.fields.nonEmptyText("idToken") == nil ? nil : try session(call)
        let email = try call.fields.requiredText("email", "MISSING_EMAIL").lowercased()
        let text = try call.fields.requiredText("oobCode", "MISSING_OOB_CODE")
        let code = try actionCode(text, [.emailSignIn], call)
        guard code.email == email else {
            throw FirebaseError(
                "INVALID_EMAIL",
                "The email provided does not match the sign-in email address."
            )
        }
        consumeActionCode(code, call)
        let existingRecord = project(call).user(withEmail: email)
        var user: FirebaseUser
        if let sessionToLink {
            guard existingRecord == nil || existingRecord?.localID == sessionToLink.user.localID
            else {
                throw FirebaseError("EMAIL_EXISTS")
            }
            user = sessionToLink.user
        } else {
            guard existingRecord?.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
            user = existingRecord ?? newUser(call)
        }
        user.email = email
        user.emailVerified = true
        user.hasEmailLink = true
        user.lastLogin = call.now
        let tokenFields = signedIn(
            user,
            previousUser: existingRecord,
            provider: "password",
            sessionToLink: sessionToLink,
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

    // MARK: Phone

    /// Creates a code for a phone without sending it.
    ///
    /// The emulator's endpoint `verificationCodes` returns the code.
    mutating func sendVerificationCode(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let phone = call.fields.nonEmptyText("phoneNumber") ?? ""
        guard Self.isPhone(phone) else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
        }
        try refuseFirstFactor(project(call).user(withPhone: phone))
        return ["sessionInfo": .string(sendCode(to: phone, call))]
    }

    /// Refuses to sign in a user with second factors by phone number, since the same phone would
    /// then be both steps.
    private func refuseFirstFactor(_ user: FirebaseUser?) throws(FirebaseError) {
        guard user?.secondFactors?.isEmpty ?? true else {
            throw FirebaseError(
                "UNSUPPORTED_FIRST_FACTOR",
                "A phone number cannot be set as a first factor on an SMS based MFA user."
            )
        }
    }

    /// Creates a code for a phone and returns the ID of the phone session that the code belongs to.
    mutating func sendCode(to phone: String, _ call: FirebaseCall) -> String {
        let code = FirebaseProject.PhoneCode(
            phoneNumber: phone,
            session: ids.alphanumerics(40),
            code: ids.digits(6)
        )
        editProject(call) { $0.phoneCodes.append(code, as: code.session) }
        return code.session
    }

    /// Checks a code that was sent to a phone.
    ///
    /// Returns the phone number and the session in which the code was sent.
    func verifiedPhoneCode(
        _ fields: JSONObject,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (phone: String, session: String) {
        func text(_ name: String, _ code: String) throws(FirebaseError) -> String {
            guard let text = FirebaseFields.text(fields[name]), !text.isEmpty else {
                throw FirebaseError(code)
            }
            return text
        }
        let session = try text("sessionInfo", "MISSING_SESSION_INFO")
        let code = try text("code", "MISSING_CODE")
        guard let sentPhoneCode = project(call).phoneCodes[session] else {
            throw FirebaseError("INVALID_SESSION_INFO")
        }
        guard sentPhoneCode.code == code else { throw FirebaseError("INVALID_CODE") }
        return (sentPhoneCode.phoneNumber, session)
    }

    private static let proofLifetimeSeconds: Int64 = 3600

    mutating func signInWithPhoneNumber(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let phone: String
        var (usedSession, usedProof): (String?, String?)
        if let proof = call.fields.nonEmptyText("temporaryProof") {
            phone = try call.fields.requiredText("phoneNumber", "MISSING_PHONE_NUMBER")
            guard let existingRecord = project(call).phoneProofs[proof],
                existingRecord.phoneNumber == phone,
                call.now - existingRecord.made < .seconds(Self.proofLifetimeSeconds)
            else { throw FirebaseError("INVALID_TEMPORARY_PROOF") }
            usedProof = proof
        } else {
            (phone, usedSession) = try verifiedPhoneCode(call.fields.object, call)
        }
        let sessionToLink =
            call.fields.nonEmptyText("idToken") == nil ? nil : try self.session(call)
        let existingRecord = project(call).user(withPhone: phone)
        if let sessionToLink, let existingRecord,
            existingRecord.localID != sessionToLink.user.localID
        {
            guard usedSession != nil else { throw FirebaseError("PHONE_NUMBER_EXISTS") }
            // The phone number belongs to another account. With this proof, the holder of the phone
            // can sign in to that account without another code.
            let proof = FirebaseProject.PhoneProof(
                proof: ids.alphanumerics(48),
                phoneNumber: phone,
                made: call.now
            )
            editProject(call) {
                if let usedSession { $0.phoneCodes.remove(usedSession) }
                $0.phoneProofs.append(proof, as: proof.proof)
            }
            return [
                "phoneNumber": .string(phone), "temporaryProof": .string(proof.proof),
                "temporaryProofExpiresIn": .string(String(Self.proofLifetimeSeconds)),
            ]
        }
        if sessionToLink == nil { try refuseFirstFactor(existingRecord) }
        guard existingRecord?.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        editProject(call) {
            if let usedSession { $0.phoneCodes.remove(usedSession) }
            if let usedProof { $0.phoneProofs.remove(usedProof) }
        }
        var user = sessionToLink?.user ?? existingRecord ?? newUser(call)
        user.phoneNumber = phone
        user.lastLogin = call.now
        var responseFields: JSONObject = [
            "localId": .string(user.localID), "phoneNumber": .string(phone),
            "isNewUser": .bool(existingRecord == nil && sessionToLink == nil),
        ]
        for member in tokens(for: user, provider: "phone", call).members {
            responseFields[member.key] = member.value
        }
        return responseFields
    }
}
