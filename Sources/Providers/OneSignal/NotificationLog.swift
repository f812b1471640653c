package import Conformance
internal import DequeModule

/// The notifications of one app, apart from its users: they are many, and each is written in place.
package struct NotificationLog: Hashable, Codable, Sendable {
    package struct Notification: Hashable, Codable, Sendable {
        package let id: String
        package let body: JSONObject
        package let queued: Instant
        /// When it is sent; nil for a date that this fake cannot read.
        package let sendAfter: Instant?
        package var isCanceled = false
        package let successful: Int64
        package let failed: Int64
        /// Reached devices by the platform's name in `platform_delivery_stats`.
        package let platforms: [String: Int64]

        package func isSent(at now: Instant) -> Bool { !isCanceled && now >= (sendAfter ?? queued) }
    }

    /// The first answer to a keyed request, replayed within the window (section 5).
    package struct Stored: Hashable, Codable, Sendable {
        package let body: JSONValue
        package let at: Instant
    }

    /// How many notifications, and how many results of keyed requests, are kept; the oldest go.
    package static let countMax = 20_000

    package private(set) var notifications: SharedTable<String, Notification> = [:]
    private var results: SharedTable<String, Stored> = [:]
    /// Ids of notifications, oldest first.
    private var ids: Deque<String> = []
    /// Keys of results, oldest first.
    private var keys: Deque<String> = []

    package init() {}

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
        if ids.count > Self.countMax { notifications[ids.removeFirst()] = nil }
    }

    package mutating func update(_ notification: Notification) {
        notifications[notification.id] = notification
    }

    package mutating func keep(_ body: JSONValue, of key: String, at now: Instant) {
        results[key] = Stored(body: body, at: now)
        keys.append(key)
        if keys.count > Self.countMax { results[keys.removeFirst()] = nil }
    }
}
