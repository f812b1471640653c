/// The switches of the fake Firebase Auth.
///
/// The defaults are the behavior of the Firebase emulator. Each difference of production can be
/// switched on (Firebase fact sheet, section 10).
package struct FirebaseSettings: Hashable, Codable, Sendable {
    package enum Tokens: String, Hashable, Codable, Sendable {
        /// Tokens are unsigned (`alg: none` and an empty signature), as in the Firebase emulator.
        case unsigned
        /// Tokens are signed with RS256 and rotating keys, as in production.
        case rs256
    }

    /// The Firebase project of a caller that sends only an API key.
    package var project = "demo-project"
    package var tokens = Tokens.unsigned
    /// Whether the API checks the signature, `exp`, `aud` and `iss` of an `idToken`.
    package var verifiesIDTokens = false
    package var revokesRefreshTokens = false
    /// Whether the refresh of a deleted user's token fails with `USER_NOT_FOUND`.
    ///
    /// If false, it fails with `INVALID_REFRESH_TOKEN`.
    package var tellsDeletedUsers = false
    /// The time in seconds after which an emailed code fails with `EXPIRED_OOB_CODE`.
    ///
    /// If nil, the code never expires.
    package var actionCodeSeconds: Int64?
    /// The time in seconds after the sign-in during which the user may make sensitive changes.
    ///
    /// If nil, the user may always make them.
    package var recentSignInSeconds: Int64?
    /// The number of failed password sign-ins that an account may have in five minutes.
    ///
    /// If nil, the number is not limited.
    package var failedSignInsMax: Int?
    /// The number of password reset emails that an address may receive in an hour.
    ///
    /// If nil, the number is not limited.
    package var resetMailsMax: Int?
    /// Whether email enumeration protection is on in all projects.
    ///
    /// The emulator's `config` endpoint changes this setting for one project.
    package var enumerationProtection = false
    package var allowDuplicateEmails = false
    /// Whether the operation `update` refuses to set an email address that is not verified.
    ///
    /// It applies only with enumeration protection.
    package var refusesEmailUpdate = false
    /// The only valid API key of callers.
    ///
    /// If nil, any string is a valid key.
    package var apiKey: String?
    package var passwordProvider = true
    package var anonymousProvider = true
    package var emailLinkProvider = true
    /// Whether a lookup returns `UkVEQUNURUQ=` (REDACTED in Base64) in place of the password hash.
    package var redactsPasswordHash = false
    /// Whether the API refuses request fields that it does not know.
    package var refusesUnknownFields = false
    /// Whether a call for a tenant that was never created is refused.
    ///
    /// The Firebase emulator creates such a tenant on first use.
    package var refusesUnknownTenants: Bool?
    /// The `max-age` in the responses of the endpoints that publish keys, in seconds.
    package var keySecondsMax: Int64 = 21_600

    package init() {}

    /// Settings in which every switch has the behavior of production.
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
