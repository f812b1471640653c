internal import Values

/// The sign-in in two steps of users with second factors (Identity Platform's reference, v2
/// *accounts*).
///
/// The order of the checks and the error texts are those of the Firebase emulator where it supports
/// the operation.
enum FirebaseSecondFactorSignIn {
    // MARK: The first step

    /// Returns the tokens of a user who signed in.
    ///
    /// For an account with second factors, returns only a credential for the second step. A user
    /// who links a sign-in method is already signed in, and gets the tokens without a second step.
    ///
    /// `previousUser` is the account before the sign-in, or nil for a new account.
    static func finishFirstStep(
        _ user: FirebaseUser,
        previousUser old: FirebaseUser?,
        provider: String,
        sessionToLink session: SignInSession? = nil,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) -> JSONObject {
        let factors = user.secondFactors ?? []
        guard state.project(call).secondFactorRules.areEnabled, !factors.isEmpty, session == nil
        else {
            let grant = FirebaseTokenGrant(
                user: user,
                provider: provider,
                secondFactor: session?.secondFactor
            )
            return grant.issue(&state, call)
        }
        // The sign-in is not complete, so it does not change the time of the last sign-in.
        var user = user
        user.lastLogin = old?.lastLogin
        state.editProject(call) { $0.users.save(user) }
        let pendingSignIn = PendingSignIn(user: user, provider: provider)
        return [
            "mfaPendingCredential": .string(pendingSignIn.credential(call)),
            "mfaInfo": .array(factors.map { $0.factorJSON(masksPhoneNumber: true) }),
        ]
    }

    // MARK: The second step

    static func start(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        try state.project(call).secondFactorRules.requireEnabled(isPhone: true)
        let user = try PendingSignIn(of: call, state).user
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
        return [
            "phoneResponseInfo": [
                "sessionInfo": .string(FirebasePhoneSignIn.createCode(for: phone, &state, call))
            ]
        ]
    }

    static func finish(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let pendingSignIn = try PendingSignIn(
            of: call,
            state,
            missing: FirebaseError("MISSING_CREDENTIAL", "Please set MFA Pending Credential.")
        )
        var user = pendingSignIn.user
        let rules = state.project(call).secondFactorRules
        let factor: SecondFactor
        if let info = call.fields.object["totpVerificationInfo"]?.object {
            try rules.requireEnabled(isPhone: false)
            let step: Int64
            (factor, step) = try verifiedTOTPFactor(of: user, info, rules, call)
            let index = user.secondFactors?.firstIndex { $0.id == factor.id }
            if let index { user.secondFactors?[index].usedStep = step }
        } else {
            try rules.requireEnabled(isPhone: true)
            factor = try verifiedPhoneFactor(of: user, &state, call)
        }
        user.lastLogin = call.now
        let grant = FirebaseTokenGrant(
            user: user,
            provider: pendingSignIn.provider,
            secondFactor: SecondFactor.Proof(factor)
        )
        var responseFields = grant.issue(&state, call)
        responseFields["expiresIn"] = nil
        return responseFields
    }

    /// Checks a code of an app, and returns the second factor with the time step of the code.
    private static func verifiedTOTPFactor(
        of user: FirebaseUser,
        _ info: JSONObject,
        _ rules: SecondFactorRules,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> (factor: SecondFactor, step: Int64) {
        guard let factorID = call.fields.nonEmptyText("mfaEnrollmentId") else {
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
            within: rules.allowedTOTPSteps,
            after: matchingFactor.usedStep
        )
        guard let step else { throw FirebaseError("INVALID_CODE") }
        return (matchingFactor, step)
    }

    /// Checks a code that was sent to a phone, uses it up, and returns the second factor.
    private static func verifiedPhoneFactor(
        of user: FirebaseUser,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> SecondFactor {
        guard let info = call.fields.object["phoneVerificationInfo"]?.object else {
            throw FirebaseError("INVALID_ARGUMENT", "((Missing phoneVerificationInfo.))")
        }
        let (phone, usedSession) = try state.project(call).sentCodes.verifiedPhone(info)
        guard let matchingFactor = user.secondFactors?.first(where: { $0.phoneNumber == phone })
        else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND")
        }
        state.editProject(call) { $0.sentCodes.phoneCodes.remove(usedSession) }
        return matchingFactor
    }
}

extension FirebaseOperation {
    static let secondFactorSignInRows: [Row] = [
        .init(
            "POST",
            "/v2/accounts/mfaSignIn:start",
            .init(handle: FirebaseSecondFactorSignIn.start)
        ),
        .init(
            "POST",
            "/v2/accounts/mfaSignIn:finalize",
            .init(handle: FirebaseSecondFactorSignIn.finish)
        ),
    ]
}
