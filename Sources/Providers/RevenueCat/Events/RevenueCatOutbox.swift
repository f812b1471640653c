package import Values

/// The webhook events that the fake RevenueCat has created and not sent yet, oldest first.
package struct RevenueCatOutbox: Hashable, Codable, Sendable {
    /// The pending events in the order in which they happened.
    package private(set) var events: [JSONObject] = []

    package mutating func add(_ event: JSONObject) { events.append(event) }

    /// Returns and removes all pending events.
    mutating func takeEvents() -> [JSONObject] {
        defer { events = [] }
        return events
    }

    /// Puts events before the pending ones.
    mutating func putBack(_ earlierEvents: [JSONObject]) { events = earlierEvents + events }
}
