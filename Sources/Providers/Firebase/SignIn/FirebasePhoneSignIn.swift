internal import Values

/// The sign-in with a code that is sent to a phone.
enum FirebasePhoneSignIn {
    /// Creates a code for a phone without sending it.
    ///
    /// The emulator's endpoint `verificationCodes` returns the code.
    static func sendCode(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let phone = call.fields.nonEmptyText("phoneNumber") ?? ""
        guard FirebaseSyntax.isPhone(phone) else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
        }
        try refuseFirstFactor(state.project(call).users[phone: phone])
        return ["sessionInfo": .string(createCode(for: phone, &state, call))]
    }

    /// Refuses to sign in a user with second factors by phone number, since the same phone would
    /// then be both steps.
    private static func refuseFirstFactor(_ user: FirebaseUser?) throws(FirebaseError) {
        guard user?.secondFactors?.isEmpty ?? true else {
            throw FirebaseError(
                "UNSUPPORTED_FIRST_FACTOR",
                "A phone number cannot be set as a first factor on an SMS based MFA user."
            )
        }
    }

    /// Creates a code for a phone and returns the ID of the phone session that the code belongs to.
    static func createCode(
        for phone: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) -> String {
        let code = FirebasePhoneCode(
            phoneNumber: phone,
            session: state.ids.alphanumerics(40),
            code: state.ids.digits(6)
        )
        state.editProject(call) { $0.sentCodes.phoneCodes.append(code, as: code.session) }
        return code.session
    }

    static func signIn(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let phone: String
        var (usedSession, usedProof): (String?, String?)
        if let proof = call.fields.nonEmptyText("temporaryProof") {
            phone = try call.fields.requiredText("phoneNumber", "MISSING_PHONE_NUMBER")
            guard let existingRecord = state.project(call).sentCodes.phoneProofs[proof],
                existingRecord.phoneNumber == phone,
                call.now - existingRecord.made < .seconds(FirebasePhoneProof.lifetimeSeconds)
            else { throw FirebaseError("INVALID_TEMPORARY_PROOF") }
            usedProof = proof
        } else {
            (phone, usedSession) = try state.project(call).sentCodes.verifiedPhone(
                call.fields.object
            )
        }
        let sessionToLink =
            call.fields.nonEmptyText("idToken") == nil ? nil : try SignInSession(of: call, state)
        let existingRecord = state.project(call).users[phone: phone]
        if let sessionToLink, let existingRecord,
            existingRecord.localID != sessionToLink.user.localID
        {
            guard let usedSession else { throw FirebaseError("PHONE_NUMBER_EXISTS") }
            return proof(of: phone, usedSession, &state, call)
        }
        if sessionToLink == nil { try refuseFirstFactor(existingRecord) }
        guard existingRecord?.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        state.editProject(call) {
            if let usedSession { $0.sentCodes.phoneCodes.remove(usedSession) }
            if let usedProof { $0.sentCodes.phoneProofs.remove(usedProof) }
        }
        var user = sessionToLink?.user ?? existingRecord ?? FirebaseUser(of: call, &state.ids)
        user.phoneNumber = phone
        user.lastLogin = call.now
        var responseFields: JSONObject = [
            "localId": .string(user.localID), "phoneNumber": .string(phone),
            "isNewUser": .bool(existingRecord == nil && sessionToLink == nil),
        ]
        for member in FirebaseTokenGrant(user: user, provider: "phone").issue(&state, call).members
        {
            responseFields[member.key] = member.value
        }
        return responseFields
    }

    /// Issues a proof of a phone number that belongs to another account.
    ///
    /// With this proof, the holder of the phone can sign in to that account without another code.
    private static func proof(
        of phone: String,
        _ usedSession: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) -> JSONObject {
        let proof = FirebasePhoneProof(
            proof: state.ids.alphanumerics(48),
            phoneNumber: phone,
            made: call.now
        )
        state.editProject(call) {
            $0.sentCodes.phoneCodes.remove(usedSession)
            $0.sentCodes.phoneProofs.append(proof, as: proof.proof)
        }
        return [
            "phoneNumber": .string(phone), "temporaryProof": .string(proof.proof),
            "temporaryProofExpiresIn": .string(String(FirebasePhoneProof.lifetimeSeconds)),
        ]
    }
}
