package import Conformance
internal import DequeModule

/// The notifications of one app, apart from its users: they are many, and each is written in place.
package struct NotificationLog: Hashable, Codable, Sendable {
    package struct Notification: Hashable, Codable, Sendable {
        package let id: String
        /// What was sent; `dropped` names the reason when it is no longer kept.
        package fileprivate(set) var body: JSONObject
        package let queued: Instant
        /// When it is sent; nil for a date that this fake cannot read.
        package let sendAfter: Instant?
        package var isCanceled = false
        package let successful: Int64
        package let failed: Int64
        /// Reached devices by the platform's name in `platform_delivery_stats`.
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

    /// The first answer to a keyed request, replayed within the window (section 5).
    package struct Stored: Hashable, Codable, Sendable {
        package let body: JSONValue
        package let at: Instant
    }

    /// How many notifications, and how many results of keyed requests, are kept; the oldest go.
    package static let countMax = 20_000
    /// How much memory the bodies of notifications take, and how much the results, in bytes as
    /// `storedByteCount` counts them; the oldest bodies go, but never the last one.
    package static let bytesMax = 32 << 20
    /// The member of a body that says why the body is no longer kept.
    package static let droppedMember = "assay_dropped"

    package private(set) var notifications: SharedTable<String, Notification> = [:]
    private var results: SharedTable<String, Stored> = [:]
    /// Ids of notifications, oldest first.
    private var ids: Deque<String> = []
    /// Keys of results, oldest first.
    private var keys: Deque<String> = []
    private var sizes = Sizes()

    private struct Sizes: Hashable, Sendable {
        /// In bytes.
        var bodies = 0
        /// In bytes.
        var results = 0
        /// How many of the oldest notifications have no body any more.
        var droppedCount = 0
    }

    private enum CodingKeys: String, CodingKey {
        case notifications, results, ids, keys
    }

    package init() {}

    /// How much memory the bodies of notifications and the results take, in bytes.
    package var byteCount: Int { sizes.bodies + sizes.results }

    package init(from decoder: any Decoder) throws {
        let saved = try decoder.container(keyedBy: CodingKeys.self)
        notifications = try saved.decode(
            SharedTable<String, Notification>.self,
            forKey: .notifications
        )
        results = try saved.decode(SharedTable<String, Stored>.self, forKey: .results)
        ids = try saved.decode(Deque<String>.self, forKey: .ids)
        keys = try saved.decode(Deque<String>.self, forKey: .keys)
        sizes = counted
    }

    private var counted: Sizes {
        var sizes = Sizes()
        for notification in notifications.values {
            sizes.bodies += JSONValue.object(notification.body).storedByteCount
        }
        for result in results.values { sizes.results += result.body.storedByteCount }
        sizes.droppedCount =
            ids.firstIndex { notifications[$0]?.body[Self.droppedMember] == nil } ?? ids.count
        return sizes
    }

    /// How many were queued at that time or since: the clock never goes back.
    package func count(since time: Instant) -> Int {
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if let found = notifications[ids[middle]], found.queued >= time {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return ids.count - low
    }

    /// A page of them, newest first.
    package func newest(_ limit: Int, from offset: Int) -> [Notification] {
        ids.reversed().dropFirst(offset).prefix(limit).compactMap { notifications[$0] }
    }

    package func result(of key: String, at now: Instant, within window: Duration) -> JSONValue? {
        results[key].flatMap { now - $0.at < window ? $0.body : nil }
    }

    package mutating func add(_ notification: Notification) {
        notifications[notification.id] = notification
        ids.append(notification.id)
        sizes.bodies += JSONValue.object(notification.body).storedByteCount
        if ids.count > Self.countMax {
            let gone = notifications.removeValue(forKey: ids.removeFirst())
            sizes.bodies -= gone.map { JSONValue.object($0.body).storedByteCount } ?? 0
            sizes.droppedCount = max(0, sizes.droppedCount - 1)
        }
        while sizes.bodies > Self.bytesMax, sizes.droppedCount < ids.count - 1 {
            let id = ids[sizes.droppedCount]
            sizes.droppedCount += 1
            guard var old = notifications[id] else { continue }
            sizes.bodies -= JSONValue.object(old.body).storedByteCount
            old.body = [
                Self.droppedMember: "dropped to keep the bodies of notifications within their bound"
            ]
            sizes.bodies += JSONValue.object(old.body).storedByteCount
            notifications[id] = old
        }
    }

    /// Writes a notification whose body did not change.
    package mutating func update(_ notification: Notification) {
        notifications[notification.id] = notification
    }

    package mutating func keep(_ body: JSONValue, of key: String, at now: Instant) {
        if let old = results[key] {
            sizes.results -= old.body.storedByteCount
        } else {
            keys.append(key)
        }
        results[key] = Stored(body: body, at: now)
        sizes.results += body.storedByteCount
        while keys.count > Self.countMax || (sizes.results > Self.bytesMax && keys.count > 1) {
            let gone = results.removeValue(forKey: keys.removeFirst())
            sizes.results -= gone?.body.storedByteCount ?? 0
        }
    }
}
