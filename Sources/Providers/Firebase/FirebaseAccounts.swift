internal import Values

/// Operations of the fake Firebase that read, change and delete accounts, one or many (Firebase
/// fact sheet, sections 4.8 to 4.12).
extension FirebaseState {
    // MARK: update

    mutating func updateAccount(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let fields = call.fields
        if let text = fields.nonEmptyText("oobCode") {
            let (user, code) = try applyCode(text, call)
            var responseFields = updateResponse(user, JSONObject())
            if code.kind == .changeEmail {
                responseFields["newEmail"] = user.email.map(JSONValue.string)
            }
            return responseFields
        }
        var session: SignInSession?
        var user: FirebaseUser
        if fields.nonEmptyText("idToken") != nil {
            guard call.isAdmin || !fields.hasValue("customAttributes") else {
                throw FirebaseError("INSUFFICIENT_PERMISSION")
            }
            guard !fields.hasValue("disableUser") else {
                throw FirebaseError("OPERATION_NOT_ALLOWED")
            }
            let found = try self.session(call)
            user = found.user
            session = found
        } else {
            guard call.isAdmin else {
                throw FirebaseError("INVALID_REQ_TYPE", "Unsupported request parameters.")
            }
            let id = try fields.requiredText("localId", "MISSING_LOCAL_ID")
            guard let existingUser = project(call).users[id] else {
                throw FirebaseError("USER_NOT_FOUND")
            }
            user = existingUser
        }
        let oldUser = user
        var provider = session?.signInProvider
        var hasChangedValidSince = false
        try updateAddress(&user, call, session, &hasChangedValidSince)
        if let password = fields["password"] {
            if let session { try requireRecentSignIn(session, call) }
            guard password.count >= 6 else { throw .weakPassword }
            setPassword(password, of: &user, at: call.now)
            provider = "password"
            hasChangedValidSince = true
        }
        try updateProfile(&user, call, &hasChangedValidSince)
        try updateProviders(&user, call)
        if let mfa = fields.object["mfa"], !mfa.isNull {
            // If the body lists no enrollments, all second factors are removed (Firebase fact
            // sheet, section 4.8).
            let enrollmentEntries = mfa["enrollments"]?.array ?? []
            let factors = try factors(enrollmentEntries, givesIDs: false, call)
            user.secondFactors = factors.isEmpty ? nil : factors
        }
        editProject(call) { $0.save(user) }
        let isEmailChanged = fields.hasValue("email") && oldUser.email != user.email
        if isEmailChanged, let address = oldUser.email {
            _ = createActionCode(.recoverEmail, email: address, call)
        }
        var tokenFields = JSONObject()
        if hasChangedValidSince, let session, let provider {
            tokenFields = tokens(
                for: user,
                provider: provider,
                extraClaims: session.extraClaims,
                authTime: session.authTime,
                secondFactor: session.secondFactor,
                call
            )
        }
        var responseFields = updateResponse(user, tokenFields)
        if isEmailChanged { responseFields["newEmail"] = user.email.map(JSONValue.string) }
        return responseFields
    }

    private mutating func updateAddress(
        _ user: inout FirebaseUser,
        _ call: FirebaseCall,
        _ session: SignInSession?,
        _ hasChangedValidSince: inout Bool
    ) throws(FirebaseError) {
        guard let email = call.fields["email"]?.lowercased() else { return }
        guard Self.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        guard email != user.email else { return }
        if let session {
            guard !(settings.refusesEmailUpdate && project(call).enumerationProtection) else {
                throw FirebaseError(
                    "OPERATION_NOT_ALLOWED",
                    "Please verify the new email before changing email."
                )
            }
            try requireRecentSignIn(session, call)
        }
        guard project(call).user(withEmail: email) == nil else {
            throw FirebaseError("EMAIL_EXISTS")
        }
        if user.email != nil, user.initialEmail == nil { user.initialEmail = user.email }
        user.email = email
        user.emailVerified = false
        user.validSince = call.now.seconds
        hasChangedValidSince = true
    }

