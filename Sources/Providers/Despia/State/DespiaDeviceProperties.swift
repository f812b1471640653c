extension DespiaDevice {
    static let platforms = ["ios", "android"]
    static let userAgentPresets = [
        "iphone", "ipad", "ipad-no-token", "ipad-desktop", "android", "unknown", "browser",
    ]

    /// Changes a property that users and tests may change.
    mutating func setProperty(_ field: String, to text: String?) throws(DespiaRefusal) {
        switch field {
        case "platform":
            guard let text, Self.platforms.contains(text) else {
                throw DespiaRefusal(400, "'platform' must be ios or android")
            }
            platform = text
            if text == "android" { uaPreset = "android" }
        case "uaPreset":
            guard let text, Self.userAgentPresets.contains(text) else {
                throw DespiaRefusal(
                    400,
                    "'uaPreset' must be one of \(Self.userAgentPresets.joined(separator: ", "))"
                )
            }
            uaPreset = text
        case "installUuid": installUUID = text
        case "storeAccount": storeAccount = text ?? storeAccount
        case "vaultAccount": vaultAccount = text ?? vaultAccount
        case "playerId": playerID = text ?? playerID
        case "externalId": externalID = text
        case "pushPermission":
            guard let value = text.flatMap(PushPermission.init(rawValue:)) else {
                throw DespiaRefusal(400, "'pushPermission' must be granted, denied or undetermined")
            }
            pushPermission = value
        case "biometrics":
            guard let value = text.flatMap(BiometricOutcome.init(rawValue:)) else {
                throw DespiaRefusal(400, "'biometrics' must be success, failure or unavailable")
            }
            biometrics = value
        default: throw DespiaRefusal(400, "a device has no property '\(field)' that can be changed")
        }
    }
}
