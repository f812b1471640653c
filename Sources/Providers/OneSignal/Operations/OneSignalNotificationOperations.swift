internal import Values

/// Operations that create, show and cancel notifications (OneSignal fact sheet, sections 3 to 6).
enum OneSignalNotificationOperations {
    // MARK: Create

    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let app = try state.app(call.body["app_id"]?.string)
        let message = try messageWithTemplate(call.body, state.console.records[app.appID])
        let requestedRecipients = RequestedRecipients(message.body)
        if let storedResponse = state.notifications[app.appID]?
            .storedResponse(200, of: requestedRecipients.key, at: call.now)
        {
            return storedResponse
        }
        try message.check(requestedRecipients, state.settings)
        let sendTime = try message.sendTime(call.now)
        let audience = OneSignalAudience(
            app: app,
            console: state.console,
            recipients: state.settings.recipients
        )
        let reachedDevices = audience.reachedDevices(requestedRecipients, message.body)
        if call.plannedResponse == .noSubscribers
            || (reachedDevices.count == 0 && !reachedDevices.hasIDForUnknownUser)
        {
            // A response without an ID does not use up the idempotency key (OneSignal fact sheet,
            // section 5).
            return noRecipientsResponse(state.settings)
        }
        let id = state.ids.uuid()
        let responseFields = acceptedResponse(
            id,
            requestedRecipients,
            reachedDevices,
            state.settings,
            call
        )
        var notificationLog =
            state.notifications.removeValue(forKey: app.appID) ?? NotificationLog()
        if let key = requestedRecipients.key {
            notificationLog.saveResult(.object(responseFields), of: key, at: call.now)
        }
        notificationLog.add(
            NotificationLog.Notification(
                id: id,
                body: message.body,
                queued: call.now,
                sendAfter: sendTime,
                successful: reachedDevices.count,
                failed: reachedDevices.failed,
                platforms: reachedDevices.platforms
            )
        )
        state.notifications[app.appID] = notificationLog
        effects.append(effect(of: message, requestedRecipients, state.console, app.appID))
        return HTTPMessage.Response(200, json: .object(responseFields))
    }

    /// Returns the message of a request, in which its template supplies the missing members.
    ///
    /// As long as no template of the app was created over the API, any template ID is accepted.
    private static func messageWithTemplate(
        _ body: JSONObject,
        _ record: OneSignalConsole.AppRecord?
    ) throws(OneSignalError) -> OneSignalMessage {
        let message = OneSignalMessage(body)
        guard let templateID = body["template_id"]?.string,
            let templates = record?.templates, !templates.isEmpty
        else { return message }
        guard let template = templates.first(where: { $0.id == templateID }) else {
            throw OneSignalMessage.badRequestError("Template not found")
        }
        return message.filled(by: template)
    }

    /// Returns the effect of an accepted message.
    ///
    /// The effect names its recipients. They include the filter values of each named segment, in
    /// addition to the filter values of the request.
    private static func effect(
        of message: OneSignalMessage,
        _ requestedRecipients: RequestedRecipients,
        _ console: OneSignalConsole,
        _ appID: String
    ) -> Effect {
        let segmentFilters = requestedRecipients.segments.compactMap {
            console.filters(ofSegment: $0, in: appID)
        }
        let filteredTargets = segmentFilters.flatMap(RequestedRecipients.values(of:))
        let everyoneRecipientID =
            segmentFilters.contains(where: \.isEmpty) ? [Effect.everyoneRecipientID] : []
        return Effect(
            kind: message.effectKind,
            recipients: requestedRecipients.ids + requestedRecipients.filterValues
                + filteredTargets + everyoneRecipientID,
            content: message.content,
            idempotencyKey: requestedRecipients.key
        )
    }

    /// Returns the response to a message that reaches no device: status 200 with an empty ID.
    private static func noRecipientsResponse(
        _ settings: OneSignalSettings
    ) -> HTTPMessage.Response {
        var responseFields: JSONObject = [
            "id": "", "errors": ["All included players are not subscribed"],
        ]
        if settings.countsRecipients { responseFields["recipients"] = 0 }
        return HTTPMessage.Response(200, json: .object(responseFields))
    }

    /// Returns the response to an accepted message.
    ///
    /// It lists the recipients that the message does not reach.
    private static func acceptedResponse(
        _ id: String,
        _ requestedRecipients: RequestedRecipients,
        _ reachedDevices: ReachedDevices,
        _ settings: OneSignalSettings,
        _ call: OneSignalCall
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

    // MARK: View, list, cancel

    static func view(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.query("app_id"))
        let id = call.pathParameter("notification_id")
        guard
            let notification = state.notifications[appID]?.keptNotification(id, at: call.now)
        else { throw .notificationNotFound }
        return HTTPMessage.Response(
            200,
            json: .object(notification.resourceJSON(in: appID, at: call.now))
        )
    }

    static func list(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.query("app_id"))
        let (limit, offset) = call.pageBounds(max: 50)
        // All notifications in this fake were sent through the API; their kind is 1.
        let kind = call.query("kind")
        let notificationLog = kind == nil || kind == "1" ? state.notifications[appID] : nil
        let oldestTime = call.now - NotificationLog.Notification.retentionPeriod
        let count = notificationLog?.count(since: oldestTime) ?? 0
        let notificationPage =
            notificationLog?.newestNotifications(min(limit, max(0, count - offset)), from: offset)
            ?? []
        return HTTPMessage.Response(
            200,
            json: [
                "total_count": .integer(Int64(count)), "offset": .integer(Int64(offset)),
                "limit": .integer(Int64(limit)),
                "notifications": .array(
                    notificationPage.map { .object($0.resourceJSON(in: appID, at: call.now)) }
                ),
            ],
            fields: [
                HTTPMessage.Field("ratelimit-limit", "1"),
                HTTPMessage.Field("ratelimit-remaining", "1"),
                HTTPMessage.Field("ratelimit-reset", "1"),
            ]
        )
    }

    static func cancel(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.query("app_id"))
        let id = call.pathParameter("notification_id")
        guard var storedNotification = state.notifications[appID]?.notifications[id] else {
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
        state.notifications[appID]?.update(storedNotification)
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
