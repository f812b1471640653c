package import Conformance

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

    package private(set) var notifications: [String: Notification] = [:]
    private var results: [String: Stored] = [:]
    /// Ids of notifications, oldest first, from `firstID` on.
    private var ids: [String] = []
    private var firstID = 0
    /// Keys of results, oldest first, from `firstKey` on.
    private var keys: [String] = []
    private var firstKey = 0

    package init() {}

    /// Newest first.
    package var all: [Notification] { ids[firstID...].reversed().compactMap { notifications[$0] } }

    package func result(of key: String, at now: Instant, within window: Duration) -> JSONValue? {
        results[key].flatMap { now - $0.at < window ? $0.body : nil }
    }

    package mutating func add(_ notification: Notification) {
        notifications[notification.id] = notification
        ids.append(notification.id)
        if ids.count - firstID > Self.countMax {
            notifications[ids[firstID]] = nil
            firstID += 1
        }
        if firstID > Self.countMax {
            ids.removeFirst(firstID)
            firstID = 0
        }
    }

    package mutating func update(_ notification: Notification) {
        notifications[notification.id] = notification
    }

    package mutating func keep(_ body: JSONValue, of key: String, at now: Instant) {
        results[key] = Stored(body: body, at: now)
        keys.append(key)
        if keys.count - firstKey > Self.countMax {
            results[keys[firstKey]] = nil
            firstKey += 1
        }
        if firstKey > Self.countMax {
            keys.removeFirst(firstKey)
            firstKey = 0
        }
    }
}
