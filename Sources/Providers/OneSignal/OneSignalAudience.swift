internal import Values

/// Functions that find the intended recipients of a message and the devices that it reaches
/// (OneSignal fact sheet, sections 3 and 4).
extension OneSignalState {
    /// The intended recipients of a message, as the request names them.
    struct RequestedRecipients {
        /// The recipients that the request names by ID.
        ///
        /// `invalidIDsField` is the member of the response's `errors` that lists the unreachable ones.
        var explicitTargets: [(invalidIDsField: String, label: String, ids: [String])] = []
        var segments: [String] = []
        var filters: [JSONValue] = []
        var targetKindCount = 0
        let key: String?

        init(_ body: JSONObject) {
            for member in body["include_aliases"]?.object?.members ?? [] {
                let ids = member.value.array.map { $0.compactMap(\.scalarText) } ?? []
                explicitTargets.append(("invalid_aliases", member.key, ids))
            }
            targetKindCount += body["include_aliases"]?.object == nil ? 0 : 1
            let targetLists = [
                ("include_subscription_ids", "invalid_player_ids", "subscription"),
                ("include_player_ids", "invalid_player_ids", "subscription"),
                ("include_external_user_ids", "invalid_external_user_ids", "external_id"),
                ("email_to", "invalid_emails", "Email"),
                ("include_email_tokens", "invalid_emails", "Email"),
                ("include_phone_numbers", "invalid_phone_numbers", "SMS"),
            ]
            for (field, invalidIDsField, label) in targetLists {
                guard let list = body[field]?.array, !list.isEmpty else { continue }
                explicitTargets.append((invalidIDsField, label, list.compactMap(\.scalarText)))
                targetKindCount += 1
            }
            segments = (body["included_segments"]?.array ?? []).compactMap(\.string)
            targetKindCount += segments.isEmpty ? 0 : 1
            filters = body["filters"]?.array ?? []
            targetKindCount += filters.isEmpty ? 0 : 1
            key = OneSignalState.idempotencyKey(body)
        }

        var ids: [String] { explicitTargets.flatMap(\.ids) }
        var filterValues: [String] { Self.values(of: filters) }

        static func values(of filters: [JSONValue]) -> [String] {
            filters.compactMap { $0["relation"] == "=" ? $0["value"]?.string : nil }
        }
        var isEmpty: Bool { ids.isEmpty && segments.isEmpty && filters.isEmpty }
    }

    struct ReachedDevices {
        var count: Int64 = 0
        var failed: Int64 = 0
        /// The member `errors` of the response.
        ///
        /// It lists the recipients that are not reached, by the name of the error, and for aliases
        /// also by label.
        var invalidIDs = JSONObject()
        /// The number of devices that the message reaches, by the name of the platform in
        /// `platform_delivery_stats`.
        var platforms: [String: Int64] = [:]
        /// Whether the message gets an ID although an alias is unknown.
        ///
        /// The real service did so twice when all aliases were unknown (observed; OneSignal fact
        /// sheet, section 4).
        var hasIDForUnknownUser = false

        /// Counts the devices with these platform names.
        ///
        /// If there are fewer than the minimum, counts one iOS device instead.
        mutating func addDevices(_ names: [String], atLeast minimum: Int64) {
            var counts: [String: Int64] = [:]
            for name in names { counts[name, default: 0] += 1 }
            addDevices(counts, atLeast: minimum)
        }

        mutating func addDevices(_ counts: [String: Int64], atLeast minimum: Int64) {
            let totalCount = counts.values.reduce(0, +)
            let counts = totalCount < minimum ? ["ios": 1] : counts
            count += totalCount < minimum ? 1 : totalCount
            platforms.merge(counts, uniquingKeysWith: +)
        }
    }

