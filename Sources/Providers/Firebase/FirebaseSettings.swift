/// The switches of the fake Firebase Auth: what the emulator does is the default, what production
/// does can be turned on one by one (fact sheet, section 10).
package struct FirebaseSettings: Hashable, Codable, Sendable {
    package enum Tokens: String, Hashable, Codable, Sendable {
        /// `alg: none` and an empty signature, as the emulator writes them.
        case unsigned
        /// RS256 with rotating keys, as production signs.
        case rs256
    }

    /// The project that callers with only an API key belong to.
    package var project = "demo-project"
    package var tokens = Tokens.unsigned
    /// Signature, `exp`, `aud` and `iss` of an `idToken` that is sent to the API.
    package var verifiesIDTokens = false
    package var revokesRefreshTokens = false
    /// A refresh for a deleted user answers `USER_NOT_FOUND` instead of `INVALID_REFRESH_TOKEN`.
    package var tellsDeletedUsers = false
    /// Seconds after which an action code is `EXPIRED_OOB_CODE`; none: never.
    package var actionCodeSeconds: Int64?
    /// Seconds after the sign-in within which sensitive changes are allowed; none: always.
    package var recentSignInSeconds: Int64?
    /// Failed password sign-ins an account may have in five minutes; none: any number.
    package var failedSignInsMax: Int?
    /// Password reset mails an address may get in an hour; none: any number.
    package var resetMailsMax: Int?
    /// For all projects; the emulator's `config` endpoint changes one.
    package var enumerationProtection = false
    package var allowDuplicateEmails = false
    /// With enumeration protection: `update` may not set an email without verification.
    package var refusesEmailUpdate = false
    /// The only API key that is taken; none: any text.
    package var apiKey: String?
    package var passwordProvider = true
    package var anonymousProvider = true
    package var emailLinkProvider = true
    /// Lookups show `UkVEQUNURUQ=` in place of the password's hash.
    package var redactsPasswordHash = false
    /// A field that the API does not know is refused.
    package var refusesUnknownFields = false
    /// A tenant that nobody made is refused; the emulator makes it when it is first named.
    package var refusesUnknownTenants: Bool?
    /// `max-age` of the key endpoints, in seconds.
    package var keySecondsMax: Int64 = 21_600

    package init() {}

    /// Everything that differs from the emulator at once.
    package static var production: FirebaseSettings {
        var settings = FirebaseSettings()
        settings.tokens = .rs256
        settings.verifiesIDTokens = true
        settings.revokesRefreshTokens = true
        settings.tellsDeletedUsers = true
        settings.actionCodeSeconds = 3600
        settings.recentSignInSeconds = 300
        settings.failedSignInsMax = 5
        settings.resetMailsMax = 10
        settings.enumerationProtection = true
        settings.refusesEmailUpdate = true
        settings.redactsPasswordHash = true
        settings.refusesUnknownFields = true
        settings.refusesUnknownTenants = true
        return settings
    }
}
