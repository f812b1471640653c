internal import Values

/// The operations that enroll and withdraw second factors (Identity Platform's reference, v2
/// *accounts*).
///
/// The order of the checks and the error texts are those of the Firebase emulator where it supports
/// the operation.
enum FirebaseSecondFactorEnrollment {
    /// The sign-in providers that allow no second factor.
    ///
    /// A session that began with one of them cannot enroll a second factor.
    private static let ineligibleProviders: Set = ["anonymous", "phone", "custom", "gc.apple.com"]

    private static func enrollmentSession(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> SignInSession {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let session = try SignInSession(of: call, state)
        guard !ineligibleProviders.contains(session.signInProvider) else {
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

    static func start(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        call.fields.object["totpEnrollmentInfo"]?.object != nil
            ? try startTOTP(&state, call) : try startPhone(&state, call)
    }

    private static func startTOTP(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        try state.project(call).secondFactorRules.requireEnabled(isPhone: false)
        let session = try enrollmentSession(state, call)
        let enrollment = TOTPEnrollment(
            secret: state.ids.drawString(32, from: Base32.alphabet),
            localID: session.user.localID,
            expiry: call.now + .seconds(TOTPEnrollment.lifetimeSeconds)
        )
        return ["totpSessionInfo": enrollment.json]
    }

    private static func startPhone(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        try state.project(call).secondFactorRules.requireEnabled(isPhone: true)
        let session = try enrollmentSession(state, call)
        guard let info = call.fields.object["phoneEnrollmentInfo"]?.object else {
            throw FirebaseError("INVALID_ARGUMENT", "((Missing phoneEnrollmentInfo.))")
        }
        let phone = FirebaseFields.text(info["phoneNumber"]) ?? ""
        guard FirebaseSyntax.isPhone(phone) else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
        }
        try checkPhoneIsNew(phone, session.user)
        let phoneSession = FirebasePhoneSignIn.createCode(for: phone, &state, call)
        return ["phoneSessionInfo": ["sessionInfo": .string(phoneSession)]]
    }

    private static func checkPhoneIsNew(_ phone: String, _ user: FirebaseUser) throws(FirebaseError)
    {
        guard user.secondFactors?.contains(where: { $0.phoneNumber == phone }) != true else {
            throw FirebaseError(
                "SECOND_FACTOR_EXISTS",
                "Phone number already enrolled as second factor for this account."
            )
        }
    }

    static func finish(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let isAuthenticatorApp = call.fields.object["totpVerificationInfo"]?.object != nil
        let rules = state.project(call).secondFactorRules
        try rules.requireEnabled(isPhone: !isAuthenticatorApp)
        let session = try enrollmentSession(state, call)
        var user = session.user
        var factor = SecondFactor(
            id: state.ids.alphanumerics(28),
            displayName: call.fields.nonEmptyText("displayName"),
            enrolled: call.now
        )
        if let info = call.fields.object["totpVerificationInfo"]?.object {
            (factor.secret, factor.usedStep) = try TOTPEnrollment.verifiedSecret(
                info,
                of: user,
                rules,
                at: call.now
            )
        } else {
            guard let info = call.fields.object["phoneVerificationInfo"]?.object else {
                throw FirebaseError("INVALID_ARGUMENT", "((Missing phoneVerificationInfo.))")
            }
            let (phone, usedSession) = try state.project(call).sentCodes.verifiedPhone(info)
            try checkPhoneIsNew(phone, user)
            factor.phoneNumber = phone
            state.editProject(call) { $0.sentCodes.phoneCodes.remove(usedSession) }
        }
        user.secondFactors = (user.secondFactors ?? []) + [factor]
        let grant = session.grant(to: user, secondFactor: SecondFactor.Proof(factor))
        var responseFields = grant.issue(&state, call)
        responseFields["expiresIn"] = nil
        if isAuthenticatorApp { responseFields["totpAuthInfo"] = [:] }
        return responseFields
    }

    static func withdraw(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let session = try SignInSession(of: call, state)
        let factorID = call.fields.nonEmptyText("mfaEnrollmentId")
        var user = session.user
        guard let factorID, user.secondFactors?.contains(where: { $0.id == factorID }) == true
        else {
            throw FirebaseError("MFA_ENROLLMENT_NOT_FOUND")
        }
        user.secondFactors?.removeAll { $0.id == factorID }
        if user.secondFactors?.isEmpty == true { user.secondFactors = nil }
        let grant = session.grant(
            to: user,
            secondFactor: session.secondFactor.flatMap { $0.id == factorID ? nil : $0 }
        )
        var responseFields = grant.issue(&state, call)
        responseFields["expiresIn"] = nil
        return responseFields
    }
}

extension FirebaseOperation {
    static let secondFactorEnrollmentRows: [Row] = [
        .init(
            "POST",
            "/v2/accounts/mfaEnrollment:start",
            .init(handle: FirebaseSecondFactorEnrollment.start)
        ),
        .init(
            "POST",
            "/v2/accounts/mfaEnrollment:finalize",
            .init(handle: FirebaseSecondFactorEnrollment.finish)
        ),
        .init(
            "POST",
            "/v2/accounts/mfaEnrollment:withdraw",
            .init(handle: FirebaseSecondFactorEnrollment.withdraw)
        ),
    ]
}
