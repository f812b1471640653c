internal import Values

/// The operations that delete one or many accounts (Firebase fact sheet, sections 4.10 and 4.12).
enum FirebaseAccountDeletion {
    static func delete(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let id: String
        if call.isAdmin {
            id = try call.fields.requiredText("localId", "MISSING_LOCAL_ID")
            guard state.project(call).users[id] != nil else {
                throw FirebaseError("USER_NOT_FOUND")
            }
        } else {
            _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
            let session = try SignInSession(of: call, state)
            try session.requireRecentSignIn(state.settings, at: call.now)
            id = session.user.localID
        }
        state.editProject(call) { $0.users.remove(id) }
        return ["kind": "identitytoolkit#DeleteAccountResponse"]
    }

    static func deleteAccounts(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let wanted = call.fields.stringList("localIds")
        guard (1...1000).contains(wanted.count) else {
            throw FirebaseError("LOCAL_ID_LIST_EXCEEDS_LIMIT")
        }
        var errors: [JSONValue] = []
        for (index, id) in wanted.enumerated() {
            guard let user = state.project(call).users[id] else { continue }
            guard call.fields.flag("force") == true || user.isDisabled == true else {
                errors.append([
                    "index": .integer(Int64(index)), "localId": .string(id),
                    "message": "NOT_DISABLED : Disable the account before batch deletion.",
                ])
                continue
            }
            state.editProject(call) { $0.users.remove(id) }
        }
        return errors.isEmpty ? JSONObject() : ["errors": .array(errors)]
    }
}
