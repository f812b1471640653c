internal import Conformance

/// Creating, viewing and cancelling notifications (OneSignal fact sheet, sections 3 to 6).
extension OneSignalState {
    /// Whom a message is for.
    private struct Target {
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
            key = [body["idempotency_key"], body["external_id"]]
                .compactMap { $0?.string }.first { !$0.isEmpty }?.lowercased()
        }

        var ids: [String] { named.flatMap(\.ids) }
        var filterValues: [String] {
            filters.compactMap { $0["relation"] == "=" ? $0["value"]?.string : nil }
        }
        var isEmpty: Bool { ids.isEmpty && segments.isEmpty && filters.isEmpty }
    }

    // MARK: Create

    mutating func createNotification(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> Answer {
        let body = call.body
        let app = try app(body["app_id"]?.string)
        let target = Target(body)
        if let key = target.key,
            let stored = notifications[app.appID]?.result(
                of: key,
                at: call.now,
                within: Self.replayWindow
            )
        {
            return (
                HTTPMessage.Response(
                    200,
                    json: stored,
                    fields: [HTTPMessage.Field("Idempotent-Replayed", "true")]
                ), .documented
            )
        }
        try check(body, target)
        let due = try Self.due(body, call.now)
        let reached = reached(target, body, app)
        if call.planned == .noSubscribers || (reached.count == 0 && !reached.hasIDForUnknown) {
            var answer: JSONObject = [
                "id": "", "errors": ["All included players are not subscribed"],
            ]
            if settings.countsRecipients { answer["recipients"] = 0 }
            // Only results with an id take the key (section 5).
            return (HTTPMessage.Response(200, json: .object(answer)), .documented)
        }
        let id = ids.uuid()
        var answer: JSONObject = [
            "id": .string(id), "external_id": target.key.map(JSONValue.string) ?? .null,
        ]
        if settings.countsRecipients { answer["recipients"] = .integer(reached.count) }
        var invalid = reached.invalid
        if call.planned == .invalidAliases {
            invalid["invalid_aliases"] = ["external_id": ["assay-unknown-recipient"]]
        }
        if !invalid.members.isEmpty { answer["errors"] = .object(invalid) }
        if let key = target.key {
            notifications[app.appID, default: NotificationLog()].keep(
                .object(answer),
                of: key,
                at: call.now
            )
        }
        notifications[app.appID, default: NotificationLog()].add(
            NotificationLog.Notification(
                id: id,
                body: body,
                queued: call.now,
                sendAfter: due,
                successful: reached.count,
                failed: reached.failed,
                platforms: reached.platforms
            )
        )
        let everyone = target.segments.isEmpty ? [] : ["everyone"]
        effects.append(
            Effect(
                kind: "onesignal.notification",
                recipients: target.ids + target.filterValues + everyone,
                content: Self.content(of: body),
                idempotencyKey: target.key
            )
        )
        return (HTTPMessage.Response(200, json: .object(answer)), .documented)
    }

    private func check(_ body: JSONObject, _ target: Target) throws(OneSignalError) {
        let needsNoText =
            body["template_id"] != nil || body["content_available"] == true
            || body["email_body"] != nil
        guard needsNoText || body["contents"]?["en"]?.string?.isEmpty == false else {
            throw OneSignalError(
                400,
                "Message Notifications must have English language content"
            )
        }
        guard !target.isEmpty else {
            throw OneSignalError(
                400,
                "You must include which players, segments, or tags you wish to send this "
                    + "notification to."
            )
        }
        if settings.mixedTargets == .refuse, target.kindCount > 1 {
            throw OneSignalError(
                400,
                "You may only use one method of targeting users.",
                confidence: .inferred
            )
        }
        if settings.requiresTargetChannel, body["include_aliases"] != nil {
            let channel = body["target_channel"]?.string ?? ""
            guard ["push", "email", "sms"].contains(channel) else {
                throw OneSignalError(
                    400,
                    "target_channel must be one of push, email or sms when include_aliases is "
                        + "used",
                    confidence: .inferred
                )
            }
        }
        for (report, _, ids) in target.named {
            // The legacy kinds allow fewer.
            let isLegacy =
                report == "invalid_external_user_ids" || body["include_player_ids"] != nil
            let max = isLegacy ? 2000 : 20_000
            guard ids.count <= max else {
                throw OneSignalError(
                    400,
                    "You may only target up to \(max) recipients per request",
                    confidence: .inferred
                )
            }
        }
        guard target.filters.count <= 200 else {
            throw OneSignalError(400, "Too many filters: at most 200", confidence: .inferred)
        }
        for filter in target.filters where filter["operator"] == nil {
            guard filter["field"]?.string != nil else {
                throw OneSignalError(400, "Every filter needs a field", confidence: .inferred)
            }
        }
        if let data = body["custom_data"] {
            let max = body["email_body"] != nil || body["target_channel"] == "email" ? 10_240 : 2048
            guard data.bytes.count <= max else {
                throw OneSignalError(
                    400,
                    "custom_data may have at most \(max) bytes",
                    confidence: .inferred
                )
            }
        }
        if settings.requiresUUIDKeys, let key = target.key, !Self.isUUID(key) {
            throw OneSignalError(
                400,
                "idempotency_key must be a valid UUID",
                confidence: .inferred
            )
        }
    }

    /// When it is sent: at once, or at the date that was given.
    private static func due(_ body: JSONObject, _ now: Instant) throws(OneSignalError) -> Instant {
        guard let text = body["send_after"]?.string, !text.isEmpty else { return now }
        guard let instant = SendAfter.instant(text) else {
            throw OneSignalError(400, "send_after is not a date", confidence: .inferred)
        }
        return instant
    }

    // MARK: Whom it reaches

    private struct Reach {
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

    private func reached(_ target: Target, _ body: JSONObject, _ app: OneSignalApp) -> Reach {
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

    /// What a person would read or an app would act on; ids and keys of the call are left out.
    private static func content(of body: JSONObject) -> JSONValue {
        let kept = ["contents", "headings", "subtitle", "data", "template_id", "included_segments"]
        return .object(JSONObject(members: body.members.filter { kept.contains($0.key) }))
    }

    // MARK: View, list, cancel

    func viewNotification(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        guard let found = notifications[app.appID]?.notifications[call.path[1]],
            !Self.isPurged(found, call.now)
        else {
            throw .notificationMissing
        }
        return HTTPMessage.Response(200, json: .object(Self.shown(found, app, at: call.now)))
    }

    func listNotifications(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        let limit = min(max(0, call.query("limit").flatMap { Int($0) } ?? 50), 50)
        let offset = max(0, call.query("offset").flatMap { Int($0) } ?? 0)
        // Everything here was sent through the API, which is kind 1.
        let kind = call.query("kind")
        let all =
            kind == nil || kind == "1"
            ? (notifications[app.appID]?.all ?? []).filter { !Self.isPurged($0, call.now) } : []
        let page = all.dropFirst(offset).prefix(limit)
        return HTTPMessage.Response(
            200,
            json: [
                "total_count": .integer(Int64(all.count)), "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "notifications": .array(page.map { .object(Self.shown($0, app, at: call.now)) }),
            ],
            fields: [
                HTTPMessage.Field("ratelimit-limit", "1"),
                HTTPMessage.Field("ratelimit-remaining", "1"),
                HTTPMessage.Field("ratelimit-reset", "1"),
            ]
        )
    }

    /// Notifications of the API are gone after thirty days (section 6).
    private static func isPurged(_ found: NotificationLog.Notification, _ now: Instant) -> Bool {
        now - found.queued > .seconds(30 * 86_400)
    }

    private static func shown(
        _ notification: NotificationLog.Notification,
        _ app: OneSignalApp,
        at now: Instant
    ) -> JSONObject {
        let isSent = notification.isSent(at: now)
        func counts(_ successful: Int64, _ failed: Int64) -> JSONObject {
            [
                "successful": .integer(successful), "failed": .integer(failed), "errored": 0,
                "converted": 0, "received": 0,
            ]
        }
        let total = counts(isSent ? notification.successful : 0, isSent ? notification.failed : 0)
        let due = notification.sendAfter ?? notification.queued
        let platforms = JSONObject(
            members: (isSent ? notification.platforms : [:]).sorted { $0.key < $1.key }.map {
                .init(key: $0.key, value: .object(counts($0.value, 0)))
            }
        )
        var shown: JSONObject = ["id": .string(notification.id), "app_id": .string(app.appID)]
        for key in [
            "contents", "headings", "data", "included_segments", "include_aliases", "filters",
            "target_channel", "name",
        ] {
            if let value = notification.body[key], !value.isNull { shown[key] = value }
        }
        shown["canceled"] = .bool(notification.isCanceled)
        shown["queued_at"] = .integer(notification.queued.seconds)
        shown["send_after"] = .integer(due.seconds)
        shown["completed_at"] =
            isSent ? .integer(max(due, notification.queued).seconds) : .null
        shown["remaining"] = .integer(
            isSent || notification.isCanceled ? 0 : notification.successful
        )
        for member in total.members { shown[member.key] = member.value }
        shown["throttle_rate_per_minute"] = .null
        shown["platform_delivery_stats"] = .object(platforms)
        return shown
    }

    mutating func cancelNotification(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        guard var found = notifications[app.appID]?.notifications[call.path[1]] else {
            throw .notificationMissing
        }
        guard !found.isCanceled, !found.isSent(at: call.now) else {
            throw OneSignalError(
                400,
                "Notification has already been sent to all recipients",
                confidence: .captured
            )
        }
        found.isCanceled = true
        notifications[app.appID]?.update(found)
        effects.append(
            Effect(
                kind: "onesignal.cancel",
                recipients: Target(found.body).ids,
                content: .object(JSONObject())
            )
        )
        return HTTPMessage.Response(200, json: ["success": true])
    }
}

/// The dates that `send_after` takes, free in form and UTC when they name no zone (section 3):
/// `2015-09-24 14:00:00 GMT-0700`, `Thu Sep 24 2015 14:00:00 GMT-0700 (PDT)`, ISO 8601, and what
/// people write.
enum SendAfter {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    static func instant(_ text: String) -> Instant? {
        if let instant = Instant(iso8601: text) { return instant }
        var year: Int?
        var month: Int?
        var day: Int?
        var time = "00:00:00"
        var isAfternoon: Bool?
        var zone = ""
        for word in text.lowercased().split(whereSeparator: { " ,()".contains($0) }) {
            let digits = word.prefix { $0.isASCII && $0.isNumber }
            if let index = months.firstIndex(where: { word.hasPrefix($0) }), digits.isEmpty {
                month = index + 1
            } else if word == "am" || word == "pm" {
                isAfternoon = word == "pm"
            } else if word.hasPrefix("gmt") || word.hasPrefix("utc") || word == "z" {
                zone = String(word.drop { $0.isLetter })
            } else if (word.hasPrefix("+") || word.hasPrefix("-")), word.count >= 3 {
                zone = String(word)
            } else if word.contains(":") {
                let parts = word.split(separator: ":").map { String($0.prefix { $0.isNumber }) }
                guard parts.count >= 2, parts.allSatisfy({ (1...2).contains($0.count) }) else {
                    return nil
                }
                time = (parts + ["00"]).prefix(3).map { $0.count == 1 ? "0" + $0 : $0 }
                    .joined(separator: ":")
                if word.hasSuffix("am") || word.hasSuffix("pm") {
                    isAfternoon = word.hasSuffix("pm")
                }
            } else if digits.count == 4, word.count > 4 {
                let parts = word.split { "-/".contains($0) }.compactMap { Int($0) }
                guard parts.count == 3 else { return nil }
                (year, month, day) = (parts[0], parts[1], parts[2])
            } else if digits.count == 4 {
                year = Int(digits)
            } else if (1...2).contains(digits.count) {
                day = Int(digits)
            } else if ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].contains(word.prefix(3))
                || !zone.isEmpty
            {
                // The name of a day, or the name behind a zone that was given in numbers.
                continue
            } else {
                return nil
            }
        }
        guard let year, let month, let day else { return nil }
        if let isAfternoon, let hour = Int(time.prefix(2)) {
            let full = hour % 12 + (isAfternoon ? 12 : 0)
            time = (full < 10 ? "0" : "") + String(full) + time.dropFirst(2)
        }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return Instant(iso8601: "\(year)-\(two(month))-\(two(day))T\(time)\(zone)")
    }
}
