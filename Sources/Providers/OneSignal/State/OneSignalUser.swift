package import Values

extension OneSignalApp {
    /// A OneSignal user with aliases, properties and subscribed devices (OneSignal fact sheet,
    /// section 7).
    package struct User: Hashable, Codable, Sendable {
        package let id: String
        /// The IDs of the user by alias label, without `onesignal_id`.
        package var aliases: [String: String] = [:]
        /// The tags of the user, in the order in which they were first set.
        package var tags = JSONObject()
        /// The properties of the user other than tags, in the format in which they were set.
        package var properties = JSONObject()
        package var subscriptionIDs: [String] = []
        package var firstActive: Int64
        package var lastActive: Int64
        /// Changes of tags and properties that the API does not show yet, each with the time at
        /// which it becomes readable.
        package var pending: [PendingChange] = []
    }
}

extension OneSignalApp.User {
    /// The member `properties` of the user in the API's format.
    ///
    /// A property without a value is absent.
    var propertiesJSON: JSONObject {
        var resourceJSON = JSONObject()
        if !tags.members.isEmpty { resourceJSON["tags"] = .object(tags) }
        for member in properties.members where !member.value.isNull {
            resourceJSON[member.key] = member.value
        }
        return resourceJSON
    }

    var identityJSON: JSONObject {
        var resourceJSON = JSONObject(
            members: aliases.sorted { $0.key < $1.key }.map {
                .init(key: $0.key, value: .string($0.value))
            }
        )
        resourceJSON["onesignal_id"] = .string(id)
        return resourceJSON
    }

    /// The aliases of the user in the API's format, without the OneSignal ID.
    var aliasesJSON: JSONObject {
        JSONObject(members: identityJSON.members.filter { $0.key != "onesignal_id" })
    }

    /// Adds the purchases made outside of OneSignal, which a request reports.
    mutating func addPurchases(_ purchases: [JSONValue]) {
        guard !purchases.isEmpty else { return }
        func number(_ value: JSONValue?) -> Double {
            value?.scalarText.flatMap { Double($0) } ?? 0
        }
        let known = properties["purchases"]?.array ?? []
        properties["purchases"] = .array(known + purchases)
        let amountSpent = purchases.reduce(number(properties["amount_spent"])) {
            $0 + number($1["amount"]) * max(1, number($1["count"]))
        }
        properties["amount_spent"] = .number(JSONNumber(amountSpent))
    }

    /// Returns the aliases in a request, the ID of each by its label; throws when one is not valid.
    static func aliases(
        in value: JSONValue?,
        allowsOneSignalID: Bool
    ) throws(OneSignalError) -> [String: String] {
        var aliases: [String: String] = [:]
        for member in value?.object?.members ?? [] {
            guard let id = member.value.scalarText, !id.isEmpty else {
                throw OneSignalError(
                    400,
                    "Alias ids must be strings: \(member.key)",
                    confidence: .inferred
                )
            }
            guard member.key != "onesignal_id" || allowsOneSignalID else {
                throw OneSignalError(
                    400,
                    "onesignal_id is a reserved alias label",
                    confidence: .inferred
                )
            }
            guard member.key.count <= 128, id.count <= 128 else {
                throw OneSignalError(
                    400,
                    "Alias labels and ids may have at most 128 characters",
                    confidence: .inferred
                )
            }
            aliases[member.key] = id
        }
        return aliases
    }

    /// Throws when the user has more aliases than the limit; nil means no limit.
    func checkAliasLimit(_ max: Int?) throws(OneSignalError) {
        guard let max, aliases.count > max else { return }
        throw OneSignalError(
            400,
            "A user may have at most \(max) aliases",
            confidence: .inferred
        )
    }

    /// Returns an effect (an observable change) on this user.
    ///
    /// A call that changes nothing must not have an effect.
    func effect(_ kind: String, _ content: JSONObject) -> Effect {
        Effect(kind: kind, recipients: [aliases["external_id"] ?? id], content: .object(content))
    }
}

extension OneSignalApp {
    /// Returns a user with the user's subscriptions in the API's format.
    func resourceJSON(of user: User) -> JSONObject {
        var properties = user.propertiesJSON
        properties["first_active"] = .integer(user.firstActive)
        properties["last_active"] = .integer(user.lastActive)
        return [
            "properties": .object(properties), "identity": .object(user.identityJSON),
            "subscriptions": .array(
                subscriptions(of: user).map { .object($0.resourceJSON(in: appID)) }
            ),
        ]
    }
}
