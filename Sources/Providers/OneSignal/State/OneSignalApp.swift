package import Values

/// The users and devices of one OneSignal app.
package struct OneSignalApp: Hashable, Sendable {
    package static let subscriptionsMax = 20
    package let appID: String
    package private(set) var users: SharedTable<String, User> = [:]
    /// User IDs by alias, as `label|id`.
    ///
    /// An alias belongs to only one user.
    private var userByAlias: SharedTable<ExactText, String> = [:]
    package private(set) var subscriptions: SharedTable<String, Subscription> = [:]
    /// Subscription IDs by the subscription's type and token, as `type|token`.
    private var subscriptionByToken: SharedTable<String, String> = [:]
    /// The IDs of all subscriptions, by the second in which they were created.
    private var subscriptionIDsByCreation = SharedIndex<Int64, String>()
    /// The number of subscriptions that messages can reach, by platform.
    package private(set) var reachable: [String: Int64] = [:]
    /// The IDs of users by tag.
    ///
    /// This index finds the users of an audience without a search through all users.
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
        return userByAlias[ExactText(label + "|" + id)].flatMap { users[$0] }
    }

    package mutating func save(_ user: User) {
        let old = users[user.id]
        if let old {
            for (label, id) in old.aliases where userByAlias[ExactText(label + "|" + id)] == user.id
            {
                userByAlias[ExactText(label + "|" + id)] = nil
            }
        }
        users[user.id] = user
        for (label, id) in user.aliases { userByAlias[ExactText(label + "|" + id)] = user.id }
        updateTagIndex(user.id, old?.tags, user.tags)
    }

    /// Removes a user with all aliases and subscriptions of that user.
    package mutating func remove(user id: String) {
        guard let user = users.removeValue(forKey: id) else { return }
        for (label, alias) in user.aliases { userByAlias[ExactText(label + "|" + alias)] = nil }
        for subscription in user.subscriptionIDs { dropSubscription(subscription) }
        updateTagIndex(id, user.tags, JSONObject())
    }

    private mutating func updateTagIndex(_ id: String, _ old: JSONObject?, _ new: JSONObject) {
        guard old != new else { return }
        let (removedTags, addedTags) = (
            Set((old?.members ?? []).map(Tag.init)), Set(new.members.map(Tag.init))
        )
        for tag in removedTags.subtracting(addedTags) { tagged.remove(id, under: tag) }
        for tag in addedTags.subtracting(removedTags) { tagged.insert(id, under: tag) }
    }

    /// Returns the users who have a certain tag.
    ///
    /// - Parameters:
    ///   - key: The tag's name.
    ///   - value: The tag's value; nil: any value.
    /// - Returns: The users, sorted by the value of the tag and then by ID.
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

    /// Saves a subscription and makes its owner the only user who has it.
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
        dropSubscription(id)
    }

    private mutating func dropSubscription(_ id: String) {
        guard let subscription = subscriptions.removeValue(forKey: id) else { return }
        count(subscription, -1)
        let key = subscription.type + "|" + subscription.token
        if subscriptionByToken[key] == id { subscriptionByToken[key] = nil }
    }

    /// Adds a device to the index of subscriptions by creation time and to the counts of reachable
    /// devices.
    ///
    /// If `countChange` is negative, removes the device from this index and from the counts.
    private mutating func count(_ device: Subscription, _ countChange: Int64) {
        if countChange > 0 {
            subscriptionIDsByCreation.insert(device.id, under: device.created)
        } else {
            subscriptionIDsByCreation.remove(device.id, under: device.created)
        }
        guard device.isReachable else { return }
        let count = reachable[device.platform, default: 0] + countChange
        reachable[device.platform] = count == 0 ? nil : count
    }

    /// Returns at most `limit` subscriptions of all users in the order of their creation, after
    /// skipping `offset` ones.
    package func subscriptions(_ limit: Int, from offset: Int) -> [Subscription] {
        subscriptionIDsByCreation.ids(limit, from: offset).compactMap { subscriptions[$0] }
    }

    package func subscriptions(of user: User) -> [Subscription] {
        user.subscriptionIDs.compactMap { subscriptions[$0] }
    }

    // MARK: Delayed properties

    /// Applies the pending changes of a user's tags and properties whose time has come, so that the
    /// API shows them.
    package mutating func settleProperties(of id: String, at now: Instant) {
        guard var user = users[id], !user.pending.isEmpty else { return }
        for change in user.pending where change.due <= now { user.applyChange(change) }
        user.pending.removeAll { $0.due <= now }
        save(user)
    }
}

/// Saves everything except the indexes that can be rebuilt from the users and devices.
extension OneSignalApp: Codable {
    private enum CodingKeys: String, CodingKey {
        case appID, users, userByAlias, subscriptions, subscriptionByToken
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        appID = try container.decode(String.self, forKey: .appID)
        users = try container.decode(SharedTable<String, User>.self, forKey: .users)
        userByAlias = try container.decode(
            SharedTable<ExactText, String>.self,
            forKey: .userByAlias
        )
        subscriptions = try container.decode(
            SharedTable<String, Subscription>.self,
            forKey: .subscriptions
        )
        subscriptionByToken = try container.decode(
            SharedTable<String, String>.self,
            forKey: .subscriptionByToken
        )
        for user in users.values { updateTagIndex(user.id, nil, user.tags) }
        for device in subscriptions.values { count(device, 1) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(appID, forKey: .appID)
        try container.encode(users, forKey: .users)
        try container.encode(userByAlias, forKey: .userByAlias)
        try container.encode(subscriptions, forKey: .subscriptions)
        try container.encode(subscriptionByToken, forKey: .subscriptionByToken)
    }
}
