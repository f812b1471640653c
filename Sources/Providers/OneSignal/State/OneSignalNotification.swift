package import Values

extension NotificationLog {
    /// A notification (message) that the API accepted.
    package struct Notification: Hashable, Codable, Sendable {
        package let id: String
        /// The request that created the notification.
        ///
        /// When it is removed to save memory, only the member `droppedMember` with the reason is
        /// left.
        package private(set) var body: JSONObject
        package let queued: Instant
        /// The time at which the notification is sent; nil for a date that this fake cannot parse.
        package let sendAfter: Instant?
        package var isCanceled = false
        package let successful: Int64
        package let failed: Int64
        /// The number of devices that the notification reaches, by the name of the platform in
        /// `platform_delivery_stats`.
        package let platforms: [String: Int64]

        package init(
            id: String,
            body: JSONObject,
            queued: Instant,
            sendAfter: Instant?,
            successful: Int64,
            failed: Int64,
            platforms: [String: Int64]
        ) {
            self.id = id
            self.body = body
            self.queued = queued
            self.sendAfter = sendAfter
            self.successful = successful
            self.failed = failed
            self.platforms = platforms
        }

        package func isSent(at now: Instant) -> Bool { !isCanceled && now >= (sendAfter ?? queued) }

        /// Removes the body to save memory, and stores the reason in its place.
        mutating func dropBody() {
            body = [
                NotificationLog.droppedMember:
                    "removed to keep stored notifications within their memory limit"
            ]
        }
    }
}

extension NotificationLog.Notification {
    /// The time for which OneSignal keeps notifications that were sent through the API: thirty days
    /// (OneSignal fact sheet, section 6).
    static let retentionPeriod: Duration = .days(30)

    func isPastRetention(at now: Instant) -> Bool { now - queued > Self.retentionPeriod }

    /// Returns the notification in the API's format.
    func resourceJSON(in appID: String, at now: Instant) -> JSONObject {
        let isSent = isSent(at: now)
        func countsJSON(_ successful: Int64, _ failed: Int64) -> JSONObject {
            [
                "successful": .integer(successful), "failed": .integer(failed), "errored": 0,
                "converted": 0, "received": 0,
            ]
        }
        let totalCounts = countsJSON(
            isSent ? successful : 0,
            isSent ? failed : 0
        )
        let sendTime = sendAfter ?? queued
        let platformStats = JSONObject(
            members: (isSent ? platforms : [:]).sorted { $0.key < $1.key }.map {
                .init(key: $0.key, value: .object(countsJSON($0.value, 0)))
            }
        )
        var resourceJSON: JSONObject = [
            "id": .string(id), "app_id": .string(appID),
        ]
        for key in [
            "contents", "headings", "data", "included_segments", "include_aliases", "filters",
            "target_channel", "name", NotificationLog.droppedMember,
        ] {
            if let value = body[key], !value.isNull { resourceJSON[key] = value }
        }
        resourceJSON["canceled"] = .bool(isCanceled)
        resourceJSON["queued_at"] = .integer(queued.seconds)
        resourceJSON["send_after"] = .integer(sendTime.seconds)
        resourceJSON["completed_at"] =
            isSent ? .integer(max(sendTime, queued).seconds) : .null
        resourceJSON["remaining"] = .integer(
            isSent || isCanceled ? 0 : successful
        )
        for member in totalCounts.members { resourceJSON[member.key] = member.value }
        resourceJSON["throttle_rate_per_minute"] = .null
        resourceJSON["platform_delivery_stats"] = .object(platformStats)
        return resourceJSON
    }
}
