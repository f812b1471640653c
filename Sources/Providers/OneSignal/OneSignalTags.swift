internal import Contracts
internal import Values

/// Operations on tags and other properties of users, in the current and in the old API (OneSignal
/// fact sheet, section 8).
extension OneSignalState {
    /// The names that a tag must not have.
    static let reservedTags: Set<String> = [
        "message", "notification", "subscription", "user", "template", "app", "org",
        "dynamic_content", "data_feed", "journey", "custom_data",
    ]

    /// Converts properties from a request to their stored form.
    ///
    /// Tags become strings, and everything else stays unchanged.
    func pendingChange(
        _ properties: JSONObject?,
        _ call: Call,
        isDevice: Bool = false
    ) throws(OneSignalError) -> OneSignalApp.User.PendingChange {
        var tags = JSONObject()
        for member in properties?["tags"]?.object?.members ?? [] {
            switch member.value {
            case .string, .number, .bool:
                tags[member.key] = .string(
                    member.value.scalarText ?? (member.value == true ? "true" : "false")
                )
            // An empty string always deletes a tag. Null deletes a tag when a device is edited.
            case .null: tags[member.key] = ""
            case .array, .object:
                throw OneSignalError(
                    400,
                    "Tag values must be strings: \(member.key)",
                    confidence: .inferred
                )
            }
            guard !Self.reservedTags.contains(member.key) else {
                throw OneSignalError(
                    400,
                    "\(member.key) is a reserved tag key",
                    confidence: .inferred
                )
            }
        }
        var otherProperties = JSONObject()
        for member in properties?.members ?? [] where member.key != "tags" {
            otherProperties[member.key] = member.value
        }
        // A changed property counts like a tag (OneSignal fact sheet, section 9).
        guard tags.members.count + otherProperties.members.count <= 100 else { throw .tooManyTags }
        return OneSignalApp.User.PendingChange(
            due: call.now + .seconds(settings.propertyDelaySeconds),
            tags: tags,
            properties: otherProperties
        )
    }

    /// Throws when the user would have too many tags after the update.
    ///
    /// The whole update is then refused, including its valid tags (OneSignal fact sheet, section
    /// 8).
    func checkTagLimit(
        _ user: OneSignalApp.User,
        _ pendingChange: OneSignalApp.User.PendingChange
    ) throws(OneSignalError) {
        guard let max = settings.tagsMax, !pendingChange.tags.members.isEmpty else { return }
        var changedUser = user
        changedUser.applyChange(pendingChange)
        guard changedUser.tags.members.count <= max else { throw .tagLimitExceeded }
    }

    func applyChange(
        _ pendingChange: OneSignalApp.User.PendingChange,
        to user: inout OneSignalApp.User,
        _ call: Call
    ) {
        if settings.propertyDelaySeconds > 0 {
            user.pending.append(pendingChange)
        } else {
            user.applyChange(pendingChange)
        }
    }

    func recordTagEffect(
        _ pendingChange: OneSignalApp.User.PendingChange,
        previousUser: OneSignalApp.User?,
        _ user: OneSignalApp.User,
        _ effects: inout [Effect]
    ) {
        let changed = pendingChange.tags.members.filter { member in
            let oldValue = previousUser?.tags[member.key]?.string ?? ""
            return oldValue != member.value.string
        }
        guard !changed.isEmpty else { return }
        recordEffect("onesignal.tags", user, JSONObject(members: changed), &effects)
    }

    /// Writes tags of the user with an external ID, in the old API.
    ///
    /// OneSignal's documentation names both PUT and PATCH for this call.
    mutating func handleLegacyTags(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let externalID = call.pathParameter("external_user_id")
        guard let user = apps[appID]?.user("external_id", externalID) else { throw .playerNotFound }
        try writeTags(call, user, appID, &effects)
        return json(200, ["success": true])
    }

    /// Writes the member `tags` of the request body to a user, with the limits of the old API.
    mutating func writeTags(
        _ call: Call,
        _ user: OneSignalApp.User,
        _ appID: String,
        _ effects: inout [Effect]
    ) throws(OneSignalError) {
        guard let tags = call.body["tags"] else { return }
        try checkWriteLimit(user.id, call)
        let pendingChange = try pendingChange(["tags": tags], call)
        if let max = settings.tagsMax {
            var changedUser = user
            changedUser.applyChange(pendingChange)
            guard changedUser.tags.members.count <= max else {
                throw OneSignalError(
                    400,
                    "App is limited to a maximum of \(max) tags on a given player",
                    confidence: .captured
                )
            }
        }
        var changed = user
        applyChange(pendingChange, to: &changed, call)
        apps[appID]?.save(changed)
        recordTagEffect(pendingChange, previousUser: user, changed, &effects)
    }
}
