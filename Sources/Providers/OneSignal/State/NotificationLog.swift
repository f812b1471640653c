internal import DequeModule
package import Values

/// The notifications (messages) of one OneSignal app.
///
/// They are stored apart from the app's users, because there are many of them and each one is
/// updated in place.
package struct NotificationLog: Hashable, Codable, Sendable {
    /// The first response to a request with an idempotency key.
    ///
    /// A repeated request gets the same response within a time window (OneSignal fact sheet,
    /// section 5).
    package struct StoredResult: Hashable, Codable, Sendable {
        package let body: JSONValue
        package let at: Instant
    }

    /// The time during which a request with a known idempotency key gets the first response again
    /// (OneSignal fact sheet, section 5).
    private static let replayWindow: Duration = .days(30)
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

    /// Returns a stored notification; nil when it is unknown or OneSignal no longer keeps it.
    func keptNotification(_ id: String, at now: Instant) -> Notification? {
        notifications[id].flatMap { $0.isPastRetention(at: now) ? nil : $0 }
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

    /// Returns the stored response to an earlier request with the same idempotency key; nil when
    /// there is no such response.
    func storedResponse(_ status: Int, of key: String?, at now: Instant) -> HTTPMessage.Response? {
        guard let key, let body = result(of: key, at: now, within: Self.replayWindow) else {
            return nil
        }
        return HTTPMessage.Response(
            status,
            json: body,
            fields: [HTTPMessage.Field("Idempotent-Replayed", "true")]
        )
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
            old.dropBody()
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
