internal import Values

/// The fields of a request to the fake Firebase.
///
/// Keys are in camelCase whatever the caller sent, and values have the types that the API defines
/// (Firebase fact sheet, section 2.3).
struct FirebaseFields: Sendable {
    let object: JSONObject

    init(_ value: JSONValue?, refusesUnknown: Bool) throws(FirebaseError) {
        guard let value else {
            object = JSONObject()
            return
        }
        guard let object = value.object else { throw .invalidArgument("/ must be object") }
        self.object = Self.normalized(object)
        for member in self.object.members {
            guard let expectedKind = Self.kindsByField[member.key] else {
                guard !refusesUnknown else {
                    throw .invalidArgument("Unknown name \"\(member.key)\": Cannot find field.")
                }
                continue
            }
            guard expectedKind.accepts(member.value) else {
                throw .invalidArgument("/\(member.key) must be \(expectedKind.rawValue)")
            }
        }
    }

    /// Reads the fields from the JSON body of a request.
    init(bodyOf request: HTTPMessage.Request, refusesUnknown: Bool) throws(FirebaseError) {
        let value: JSONValue?
        do throws(JSONError) {
            value = try request.json()
        } catch {
            throw .invalidArgument("\(error)", reason: "parseError")
        }
        try self.init(value, refusesUnknown: refusesUnknown)
    }

    init(form: [(name: String, value: String)]) {
        object = Self.normalized(
            JSONObject(members: form.map { .init(key: $0.name, value: .string($0.value)) })
        )
    }

    /// Returns a field of the request as a string; a number is returned as its digits.
    subscript(name: String) -> String? { Self.text(object[name]) }

    /// Returns a required field of the request as a string.
    ///
    /// When the field is missing or empty, throws the error with this code.
    func requiredText(_ name: String, _ code: String) throws(FirebaseError) -> String {
        guard let text = self[name], !text.isEmpty else { throw FirebaseError(code) }
        return text
    }

    /// Returns a field of the request as a string; nil when the field is missing or empty.
    func nonEmptyText(_ name: String) -> String? { self[name].flatMap { $0.isEmpty ? nil : $0 } }

    func hasValue(_ name: String) -> Bool { object[name].map { !$0.isNull } ?? false }

    func flag(_ name: String) -> Bool? { object[name]?.bool }

    func list(_ name: String) -> [JSONValue] { object[name]?.array ?? [] }

    func stringList(_ name: String) -> [String] { list(name).compactMap(Self.text) }

    func int(_ name: String) -> Int64? { self[name].flatMap { Int64($0) } }

    /// Returns the date in a field that contains milliseconds since 1970; nil when the field is
    /// missing or empty.
    func milliseconds(_ name: String) throws(FirebaseError) -> Instant? {
        try date(name) { RequestDate(milliseconds: $0) }
    }

    /// Returns a date in seconds since 1970 from a field of the request; nil when the field is
    /// missing or empty.
    func seconds(_ name: String) throws(FirebaseError) -> Int64? {
        try date(name) { RequestDate(seconds: $0) }?.seconds
    }

    private func date(
        _ name: String,
        _ makeDate: (Int64) -> RequestDate?
    ) throws(FirebaseError) -> Instant? {
        guard let text = nonEmptyText(name) else { return nil }
        guard let date = (object[name]?.int64 ?? Int64(text)).flatMap(makeDate) else {
            throw .invalidArgument(
                "Invalid value at '\(name)', \"\(text.prefix(100))\": not a date within "
                    + RequestDate.acceptedRangeText
            )
        }
        return date.instant
    }

    static func text(_ value: JSONValue?) -> String? { value?.scalarText }

    // MARK: Types

    private enum FieldKind: String {
        case string, boolean, array, object, number, any

        func accepts(_ value: JSONValue) -> Bool {
            switch (self, value) {
            case (_, .null), (.any, _), (.string, .string), (.string, .number), (.boolean, .bool),
                (.array, .array), (.object, .object), (.number, .number), (.number, .string):
                true
            default: false
            }
        }
    }

