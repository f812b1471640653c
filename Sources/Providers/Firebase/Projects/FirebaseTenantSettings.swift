internal import Values

/// The settings of a tenant, in the format in which they were set (Identity Platform's reference,
/// v2 *projects.tenants*).
///
/// Each check throws the error of a user's call that the settings forbid.
struct FirebaseTenantSettings: Hashable, Codable, Sendable {
    var members: JSONObject

    /// The settings of a new tenant before its owner enables a sign-in method.
    static let initial = FirebaseTenantSettings(members: [
        "allowPasswordSignup": false, "enableEmailLinkSignin": false, "disableAuth": false,
        "enableAnonymousUser": false,
        "mfaConfig": ["state": "DISABLED", "enabledProviders": []],
    ])

    /// The settings of a tenant that was never created, which allow everything.
    static let unrestricted = FirebaseTenantSettings(members: [
        "allowPasswordSignup": true, "enableEmailLinkSignin": true,
        "enableAnonymousUser": true, "disableAuth": false,
    ])

    /// The rules for second factors of the tenant; nil when its settings contain no rules.
    var secondFactorRules: SecondFactorRules? {
        members["mfaConfig"]?.object.map(SecondFactorRules.init(members:))
    }

    // MARK: Checks

    /// Refuses every call for a tenant that is disabled.
    func checkEnabled() throws(FirebaseError) {
        guard members["disableAuth"] != true else { throw FirebaseError("PROJECT_DISABLED") }
    }

    /// Refuses a sign-in with a password and a password reset.
    func checkPasswordUse(_: FirebaseCall) throws(FirebaseError) {
        guard members["allowPasswordSignup"] == true else {
            throw FirebaseError("PASSWORD_LOGIN_DISABLED")
        }
    }

    /// Refuses a sign-up of an anonymous user, or with a password.
    func checkSignUp(_ call: FirebaseCall) throws(FirebaseError) {
        let isAnonymous = ["email", "password", "idToken"].allSatisfy { !call.fields.hasValue($0) }
        guard !isAnonymous || members["enableAnonymousUser"] == true else {
            throw FirebaseError("ADMIN_ONLY_OPERATION")
        }
        guard isAnonymous || members["allowPasswordSignup"] == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED")
        }
    }

    /// Refuses a request for a sign-in link by email.
    func checkActionCodeRequest(_ call: FirebaseCall) throws(FirebaseError) {
        let isEmailLinkRequest = ["EMAIL_SIGNIN", "6"].contains(call.fields["requestType"] ?? "")
        guard !isEmailLinkRequest || members["enableEmailLinkSignin"] == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED")
        }
    }

    /// Refuses a sign-in with a link from an email.
    func checkEmailLinkSignIn(_: FirebaseCall) throws(FirebaseError) {
        guard members["enableEmailLinkSignin"] == true else {
            throw FirebaseError("OPERATION_NOT_ALLOWED")
        }
    }

    // MARK: Changes

    /// The settings of a tenant that the tenant's owner can change.
    private static let changeableMembers = [
        "displayName", "allowPasswordSignup", "enableEmailLinkSignin", "disableAuth",
        "enableAnonymousUser", "mfaConfig", "testPhoneNumbers", "hashConfig", "inheritance",
        "recaptchaConfig", "smsRegionConfig", "monitoring", "passwordPolicyConfig",
        "emailPrivacyConfig", "client", "autodeleteAnonymousUsers",
    ]

    /// Changes the settings that a request contains.
    ///
    /// If `updateMask` is given, changes only the settings that it names.
    mutating func update(
        from fields: FirebaseFields,
        _ updateMask: [String]?
    ) throws(FirebaseError) {
        if let name = fields.object["displayName"]?.string { try Self.checkDisplayName(name) }
        for path in updateMask ?? [] {
            let name = path.prefix { $0 != "." }
            guard Self.changeableMembers.contains(String(name)) else {
                throw .invalidArgument("Invalid value at 'update_mask': \(path.prefix(100))")
            }
        }
        try members.copyFields(
            updateMask ?? Self.changeableMembers.filter(fields.hasValue),
            from: fields.object
        )
    }

    /// Checks the display name of a tenant: 4 to 20 letters, digits and hyphens, starting with a
    /// letter.
    private static func checkDisplayName(_ text: String) throws(FirebaseError) {
        let isValid =
            (4...20).contains(text.count) && text.first?.isLetter == true
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard isValid else {
            throw FirebaseError(
                "INVALID_DISPLAY_NAME",
                "DisplayName should start with a letter and only consist of letters, digits and "
                    + "hyphens with 4-20 characters."
            )
        }
    }
}
