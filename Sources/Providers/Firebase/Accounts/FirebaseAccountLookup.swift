internal import Values

/// The operation that looks up accounts (Firebase fact sheet, section 4.9).
enum FirebaseAccountLookup {
    static func lookUp(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let found: [FirebaseUser]
        if call.isAdmin {
            found = try usersForAdmin(state.project(call), call.fields)
        } else {
            _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
            found = [try SignInSession(of: call, state).user]
        }
        var seenUserIDs: Set<String> = []
        let uniqueUsers = found.filter { seenUserIDs.insert($0.localID).inserted }
        let accounts = uniqueUsers.map {
            $0.accountJSON(redactsPassword: state.settings.redactsPasswordHash)
        }
        // If no account matches, the response has no member `users` (trap T3 of the Firebase fact
        // sheet).
        return .present([
            ("kind", "identitytoolkit#GetAccountInfoResponse"),
            ("users", accounts.isEmpty ? nil : .array(accounts)),
        ])
    }

    /// Returns the users that an administrator names by ID, email address, phone number or account
    /// at an identity provider.
    private static func usersForAdmin(
        _ project: FirebaseProject,
        _ fields: FirebaseFields
    ) throws(FirebaseError) -> [FirebaseUser] {
        for name in ["localId", "email", "phoneNumber"] {
            if let value = fields.object[name], value.array == nil, !value.isNull {
                throw .invalidArgument("/\(name) must be array")
            }
        }
        var found = fields.stringList("localId").compactMap { project.users[$0] }
        found += fields.stringList("email").compactMap { project.users[email: $0] }
        found += fields.stringList("phoneNumber").compactMap { project.users[phone: $0] }
        found += fields.list("federatedUserId").compactMap {
            guard let provider = $0["providerId"]?.string,
                let rawID = FirebaseFields.text($0["rawId"])
            else { return nil }
            return project.users[provider: provider, rawID: rawID]
        }
        return found
    }
}