    private mutating func updateProfile(
        _ user: inout FirebaseUser,
        _ call: FirebaseCall,
        _ hasChangedValidSince: inout Bool
    ) throws(FirebaseError) {
        let fields = call.fields
        if let name = fields["displayName"] { user.displayName = name.isEmpty ? nil : name }
        if let photo = fields["photoUrl"] { user.photoURL = photo.isEmpty ? nil : photo }
        if fields.hasValue("validSince") {
            // A user can only revoke the tokens issued before the current time, whatever value the
            // request contains. For an administrator, the value in the request is stored.
            user.validSince = call.isAdmin ? try fields.seconds("validSince") : call.now.seconds
            hasChangedValidSince = true
        }
        guard call.isAdmin else { return try deleteAttributes(&user, call) }
        if let flag = fields.flag("emailVerified") { user.emailVerified = flag }
        if let flag = fields.flag("disableUser") { user.isDisabled = flag }
        if let text = fields["customAttributes"] {
            try Self.checkClaims(text)
            user.customAttributes = text
        }
        if let time = try fields.milliseconds("createdAt") { user.created = time }
        if let time = try fields.milliseconds("lastLoginAt") { user.lastLogin = time }
        if let phone = fields.nonEmptyText("phoneNumber"), phone != user.phoneNumber {
            guard Self.isPhone(phone) else {
                throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
            }
            guard project(call).user(withPhone: phone) == nil else {
                throw FirebaseError("PHONE_NUMBER_EXISTS")
            }
            user.phoneNumber = phone
        }
        try deleteAttributes(&user, call)
    }

    private func deleteAttributes(
        _ user: inout FirebaseUser,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        // The attributes to delete may be numbers in place of names. This is the order of the API's
        // enumeration.
        let attributeNameByNumber = [
            "1": "EMAIL", "2": "DISPLAY_NAME", "3": "PROVIDER", "4": "PHOTO_URL",
            "5": "PASSWORD", "6": "RAW_USER_INFO",
        ]
        for name in call.fields.stringList("deleteAttribute") {
            switch attributeNameByNumber[name] ?? name {
            case "DISPLAY_NAME": user.displayName = nil
            case "PHOTO_URL": user.photoURL = nil
            case "PASSWORD":
                user.password = nil
                user.salt = nil
            case "EMAIL":
                user.email = nil
                user.emailVerified = nil
                user.hasEmailLink = false
            default:
                throw .notImplemented("deleteAttribute: \(name)")
            }
        }
    }

    private func updateProviders(
        _ user: inout FirebaseUser,
        _ call: FirebaseCall
    ) throws(FirebaseError) {
        for provider in call.fields.stringList("deleteProvider") {
            switch provider {
            case "password":
                user.email = nil
                user.emailVerified = nil
                user.hasEmailLink = false
                user.password = nil
                user.salt = nil
            case "phone": user.phoneNumber = nil
            default: user.federated.removeAll { $0.providerID == provider }
            }
        }
        guard let linkFields = call.fields.object["linkProviderUserInfo"]?.object else { return }
        guard let provider = FirebaseFields.text(linkFields["providerId"]), !provider.isEmpty else {
            throw FirebaseError("MISSING_PROVIDER_ID")
        }
        guard let rawID = FirebaseFields.text(linkFields["rawId"]), !rawID.isEmpty else {
            throw FirebaseError("MISSING_RAW_ID")
        }
        let owner = project(call).user(withProvider: provider, rawID: rawID)
        guard owner == nil || owner?.localID == user.localID else {
            throw FirebaseError("FEDERATED_USER_ID_ALREADY_LINKED")
        }
        user.federated.removeAll { $0.providerID == provider }
        user.federated.append(
            FirebaseUser.Provider(
                providerID: provider,
                rawID: rawID,
                email: linkFields["email"]?.string?.lowercased(),
                displayName: linkFields["displayName"]?.string,
                photoURL: linkFields["photoUrl"]?.string,
                screenName: linkFields["screenName"]?.string
            )
        )
    }

