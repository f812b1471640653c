internal import Values

/// The rules for second factors of a project or tenant, in the format of its configuration.
struct SecondFactorRules: Hashable, Codable, Sendable {
    let members: JSONObject

    /// The rules of a project whose owner never set them, which allow all kinds of second factors.
    static let standard = SecondFactorRules(members: [
        "state": "ENABLED", "enabledProviders": ["PHONE_SMS"],
        "providerConfigs": [
            ["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": 5]]
        ],
    ])

    static let disabled = SecondFactorRules(
        members: ["state": "DISABLED", "enabledProviders": []]
    )

    /// Whether a user with second factors signs in with two steps.
    var areEnabled: Bool { ["ENABLED", "MANDATORY"].contains(members["state"]?.string) }

    /// The number of time steps by which a TOTP code may be early or late.
    var allowedTOTPSteps: Int64 {
        let toleratedSteps = totpConfiguration?["adjacentIntervals"]?.int64 ?? 5
        return min(10, max(0, toleratedSteps))
    }

    /// Refuses a kind of second factor that the rules do not allow.
    func requireEnabled(isPhone: Bool) throws(FirebaseError) {
        let isAllowed =
            isPhone
            ? members["enabledProviders"]?.array?.contains("PHONE_SMS") == true
            : totpConfiguration != nil
        guard areEnabled, isAllowed else {
            throw FirebaseError(
                "OPERATION_NOT_ALLOWED",
                (isPhone ? "SMS" : "TOTP") + " based MFA not enabled."
            )
        }
    }

    private var totpConfiguration: JSONValue? {
        members["providerConfigs"]?.array?.first {
            ["ENABLED", "MANDATORY"].contains($0["state"]?.string)
                && $0["totpProviderConfig"]?.object != nil
        }?["totpProviderConfig"]
    }
}
