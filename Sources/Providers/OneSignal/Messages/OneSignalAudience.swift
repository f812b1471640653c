internal import Values

/// The audience of a message: it finds the devices of an app that the message reaches (OneSignal
/// fact sheet, sections 3 and 4).
struct OneSignalAudience {
    let app: OneSignalApp
    let console: OneSignalConsole
    /// Whether the message reaches recipients without a device.
    let recipients: OneSignalSettings.Recipients

    /// Returns the devices that a message reaches.
    func reachedDevices(
        _ requestedRecipients: RequestedRecipients,
        _ body: JSONObject
    ) -> ReachedDevices {
        var reachedDevices = ReachedDevices()
        let channel =
            body["target_channel"]?.string ?? body["channel_for_external_user_ids"]?.string
        let excludedSegments = Set((body["excluded_segments"]?.array ?? []).compactMap(\.string))
        addDevices(
            requestedRecipients.segments,
            without: excludedSegments,
            to: &reachedDevices
        )
        if !requestedRecipients.filters.isEmpty {
            let users = app.users(matching: requestedRecipients.filters)
            let devices = users.flatMap { app.subscriptions(of: $0) }.filter(\.isReachable)
            reachedDevices.addDevices(
                devices.map(\.platform),
                atLeast: recipients == .any ? 1 : 0
            )
        }
        for (invalidIDsField, label, ids) in requestedRecipients.explicitTargets {
            var unknownIDs: [String] = []
            for id in ids {
                let devices = devices(label, id, channel)
                let reachable = devices.filter(\.isReachable)
                // A known user who opted out is never reached, whatever the setting `recipients`
                // is.
                if !reachable.isEmpty {
                    reachedDevices.addDevices(reachable.map(\.platform), atLeast: 1)
                } else if recipients == .any, devices.isEmpty {
                    reachedDevices.addDevices([Self.platform(label, channel)], atLeast: 1)
                } else {
                    unknownIDs.append(id)
                    reachedDevices.failed += Int64(devices.count)
                }
            }
            guard !unknownIDs.isEmpty else { continue }
            if invalidIDsField == "invalid_aliases" {
                var invalidAliases =
                    reachedDevices.invalidIDs[invalidIDsField]?.object ?? JSONObject()
                invalidAliases[label] = .strings(unknownIDs)
                reachedDevices.invalidIDs[invalidIDsField] = .object(invalidAliases)
                reachedDevices.hasIDForUnknownUser = true
            } else {
                reachedDevices.invalidIDs[invalidIDsField] = .strings(unknownIDs)
            }
        }
        return reachedDevices
    }

    /// Adds the devices of the users who are in one of the segments and in no excluded segment.
    private func addDevices(
        _ segments: [String],
        without excludedSegments: Set<String>,
        to reachedDevices: inout ReachedDevices
    ) {
        let includedSegments = segments.filter { !excludedSegments.contains($0) }
            .compactMap { console.filters(ofSegment: $0, in: app.appID) }
        let left = excludedSegments.compactMap { console.filters(ofSegment: $0, in: app.appID) }
        // An excluded segment without filters contains all users of the app, so no device remains.
        guard !includedSegments.isEmpty, !left.contains(where: \.isEmpty) else { return }
        let (explicitTargets, without) = (includedSegments.filter { !$0.isEmpty }, left)
        let includesEveryUser = explicitTargets.count < includedSegments.count
        if includesEveryUser, without.isEmpty {
            reachedDevices.addDevices(app.reachable, atLeast: 1)
            return
        }
        func audience(_ filters: [[JSONValue]]) -> [OneSignalApp.User] {
            app.users(matching: Array(filters.joined(separator: [Self.orOperator])))
        }
        let excludedUserIDs = Set(without.isEmpty ? [] : audience(without).map(\.id))
        let users = includesEveryUser ? Array(app.users.values) : audience(explicitTargets)
        let devices = users.filter { !excludedUserIDs.contains($0.id) }
            .flatMap { app.subscriptions(of: $0) }.filter(\.isReachable)
        reachedDevices.addDevices(
            devices.map(\.platform),
            atLeast: recipients == .any ? 1 : 0
        )
    }

    private static let orOperator: JSONValue = ["operator": "OR"]

    /// Returns the platform under which the fake counts the device of an unknown recipient.
    private static func platform(_ label: String, _ channel: String?) -> String {
        switch (label, channel) {
        case ("Email", _), (_, "email"): "email"
        case ("SMS", _), (_, "sms"): "sms"
        default: "ios"
        }
    }

    private func devices(
        _ label: String,
        _ id: String,
        _ channel: String?
    ) -> [OneSignalApp.Subscription] {
        switch label {
        case "subscription": return app.subscriptions[id].map { [$0] } ?? []
        case "Email", "SMS":
            return app.subscription(type: label, token: id).map { [$0] } ?? []
        default:
            guard let user = app.user(label, id) else { return [] }
            let requiredValue = channel ?? "push"
            return app.subscriptions(of: user).filter { $0.channel == requiredValue }
        }
    }
}

extension OneSignalApp {
    /// Returns the users in the audience of these filters.
    ///
    /// The operator `OR` separates groups of filters. A user is in the audience if all filters of
    /// one group hold.
    ///
    /// A group with a condition that requires a tag uses the tag index. A group that only excludes
    /// users goes through all users.
    func users(matching filters: [JSONValue]) -> [User] {
        var matchingUsers: [User] = []
        var seenUserIDs: Set<String> = []
        let filterAlternatives = filters.split { $0["operator"]?.string?.uppercased() == "OR" }
        for filterAlternative in filterAlternatives {
            let filterAlternative = filterAlternative.compactMap(TagFilter.init)
            let smallestCandidateList = filterAlternative.compactMap { $0.candidateUsers(self) }.min
            {
                $0.count < $1.count
            }
            for user in smallestCandidateList ?? Array(users.values)
            where filterAlternative.allSatisfy({ $0.holds(of: user) })
                && seenUserIDs.insert(user.id).inserted
            {
                matchingUsers.append(user)
            }
        }
        return matchingUsers
    }
}
