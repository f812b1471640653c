internal import Conformance

/// Whom a message is for, and whom it reaches (OneSignal fact sheet, sections 3 and 4).
extension OneSignalState {
    /// Whom a message is for.
    struct Target {
        /// Named recipients that are not reported back, by the name of the report they would be in.
        var named: [(report: String, label: String, ids: [String])] = []
        var segments: [String] = []
        var filters: [JSONValue] = []
        var kindCount = 0
        let key: String?

        init(_ body: JSONObject) {
            for member in body["include_aliases"]?.object?.members ?? [] {
                let ids = member.value.array.map { $0.compactMap(FirebaseFields.text) } ?? []
                named.append(("invalid_aliases", member.key, ids))
            }
            kindCount += body["include_aliases"]?.object == nil ? 0 : 1
            let lists = [
                ("include_subscription_ids", "invalid_player_ids", "subscription"),
                ("include_player_ids", "invalid_player_ids", "subscription"),
                ("include_external_user_ids", "invalid_external_user_ids", "external_id"),
                ("email_to", "invalid_emails", "Email"),
                ("include_email_tokens", "invalid_emails", "Email"),
                ("include_phone_numbers", "invalid_phone_numbers", "SMS"),
            ]
            for (field, report, label) in lists {
                guard let list = body[field]?.array, !list.isEmpty else { continue }
                named.append((report, label, list.compactMap(FirebaseFields.text)))
                kindCount += 1
            }
            segments = (body["included_segments"]?.array ?? []).compactMap(\.string)
            kindCount += segments.isEmpty ? 0 : 1
            filters = body["filters"]?.array ?? []
            kindCount += filters.isEmpty ? 0 : 1
            key = OneSignalState.idempotencyKey(body)
        }

        var ids: [String] { named.flatMap(\.ids) }
        var filterValues: [String] {
            filters.compactMap { $0["relation"] == "=" ? $0["value"]?.string : nil }
        }
        var isEmpty: Bool { ids.isEmpty && segments.isEmpty && filters.isEmpty }
    }

    struct Reach {
        var count: Int64 = 0
        var failed: Int64 = 0
        /// `errors` of the answer: report → ids, or label → ids for aliases.
        var invalid = JSONObject()
        /// How many on each platform, as `platform_delivery_stats` names them.
        var platforms: [String: Int64] = [:]
        /// All aliases unknown still got an id, twice, when observed (section 4).
        var hasIDForUnknown = false

        /// Adds devices by their platform; with a minimum, somebody on a phone when there is none.
        mutating func add(_ names: [String], atLeast minimum: Int) {
            let names = names.count < minimum ? ["ios"] : names
            count += Int64(names.count)
            for name in names { platforms[name, default: 0] += 1 }
        }
    }

    func reached(_ target: Target, _ body: JSONObject, _ app: OneSignalApp) -> Reach {
        var reach = Reach()
        let channel =
            body["target_channel"]?.string ?? body["channel_for_external_user_ids"]?.string
        let excluded = Set((body["excluded_segments"]?.array ?? []).compactMap(\.string))
        if target.segments.contains(where: { !excluded.contains($0) }) {
            let everybody = app.subscriptions.values.filter(\.isReachable)
            reach.add(everybody.map(\.platform), atLeast: 1)
        }
        if !target.filters.isEmpty {
            let users = app.users.values.filter { Self.matches($0, target.filters) }
            let devices = users.flatMap { app.subscriptions(of: $0) }.filter(\.isReachable)
            reach.add(devices.map(\.platform), atLeast: settings.recipients == .any ? 1 : 0)
        }
        for (report, label, ids) in target.named {
            var unknown: [String] = []
            for id in ids {
                let devices = devices(label, id, channel, app)
                let reachable = devices.filter(\.isReachable)
                // A user whom the app knows and who opted out is not reached in either mode.
                if !reachable.isEmpty {
                    reach.add(reachable.map(\.platform), atLeast: 1)
                } else if settings.recipients == .any, devices.isEmpty {
                    reach.add([Self.platform(label, channel)], atLeast: 1)
                } else {
                    unknown.append(id)
                    reach.failed += Int64(devices.count)
                }
            }
            guard !unknown.isEmpty else { continue }
            if report == "invalid_aliases" {
                var known = reach.invalid[report]?.object ?? JSONObject()
                known[label] = .strings(unknown)
                reach.invalid[report] = .object(known)
                reach.hasIDForUnknown = true
            } else {
                reach.invalid[report] = .strings(unknown)
            }
        }
        return reach
    }

    /// Where somebody whom the app does not know is reached.
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
            let wanted = channel ?? "push"
            return app.subscriptions(of: user).filter { $0.channel == wanted }
        }
    }

    /// Whether a user is in the audience: entries in a row must all hold, `OR` starts a new row.
    static func matches(_ user: OneSignalApp.User, _ filters: [JSONValue]) -> Bool {
        let rows = filters.split { $0["operator"]?.string?.uppercased() == "OR" }
        return rows.contains { row in
            row.allSatisfy { filter in
                guard filter["operator"] == nil else { return true }
                guard filter["field"] == "tag" else { return true }
                let value = user.tags[filter["key"]?.string ?? ""]?.string
                let wanted = filter["value"].flatMap(FirebaseFields.text) ?? ""
                func numbers() -> (Double, Double)? {
                    guard let left = value.flatMap({ Double($0) }), let right = Double(wanted)
                    else { return nil }
                    return (left, right)
                }
                switch filter["relation"]?.string {
                case "=": return value == wanted
                case "!=": return value != wanted
                case "exists": return value != nil
                case "not_exists": return value == nil
                case ">", "time_elapsed_gt": return numbers().map { $0.0 > $0.1 } ?? false
                case "<", "time_elapsed_lt": return numbers().map { $0.0 < $0.1 } ?? false
                default: return false
                }
            }
        }
    }
}
