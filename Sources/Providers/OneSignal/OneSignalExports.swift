internal import Contracts
internal import Grammar
internal import Values

/// Operations that report about messages and users: history, exports and outcomes (OneSignal's API
/// description).
extension OneSignalState {
    /// The largest number of extra columns in an export (*inferred*).
    private static let extraFieldsMax = 50
    private static let exportsMax = 20

    private func existingNotification(
        _ id: String,
        _ appID: String,
        _ call: Call
    ) throws(OneSignalError) -> NotificationLog.Notification {
        guard let notification = notifications[appID]?.notifications[id],
            !Self.isPastRetention(notification, call.now)
        else { throw .notificationNotFound }
        return notification
    }

    /// Returns the channel of a message: push, email or sms (OneSignal fact sheet, section 3).
    static func channel(of body: JSONObject) -> String {
        if let channel = body["target_channel"]?.string { return channel }
        if let channel = body["channel_for_external_user_ids"]?.string { return channel }
        func hasAnyMember(_ names: String...) -> Bool { names.contains { body[$0] != nil } }
        if hasAnyMember("email_body", "email_to", "include_email_tokens") || body["isEmail"] == true
        {
            return "email"
        }
        return hasAnyMember("sms_from", "include_phone_numbers") ? "sms" : "push"
    }

    /// Returns the kind of effect that a message has.
    ///
    /// The kind depends on the channel, since an email is not a push notification.
    static func kind(of body: JSONObject) -> String {
        switch channel(of: body) {
        case "email": "onesignal.email"
        case "sms": "onesignal.sms"
        // Any other message is a push notification.
        default: "onesignal.notification"
        }
    }

    // MARK: History

