internal import Values

/// An account in the body of an import call.
///
/// A field with an empty string counts as missing.
struct ImportedAccount {
    let value: JSONValue

    subscript(name: String) -> String? {
        FirebaseFields.text(value[name]).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Converts the account to a user.
    ///
    /// An error in an entry does not fail the call. Its message is a sentence instead of a code.
    func user(
        _ project: FirebaseProject,
        _ call: FirebaseCall,
        _ ids: inout IDSource
    ) throws(FirebaseError) -> FirebaseUser {
        guard let id = self["localId"] else { throw FirebaseError("localId is missing") }
        try check()
        guard project.users[id] == nil || call.fields.flag("allowOverwrite") == true else {
            throw FirebaseError("localId belongs to an existing account - can not overwrite.")
        }
        var user = FirebaseUser(localID: id, created: call.now)
        user.tenantID = call.tenantID
        user.federated = try linkedProviders(of: id, project)
        if let email = self["email"]?.lowercased() {
            let owner = project.users[email: email]
            guard
                project.configuration.allowsDuplicateEmails || owner == nil || owner?.localID == id
            else {
                throw FirebaseError("email exists in other account in database")
            }
            user.email = email
        }
        try fillProfile(of: &user)
        let factors = value["mfaInfo"]?.array ?? []
        if !factors.isEmpty {
            user.secondFactors = try importedFactors(factors, of: user, &ids, at: call.now)
        }
        fillPassword(of: &user, at: call.now)
        return user
    }

    private func check() throws(FirebaseError) {
        if let email = self["email"], !FirebaseSyntax.isEmail(email) {
            throw FirebaseError("email is invalid")
        }
        if let phone = self["phoneNumber"], !FirebaseSyntax.isPhone(phone) {
            throw FirebaseError("phone number format is invalid")
        }
        guard let claims = self["customAttributes"] else { return }
        do throws(FirebaseError) {
            try FirebaseClaims.check(claims)
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
    private func importedFactors(
        _ entries: [JSONValue],
        of user: FirebaseUser,
        _ ids: inout IDSource,
        at now: Instant
    ) throws(FirebaseError) -> [SecondFactor] {
        guard user.email != nil else {
            throw FirebaseError("Second factor account requires email to be presented.")
        }
        guard user.emailVerified == true else {
            throw FirebaseError("Second factor account requires email to be verified.")
        }
        do throws(FirebaseError) {
            return try SecondFactor.assigned(by: entries, givesIDs: true, &ids, at: now)
        } catch {
            throw FirebaseError(
                error.message.hasPrefix("INVALID_MFA_PHONE_NUMBER")
                    ? "Phone number format is invalid" : "Second factor not supported."
            )
        }
    }

    private func linkedProviders(
        of id: String,
        _ project: FirebaseProject
    ) throws(FirebaseError) -> [FirebaseUser.Provider] {
        var linkedProviders: [FirebaseUser.Provider] = []
        for provider in value["providerUserInfo"]?.array ?? [] {
            guard let name = provider["providerId"]?.string, name != "password", name != "phone",
                let rawID = FirebaseFields.text(provider["rawId"])
            else { continue }
            let owner = project.users[provider: name, rawID: rawID]
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

    private func fillProfile(of user: inout FirebaseUser) throws(FirebaseError) {
        user.emailVerified = value["emailVerified"]?.bool
        user.phoneNumber = self["phoneNumber"]
        user.displayName = self["displayName"]
        user.photoURL = self["photoUrl"]
        user.isDisabled = value["disabled"]?.bool
        user.customAttributes = self["customAttributes"]
        if let time = try date("createdAt", { RequestDate(milliseconds: $0) }) {
            user.created = time
        }
        if let time = try date("lastLoginAt", { RequestDate(milliseconds: $0) }) {
            user.lastLogin = time
        }
        user.validSince = try date("validSince") { RequestDate(seconds: $0) }?.seconds
    }

    /// Sets the password of an imported account.
    ///
    /// A user can sign in only with a hash that the Firebase emulator itself produced. Other hashes
    /// are stored unchanged.
    private func fillPassword(of user: inout FirebaseUser, at now: Instant) {
        if let passwordHash = self["passwordHash"] {
            let hashParts = passwordHash.split(separator: ":password=", maxSplits: 1)
            if passwordHash.hasPrefix("fakeHash:"), hashParts.count == 2 {
                user.password = String(hashParts[1])
            } else {
                user.importedHash = passwordHash
            }
            user.salt = self["salt"]
        } else if let password = self["rawPassword"] {
            user.password = password
            user.salt = "fakeSaltOfImport"
        } else {
            return
        }
        user.passwordUpdated = now
        user.validSince = user.validSince ?? now.seconds
    }

    /// Returns the date in a field of the imported account; nil when the account lacks the field.
    private func date(
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
