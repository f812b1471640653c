internal import Values

/// The operation of the fake Firebase that imports many accounts in one call (Firebase fact sheet,
/// section 4.12).
extension FirebaseState {
    mutating func batchCreate(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let entries = call.fields.list("users")
        guard !entries.isEmpty else { throw FirebaseError("MISSING_USER_ACCOUNT") }
        try checkUniqueIDs(entries, call)
        var errors: [JSONValue] = []
        for (index, entry) in entries.enumerated() {
            do throws(FirebaseError) {
                let user = try importedUser(entry, call)
                editProject(call) { $0.save(user) }
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

    private func checkUniqueIDs(
        _ entries: [JSONValue],
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
                !project(call).allowsDuplicateEmails,
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

    /// Converts one entry of an import to a user.
    ///
    /// An error in an entry does not fail the call. Its message is a sentence instead of a code.
    private mutating func importedUser(
        _ entry: JSONValue,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> FirebaseUser {
        let entry = ImportedAccount(value: entry)
        guard let id = entry["localId"] else { throw FirebaseError("localId is missing") }
        try checkImportedAccount(entry)
        guard project(call).users[id] == nil || call.fields.flag("allowOverwrite") == true else {
            throw FirebaseError("localId belongs to an existing account - can not overwrite.")
        }
        var user = FirebaseUser(localID: id, created: call.now)
        user.tenantID = call.tenantID
        user.federated = try federated(entry, of: id, project(call))
        if let email = entry["email"]?.lowercased() {
            let owner = project(call).user(withEmail: email)
            guard project(call).allowsDuplicateEmails || owner == nil || owner?.localID == id else {
                throw FirebaseError("email exists in other account in database")
            }
            user.email = email
        }
        try Self.fillProfile(&user, from: entry)
        let factors = entry.value["mfaInfo"]?.array ?? []
        if !factors.isEmpty {
            user.secondFactors = try importedFactors(factors, of: user, call)
        }
        Self.fillPassword(of: &user, from: entry, at: call.now)
        return user
    }

    /// An account in the body of an import call.
    ///
    /// A field with an empty string counts as missing.
    private struct ImportedAccount {
        let value: JSONValue

        subscript(name: String) -> String? {
            FirebaseFields.text(value[name]).flatMap { $0.isEmpty ? nil : $0 }
        }

        /// Returns the date in a field of the imported account; nil when the account lacks the
        /// field.
        func date(
            _ name: String,
            _ makeDate: (Int64) -> RequestDate?
        ) throws(FirebaseError) -> Instant? {
            guard let text = self[name] else { return nil }
            guard let date = (value[name]?.int64 ?? Int64(text)).flatMap(makeDate) else {
                throw FirebaseError("\(name) is not a date within \(RequestDate.acceptedRangeText)")
            }
            return date.instant
        }
    }

    private func checkImportedAccount(_ entry: ImportedAccount) throws(FirebaseError) {
        if let email = entry["email"], !Self.isEmail(email) {
            throw FirebaseError("email is invalid")
        }
        if let phone = entry["phoneNumber"], !Self.isPhone(phone) {
            throw FirebaseError("phone number format is invalid")
        }
        guard let claims = entry["customAttributes"] else { return }
        do throws(FirebaseError) {
            try Self.checkClaims(claims)
        } catch {
            switch error.message {
            case "CLAIMS_TOO_LARGE":
                throw FirebaseError("Custom claims provided are too large.")
            case "INVALID_CLAIMS": throw FirebaseError("Invalid custom claims provided.")
            default: throw FirebaseError("Custom claims provided include a reserved claim.")
            }
        }
    }

    /// Converts the second factors of an imported account.
    ///
    /// The error messages are those of the Firebase emulator: sentences instead of codes.
    private mutating func importedFactors(
        _ entries: [JSONValue],
        of user: FirebaseUser,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> [SecondFactor] {
        guard user.email != nil else {
            throw FirebaseError("Second factor account requires email to be presented.")
        }
        guard user.emailVerified == true else {
            throw FirebaseError("Second factor account requires email to be verified.")
        }
        do throws(FirebaseError) {
            return try factors(entries, givesIDs: true, call)
        } catch {
            throw FirebaseError(
                error.message.hasPrefix("INVALID_MFA_PHONE_NUMBER")
                    ? "Phone number format is invalid" : "Second factor not supported."
            )
        }
    }

    private func federated(
        _ entry: ImportedAccount,
        of id: String,
        _ project: FirebaseProject
    ) throws(FirebaseError) -> [FirebaseUser.Provider] {
        var linkedProviders: [FirebaseUser.Provider] = []
        for provider in entry.value["providerUserInfo"]?.array ?? [] {
            guard let name = provider["providerId"]?.string, name != "password", name != "phone",
                let rawID = FirebaseFields.text(provider["rawId"])
            else { continue }
            let owner = project.user(withProvider: name, rawID: rawID)
            guard owner == nil || owner?.localID == id else {
                throw FirebaseError("raw id exists in other account in database")
            }
            linkedProviders.append(
                FirebaseUser.Provider(
                    providerID: name,
                    rawID: rawID,
                    email: provider["email"]?.string?.lowercased(),
                    displayName: provider["displayName"]?.string,
                    photoURL: provider["photoUrl"]?.string,
                    screenName: provider["screenName"]?.string
                )
            )
        }
        return linkedProviders
    }

    private static func fillProfile(
        _ user: inout FirebaseUser,
        from entry: ImportedAccount
    ) throws(FirebaseError) {
        user.emailVerified = entry.value["emailVerified"]?.bool
        user.phoneNumber = entry["phoneNumber"]
        user.displayName = entry["displayName"]
        user.photoURL = entry["photoUrl"]
        user.isDisabled = entry.value["disabled"]?.bool
        user.customAttributes = entry["customAttributes"]
        if let time = try entry.date("createdAt", { RequestDate(milliseconds: $0) }) {
            user.created = time
        }
        if let time = try entry.date("lastLoginAt", { RequestDate(milliseconds: $0) }) {
            user.lastLogin = time
        }
        user.validSince = try entry.date("validSince") { RequestDate(seconds: $0) }?.seconds
    }

    /// Sets the password of an imported account.
    ///
    /// A user can sign in only with a hash that the Firebase emulator itself produced. Other hashes
    /// are stored unchanged.
    private static func fillPassword(
        of user: inout FirebaseUser,
        from entry: ImportedAccount,
        at now: Instant
    ) {
        if let passwordHash = entry["passwordHash"] {
            let hashParts = passwordHash.split(separator: ":password=", maxSplits: 1)
            if passwordHash.hasPrefix("fakeHash:"), hashParts.count == 2 {
                user.password = String(hashParts[1])
            } else {
                user.importedHash = passwordHash
            }
            user.salt = entry["salt"]
        } else if let password = entry["rawPassword"] {
            user.password = password
            user.salt = "fakeSaltOfImport"
        } else {
            return
        }
        user.passwordUpdated = now
        user.validSince = user.validSince ?? now.seconds
    }
}
