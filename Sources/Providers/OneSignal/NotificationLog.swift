internal import DequeModule
package import Values

/// The notifications (messages) of one OneSignal app.
///
/// They are stored apart from the app's users, because there are many of them and each one is
/// updated in place.
package struct NotificationLog: Hashable, Codable, Sendable {
    package struct Notification: Hashable, Codable, Sendable {
        package let id: String
        /// The request that created the notification.
        ///
        /// When it is removed to save memory, only the member `droppedMember` with the reason is
        /// left.
        package fileprivate(set) var body: JSONObject
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
    }

    /// The first response to a request with an idempotency key.
    ///
    /// A repeated request gets the same response within a time window (OneSignal fact sheet,
    /// section 5).
    package struct StoredResult: Hashable, Codable, Sendable {
        package let body: JSONValue
        package let at: Instant
    }

    /// The largest number of stored notifications, and of stored responses to requests with an
    /// idempotency key.
    ///
    /// The oldest ones are removed.
    package static let countMax = 20_000
    /// The memory limit for the bodies of notifications, in bytes as counted by `storedByteCount`.
    ///
    /// The same limit applies separately to the stored responses.
    ///
    /// The oldest bodies are removed first, but never the latest one.
    package static let bytesMax = 32 << 20
    /// The name of the member that replaces a removed body.
    ///
    /// Its value is the reason for the removal.
    package static let droppedMember = "assay_dropped"

    package private(set) var notifications: SharedTable<String, Notification> = [:]
    private var results: SharedTable<String, StoredResult> = [:]
    /// The IDs of the stored notifications, oldest first.
    private var ids: Deque<String> = []
    /// The idempotency keys of the stored responses, oldest first.
    private var keys: Deque<String> = []
    private var sizes = Sizes()

    private struct Sizes: Hashable, Sendable {
        /// The total size of the notifications' bodies, in bytes.
        var bodyByteCount = 0
        /// The total size of the stored responses, in bytes.
        var results = 0
        /// The number of removed bodies.
        ///
        /// Bodies are removed from the oldest notifications first, so these are the first
        /// notifications of the list.
        var droppedCount = 0
    }

    private enum CodingKeys: String, CodingKey {
        case notifications, results, ids, keys
    }

    package init() {}

    /// The memory that the bodies of notifications and the stored responses take, in bytes.
    package var byteCount: Int { sizes.bodyByteCount + sizes.results }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        notifications = try container.decode(
            SharedTable<String, Notification>.self,
            forKey: .notifications
        )
        results = try container.decode(SharedTable<String, StoredResult>.self, forKey: .results)
        ids = try container.decode(Deque<String>.self, forKey: .ids)
        keys = try container.decode(Deque<String>.self, forKey: .keys)
        sizes = recountedSizes
    }

    private var recountedSizes: Sizes {
        var sizes = Sizes()
        for notification in notifications.values {
            sizes.bodyByteCount += JSONValue.object(notification.body).storedByteCount
        }
        for result in results.values { sizes.results += result.body.storedByteCount }
        sizes.droppedCount =
            ids.firstIndex { notifications[$0]?.body[Self.droppedMember] == nil } ?? ids.count
        return sizes
    }

    /// Returns the number of notifications that were queued at or after this time.
    ///
    /// The list is in the order of time, because the clock never goes back.
    package func count(since time: Instant) -> Int {
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if let middleNotification = notifications[ids[middle]],
                middleNotification.queued >= time
            {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return ids.count - low
    }

    /// Returns at most `limit` notifications, newest first, after skipping the newest `offset`
    /// ones.
    package func newestNotifications(_ limit: Int, from offset: Int) -> [Notification] {
        ids.reversed().dropFirst(offset).prefix(limit).compactMap { notifications[$0] }
    }

    package func result(of key: String, at now: Instant, within window: Duration) -> JSONValue? {
        results[key].flatMap { now - $0.at < window ? $0.body : nil }
    }

    package mutating func add(_ notification: Notification) {
        notifications[notification.id] = notification
        ids.append(notification.id)
        sizes.bodyByteCount += JSONValue.object(notification.body).storedByteCount
        if ids.count > Self.countMax {
            let removedEntry = notifications.removeValue(forKey: ids.removeFirst())
            sizes.bodyByteCount -=
                removedEntry.map { JSONValue.object($0.body).storedByteCount } ?? 0
            sizes.droppedCount = max(0, sizes.droppedCount - 1)
        }
        while sizes.bodyByteCount > Self.bytesMax, sizes.droppedCount < ids.count - 1 {
            let id = ids[sizes.droppedCount]
            sizes.droppedCount += 1
            guard var old = notifications[id] else { continue }
            sizes.bodyByteCount -= JSONValue.object(old.body).storedByteCount
            old.body = [
                Self.droppedMember: "removed to keep stored notifications within their memory limit"
            ]
            sizes.bodyByteCount += JSONValue.object(old.body).storedByteCount
            notifications[id] = old
        }
    }

    /// Replaces the stored notification that has the same ID.
    ///
    /// The body of the notification must be unchanged.
    package mutating func update(_ notification: Notification) {
        notifications[notification.id] = notification
    }

    package mutating func saveResult(_ body: JSONValue, of key: String, at now: Instant) {
        if let old = results[key] {
            sizes.results -= old.body.storedByteCount
        } else {
            keys.append(key)
        }
        results[key] = StoredResult(body: body, at: now)
        sizes.results += body.storedByteCount
        while keys.count > Self.countMax || (sizes.results > Self.bytesMax && keys.count > 1) {
            let removedEntry = results.removeValue(forKey: keys.removeFirst())
            sizes.results -= removedEntry?.body.storedByteCount ?? 0
        }
    }
}
