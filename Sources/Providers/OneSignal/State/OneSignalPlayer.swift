internal import Values

/// A subscription as a player, which is the device of the old API (OneSignal fact sheet, section
/// 10).
extension OneSignalApp.Subscription {
    /// The subscription type for each number that `device_type` may have.
    static let typesByDeviceType: [Int64: String] = [
        0: "iOSPush", 1: "AndroidPush", 2: "FireOSPush", 5: "ChromePush", 7: "SafariLegacyPush",
        8: "FirefoxPush", 11: "Email", 13: "HuaweiPush", 14: "SMS",
    ]

    /// Sets the members that a request of the old API contains.
    mutating func updatePlayer(_ body: JSONObject) {
        if let types = body["notification_types"]?.int64 {
            notificationTypes = types
            isEnabled = types > 0
        }
        for key in ["language", "timezone", "game_version", "device_os", "device_model", "sdk"] {
            if let value = body[key], !value.isNull { details[key] = value }
        }
    }
}

extension OneSignalApp {
    /// Returns a subscription in the format of the old API.
    func playerJSON(of player: Subscription) -> JSONObject {
        let owner = users[player.ownerID]
        let details = player.details
        let number =
            player.deviceType ?? Subscription.typesByDeviceType.first { $0.value == player.type }?
            .key ?? 0
        return [
            "id": .string(player.id), "identifier": .string(player.token),
            "session_count": details["session_count"] ?? 1,
            "language": details["language"] ?? "en", "timezone": details["timezone"] ?? 0,
            "game_version": details["game_version"] ?? "1.0",
            "device_os": details["device_os"] ?? "", "device_type": .integer(number),
            "device_model": details["device_model"] ?? "", "ad_id": .null,
            "tags": .object(owner?.tags ?? JSONObject()),
            "last_active": .integer(owner?.lastActive ?? player.created),
            "amount_spent": owner?.properties["amount_spent"] ?? .number(JSONNumber(0.0)),
            "created_at": .integer(player.created),
            "invalid_identifier": .bool(!player.isReachable), "badge_count": 0,
            "sdk": details["sdk"] ?? "", "test_type": .null, "ip": "127.0.0.1",
            "external_user_id": owner?.aliases["external_id"].map(JSONValue.string) ?? .null,
        ]
    }
}
