internal import Values

extension OneSignalConsole {
    /// A segment, which is a named audience (OneSignal's API description, *Segments*).
    struct Segment: Hashable, Codable, Sendable {
        let id: String
        var name: String
        var filters: [JSONValue]
        let created: Instant
        var updated: Instant
        /// Whether this is one of the segments that every app has from the start.
        let isDefault: Bool

        /// Returns the segments that every app has from the start (OneSignal fact sheet, section
        /// 3).
        static func defaultSegments(_ appID: String, _ now: Instant) -> [Segment] {
            [
                "Total Subscriptions", "Subscribed Users", "Active Subscriptions",
                "Engaged Subscriptions",
            ]
            .map { name in
                Segment(
                    id: UUIDFormat.derivedID(from: appID + name),
                    name: name,
                    filters: [],
                    created: now,
                    updated: now,
                    isDefault: true
                )
            }
        }

        /// Returns the segment in the format of the list of segments.
        func listJSON(_ appID: String) -> JSONObject {
            [
                "id": .string(id), "name": .string(name),
                "created_at": .string(created.preciseText),
                "updated_at": .string(updated.preciseText), "app_id": .string(appID),
                "read_only": .bool(isDefault), "is_active": true,
            ]
        }

        /// Returns the segment in the format of a single segment, with the number of its devices.
        ///
        /// The detail consists of the name, the filters and the creation time.
        func resourceJSON(_ app: OneSignalApp, hasDetail: Bool) -> JSONObject {
            let count =
                filters.isEmpty
                ? app.reachable.values.reduce(0, +)
                : Int64(
                    app.users(matching: filters).flatMap { app.subscriptions(of: $0) }
                        .count(where: \.isReachable)
                )
            var resourceJSON: JSONObject = ["subscriber_count": .integer(count)]
            if hasDetail {
                resourceJSON["payload"] = [
                    "id": .string(id), "name": .string(name),
                    "created_at": .integer(created.seconds),
                    "source": isDefault ? "default" : "custom",
                    "filters": .array(filters),
                ]
            }
            return resourceJSON
        }
    }
}
