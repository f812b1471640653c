internal import Values

/// A sign-in whose second step is missing.
///
/// The user keeps it as a credential, which the second step returns.
struct PendingSignIn {
    let user: FirebaseUser
    /// The sign-in provider of the first step, for example `password`.
    let provider: String

    init(user: FirebaseUser, provider: String) {
        (self.user, self.provider) = (user, provider)
    }

    /// Reads the credential of a call; throws `missing` when the call has no credential.
    init(
        of call: FirebaseCall,
        _ state: FirebaseState,
        missing: FirebaseError = FirebaseError(
            "MISSING_MFA_PENDING_CREDENTIAL",
            "Request does not have MFA pending credential."
        )
    ) throws(FirebaseError) {
        guard let text = call.fields.nonEmptyText("mfaPendingCredential") else { throw missing }
        guard let value = Base64.bytes(text).flatMap({ JSONValue(ifValid: $0) }),
            value["_fakeMfaPendingCredential"] != nil, let id = value["localId"]?.string,
            value["projectId"]?.string == call.projectID,
            value["tenantId"]?.string == call.tenantID
        else { throw FirebaseError("INVALID_MFA_PENDING_CREDENTIAL") }
        guard let user = state.project(call).users[id] else {
            throw FirebaseError("USER_NOT_FOUND")
        }
        guard user.isDisabled != true else { throw FirebaseError("USER_DISABLED") }
        self.init(user: user, provider: value["provider"]?.string ?? "password")
    }

    /// Returns the credential for the project or tenant of a call.
    func credential(_ call: FirebaseCall) -> String {
        let members: JSONObject = [
            "_fakeMfaPendingCredential": "DO NOT MODIFY", "localId": .string(user.localID),
            "provider": .string(provider), "projectId": .string(call.projectID),
            "tenantId": call.tenantID.map(JSONValue.string) ?? .null,
        ]
        return Base64.url(JSONValue.object(members).bytes)
    }
}
