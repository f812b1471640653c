internal import Values

/// The changes that a call of `update` makes to one account, before the account is saved.
///
/// Each function applies one group of the call's fields, and refuses values that are not allowed.
struct FirebaseAccountChange {
    private(set) var user: FirebaseUser
    /// The session of the user who calls; nil when an administrator names the account.
    let session: SignInSession?
    let call: FirebaseCall
    /// Whether the changes so far revoke the tokens that were issued before.
    private(set) var hasChangedValidSince = false

    init(user: FirebaseUser, session: SignInSession?, call: FirebaseCall) {
        self.user = user
        self.session = session
        self.call = call
    }

    mutating func updateAddress(_ state: FirebaseState) throws(FirebaseError) {
        guard let email = call.fields["email"]?.lowercased() else { return }
        guard FirebaseSyntax.isEmail(email) else { throw FirebaseError("INVALID_EMAIL") }
        guard email != user.email else { return }
        let project = state.project(call)
        if let session {
            guard
                !(state.settings.refusesEmailUpdate && project.configuration.enumerationProtection)
            else {
                throw FirebaseError(
                    "OPERATION_NOT_ALLOWED",
                    "Please verify the new email before changing email."
                )
            }
            try session.requireRecentSignIn(state.settings, at: call.now)
        }
        guard project.users[email: email] == nil else { throw FirebaseError("EMAIL_EXISTS") }
        if user.email != nil, user.initialEmail == nil { user.initialEmail = user.email }
        user.email = email
        user.emailVerified = false
        user.validSince = call.now.seconds
        hasChangedValidSince = true
    }

    /// Sets the password that the call contains.
    ///
    /// Returns whether the call contains one.
    mutating func updatePassword(_ state: inout FirebaseState) throws(FirebaseError) -> Bool {
        guard let password = call.fields["password"] else { return false }
        if let session { try session.requireRecentSignIn(state.settings, at: call.now) }
        guard password.count >= 6 else { throw .weakPassword }
        user.setPassword(password, &state.ids, at: call.now)
        hasChangedValidSince = true
        return true
    }

    mutating func updateProfile(_ state: FirebaseState) throws(FirebaseError) {
        let fields = call.fields
        if let name = fields["displayName"] { user.displayName = name.isEmpty ? nil : name }
        if let photo = fields["photoUrl"] { user.photoURL = photo.isEmpty ? nil : photo }
        if fields.hasValue("validSince") {
            // A user can only revoke the tokens issued before the current time, whatever value the
            // request contains. For an administrator, the value in the request is stored.
            user.validSince = call.isAdmin ? try fields.seconds("validSince") : call.now.seconds
            hasChangedValidSince = true
        }
        if call.isAdmin { try updateAdminFields(state) }
        try deleteAttributes()
    }

    /// Applies the fields that only an administrator may change.
    private mutating func updateAdminFields(_ state: FirebaseState) throws(FirebaseError) {
        let fields = call.fields
        if let flag = fields.flag("emailVerified") { user.emailVerified = flag }
        if let flag = fields.flag("disableUser") { user.isDisabled = flag }
        if let text = fields["customAttributes"] {
            try FirebaseClaims.check(text)
            user.customAttributes = text
        }
        if let time = try fields.milliseconds("createdAt") { user.created = time }
        if let time = try fields.milliseconds("lastLoginAt") { user.lastLogin = time }
        guard let phone = fields.nonEmptyText("phoneNumber"), phone != user.phoneNumber else {
            return
        }
        guard FirebaseSyntax.isPhone(phone) else {
            throw FirebaseError("INVALID_PHONE_NUMBER", "Invalid format.")
        }
        guard state.project(call).users[phone: phone] == nil else {
            throw FirebaseError("PHONE_NUMBER_EXISTS")
        }
        user.phoneNumber = phone
    }

    private mutating func deleteAttributes() throws(FirebaseError) {
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

    /// Removes and links accounts at identity providers.
    mutating func updateProviders(_ state: FirebaseState) throws(FirebaseError) {
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
        let owner = state.project(call).users[provider: provider, rawID: rawID]
        guard owner == nil || owner?.localID == user.localID else {
            throw FirebaseError("FEDERATED_USER_ID_ALREADY_LINKED")
        }
        user.link(
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

    /// Replaces the second factors of the account.
    ///
    /// If the body lists no enrollments, all second factors are removed (Firebase fact sheet,
    /// section 4.8).
    mutating func updateSecondFactors(_ state: inout FirebaseState) throws(FirebaseError) {
        guard let mfa = call.fields.object["mfa"], !mfa.isNull else { return }
        let factors = try SecondFactor.assigned(
            by: mfa["enrollments"]?.array ?? [],
            givesIDs: false,
            &state.ids,
            at: call.now
        )
        user.secondFactors = factors.isEmpty ? nil : factors
    }
}
