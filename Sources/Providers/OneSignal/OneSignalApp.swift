package import Conformance

/// The people and devices that one OneSignal app knows.
package struct OneSignalApp: Hashable, Sendable {
    /// A person with aliases, properties and devices (fact sheet, section 7).
    package struct User: Hashable, Codable, Sendable {
        package let id: String
        /// All aliases but `onesignal_id`, by label.
        package var aliases: [String: String] = [:]
        /// In the order they were first written.
        package var tags = JSONObject()
        /// The other properties, as they were written.
        package var properties = JSONObject()
        package var subscriptionIDs: [String] = []
        package var firstActive: Int64
        package var lastActive: Int64
        /// Properties that are written and not yet read back, with the moment they are.
        package var pending: [Pending] = []

        package struct Pending: Hashable, Codable, Sendable {
            package let due: Instant
            package let tags: JSONObject
            package let properties: JSONObject
        }
    }

    /// A device, an email address or a phone number.
    package struct Subscription: Hashable, Codable, Sendable {
        package let id: String
        package var type: String
        package var token: String
        package var isEnabled: Bool
        package var notificationTypes: Int64
        package var ownerID: String
        /// What else was said about it.
        package var details = JSONObject()
        package var created: Int64
        package var deviceType: Int64?

        /// Enabled and not opted out (fact sheet, section 7).
        package var isReachable: Bool { isEnabled && notificationTypes > 0 }

        /// As `platform_delivery_stats` names it.
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

    package static let subscriptionsMax = 20
    package let appID: String
    package private(set) var users: SharedTable<String, User> = [:]
    /// Keys are `label|id`; one pair belongs to one user.
    private var userByAlias: SharedTable<String, String> = [:]
    package private(set) var subscriptions: SharedTable<String, Subscription> = [:]
    /// Keys are `type|token`.
    private var subscriptionByToken: SharedTable<String, String> = [:]
    /// Devices by the second in which they were made.
    private var players = SharedIndex<Int64, String>()
    /// How many devices are reachable, by platform.
    package private(set) var reachable: [String: Int64] = [:]
    /// Who has which tags, so that an audience is found without asking everybody.
    private var tagged = SharedIndex<Tag, String>()

    private struct Tag: Hashable, Comparable {
        let key: String
        let value: String

        init(_ member: JSONObject.Member) {
            key = member.key
            value = member.value.string ?? ""
        }

        static func < (left: Tag, right: Tag) -> Bool {
            (left.key, left.value) < (right.key, right.value)
        }
    }

    package init(appID: String) {
        self.appID = appID
    }

    // MARK: Users

    package func user(_ label: String, _ id: String) -> User? {
        if label == "onesignal_id" { return users[id] }
        return userByAlias[label + "|" + id].flatMap { users[$0] }
    }

    package mutating func save(_ user: User) {
        let old = users[user.id]
        if let old {
            for (label, id) in old.aliases where userByAlias[label + "|" + id] == user.id {
                userByAlias[label + "|" + id] = nil
            }
        }
        users[user.id] = user
        for (label, id) in user.aliases { userByAlias[label + "|" + id] = user.id }
        retag(user.id, old?.tags, user.tags)
    }

    /// The user goes with its aliases and subscriptions.
    package mutating func remove(user id: String) {
        guard let user = users.removeValue(forKey: id) else { return }
        for (label, alias) in user.aliases { userByAlias[label + "|" + alias] = nil }
        for subscription in user.subscriptionIDs { drop(subscription) }
        retag(id, user.tags, JSONObject())
    }

    private mutating func retag(_ id: String, _ old: JSONObject?, _ new: JSONObject) {
        guard old != new else { return }
        let (lost, won) = (Set((old?.members ?? []).map(Tag.init)), Set(new.members.map(Tag.init)))
        for tag in lost.subtracting(won) { tagged.remove(id, under: tag) }
        for tag in won.subtracting(lost) { tagged.insert(id, under: tag) }
    }

    /// The users who have a tag.
    ///
    /// - Parameters:
    ///   - key: The tag's name.
    ///   - value: Its value; nil for any.
    /// - Returns: The users, by value and id.
    package func users(tagged key: String, _ value: String?) -> [User] {
        tagged.ids {
            ($0.key, $0.value) < (key, value ?? "")
        } while: {
            $0.key == key && (value == nil || $0.value == value)
        }.compactMap { users[$0] }
    }

    // MARK: Subscriptions

    package func subscription(type: String, token: String) -> Subscription? {
        subscriptionByToken[type + "|" + token].flatMap { subscriptions[$0] }
    }

    /// Saves it and makes it the owner's, and nobody else's.
    package mutating func save(_ subscription: Subscription) {
        if let old = subscriptions[subscription.id] {
            count(old, -1)
            subscriptionByToken[old.type + "|" + old.token] = nil
            if old.ownerID != subscription.ownerID {
                users[old.ownerID]?.subscriptionIDs.removeAll { $0 == subscription.id }
            }
        }
        subscriptions[subscription.id] = subscription
        count(subscription, 1)
        if !subscription.token.isEmpty {
            subscriptionByToken[subscription.type + "|" + subscription.token] = subscription.id
        }
        if users[subscription.ownerID]?.subscriptionIDs.contains(subscription.id) == false {
            users[subscription.ownerID]?.subscriptionIDs.append(subscription.id)
        }
    }

    package mutating func remove(subscription id: String) {
        if let owner = subscriptions[id]?.ownerID {
            users[owner]?.subscriptionIDs.removeAll { $0 == id }
        }
        drop(id)
    }

    private mutating func drop(_ id: String) {
        guard let subscription = subscriptions.removeValue(forKey: id) else { return }
        count(subscription, -1)
        let key = subscription.type + "|" + subscription.token
        if subscriptionByToken[key] == id { subscriptionByToken[key] = nil }
    }

    /// Counts a device in or out.
    private mutating func count(_ device: Subscription, _ sign: Int64) {
        if sign > 0 {
            players.insert(device.id, under: device.created)
        } else {
            players.remove(device.id, under: device.created)
        }
        guard device.isReachable else { return }
        let count = reachable[device.platform, default: 0] + sign
        reachable[device.platform] = count == 0 ? nil : count
    }

    /// A page of all devices, in the order in which they were made.
    package func subscriptions(_ limit: Int, from offset: Int) -> [Subscription] {
        players.ids(limit, from: offset).compactMap { subscriptions[$0] }
    }

    package func subscriptions(of user: User) -> [Subscription] {
        user.subscriptionIDs.compactMap { subscriptions[$0] }
    }

    // MARK: Properties that take their time

    /// Lets what was written and is due by now be read.
    package mutating func settleProperties(of id: String, at now: Instant) {
        guard var user = users[id], !user.pending.isEmpty else { return }
        for change in user.pending where change.due <= now { user.apply(change) }
        user.pending.removeAll { $0.due <= now }
        save(user)
    }
}

/// What can be found again from users and devices is not written.
extension OneSignalApp: Codable {
    private enum CodingKeys: String, CodingKey {
        case appID, users, userByAlias, subscriptions, subscriptionByToken
    }

    package init(from decoder: any Decoder) throws {
        let saved = try decoder.container(keyedBy: CodingKeys.self)
        appID = try saved.decode(String.self, forKey: .appID)
        users = try saved.decode(SharedTable<String, User>.self, forKey: .users)
        userByAlias = try saved.decode(SharedTable<String, String>.self, forKey: .userByAlias)
        subscriptions = try saved.decode(
            SharedTable<String, Subscription>.self,
            forKey: .subscriptions
        )
        subscriptionByToken = try saved.decode(
            SharedTable<String, String>.self,
            forKey: .subscriptionByToken
        )
        for user in users.values { retag(user.id, nil, user.tags) }
        for device in subscriptions.values { count(device, 1) }
    }

    package func encode(to encoder: any Encoder) throws {
        var saved = encoder.container(keyedBy: CodingKeys.self)
        try saved.encode(appID, forKey: .appID)
        try saved.encode(users, forKey: .users)
        try saved.encode(userByAlias, forKey: .userByAlias)
        try saved.encode(subscriptions, forKey: .subscriptions)
        try saved.encode(subscriptionByToken, forKey: .subscriptionByToken)
    }
}

extension OneSignalApp.User {
    mutating func apply(_ change: Pending) {
        for member in change.tags.members {
            tags[member.key] = member.value.string?.isEmpty == true ? nil : member.value
        }
        for member in change.properties.members { properties[member.key] = member.value }
    }

    /// `properties` as the API shows it; what is unset is absent.
    var shownProperties: JSONObject {
        var shown = JSONObject()
        if !tags.members.isEmpty { shown["tags"] = .object(tags) }
        for member in properties.members where !member.value.isNull {
            shown[member.key] = member.value
        }
        return shown
    }

    var shownIdentity: JSONObject {
        var shown = JSONObject(
            members: aliases.sorted { $0.key < $1.key }.map {
                .init(key: $0.key, value: .string($0.value))
            }
        )
        shown["onesignal_id"] = .string(id)
        return shown
    }
}

extension OneSignalApp.Subscription {
    /// As the API shows it: an empty text, never null (section 12).
    func shown(in appID: String) -> JSONObject {
        var shown: JSONObject = [
            "id": .string(id), "app_id": .string(appID), "type": .string(type),
            "token": .string(token), "enabled": .bool(isEnabled),
            "notification_types": .integer(notificationTypes),
            "session_time": 0, "session_count": 1, "sdk": "", "device_model": "", "device_os": "",
            "rooted": false, "test_type": 0, "app_version": "", "net_type": 0, "carrier": "",
            "web_auth": "", "web_p256": "",
        ]
        for member in details.members where !member.value.isNull {
            shown[member.key] = member.value
        }
        return shown
    }
}
