internal import Values

/// A message to users, as the body of a request defines it (OneSignal fact sheet, sections 3 to 5).
struct OneSignalMessage {
    let body: JSONObject

    init(_ body: JSONObject) { self.body = body }

    /// The channel of the message: push, email or sms (OneSignal fact sheet, section 3).
    var channel: String {
        if let channel = body["target_channel"]?.string { return channel }
        if let channel = body["channel_for_external_user_ids"]?.string { return channel }
        func hasAnyMember(_ names: String...) -> Bool { names.contains { body[$0] != nil } }
        if hasAnyMember("email_body", "email_to", "include_email_tokens") || body["isEmail"] == true
        {
            return "email"
        }
        return hasAnyMember("sms_from", "include_phone_numbers") ? "sms" : "push"
    }

    /// The kind of effect that the message has.
    ///
    /// The kind depends on the channel, since an email is not a push notification.
    var effectKind: String {
        switch channel {
        case "email": "onesignal.email"
        case "sms": "onesignal.sms"
        // Any other message is a push notification.
        default: "onesignal.notification"
        }
    }

    /// The key by which OneSignal suppresses a duplicate of a message.
    ///
    /// `external_id` is an older name of `idempotency_key` (OneSignal fact sheet, section 5).
    var idempotencyKey: String? {
        [body["idempotency_key"], body["external_id"]]
            .compactMap { $0?.string }.first { !$0.isEmpty }?.lowercased()
    }

    /// The parts of the message that a user reads or an app evaluates, without the IDs and keys of
    /// the API call.
    var content: JSONValue {
        let reportedMembers = [
            "contents", "headings", "subtitle", "data", "template_id", "included_segments",
            "email_subject", "email_body", "email_from_name", "email_from_address", "sms_from",
            "sms_media_urls",
        ]
        return .object(
            JSONObject(members: body.members.filter { reportedMembers.contains($0.key) })
        )
    }

    /// Returns the time at which the message is sent: the date in `send_after`, or now.
    func sendTime(_ now: Instant) throws(OneSignalError) -> Instant {
        guard let text = body["send_after"]?.string, !text.isEmpty else { return now }
        guard let instant = SendAfterParser.instant(text) else {
            throw Self.badRequestError("send_after is not a date")
        }
        guard let date = RequestDate(instant) else {
            throw Self.badRequestError("send_after is not within \(RequestDate.acceptedRangeText)")
        }
        return date.instant
    }

    /// Returns the message with the members of a template that it does not have itself.
    func filled(by template: OneSignalConsole.Template) -> OneSignalMessage {
        var bodyWithTemplate = body
        for member in template.content.members where bodyWithTemplate[member.key] == nil {
            bodyWithTemplate[member.key] = member.value
        }
        return OneSignalMessage(bodyWithTemplate)
    }

    // MARK: Checks

    /// Throws the service's error for a message that OneSignal would refuse.
    func check(
        _ requestedRecipients: RequestedRecipients,
        _ settings: OneSignalSettings
    ) throws(OneSignalError) {
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
        try checkTargets(requestedRecipients, settings)
        try Self.checkFilters(requestedRecipients.filters)
        if let data = body["custom_data"] {
            let max = body["email_body"] != nil || body["target_channel"] == "email" ? 10_240 : 2048
            guard data.bytes.count <= max else {
                throw Self.badRequestError("custom_data may have at most \(max) bytes")
            }
        }
        if settings.requiresUUIDKeys, let key = idempotencyKey, !UUIDFormat.matches(key) {
            throw Self.badRequestError("idempotency_key must be a valid UUID")
        }
    }

    private func checkTargets(
        _ requestedRecipients: RequestedRecipients,
        _ settings: OneSignalSettings
    ) throws(OneSignalError) {
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

    /// Throws when the filters of a message or a segment are not valid.
    static func checkFilters(_ filters: [JSONValue]) throws(OneSignalError) {
        guard filters.count <= 200 else {
            throw badRequestError("Too many filters: at most 200")
        }
        for filter in filters where filter["operator"] == nil {
            guard filter["field"]?.string != nil else {
                throw badRequestError("Every filter needs a field")
            }
        }
    }

    /// Creates an error with status 400 whose text OneSignal does not publish.
    static func badRequestError(_ text: String) -> OneSignalError {
        OneSignalError(400, text, confidence: .inferred)
    }
}
