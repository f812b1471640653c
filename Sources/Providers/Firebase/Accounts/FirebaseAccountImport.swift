internal import Values

/// The operation that imports many accounts in one call (Firebase fact sheet, section 4.12).
enum FirebaseAccountImport {
    static func importAccounts(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let entries = call.fields.list("users")
        guard !entries.isEmpty else { throw FirebaseError("MISSING_USER_ACCOUNT") }
        try checkUniqueIDs(entries, state, call)
        var errors: [JSONValue] = []
        for (index, entry) in entries.enumerated() {
            do throws(FirebaseError) {
                let account = ImportedAccount(value: entry)
                let user = try account.user(state.project(call), call, &state.ids)
                state.editProject(call) { $0.users.save(user) }
            } catch {
                errors.append([
                    "index": .integer(Int64(index)), "message": .string(error.message),
                ])
            }
        }
        return .present([
            ("kind", "identitytoolkit#UploadAccountResponse"), ("error", .array(errors)),
        ])
    }

    private static func checkUniqueIDs(
        _ entries: [JSONValue],
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        var seenIDs: Set<String> = []
        for id in entries.compactMap({ $0["localId"]?.string }) where !id.isEmpty {
            guard seenIDs.insert(id).inserted else { throw FirebaseError("DUPLICATE_LOCAL_ID", id) }
        }
        guard call.fields.flag("sanityCheck") == true else { return }
        var seenAccounts: Set<String> = []
        for entry in entries {
            if let email = entry["email"]?.string?.lowercased(), !email.isEmpty,
                !state.project(call).configuration.allowsDuplicateEmails,
                !seenAccounts.insert(email).inserted
            {
                throw FirebaseError("DUPLICATE_EMAIL", email)
            }
            for provider in entry["providerUserInfo"]?.array ?? [] {
                let key =
                    (provider["providerId"]?.string ?? "") + ":"
                    + (provider["rawId"]?.string ?? "")
                guard seenAccounts.insert("|" + key).inserted else {
                    throw FirebaseError("DUPLICATE_RAW_ID", "Provider id(\(key))")
                }
            }
        }
    }
}
