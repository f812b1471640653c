internal import Values

/// Operations that export the history of messages and the users (OneSignal's API description).
enum OneSignalExportOperations {
    /// The largest number of extra columns in an export (*inferred*).
    private static let extraFieldsMax = 50

    // MARK: History

    private static func notification(
        _ id: String,
        _ appID: String,
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> NotificationLog.Notification {
        guard
            let notification = state.notifications[appID]?.keptNotification(id, at: call.now)
        else { throw .notificationNotFound }
        return notification
    }

    static func exportHistory(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.body["app_id"]?.string ?? call.query("app_id"))
        guard ["sent", "clicked"].contains(call.body["events"]?.string) else {
            throw OneSignalError(400, "events must be sent or clicked", confidence: .inferred)
        }
        let id = call.pathParameter("notification_id")
        _ = try notification(id, appID, state, call)
        let events = call.body["events"]?.string ?? ""
        let name = "events_\(events)-\(id)"
        return HTTPMessage.Response(
            200,
            json: ["success": true, "destination_url": .string(exportURL(name, appID, call))]
        )
    }

    // MARK: Exports

    static func exportEvents(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.query("app_id"))
        let id = call.pathParameter("notification_id")
        let channel = OneSignalMessage(try notification(id, appID, state, call).body).channel
        return exportResponse("events_audience-activity-\(id)-\(channel)", appID, call)
    }

    static func exportSubscriptions(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.query("app_id") ?? call.body["app_id"]?.string)
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
            !state.console[appID].segments.contains(where: { $0.name == name })
        {
            throw OneSignalError(400, "Segment not found", confidence: .inferred)
        }
        let fields = call.body["extra_fields"]?.array ?? []
        guard fields.count <= extraFieldsMax else {
            throw OneSignalError(400, "Too many extra_fields", confidence: .inferred)
        }
        // The file is created when it is fetched. Its name contains a random UUID, which cannot be
        // guessed.
        let export = OneSignalConsole.Export(name: "users_" + state.ids.uuid(), asked: call.body)
        state.console[appID].addExport(export)
        return exportResponse(export.name, appID, call)
    }

    private static func exportURL(
        _ name: String,
        _ appID: String,
        _ call: OneSignalCall
    ) -> String {
        let host = call.request[field: "host"] ?? "localhost"
        return "http://\(host)/csv_exports/\(appID)/\(name).csv.gz"
    }

    private static func exportResponse(
        _ name: String,
        _ appID: String,
        _ call: OneSignalCall
    ) -> HTTPMessage.Response {
        HTTPMessage.Response(200, json: ["csv_file_url": .string(exportURL(name, appID, call))])
    }

    static func downloadFile(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let file = call.pathParameter("file")
        guard file.hasSuffix(".csv.gz") else { throw fileNotFound }
        let name = file.dropLast(".csv.gz".count)
        let csvRows: [[String]]
        if name.hasPrefix("users_") {
            let export = state.console.records[appID]?.exports?.first { $0.name == name }
            guard let export else { throw fileNotFound }
            csvRows = userRows(export.asked, appID, state)
        } else {
            let log = state.notifications[appID]
            let id = log?.notifications.keys.first { name.contains($0) }
            guard let notification = id.flatMap({ log?.keptNotification($0, at: call.now) }) else {
                throw fileNotFound
            }
            csvRows = eventRows(of: notification)
        }
        return HTTPMessage.Response(
            200,
            fields: [HTTPMessage.Field("content-type", "application/gzip")],
            body: Gzip.encodeUncompressed(Array(CSVText.encode(csvRows).utf8))
        )
    }

    private static let fileNotFound = OneSignalError(
        404,
        "The specified key does not exist.",
        confidence: .inferred
    )

    private static let csvColumns = [
        "id", "identifier", "session_count", "language", "timezone", "game_version", "device_os",
        "device_type", "device_model", "ad_id", "tags", "last_active", "playtime", "amount_spent",
        "created_at", "invalid_identifier", "badge_count",
    ]

    /// Returns the rows of an export of users: a header and one row for each device.
    private static func userRows(
        _ body: JSONObject,
        _ appID: String,
        _ state: OneSignalState
    ) -> [[String]] {
        let app = state.apps[appID] ?? OneSignalApp(appID: appID)
        let extraFields = (body["extra_fields"]?.array ?? []).compactMap(\.string)
        let lastActiveSince = body["last_active_since"]?.scalarText.flatMap { Int64($0) }
        var segmentUserIDs: Set<String>?
        if let name = body["segment_name"]?.string,
            let segment = state.console.records[appID]?.segments.first(where: { $0.name == name }),
            !segment.filters.isEmpty
        {
            segmentUserIDs = Set(app.users(matching: segment.filters).map(\.id))
        }
        var csvRows = [csvColumns + extraFields]
        for device in app.subscriptions(.max, from: 0) {
            let owner = app.users[device.ownerID]
            guard segmentUserIDs?.contains(device.ownerID) ?? true else { continue }
            guard (owner?.lastActive ?? device.created) >= lastActiveSince ?? .min else { continue }
            let player = app.playerJSON(of: device)
            csvRows.append(
                (csvColumns + extraFields).map { name in
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
    private static func eventRows(
        of existingNotification: NotificationLog.Notification
    ) -> [[String]] {
        let status = existingNotification.isCanceled ? "canceled" : "sent"
        return [["status", "recipient", "sent_time"]]
            + RequestedRecipients(existingNotification.body).ids.map {
                [status, $0, String(existingNotification.queued.seconds)]
            }
    }
}
