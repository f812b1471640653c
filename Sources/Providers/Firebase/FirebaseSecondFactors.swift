internal import Values

/// Operations that enroll second factors and sign in with them (Identity Platform's reference, v2
/// *accounts*).
///
/// The order of the checks and the error texts are those of the Firebase emulator where it supports
/// the operation.
extension FirebaseState {
    /// The time in seconds within which a TOTP enrollment must be finished (*inferred*).
    private static let enrollmentSeconds: Int64 = 300

    // MARK: Rules

    /// Returns the rules for second factors of a project or tenant, in the format of its
    /// configuration.
    func secondFactorRules(_ call: FirebaseCall) -> JSONObject {
        let project = project(call)
        if let rules = project.mfa ?? project.tenant?["mfaConfig"]?.object { return rules }
        // In a tenant that was created explicitly, second factors are off until its settings enable
        // them.
        guard project.tenant == nil else { return ["state": "DISABLED", "enabledProviders": []] }
        return [
            "state": "ENABLED", "enabledProviders": ["PHONE_SMS"],
            "providerConfigs": [
                ["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": 5]]
            ],
        ]
    }

    private func requiresSecondFactor(_ call: FirebaseCall) -> Bool {
        ["ENABLED", "MANDATORY"].contains(secondFactorRules(call)["state"]?.string)
    }

    private func requireFactorEnabled(isPhone: Bool, _ call: FirebaseCall) throws(FirebaseError) {
        let rules = secondFactorRules(call)
        let isAllowed =
            isPhone
            ? rules["enabledProviders"]?.array?.contains("PHONE_SMS") == true
            : totpRules(rules) != nil
        guard requiresSecondFactor(call), isAllowed else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED",
                (isPhone ? "SMS" : "TOTP") + " based MFA not enabled."
            )
        }
    }

    private func totpRules(_ rules: JSONObject) -> JSONValue? {
        rules["providerConfigs"]?.array?.first {
            ["ENABLED", "MANDATORY"].contains($0["state"]?.string)
                && $0["totpProviderConfig"]?.object != nil
        }?["totpProviderConfig"]
    }

    private func allowedTOTPSteps(_ call: FirebaseCall) -> Int64 {
        let toleratedSteps = totpRules(secondFactorRules(call))?["adjacentIntervals"]?.int64 ?? 5
        return min(10, max(0, toleratedSteps))
    }

    // MARK: The first step

    /// Returns the tokens of a user who signed in.
    ///
    /// For an account with second factors, returns only a credential for the second step. A user
    /// who links a sign-in method is already signed in, and gets the tokens without a second step.
    ///
    /// `previousUser` is the account before the sign-in, or nil for a new account.
    mutating func signedIn(
        _ user: FirebaseUser,
        previousUser old: FirebaseUser?,
        provider: String,
        sessionToLink session: SignInSession? = nil,
        _ call: FirebaseCall
    ) -> JSONObject {
        let factors = user.secondFactors ?? []
        guard requiresSecondFactor(call), !factors.isEmpty, session == nil else {
            return tokens(
                for: user,
                provider: provider,
                secondFactor: session?.secondFactor,
                call
            )
        }
        // The sign-in is not complete, so it does not change the time of the last sign-in.
        var user = user
        user.lastLogin = old?.lastLogin
        editProject(call) { $0.save(user) }
        let pendingSignIn: JSONObject = [
            "_fakeMfaPendingCredential": "DO NOT MODIFY", "localId": .string(user.localID),
            "provider": .string(provider), "projectId": .string(call.projectID),
            "tenantId": call.tenantID.map(JSONValue.string) ?? .null,
        ]
        return [
            "mfaPendingCredential": .string(Base64.url(JSONValue.object(pendingSignIn).bytes)),
            "mfaInfo": .array(factors.map { $0.factorJSON(masksPhoneNumber: true) }),
        ]
    }

    private static let pendingCredentialMissing = FirebaseError(
        "MISSING_MFA_PENDING_CREDENTIAL",
        "Request does not have MFA pending credential."
    )

    private func pendingSignIn(
        _ call: FirebaseCall,
        missing: FirebaseError = pendingCredentialMissing
    ) throws(FirebaseError) -> (user: FirebaseUser, provider: String) {
        guard let text = call.fields.nonEmptyText("mfaPendingCredential") else { throw missing }
        guard let value = Base64.bytes(text).flatMap({ try? JSONValue(parsing: $0) }),
            value["_fakeMfaPendingCredential"] != nil, let id = value["localId"]?.string,
            value["projectId"]?.string == call.projectID,
            value["tenantId"]?.string == call.tenantID
        else { throw FirebaseError("INVALID_MFA_PENDING_CREDENTIAL") }
        guard let user = project(call).users[id] else { throw FirebaseError("USER_NOT_FOUND") }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        return (user, value["provider"]?.string ?? "password")
    }

    // MARK: Enrollment

    /// The sign-in providers that allow no second factor.
    ///
    /// A session that began with one of them cannot enroll a second factor.
    private static let ineligibleProviders: Set = ["anonymous", "phone", "custom", "gc.apple.com"]

    private func enrollmentSession(_ call: FirebaseCall) throws(FirebaseError) -> SignInSession {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let session = try session(call)
        guard !Self.ineligibleProviders.contains(session.signInProvider) else {
            throw FirebaseError(
                "UNSUPPORTED_FIRST_FACTOR",
                "MFA is not available for the given first factor."
            )
        }
        guard session.user.emailVerified == true else {
            throw FirebaseError(
                "UNVERIFIED_EMAIL",
                "Need to verify email first before enrolling second factors."
            )
        }
        return session
    }

    mutating func startEnrollment(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        if call.fields.object["totpEnrollmentInfo"]?.object != nil {
            try requireFactorEnabled(isPhone: false, call)
            let session = try enrollmentSession(call)
            let secret = ids.drawString(32, from: Base32.alphabet)
            let expiry = call.now + .seconds(Self.enrollmentSeconds)
            let info: JSONObject = [
                "_fakeTotpSession": "DO NOT MODIFY", "secret": .string(secret),
                "localId": .string(session.user.localID), "end": .integer(expiry.seconds),
            ]
            return [
                "totpSessionInfo": [
                    "sharedSecretKey": .string(secret),
                    "verificationCodeLength": .integer(Int64(SecondFactor.codeLength)),
                    "hashingAlgorithm": "SHA1", "periodSec": .integer(SecondFactor.periodSeconds),
                    "sessionInfo": .string(Base64.url(JSONValue.object(info).bytes)),
                    "finalizeEnrollmentTime": .string(expiry.preciseText),
                ]
            ]
        }
        try requireFactorEnabled(isPhone: true, call)
        let session = try enrollmentSession(call)
        guard let info = call.fields.object["phoneEnrollmentInfo"]?.object else {
            throw FirebaseError("INVALID_ARGUMENT", "((Missing phoneEnrollmentInfo.))")
        }
        let phone = FirebaseFields.text(info["phoneNumber"]) ?? ""
        guard Self.isPhone(phone) else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
        }
        try checkPhoneIsNew(phone, session.user)
        return ["phoneSessionInfo": ["sessionInfo": .string(sendCode(to: phone, call))]]
    }

    private func checkPhoneIsNew(_ phone: String, _ user: FirebaseUser) throws(FirebaseError) {
        guard user.secondFactors?.contains(where: { $0.phoneNumber == phone }) != true else {
            throw FirebaseError(
                "SECOND_FACTOR_EXISTS",
                "Phone number already enrolled as second factor for this account."
            )
        }
    }

    mutating func finishEnrollment(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let isAuthenticatorApp = call.fields.object["totpVerificationInfo"]?.object != nil
        try requireFactorEnabled(isPhone: !isAuthenticatorApp, call)
        let session = try enrollmentSession(call)
        var user = session.user
        var factor = SecondFactor(
            id: ids.alphanumerics(28),
            displayName: call.fields.nonEmptyText("displayName"),
            enrolled: call.now
        )
        if let info = call.fields.object["totpVerificationInfo"]?.object {
            (factor.secret, factor.usedStep) = try verifiedTOTPSecret(info, user, call)
        } else {
            guard let info = call.fields.object["phoneVerificationInfo"]?.object else {
                throw FirebaseError("INVALID_ARGUMENT", "((Missing phoneVerificationInfo.))")
            }
            let (phone, usedSession) = try verifiedPhoneCode(info, call)
            try checkPhoneIsNew(phone, user)
            factor.phoneNumber = phone
            editProject(call) { $0.phoneCodes.remove(usedSession) }
        }
        user.secondFactors = (user.secondFactors ?? []) + [factor]
        var responseFields = tokens(
            for: user,
            provider: session.signInProvider,
            extraClaims: session.extraClaims,
            authTime: session.authTime,
            secondFactor: SecondFactor.Proof(factor),
            call
        )
        responseFields["expiresIn"] = nil
        if isAuthenticatorApp { responseFields["totpAuthInfo"] = [:] }
        return responseFields
    }

    /// Checks the code of a TOTP enrollment.
    ///
    /// Returns the shared secret and the time step of the code.
    private func verifiedTOTPSecret(
        _ info: JSONObject,
        _ user: FirebaseUser,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (secret: String, step: Int64) {
        guard let text = info["sessionInfo"]?.string, !text.isEmpty else {
            throw FirebaseError("MISSING_SESSION_INFO")
        }
        guard let code = FirebaseFields.text(info["verificationCode"]), !code.isEmpty else {
            throw FirebaseError("MISSING_CODE")
        }
        guard let value = Base64.bytes(text).flatMap({ try? JSONValue(parsing: $0) }),
            value["_fakeTotpSession"] != nil, value["localId"]?.string == user.localID,
            let secret = value["secret"]?.string
        else { throw FirebaseError("INVALID_SESSION_INFO") }
        guard call.now.seconds < value["end"]?.int64 ?? 0 else {
            throw FirebaseError("SESSION_EXPIRED")
        }
        let step = SecondFactor.step(of: code, secret, at: call.now, within: allowedTOTPSteps(call))
        guard let step else { throw FirebaseError("INVALID_CODE") }
        return (secret, step)
    }

    mutating func withdrawFactor(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let session = try session(call)
        let factorID = call.fields.nonEmptyText("mfaEnrollmentId")
        var user = session.user
        guard let factorID, user.secondFactors?.contains(where: { $0.id == factorID }) == true
        else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND")
        }
        user.secondFactors?.removeAll { $0.id == factorID }
        if user.secondFactors?.isEmpty == true { user.secondFactors = nil }
        var responseFields = tokens(
            for: user,
            provider: session.signInProvider,
            extraClaims: session.extraClaims,
            authTime: session.authTime,
            secondFactor: session.secondFactor.flatMap { $0.id == factorID ? nil : $0 },
            call
        )
        responseFields["expiresIn"] = nil
        return responseFields
    }

    // MARK: The second step

    mutating func startSecondStep(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        try requireFactorEnabled(isPhone: true, call)
        let (user, _) = try pendingSignIn(call)
        guard let factorID = call.fields.nonEmptyText("mfaEnrollmentId") else {
            throw FirebaseError(
                "MISSING_MFA_ENROLLMENT_ID",
                "No second factor identifier is provided."
            )
        }
        guard let factor = user.secondFactors?.first(where: { $0.id == factorID }) else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND")
        }
        guard let phone = factor.phoneNumber else {
            throw FirebaseError("INVALID_ARGUMENT", "MFA provider not supported!")
        }
        return ["phoneResponseInfo": ["sessionInfo": .string(sendCode(to: phone, call))]]
    }

    mutating func finishSecondStep(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let (user, provider) = try pendingSignIn(
            call,
            missing: FirebaseError("MISSING_CREDENTIAL", "Please set MFA Pending Credential.")
        )
        let factor: SecondFactor
        var usedStep: Int64?
        if let info = call.fields.object["totpVerificationInfo"]?.object {
            try requireFactorEnabled(isPhone: false, call)
            let factorID = call.fields.nonEmptyText("mfaEnrollmentId")
            guard let factorID else {
                throw FirebaseError(
                    "MISSING_MFA_ENROLLMENT_ID",
                    "No second factor identifier is provided."
                )
            }
            let matchingFactor = user.secondFactors?.first { $0.id == factorID }
            guard let matchingFactor, let secret = matchingFactor.secret else {
                throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND")
            }
            let code = FirebaseFields.text(info["verificationCode"]) ?? ""
            guard !code.isEmpty else { throw FirebaseError("MISSING_CODE") }
            let step = SecondFactor.step(
                of: code,
                secret,
                at: call.now,
                within: allowedTOTPSteps(call),
                after: matchingFactor.usedStep
            )
            guard let step else { throw FirebaseError("INVALID_CODE") }
            factor = matchingFactor
            usedStep = step
        } else {
            try requireFactorEnabled(isPhone: true, call)
            guard let info = call.fields.object["phoneVerificationInfo"]?.object else {
                throw FirebaseError("INVALID_ARGUMENT", "((Missing phoneVerificationInfo.))")
            }
            let (phone, usedSession) = try verifiedPhoneCode(info, call)
            guard let matchingFactor = user.secondFactors?.first(where: { $0.phoneNumber == phone })
            else {
                throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND")
            }
            editProject(call) { $0.phoneCodes.remove(usedSession) }
            factor = matchingFactor
        }
        var signedIn = user
        signedIn.lastLogin = call.now
        if let usedStep,
            let index = signedIn.secondFactors?.firstIndex(where: { $0.id == factor.id })
        {
            signedIn.secondFactors?[index].usedStep = usedStep
        }
        var responseFields = tokens(
            for: signedIn,
            provider: provider,
            secondFactor: SecondFactor.Proof(factor),
            call
        )
        responseFields["expiresIn"] = nil
        return responseFields
    }

    // MARK: An admin's lists

    /// Converts the second factors that an administrator sets for a user.
    ///
    /// An entry without a phone number is refused, because this admin API knows only phones as
    /// second factors.
    mutating func factors(
        _ entries: [JSONValue],
        givesIDs: Bool,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> [SecondFactor] {
        var factors: [SecondFactor] = []
        for entry in entries {
            let phone = FirebaseFields.text(entry["phoneInfo"]) ?? ""
            guard Self.isPhone(phone) else {
                throw FirebaseError("INVALID_MFA_PHONE_NUMBER", "Invalid format.")
            }
            let givenID = entry["mfaEnrollmentId"]?.string.flatMap { $0.isEmpty ? nil : $0 }
            guard givesIDs || givenID != nil else {
                throw FirebaseError("INVALID_MFA_ENROLLMENT_ID", "mfaEnrollmentId must be defined.")
            }
            if let givenID, factors.contains(where: { $0.id == givenID }) {
                throw FirebaseError("DUPLICATE_MFA_ENROLLMENT_ID")
            }
            // The same phone can be a second factor of the user only once.
            guard !factors.contains(where: { $0.phoneNumber == phone }) else { continue }
            let enrolledAt = entry["enrolledAt"]?.string.flatMap { Instant(iso8601: $0) }
            let enrolled = enrolledAt.flatMap { RequestDate($0) }?.instant
            guard enrolledAt == nil || enrolled != nil else {
                throw .invalidArgument(
                    "Invalid value at 'enrolledAt': not a date within \(RequestDate.acceptedRangeText)"
                )
            }
            factors.append(
                SecondFactor(
                    id: givenID ?? ids.alphanumerics(28),
                    displayName: entry["displayName"]?.string,
                    enrolled: enrolled ?? call.now,
                    phoneNumber: phone
                )
            )
        }
        return factors
    }
}

extension FirebaseOperation {
    static let secondFactorRows: [Row] = [
        .init(
            "POST",
            "/v2/accounts/mfaEnrollment:start",
            .init { state, call throws(FirebaseError) in try state.startEnrollment(call) }
        ),
        .init(
            "POST",
            "/v2/accounts/mfaEnrollment:finalize",
            .init { state, call throws(FirebaseError) in try state.finishEnrollment(call) }
        ),
        .init(
            "POST",
            "/v2/accounts/mfaEnrollment:withdraw",
            .init { state, call throws(FirebaseError) in try state.withdrawFactor(call) }
        ),
        .init(
            "POST",
            "/v2/accounts/mfaSignIn:start",
            .init { state, call throws(FirebaseError) in try state.startSecondStep(call) }
        ),
        .init(
            "POST",
            "/v2/accounts/mfaSignIn:finalize",
            .init { state, call throws(FirebaseError) in try state.finishSecondStep(call) }
        ),
    ]
}
