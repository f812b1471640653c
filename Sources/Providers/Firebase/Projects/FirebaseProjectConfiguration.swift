internal import Values

/// The configuration of a Firebase project that its owner can change (Firebase fact sheet, section
/// 8).
struct FirebaseProjectConfiguration: Hashable, Codable, Sendable {
    var allowsDuplicateEmails: Bool
    var enumerationProtection: Bool
    /// The configuration of blocking functions, in the format in which it was set.
    ///
    /// It is stored so that it can be read again. The fake never calls blocking functions.
    var blockingFunctions: JSONValue = .object(JSONObject())
    /// The rules for second factors.
    ///
    /// If nil, the rules of the tenant or the standard rules apply.
    var secondFactorRules: SecondFactorRules?

    init(_ settings: FirebaseSettings) {
        allowsDuplicateEmails = settings.allowDuplicateEmails
        enumerationProtection = settings.enumerationProtection
    }

    /// The configuration in the format of the emulator's endpoint `config`.
    var emulatorJSON: JSONObject {
        [
            "signIn": ["allowDuplicateEmails": .bool(allowsDuplicateEmails)],
            "emailPrivacyConfig": ["enableImprovedEmailPrivacy": .bool(enumerationProtection)],
        ]
    }
}