    func reachedDevices(
        _ requestedRecipients: RequestedRecipients,
        _ body: JSONObject,
        _ app: OneSignalApp
    )
        -> ReachedDevices
    {
        var reachedDevices = ReachedDevices()
        let channel =
            body["target_channel"]?.string ?? body["channel_for_external_user_ids"]?.string
        let excludedSegments = Set((body["excluded_segments"]?.array ?? []).compactMap(\.string))
        addDevices(
            requestedRecipients.segments,
            without: excludedSegments,
            app,
            to: &reachedDevices
        )
        if !requestedRecipients.filters.isEmpty {
            let users = Self.audience(requestedRecipients.filters, app)
            let devices = users.flatMap { app.subscriptions(of: $0) }.filter(\.isReachable)
            reachedDevices.addDevices(
                devices.map(\.platform),
                atLeast: settings.recipients == .any ? 1 : 0
            )
        }
        for (invalidIDsField, label, ids) in requestedRecipients.explicitTargets {
            var unknownIDs: [String] = []
            for id in ids {
                let devices = devices(label, id, channel, app)
                let reachable = devices.filter(\.isReachable)
                // A known user who opted out is never reached, whatever the setting `recipients`
                // is.
                if !reachable.isEmpty {
                    reachedDevices.addDevices(reachable.map(\.platform), atLeast: 1)
                } else if settings.recipients == .any, devices.isEmpty {
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
        _ app: OneSignalApp,
        to reachedDevices: inout ReachedDevices
    ) {
        let includedSegments = segments.filter { !excludedSegments.contains($0) }
            .compactMap { filters(ofSegment: $0, app.appID) }
        let left = excludedSegments.compactMap { filters(ofSegment: $0, app.appID) }
        // An excluded segment without filters contains all users of the app, so no device remains.
        guard !includedSegments.isEmpty, !left.contains(where: \.isEmpty) else { return }
        let (explicitTargets, without) = (includedSegments.filter { !$0.isEmpty }, left)
        let includesEveryUser = explicitTargets.count < includedSegments.count
        if includesEveryUser, without.isEmpty {
            reachedDevices.addDevices(app.reachable, atLeast: 1)
            return
        }
        func audience(_ filters: [[JSONValue]]) -> [OneSignalApp.User] {
            Self.audience(Array(filters.joined(separator: [Self.orOperator])), app)
        }
        let excludedUserIDs = Set(without.isEmpty ? [] : audience(without).map(\.id))
        let users = includesEveryUser ? Array(app.users.values) : audience(explicitTargets)
        let devices = users.filter { !excludedUserIDs.contains($0.id) }
            .flatMap { app.subscriptions(of: $0) }.filter(\.isReachable)
        reachedDevices.addDevices(
            devices.map(\.platform),
            atLeast: settings.recipients == .any ? 1 : 0
        )
    }

    private static let orOperator: JSONValue = ["operator": "OR"]

    /// Returns the filters of a segment.
    ///
    /// An empty list means all users; nil means that the segment is unknown and contains no user.
    ///
    /// While no segments of an app were created over the API, every name is taken for a segment of
    /// all users.
    func filters(ofSegment name: String, _ appID: String) -> [JSONValue]? {
        guard let record = console?.records[appID], record.makesSegments == true else { return [] }
        return record.segments.first { $0.name == name }?.filters
    }

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
        _ channel: String?,
        _ app: OneSignalApp
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

    /// Returns the users in the audience of these filters.
    ///
    /// The operator `OR` separates groups of filters. A user is in the audience if all filters of
    /// one group hold.
    ///
    /// A group with a condition that requires a tag uses the tag index. A group that only excludes
    /// users goes through all users.
    static func audience(_ filters: [JSONValue], _ app: OneSignalApp) -> [OneSignalApp.User] {
        var matchingUsers: [OneSignalApp.User] = []
        var seenUserIDs: Set<String> = []
        let filterAlternatives = filters.split { $0["operator"]?.string?.uppercased() == "OR" }
        for filterAlternative in filterAlternatives {
            let filterAlternative = filterAlternative.compactMap(TagFilter.init)
            let smallestCandidateList = filterAlternative.compactMap { $0.candidateUsers(app) }.min
            {
                $0.count < $1.count
            }
            for user in smallestCandidateList ?? Array(app.users.values)
            where filterAlternative.allSatisfy({ $0.holds(of: user) })
                && seenUserIDs.insert(user.id).inserted
            {
                matchingUsers.append(user)
            }
        }
        return matchingUsers
    }
}

/// A filter on a tag of users: the tag's name, a relation and a value (OneSignal fact sheet,
/// section 3).
private struct TagFilter {
    private enum Relation: String {
        case equals = "="
        case notEquals = "!="
        case exists
        case isMissing = "not_exists"
        case greaterThan = ">"
        case elapsedMoreThan = "time_elapsed_gt"
        case lessThan = "<"
        case elapsedLessThan = "time_elapsed_lt"
    }

    private let key: String
    /// The relation between the tag and the wanted value.
    ///
    /// Nil for an unknown relation, which holds for no user.
    private let relation: Relation?
    private let requiredValue: String

    /// Creates a tag filter.
    ///
    /// Returns nil for an operator, and for a filter on a field that this fake does not store. The
    /// caller ignores such a filter, so it excludes no user.
    init?(_ filter: JSONValue) {
        guard filter["operator"] == nil, filter["field"] == "tag" else { return nil }
        key = filter["key"]?.string ?? ""
        relation = filter["relation"]?.string.flatMap(Relation.init)
        requiredValue = filter["value"]?.scalarText ?? ""
    }

    /// Returns users from the tag index among whom are all users that match the filter.
    ///
    /// Returns nil when users outside the index may also match.
    func candidateUsers(_ app: OneSignalApp) -> [OneSignalApp.User]? {
        switch relation {
        case .equals: app.users(tagged: key, requiredValue)
        case .exists, .greaterThan, .elapsedMoreThan, .lessThan, .elapsedLessThan:
            app.users(tagged: key, nil)
        // These relations also match users without the tag.
        case .notEquals, .isMissing: nil
        case nil: []
        }
    }

    func holds(of user: OneSignalApp.User) -> Bool {
        let value = user.tags[key]?.string
        func satisfiesNumerically(_ holds: (Double, Double) -> Bool) -> Bool {
            guard let left = value.flatMap({ Double($0) }), let right = Double(requiredValue) else {
                return false
            }
            return holds(left, right)
        }
        return switch relation {
        case .equals: value == requiredValue
        case .notEquals: value != requiredValue
        case .exists: value != nil
        case .isMissing: value == nil
        case .greaterThan, .elapsedMoreThan: satisfiesNumerically(>)
        case .lessThan, .elapsedLessThan: satisfiesNumerically(<)
        case nil: false
        }
    }
}
