package import Values

extension OneSignalApp {
    /// A subscription of a user: a device, an email address or a phone number.
    package struct Subscription: Hashable, Codable, Sendable {
        package let id: String
        package var type: String
        package var token: String
        package var isEnabled: Bool
        package var notificationTypes: Int64
        package var ownerID: String
        /// The members of the subscription that have no property here, such as the device model.
        package var details = JSONObject()
        package var created: Int64
        package var deviceType: Int64?

        /// Whether the subscription is enabled and its user has not opted out (OneSignal fact
        /// sheet, section 7).
        package var isReachable: Bool { isEnabled && notificationTypes > 0 }

        /// The name of the subscription's platform in `platform_delivery_stats`.
        package var platform: String {
            switch type {
            case "iOSPush": "ios"
            case "AndroidPush": "android"
            case "FireOSPush": "adm"
            case "HuaweiPush": "huawei"
            case "macOSPush": "macos"
            case "WindowsPush": "windows"
            case "ChromePush", "ChromeExtensionPush": "chrome_web_push"
            case "FirefoxPush": "firefox_web_push"
            case "SafariPush", "SafariLegacyPush": "safari_web_push"
            case "Email": "email"
            case "SMS": "sms"
            default: "ios"
            }
        }

        package var channel: String {
            switch type {
            case "Email": "email"
            case "SMS": "sms"
            default: "push"
            }
        }
    }
}

extension OneSignalApp.Subscription {
    /// Returns the subscription in the API's format.
    ///
    /// A missing value is an empty string, never null (OneSignal fact sheet, section 12).
    func resourceJSON(in appID: String) -> JSONObject {
        var resourceJSON: JSONObject = [
            "id": .string(id), "app_id": .string(appID), "type": .string(type),
            "token": .string(token), "enabled": .bool(isEnabled),
            "notification_types": .integer(notificationTypes),
            "session_time": 0, "session_count": 1, "sdk": "", "device_model": "", "device_os": "",
            "rooted": false, "test_type": 0, "app_version": "", "net_type": 0, "carrier": "",
            "web_auth": "", "web_p256": "",
        ]
        for member in details.members where !member.value.isNull {
            resourceJSON[member.key] = member.value
        }
        return resourceJSON
    }

    /// Sets the members that a request contains; unknown members become details.
    mutating func update(_ requestedValues: JSONObject) {
        for member in requestedValues.members {
            switch member.key {
            case "id", "app_id", "type": break
            case "token": token = member.value.string ?? token
            case "enabled": isEnabled = member.value.bool ?? isEnabled
            case "notification_types": notificationTypes = member.value.int64 ?? notificationTypes
            default: details[member.key] = member.value
            }
        }
    }
}