    func viewNotificationHistory(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.body["app_id"]?.string ?? call.query("app_id"))
        guard ["sent", "clicked"].contains(call.body["events"]?.string) else {
            throw OneSignalError(400, "events must be sent or clicked", confidence: .inferred)
        }
        let id = call.pathParameter("notification_id")
        _ = try existingNotification(id, appID, call)
        let events = call.body["events"]?.string ?? ""
        let name = "events_\(events)-\(id)"
        return json(
            200,
            ["success": true, "destination_url": .string(exportURL(name, appID, call))]
        )
    }

    // MARK: Exports

    func exportEvents(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.query("app_id"))
        let id = call.pathParameter("notification_id")
        let existingNotification = try existingNotification(id, appID, call)
        let channel = Self.channel(of: existingNotification.body)
        return exportResponse("events_audience-activity-\(id)-\(channel)", appID, call)
    }

    mutating func exportSubscriptions(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.query("app_id") ?? call.body["app_id"]?.string)
        for (key, kind) in [("extra_fields", "an array"), ("segment_name", "a string")] {
            if let value = call.body[key], !value.isNull, value.kind != kind {
                throw OneSignalError(400, "\(key) must be \(kind)", confidence: .inferred)
            }
        }
        if let lastActiveSince = call.body["last_active_since"], !lastActiveSince.isNull,
            lastActiveSince.scalarText.flatMap({ Int64($0) }).flatMap({
                RequestDate(seconds: $0)
            }) == nil
        {
            throw OneSignalError(
                400,
                "last_active_since must be a time in seconds within \(RequestDate.acceptedRangeText)",
                confidence: .inferred
            )
        }
        if let name = call.body["segment_name"]?.string,
            !record(of: appID).segments.contains(where: { $0.name == name })
        {
            throw OneSignalError(400, "Segment not found", confidence: .inferred)
        }
        let fields = call.body["extra_fields"]?.array ?? []
        guard fields.count <= Self.extraFieldsMax else {
            throw OneSignalError(400, "Too many extra_fields", confidence: .inferred)
        }
        // The file is created when it is fetched. Its name contains a random UUID, which cannot be
        // guessed.
        let export = OneSignalConsole.Export(name: "users_" + ids.uuid(), asked: call.body)
        var record = record(of: appID)
        record.exports = (record.exports ?? []).suffix(Self.exportsMax - 1) + [export]
        store(record, of: appID)
        return exportResponse(export.name, appID, call)
    }

    private func exportURL(_ name: String, _ appID: String, _ call: Call) -> String {
        let host = call.request[field: "host"] ?? "localhost"
        return "http://\(host)/csv_exports/\(appID)/\(name).csv.gz"
    }

    private func exportResponse(
        _ name: String,
        _ appID: String,
        _ call: Call
    ) -> HTTPMessage.Response {
        json(200, ["csv_file_url": .string(exportURL(name, appID, call))])
    }

    func downloadCSVFile(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let file = call.pathParameter("file")
        guard file.hasSuffix(".csv.gz") else { throw Self.fileNotFound }
        let name = file.dropLast(".csv.gz".count)
        let csvRows: [[String]]
        if name.hasPrefix("users_") {
            let export = console?.records[appID]?.exports?.first { $0.name == name }
            guard let export else { throw Self.fileNotFound }
            csvRows = userRows(export.asked, appID)
        } else {
            let log = notifications[appID]
            let id = log?.notifications.keys.first { name.contains($0) }
            guard let id, let existingNotification = log?.notifications[id],
                !Self.isPastRetention(existingNotification, call.now)
            else {
                throw Self.fileNotFound
            }
            csvRows = events(of: existingNotification, appID)
        }
        let text = csvRows.map { $0.map(Self.csvCell).joined(separator: ",") + "\n" }.joined()
        return HTTPMessage.Response(
            200,
            fields: [HTTPMessage.Field("content-type", "application/gzip")],
            body: Gzip.encodeUncompressed(Array(text.utf8))
        )
    }

    private static let fileNotFound = OneSignalError(
        404,
        "The specified key does not exist.",
        confidence: .inferred
    )

    /// Encodes the text of a cell of a CSV file (RFC 4180).
    private static func csvCell(_ text: String) -> String {
        let isPlain = !text.contains { ",\"\n\r".contains($0) }
        return isPlain ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
    }

    private static let csvColumns = [
        "id", "identifier", "session_count", "language", "timezone", "game_version", "device_os",
        "device_type", "device_model", "ad_id", "tags", "last_active", "playtime", "amount_spent",
        "created_at", "invalid_identifier", "badge_count",
    ]

    /// Returns the rows of an export of users: a header and one row for each device.
    private func userRows(_ body: JSONObject, _ appID: String) -> [[String]] {
        let app = apps[appID] ?? OneSignalApp(appID: appID)
        let extraFields = (body["extra_fields"]?.array ?? []).compactMap(\.string)
        let lastActiveSince = body["last_active_since"]?.scalarText.flatMap { Int64($0) }
        var segmentUserIDs: Set<String>?
        if let name = body["segment_name"]?.string,
            let segment = console?.records[appID]?.segments.first(where: { $0.name == name }),
            !segment.filters.isEmpty
        {
            segmentUserIDs = Set(Self.audience(segment.filters, app).map(\.id))
        }
        var csvRows = [Self.csvColumns + extraFields]
        for device in app.subscriptions(.max, from: 0) {
            let owner = app.users[device.ownerID]
            guard segmentUserIDs?.contains(device.ownerID) ?? true else { continue }
            guard (owner?.lastActive ?? device.created) >= lastActiveSince ?? .min else { continue }
            let player = Self.resourceJSON(device, app)
            csvRows.append(
                (Self.csvColumns + extraFields).map { name in
                    switch name {
                    case "onesignal_id": owner?.id ?? ""
                    case "notification_types": String(device.notificationTypes)
                    default: player[name].map { $0.scalarText ?? $0.text } ?? ""
                    }
                }
            )
        }
        return csvRows.map { $0.map { $0 == "null" ? "" : $0 } }
    }

    /// Returns the rows of an export about a message: a header and one row for each recipient that
    /// the message names by ID.
    private func events(
        of existingNotification: NotificationLog.Notification,
        _ appID: String
    ) -> [[String]] {
        let status = existingNotification.isCanceled ? "canceled" : "sent"
        return [["status", "recipient", "sent_time"]]
            + RequestedRecipients(existingNotification.body).ids.map {
                [status, $0, String(existingNotification.queued.seconds)]
            }
    }

    // MARK: Outcomes

    /// Returns the outcomes that an app measured, for `GET /apps/{app_id}/outcomes`.
    ///
    /// The query names them as `name.count` or `name.sum`.
    func listOutcomes(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let query = call.request.query
        let asked = query.filter { ["outcome_names", "outcome_names[]"].contains($0.name) }
            .flatMap { $0.value.split(separator: ",").map(String.init) }
        guard !asked.isEmpty else {
            throw OneSignalError(400, "outcome_names is required", confidence: .inferred)
        }
        let storedOutcomes = record(of: appID).outcomes
        var resourceJSON: [JSONValue] = []
        for name in asked {
            let outcomeNameParts = name.split(separator: ".")
            guard outcomeNameParts.count >= 2, let aggregation = outcomeNameParts.last,
                ["count", "sum"].contains(aggregation)
            else {
                throw OneSignalError(
                    400,
                    "outcome_names must end in .count or .sum: \(name)",
                    confidence: .inferred
                )
            }
            let id = outcomeNameParts.dropLast().joined(separator: ".")
            let outcome = storedOutcomes[id] ?? OneSignalConsole.Outcome()
            resourceJSON.append([
                "id": .string(id), "aggregation": .string(String(aggregation)),
                "value": .integer(
                    aggregation == "count"
                        ? outcome.count
                        : Int64(exactly: outcome.sum.rounded()) ?? 0
                ),
            ])
        }
        return json(200, ["outcomes": .array(resourceJSON)])
    }

    /// Records an outcome that the SDK in an app reports (*inferred* from the published SDKs).
    mutating func recordOutcome(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.body["app_id"]?.string)
        let id = try text("id", call)
        var record = record(of: appID)
        record.outcomes[id, default: OneSignalConsole.Outcome()].count += 1
        let weight = call.body["weight"]?.scalarText.flatMap { Double($0) } ?? 0
        let sum = (record.outcomes[id]?.sum ?? 0) + (weight.isFinite ? weight : 0)
        // A sum that is not finite is dropped, because JSON cannot represent it in the saved state.
        if sum.isFinite { record.outcomes[id]?.sum = sum }
        store(record, of: appID)
        return json(200, ["success": true])
    }
}