    static func checkClaims(_ text: String) throws(FirebaseError) {
        guard text.count <= 1000 else { throw FirebaseError("CLAIMS_TOO_LARGE") }
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw FirebaseError("INVALID_CLAIMS")
        }
        if let name = object.keys.first(where: reservedClaims.contains) {
            throw FirebaseError("FORBIDDEN_CLAIM", name)
        }
    }

    private func updateResponse(_ user: FirebaseUser, _ tokens: JSONObject) -> JSONObject {
        let providers = user.providerInfo
        let passwordHash =
            settings.redactsPasswordHash && user.password != nil
            ? "UkVEQUNURUQ=" : user.passwordHash
        return .present(
            [
                ("kind", "identitytoolkit#SetAccountInfoResponse"),
                ("localId", .string(user.localID)),
                ("emailVerified", .bool(user.emailVerified ?? false)),
                ("email", user.email.map(JSONValue.string)),
                ("displayName", user.displayName.map(JSONValue.string)),
                ("photoUrl", user.photoURL.map(JSONValue.string)),
                ("passwordHash", passwordHash.map(JSONValue.string)),
                ("providerUserInfo", providers.isEmpty ? nil : .array(providers)),
            ] + tokens.members.map { ($0.key, $0.value) }
        )
    }

    // MARK: lookup and delete

    func lookUpAccounts(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        var found: [FirebaseUser] = []
        if call.isAdmin {
            let project = project(call)
            if let value = call.fields.object["localId"], value.array == nil, !value.isNull {
                throw .invalidArgument("/localId must be array")
            }
            for name in ["email", "phoneNumber"] {
                if let value = call.fields.object[name], value.array == nil, !value.isNull {
                    throw .invalidArgument("/\(name) must be array")
                }
            }
            found += call.fields.stringList("localId").compactMap { project.users[$0] }
            found += call.fields.stringList("email").compactMap { project.user(withEmail: $0) }
            found += call.fields.stringList("phoneNumber").compactMap {
                project.user(withPhone: $0)
            }
            found += call.fields.list("federatedUserId").compactMap {
                guard let provider = $0["providerId"]?.string,
                    let rawID = FirebaseFields.text($0["rawId"])
                else { return nil }
                return project.user(withProvider: provider, rawID: rawID)
            }
        } else {
            _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
            found = [try session(call).user]
        }
        var seenUserIDs: Set<String> = []
        let uniqueUsers = found.filter { seenUserIDs.insert($0.localID).inserted }
        // If no account matches, the response has no member `users` (trap T3 of the Firebase fact
        // sheet).
        return .present([
            ("kind", "identitytoolkit#GetAccountInfoResponse"),
            ("users", uniqueUsers.isEmpty ? nil : .array(uniqueUsers.map(accountJSON))),
        ])
    }

    private func accountJSON(_ user: FirebaseUser) -> JSONValue {
        user.accountJSON(redactsPassword: settings.redactsPasswordHash)
    }

    mutating func deleteAccount(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let id: String
        if call.isAdmin {
            id = try call.fields.requiredText("localId", "MISSING_LOCAL_ID")
            guard project(call).users[id] != nil else { throw FirebaseError("USER_NOT_FOUND") }
        } else {
            _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
            let session = try session(call)
            try requireRecentSignIn(session, call)
            id = session.user.localID
        }
        editProject(call) { $0.remove(id) }
        return ["kind": "identitytoolkit#DeleteAccountResponse"]
    }

    // MARK: createAuthUri

    mutating func createAuthURI(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        if let provider = call.fields.nonEmptyText("providerId") {
            return try authURI(of: provider.lowercased(), call)
        }
        let email = try call.fields.requiredText("identifier", "MISSING_IDENTIFIER").lowercased()
        let continueURI = try call.fields.requiredText("continueUri", "MISSING_CONTINUE_URI")
        guard Self.isEmail(email) else { throw FirebaseError("INVALID_IDENTIFIER") }
        guard Self.isAbsoluteURL(continueURI) else { throw FirebaseError("INVALID_CONTINUE_URI") }
        let session = call.fields.nonEmptyText("sessionId") ?? ids.alphanumerics(27)
        var responseFields: JSONObject = [
            "kind": "identitytoolkit#CreateAuthUriResponse", "sessionId": .string(session),
        ]
        guard !project(call).enumerationProtection else { return responseFields }
        var providers: [String] = []
        var signInMethods: [String] = []
        for user in project(call).users(mentioning: email) {
            for provider in user.federated.map(\.providerID) where !providers.contains(provider) {
                providers.append(provider)
                signInMethods.append(provider)
            }
            guard user.email == email else { continue }
            if user.hasPasswordEntry { providers.append("password") }
            if user.password != nil { signInMethods.append("password") }
            if user.hasEmailLink { signInMethods.append("emailLink") }
        }
        responseFields["registered"] = .bool(!providers.isEmpty)
        responseFields["allProviders"] = .strings(providers)
        responseFields["signinMethods"] = .strings(signInMethods)
        return responseFields
    }

    /// The IDs of the identity providers that have a public sign-in page.
    private static let identityProviders: Set = [
        "google.com", "facebook.com", "github.com", "twitter.com", "apple.com", "microsoft.com",
        "yahoo.com", "linkedin.com", "playgames.google.com",
    ]

    /// Returns the URL of the page on which a browser signs in with an identity provider.
    ///
    /// Here it is the page of the Firebase emulator.
    private mutating func authURI(
        of provider: String,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let continueURI = try call.fields.requiredText("continueUri", "MISSING_CONTINUE_URI")
        guard Self.isAbsoluteURL(continueURI) else { throw FirebaseError("INVALID_CONTINUE_URI") }
        let isCustomProvider = ["oidc.", "saml."].contains(where: provider.hasPrefix)
        guard isCustomProvider || Self.identityProviders.contains(provider) else {
            throw FirebaseError("INVALID_PROVIDER_ID")
        }
        let session = call.fields.nonEmptyText("sessionId") ?? ids.alphanumerics(27)
        let page =
            "http://\(call.host)/emulator/auth/handler?providerId=\(provider.percentEncoded)"
            + "&continueUri=\(continueURI.percentEncoded)&sessionId=\(session.percentEncoded)"
        return [
            "kind": "identitytoolkit#CreateAuthUriResponse", "authUri": .string(page),
            "providerId": .string(provider), "sessionId": .string(session),
        ]
    }

    // MARK: Many at once

    func batchGet(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let wanted = (call.query("maxResults") ?? call.fields["maxResults"]).flatMap { Int($0) }
        let pageSize = min(max(1, wanted ?? 20), 1000)
        let pageToken = call.query("nextPageToken") ?? call.fields.nonEmptyText("nextPageToken")
        let page = project(call).users(pageSize, after: pageToken)
        return .present([
            ("kind", "identitytoolkit#DownloadAccountResponse"),
            (
                "users",
                // An export contains the password hash and the salt, in production too.
                page.isEmpty ? nil : .array(page.map { $0.accountJSON(redactsPassword: false) })
            ),
            // A full page always has a token for the next page, even when no account follows (trap
            // T12 of the Firebase fact sheet).
            ("nextPageToken", page.count == pageSize ? page.last.map { .string($0.localID) } : nil),
        ])
    }

    /// The field by which a query sorts accounts.
    ///
    /// Section 4.12 of the Firebase fact sheet names the parameter. Its values come from the
    /// Identity Toolkit's reference.
    private enum SortField: String {
        case unspecified = "SORT_BY_FIELD_UNSPECIFIED"
        case id = "USER_ID"
        case name = "NAME"
        case created = "CREATED_AT"
        case lastLogin = "LAST_LOGIN_AT"
        case email = "USER_EMAIL"
    }

    private enum SortOrder: String {
        case unspecified = "ORDER_UNSPECIFIED"
        case ascending = "ASC"
        case descending = "DESC"
    }

    /// Returns a parameter of the request that must be one of the cases of an enumeration; nil when
    /// the request lacks the parameter.
    ///
    /// The text of the error for any other value is *inferred*.
    private static func parsedChoice<Choice: RawRepresentable<String>>(
        _: Choice.Type,
        _ call: FirebaseCall,
        _ name: String
    ) throws(FirebaseError) -> Choice? {
        guard let text = call.fields.nonEmptyText(name) else { return nil }
        guard let parsedChoice = Choice(rawValue: text) else {
            throw .invalidArgument("Invalid value at '\(name)', \"\(text)\"")
        }
        return parsedChoice
    }

    func queryAccounts(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let project = project(call)
        var responseFields: JSONObject = ["recordsCount": .string(String(project.users.count))]
        guard call.fields.flag("returnUserInfo") != false else { return responseFields }
        var users = project.allUsers
        switch try Self.parsedChoice(SortField.self, call, "sortBy") {
        // The accounts are already sorted by ID.
        case nil, .unspecified, .id: break
        case .created: users.sort { $0.created < $1.created }
        case .lastLogin:
            let timeForMissingDate = Instant(milliseconds: 0)
            users.sort {
                ($0.lastLogin ?? timeForMissingDate) < ($1.lastLogin ?? timeForMissingDate)
            }
        case .name: users.sort { ($0.displayName ?? "") < ($1.displayName ?? "") }
        case .email: users.sort { ($0.email ?? "") < ($1.email ?? "") }
        }
        if try Self.parsedChoice(SortOrder.self, call, "order") == .descending { users.reverse() }
        responseFields["userInfo"] = .array(users.map(accountJSON))
        return responseFields
    }

    mutating func batchDelete(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let wanted = call.fields.stringList("localIds")
        guard (1...1000).contains(wanted.count) else {
            throw FirebaseError("LOCAL_ID_LIST_EXCEEDS_LIMIT")
        }
        var errors: [JSONValue] = []
        for (index, id) in wanted.enumerated() {
            guard let user = project(call).users[id] else { continue }
            guard call.fields.flag("force") == true || user.isDisabled == true else {
                errors.append([
                    "index": .integer(Int64(index)), "localId": .string(id),
                    "message": "NOT_DISABLED : Disable the account before batch deletion.",
                ])
                continue
            }
            editProject(call) { $0.remove(id) }
        }
        return errors.isEmpty ? JSONObject() : ["errors": .array(errors)]
    }
}