    private static let kindsByField: [String: FieldKind] = {
        var kindsByField: [String: FieldKind] = [:]
        let stringFields = [
            "idToken", "email", "password", "displayName", "photoUrl", "phoneNumber", "tenantId",
            "targetProjectId", "customAttributes", "oobCode", "newPassword", "oldPassword",
            "newEmail", "requestType", "continueUrl", "requestUri", "postBody", "sessionId",
            "token", "identifier", "continueUri", "providerId", "refreshToken", "grantType",
            "nextPageToken", "validSince", "createdAt", "lastLoginAt", "validDuration",
            "captchaResponse", "clientType", "recaptchaVersion", "iOSBundleId", "iosBundleId",
            "androidPackageName", "androidMinimumVersion", "dynamicLinkDomain", "linkDomain",
            "hashAlgorithm", "signerKey", "saltSeparator", "order", "sortBy", "sessionInfo",
            "code", "pendingToken", "pendingIdToken", "instanceId", "iosReceipt", "iosSecret",
            "recaptchaToken", "oauthScope", "screenName", "captchaChallenge", "verificationProof",
            "temporaryProof", "operation", "userIp", "delegatedProjectNumber", "openidRealm",
            "context", "appId", "hostedDomain", "ux_mode", "customParameter", "authFlowType",
            "otaApp", "iOSAppStoreId", "challenge", "captchaResp", "oauthConsumerKey",
            "recaptchaResponse", "mfaPendingCredential", "mfaEnrollmentId", "name",
        ]
        for name in stringFields { kindsByField[name] = .string }
        let booleanFields = [
            "returnSecureToken", "emailVerified", "disabled", "disableUser", "returnOobLink",
            "canHandleCodeInApp", "androidInstallApp", "returnIdpCredential", "autoCreate",
            "returnRefreshToken", "returnUserInfo", "allowOverwrite", "sanityCheck", "force",
            "upgradeToFederatedLogin", "allowPasswordSignup", "enableEmailLinkSignin",
            "disableAuth", "enableAnonymousUser", "autodeleteAnonymousUsers",
        ]
        for name in booleanFields { kindsByField[name] = .boolean }
        for name in [
            "federatedUserId", "deleteAttribute", "deleteProvider", "users", "localIds",
            "initialEmail", "linkedProviders", "expression",
        ] { kindsByField[name] = .array }
        for name in [
            "linkProviderUserInfo", "mfa", "customParameter", "autoRetrievalInfo",
            "phoneEnrollmentInfo", "phoneVerificationInfo", "phoneSignInInfo", "totpEnrollmentInfo",
            "totpVerificationInfo", "mfaConfig", "testPhoneNumbers", "hashConfig", "inheritance",
            "recaptchaConfig", "smsRegionConfig", "monitoring", "passwordPolicyConfig",
            "emailPrivacyConfig", "client", "signIn", "blockingFunctions",
        ] { kindsByField[name] = .object }
        for name in [
            "maxResults", "limit", "offset", "rounds", "memoryCost", "cpuMemCost",
            "parallelization", "blockSize", "dkLen",
        ] { kindsByField[name] = .number }
        // This field is a list in an administrator's lookup, and a string everywhere else. The
        // operation checks its type.
        kindsByField["provider"] = .array
        kindsByField["mfaInfo"] = .array
        for name in ["localId", "email", "phoneNumber"] { kindsByField[name] = .any }
        return kindsByField
    }()

    // MARK: Names

    private static func normalized(_ object: JSONObject) -> JSONObject {
        JSONObject(
            members: object.members.map {
                .init(key: camelCase($0.key), value: normalized($0.value))
            }
        )
    }

    private static func normalized(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object): .object(normalized(object))
        case .array(let elements): .array(elements.map(normalized))
        default: value
        }
    }

    private static func camelCase(_ name: String) -> String {
        guard name.contains("_") else { return name }
        let nameParts = name.split(separator: "_", omittingEmptySubsequences: true)
        guard let first = nameParts.first else { return name }
        return first
            + nameParts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
