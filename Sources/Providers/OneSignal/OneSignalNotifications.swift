internal import Contracts
internal import Grammar
internal import Values

/// Operations that create, show and cancel notifications (OneSignal fact sheet, sections 3 to 6).
extension OneSignalState {
    // MARK: Create

    mutating func createNotification(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.body["app_id"]?.string)
        let body = try bodyWithTemplate(call.body, app.appID)
        let requestedRecipients = RequestedRecipients(body)
        if let replayedResponse = storedResponse(requestedRecipients.key, app, at: call.now) {
            return replayedResponse
        }
        try checkContent(body, requestedRecipients)
        let sendTime = try Self.sendTime(body, call.now)
        let reachedDevices = reachedDevices(requestedRecipients, body, app)
        if call.plannedResponse == .noSubscribers
            || (reachedDevices.count == 0 && !reachedDevices.hasIDForUnknownUser)
        {
            // A response without an ID does not use up the idempotency key (OneSignal fact sheet,
            // section 5).
            return noRecipientsResponse
        }
        let id = ids.uuid()
        let responseFields = acceptedResponse(id, requestedRecipients, reachedDevices, call)
        var notificationLog = notifications.removeValue(forKey: app.appID) ?? NotificationLog()
        if let key = requestedRecipients.key {
            notificationLog.saveResult(.object(responseFields), of: key, at: call.now)
        }
        notificationLog.add(
            NotificationLog.Notification(
                id: id,
                body: body,
                queued: call.now,
                sendAfter: sendTime,
                successful: reachedDevices.count,
                failed: reachedDevices.failed,
                platforms: reachedDevices.platforms
            )
        )
        notifications[app.appID] = notificationLog
        // The recorded effect names its recipients. They include the filter values of each named
        // segment, in addition to the filter values of the request.
        let segmentFilters = requestedRecipients.segments.compactMap {
            filters(ofSegment: $0, app.appID)
        }
        let filteredTargets = segmentFilters.flatMap(RequestedRecipients.values(of:))
        let everyoneRecipientID =
            segmentFilters.contains(where: \.isEmpty) ? [Audience.everyoneRecipientID] : []
        effects.append(
            Effect(
                kind: Self.kind(of: body),
                recipients: requestedRecipients.ids + requestedRecipients.filterValues
                    + filteredTargets + everyoneRecipientID,
                content: Self.content(of: body),
                idempotencyKey: requestedRecipients.key
            )
        )
        return HTTPMessage.Response(200, json: .object(responseFields))
    }

    /// Returns the body of a message, in which its template supplies the missing members.
    ///
    /// As long as no template of the app was created over the API, any template ID is accepted.
    private func bodyWithTemplate(
        _ body: JSONObject,
        _ appID: String
    ) throws(OneSignalError) -> JSONObject {
        guard let templateID = body["template_id"]?.string,
            let templates = console?.records[appID]?.templates, !templates.isEmpty
        else { return body }
        guard let template = templates.first(where: { $0.id == templateID }) else {
            throw Self.badRequestError("Template not found")
        }
        var bodyWithTemplate = body
        for member in template.content.members where bodyWithTemplate[member.key] == nil {
            bodyWithTemplate[member.key] = member.value
        }
        return bodyWithTemplate
    }

    /// Returns the stored response to an earlier request with the same idempotency key; nil when
    /// there is no such response.
    private func storedResponse(
        _ key: String?,
        _ app: OneSignalApp,
        at now: Instant
    ) -> HTTPMessage.Response? {
        guard let key,
            let replayedResponse = notifications[app.appID]?.result(
                of: key,
                at: now,
                within: Self.replayWindow
            )
        else { return nil }
        return HTTPMessage.Response(
            200,
            json: replayedResponse,
            fields: [HTTPMessage.Field("Idempotent-Replayed", "true")]
        )
    }

    /// The response to a message that reaches no device: status 200 with an empty ID.
    private var noRecipientsResponse: HTTPMessage.Response {
        var responseFields: JSONObject = [
            "id": "", "errors": ["All included players are not subscribed"],
        ]
        if settings.countsRecipients { responseFields["recipients"] = 0 }
        return HTTPMessage.Response(200, json: .object(responseFields))
    }

    /// Returns the response to an accepted message.
    ///
    /// It lists the recipients that the message does not reach.
    private func acceptedResponse(
        _ id: String,
        _ requestedRecipients: RequestedRecipients,
        _ reachedDevices: ReachedDevices,
        _ call: Call
    ) -> JSONObject {
        var responseFields: JSONObject = [
            "id": .string(id),
            "external_id": requestedRecipients.key.map(JSONValue.string) ?? .null,
        ]
        if settings.countsRecipients {
            responseFields["recipients"] = .integer(reachedDevices.count)
        }
        var invalidIDs = reachedDevices.invalidIDs
        if call.plannedResponse == .invalidAliases {
            invalidIDs["invalid_aliases"] = ["external_id": ["assay-unknown-recipient"]]
        }
        if !invalidIDs.members.isEmpty { responseFields["errors"] = .object(invalidIDs) }
        return responseFields
    }

    /// Throws the service's error for a message that OneSignal would refuse.
    private func checkContent(_ body: JSONObject, _ requestedRecipients: RequestedRecipients)
        throws(OneSignalError)
    {
        let isTextOptional =
            body["template_id"] != nil || body["content_available"] == true
            || body["email_body"] != nil
        guard isTextOptional || body["contents"]?["en"]?.string?.isEmpty == false else {
            throw OneSignalError(
                400,
                "Message Notifications must have English language content"
            )
        }
        guard !requestedRecipients.isEmpty else { throw .noRecipients }
        try checkTargets(body, requestedRecipients)
        try checkFilters(requestedRecipients.filters)
        if let data = body["custom_data"] {
            let max = body["email_body"] != nil || body["target_channel"] == "email" ? 10_240 : 2048
            guard data.bytes.count <= max else {
                throw Self.badRequestError("custom_data may have at most \(max) bytes")
            }
        }
        if settings.requiresUUIDKeys, let key = requestedRecipients.key, !Self.isUUID(key) {
            throw Self.badRequestError("idempotency_key must be a valid UUID")
        }
    }

    private func checkTargets(_ body: JSONObject, _ requestedRecipients: RequestedRecipients)
        throws(OneSignalError)
    {
        if settings.mixedTargets == .refuse, requestedRecipients.targetKindCount > 1 {
            throw Self.badRequestError("You may only use one method of targeting users.")
        }
        if settings.requiresTargetChannel, body["include_aliases"] != nil {
            let channel = body["target_channel"]?.string ?? ""
            guard ["push", "email", "sms"].contains(channel) else {
                throw Self.badRequestError(
                    "target_channel must be one of push, email or sms when include_aliases is "
                        + "used"
                )
            }
        }
        for (report, _, ids) in requestedRecipients.explicitTargets {
            // A request with a legacy target list may name at most 2,000 recipients instead of
            // 20,000.
            let isLegacy =
                report == "invalid_external_user_ids" || body["include_player_ids"] != nil
            let max = isLegacy ? 2000 : 20_000
            guard ids.count <= max else {
                throw Self.badRequestError(
                    "You may only target up to \(max) recipients per request"
                )
            }
        }
    }

    func checkFilters(_ filters: [JSONValue]) throws(OneSignalError) {
        guard filters.count <= 200 else {
            throw Self.badRequestError("Too many filters: at most 200")
        }
        for filter in filters where filter["operator"] == nil {
            guard filter["field"]?.string != nil else {
                throw Self.badRequestError("Every filter needs a field")
            }
        }
    }

    /// Creates an error with status 400 whose text OneSignal does not publish.
    private static func badRequestError(_ text: String) -> OneSignalError {
        OneSignalError(400, text, confidence: .inferred)
    }

    /// Returns the time at which a message is sent: the date in `send_after`, or now.
    private static func sendTime(_ body: JSONObject, _ now: Instant) throws(OneSignalError)
        -> Instant
    {
        guard let text = body["send_after"]?.string, !text.isEmpty else { return now }
        guard let instant = SendAfterParser.instant(text) else {
            throw badRequestError("send_after is not a date")
        }
        guard let date = RequestDate(instant) else {
            throw badRequestError("send_after is not within \(RequestDate.acceptedRangeText)")
        }
        return date.instant
    }

    /// Returns the parts of a message that a user reads or an app evaluates, without the IDs and
    /// keys of the API call.
    private static func content(of body: JSONObject) -> JSONValue {
        let reportedMembers = [
            "contents", "headings", "subtitle", "data", "template_id", "included_segments",
            "email_subject", "email_body", "email_from_name", "email_from_address", "sms_from",
            "sms_media_urls",
        ]
        return .object(
            JSONObject(members: body.members.filter { reportedMembers.contains($0.key) })
        )
    }

    // MARK: View, list, cancel

    func viewNotification(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        let id = call.pathParameter("notification_id")
        guard let storedNotification = notifications[app.appID]?.notifications[id],
            !Self.isPastRetention(storedNotification, call.now)
        else {
            throw .notificationNotFound
        }
        return HTTPMessage.Response(
            200,
            json: .object(Self.resourceJSON(storedNotification, app, at: call.now))
        )
    }

    func listNotifications(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        let limit = min(max(0, call.query("limit").flatMap { Int($0) } ?? 50), 50)
        let offset = max(0, call.query("offset").flatMap { Int($0) } ?? 0)
        // All notifications in this fake were sent through the API; their kind is 1.
        let kind = call.query("kind")
        let notificationLog = kind == nil || kind == "1" ? notifications[app.appID] : nil
        let count = notificationLog?.count(since: call.now - Self.retentionPeriod) ?? 0
        let notificationPage =
            notificationLog?.newestNotifications(min(limit, max(0, count - offset)), from: offset)
            ?? []
        return HTTPMessage.Response(
            200,
            json: [
                "total_count": .integer(Int64(count)), "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "notifications": .array(
                    notificationPage.map { .object(Self.resourceJSON($0, app, at: call.now)) }
                ),
            ],
            fields: [
                HTTPMessage.Field("ratelimit-limit", "1"),
                HTTPMessage.Field("ratelimit-remaining", "1"),
                HTTPMessage.Field("ratelimit-reset", "1"),
            ]
        )
    }

    /// The time for which OneSignal keeps notifications that were sent through the API: thirty days
    /// (OneSignal fact sheet, section 6).
    private static let retentionPeriod: Duration = .days(30)

    static func isPastRetention(_ storedNotification: NotificationLog.Notification, _ now: Instant)
        -> Bool
    {
        now - storedNotification.queued > retentionPeriod
    }

    private static func resourceJSON(
        _ notification: NotificationLog.Notification,
        _ app: OneSignalApp,
        at now: Instant
    ) -> JSONObject {
        let isSent = notification.isSent(at: now)
        func countsJSON(_ successful: Int64, _ failed: Int64) -> JSONObject {
            [
                "successful": .integer(successful), "failed": .integer(failed), "errored": 0,
                "converted": 0, "received": 0,
            ]
        }
        let totalCounts = countsJSON(
            isSent ? notification.successful : 0,
            isSent ? notification.failed : 0
        )
        let sendTime = notification.sendAfter ?? notification.queued
        let platforms = JSONObject(
            members: (isSent ? notification.platforms : [:]).sorted { $0.key < $1.key }.map {
                .init(key: $0.key, value: .object(countsJSON($0.value, 0)))
            }
        )
        var resourceJSON: JSONObject = [
            "id": .string(notification.id), "app_id": .string(app.appID),
        ]
        for key in [
            "contents", "headings", "data", "included_segments", "include_aliases", "filters",
            "target_channel", "name", NotificationLog.droppedMember,
        ] {
            if let value = notification.body[key], !value.isNull { resourceJSON[key] = value }
        }
        resourceJSON["canceled"] = .bool(notification.isCanceled)
        resourceJSON["queued_at"] = .integer(notification.queued.seconds)
        resourceJSON["send_after"] = .integer(sendTime.seconds)
        resourceJSON["completed_at"] =
            isSent ? .integer(max(sendTime, notification.queued).seconds) : .null
        resourceJSON["remaining"] = .integer(
            isSent || notification.isCanceled ? 0 : notification.successful
        )
        for member in totalCounts.members { resourceJSON[member.key] = member.value }
        resourceJSON["throttle_rate_per_minute"] = .null
        resourceJSON["platform_delivery_stats"] = .object(platforms)
        return resourceJSON
    }

    mutating func cancelNotification(
        _ call: Call,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try app(call.query("app_id"))
        let id = call.pathParameter("notification_id")
        guard var storedNotification = notifications[app.appID]?.notifications[id] else {
            throw .notificationNotFound
        }
        guard !storedNotification.isCanceled, !storedNotification.isSent(at: call.now) else {
            throw OneSignalError(
                400,
                "Notification has already been sent to all recipients",
                confidence: .captured
            )
        }
        storedNotification.isCanceled = true
        notifications[app.appID]?.update(storedNotification)
        effects.append(
            Effect(
                kind: "onesignal.cancel",
                recipients: RequestedRecipients(storedNotification.body).ids,
                content: .object(JSONObject())
            )
        )
        return HTTPMessage.Response(200, json: ["success": true])
    }
}
