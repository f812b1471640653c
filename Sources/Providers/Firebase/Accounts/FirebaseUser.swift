package import Values

/// The record of a user in the fake Firebase (Firebase fact sheet, section 3).
package struct FirebaseUser: Hashable, Codable, Sendable {
    /// A user's account at an identity provider, which is linked to the Firebase user.
    package struct Provider: Hashable, Codable, Sendable {
        package var providerID: String
        package var rawID: String
        package var email: String?
        package var displayName: String?
        package var photoURL: String?
        package var screenName: String?
    }

    package let localID: String
    package var tenantID: String?
    package var email: String?
    package var emailVerified: Bool?
    package var initialEmail: String?
    package var displayName: String?
    package var photoURL: String?
    package var screenName: String?
    package var phoneNumber: String?
    package var isDisabled: Bool?
    package var password: String?
    /// An imported password hash of an unknown algorithm.
    ///
    /// The fake returns the hash unchanged, but the user cannot sign in with it.
    package var importedHash: String?
    package var salt: String?
    package var passwordUpdated: Instant?
    /// The time, in seconds since 1970, before which issued tokens are revoked; nil when no tokens
    /// were revoked.
    package var validSince: Int64?
    package var created: Instant
    package var lastLogin: Instant?
    package var lastRefresh: Instant?
    /// The custom claims of the user, as a string of JSON.
    package var customAttributes: String?
    package var hasCustomAuth = false
    package var hasEmailLink = false
    package var federated: [Provider] = []
    /// The enrolled second factors of the user; nil when there are none.
    package var secondFactors: [SecondFactor]?

    package init(localID: String, created: Instant) {
        self.localID = localID
        self.created = created
    }

    /// Creates a user of the project or tenant of a call.
    ///
    /// Without a `localID`, the user gets a new ID.
    init(of call: FirebaseCall, localID: String? = nil, _ ids: inout IDSource) {
        self.init(localID: localID ?? ids.alphanumerics(28), created: call.now)
        tenantID = call.tenantID
    }

    /// Whether the user has no email address, no phone and no account at an identity provider.
    package var isAnonymous: Bool {
        email == nil && phoneNumber == nil && federated.isEmpty && !hasCustomAuth
    }

    package var hasPasswordEntry: Bool { email != nil && (passwordHash != nil || hasEmailLink) }

    package var claims: JSONObject {
        guard let text = customAttributes, let value = JSONValue(ifValid: text) else {
            return JSONObject()
        }
        return value.object ?? JSONObject()
    }

    /// The user's password hash in the format of the Firebase emulator,
    /// `fakeHash:salt=S:password=P`.
    ///
    /// An imported hash of an unknown algorithm is returned unchanged.
    package var passwordHash: String? {
        password.map { "fakeHash:salt=\(salt ?? ""):password=\($0)" } ?? importedHash
    }

    /// Sets the password of the user, which revokes every token issued to the user before.
    mutating func setPassword(_ password: String, _ ids: inout IDSource, at now: Instant) {
        self.password = password
        salt = "fakeSalt" + ids.alphanumerics(20)
        passwordUpdated = now
        validSince = now.seconds
    }

    /// Moves the start of the valid tokens of a new user before a sign-up with a password.
    ///
    /// Assay's tokens were issued a minute before their use, so that the clock of a backend may be
    /// behind. The first token of an account that the backend has just created must be valid too.
    mutating func acceptFirstTokens(created now: Instant) {
        validSince = now.seconds - TokenForge.tokenAgeSeconds
    }

    /// Links an account at an identity provider, which replaces the account at the same provider.
    mutating func link(_ provider: Provider) {
        federated.removeAll { $0.providerID == provider.providerID }
        federated.append(provider)
    }

    // MARK: On the wire

    /// The identities of the user in the claims of an ID token.
    var identities: JSONObject {
        var identities = JSONObject()
        if let email { identities["email"] = .strings([email]) }
        if let phoneNumber { identities["phone"] = .strings([phoneNumber]) }
        for account in federated {
            let known = identities[account.providerID]?.array ?? []
            identities[account.providerID] = .array(known + [.string(account.rawID)])
        }
        return identities
    }

    /// Returns the password hash as a response contains it: REDACTED in Base64 when the hash of a
    /// known password is redacted.
    func passwordHash(isRedacted: Bool) -> String? {
        isRedacted && password != nil ? "UkVEQUNURUQ=" : passwordHash
    }

    /// The member `providerUserInfo` of the user: first the accounts at identity providers, and
    /// then entries derived from the record's other fields.
    package var providerInfo: [JSONValue] {
        var entries = federated.map { provider in
            JSONObject.present([
                ("providerId", .string(provider.providerID)),
                ("rawId", .string(provider.rawID)),
                ("federatedId", .string(provider.rawID)),
                ("email", provider.email.map(JSONValue.string)),
                ("displayName", provider.displayName.map(JSONValue.string)),
                ("photoUrl", provider.photoURL.map(JSONValue.string)),
                ("screenName", provider.screenName.map(JSONValue.string)),
            ])
        }
        if hasPasswordEntry, let email {
            entries.append(
                .present([
                    ("providerId", "password"), ("email", .string(email)),
                    ("federatedId", .string(email)), ("rawId", .string(email)),
                    ("displayName", displayName.map(JSONValue.string)),
                    ("photoUrl", photoURL.map(JSONValue.string)),
                ])
            )
        }
        if let phoneNumber {
            entries.append(
                .present([
                    ("providerId", "phone"), ("phoneNumber", .string(phoneNumber)),
                    ("rawId", .string(phoneNumber)),
                ])
            )
        }
        return entries.map(JSONValue.object)
    }

    /// Returns the user in the format of a lookup response.
    ///
    /// A field without a value is absent.
    package func accountJSON(redactsPassword: Bool) -> JSONValue {
        func text(_ value: String?) -> JSONValue? { value.map(JSONValue.string) }
        func milliseconds(_ value: Instant?) -> JSONValue? {
            value.map { .string(String($0.milliseconds)) }
        }
        let hash = passwordHash(isRedacted: redactsPassword)
        let providers = providerInfo
        return .object(
            .present([
                ("localId", .string(localID)),
                ("tenantId", text(tenantID)),
                ("email", text(email)),
                ("emailVerified", emailVerified.map(JSONValue.bool)),
                ("initialEmail", text(initialEmail)),
                ("displayName", text(displayName)),
                ("photoUrl", text(photoURL)),
                ("screenName", text(screenName)),
                ("phoneNumber", text(phoneNumber)),
                ("disabled", isDisabled.map(JSONValue.bool)),
                ("passwordHash", text(hash)),
                ("salt", redactsPassword ? nil : text(password == nil ? nil : salt)),
                (
                    "passwordUpdatedAt",
                    password == nil ? nil : passwordUpdated.map { .integer($0.milliseconds) }
                ),
                ("validSince", validSince.map { .string(String($0)) }),
                ("createdAt", milliseconds(created)),
                ("lastLoginAt", milliseconds(lastLogin)),
                ("lastRefreshAt", lastRefresh.map { .string($0.preciseText) }),
                ("customAttributes", text(customAttributes)),
                ("customAuth", hasCustomAuth ? true : nil),
                ("emailLinkSignin", hasEmailLink ? true : nil),
                ("providerUserInfo", providers.isEmpty ? nil : .array(providers)),
                (
                    "mfaInfo",
                    secondFactors.map { .array($0.map { $0.factorJSON(masksPhoneNumber: false) }) }
                ),
            ])
        )
    }
}

extension JSONObject {
    /// Returns an object with only the members that have a value.
    ///
    /// The APIs of the simulated services omit an absent member and never write null or an empty
    /// value for it.
    package static func present(_ members: [(String, JSONValue?)]) -> JSONObject {
        JSONObject(
            members: members.compactMap { name, value in
                value.map { .init(key: name, value: $0) }
            }
        )
    }
}
