internal import Conformance

/// Operations on segments, which are named audiences (OneSignal's API description, *Segments*).
extension OneSignalState {
    /// Returns the segments that every app has from the start (OneSignal fact sheet, section 3).
    static func defaultSegments(
        _ appID: String,
        _ now: Instant
    ) -> [OneSignalConsole.Segment] {
        [
            "Total Subscriptions", "Subscribed Users", "Active Subscriptions",
            "Engaged Subscriptions",
        ]
        .map { name in
            OneSignalConsole.Segment(
                id: uuid(of: appID + name),
                name: name,
                filters: [],
                created: now,
                updated: now,
                isDefault: true
            )
        }
    }

    /// Derives an ID in the format of a UUID from a string, always the same ID for the same string.
    static func uuid(of text: String) -> String {
        let digestDigits = Array(Digest.sha256(Array(text.utf8)).dropFirst(7).prefix(32))
        let hexDigits = digestDigits.enumerated().map { index, digit in
            index == 12 ? "5" : index == 16 ? "8" : digit
        }
        let ranges = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return ranges.map { String(hexDigits[$0]) }.joined(separator: "-")
    }

    mutating func handleSegmentCall(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let operation = call.operation
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        if operation == .listSegments { return try listResponse(record, appID, call) }
        if operation == .createSegment {
            let name = try text("name", call)
            let filters = try filters(call)
            guard let filters else {
                throw OneSignalError(400, "filters is required", confidence: .inferred)
            }
            let requestedID = call.body["id"]?.string
            guard !record.segments.contains(where: { $0.name == name || $0.id == requestedID })
            else {
                return HTTPMessage.Response(
                    409,
                    json: [
                        "success": false,
                        "errors": ["Segment with the given name already exists."],
                    ]
                )
            }
            let segment = OneSignalConsole.Segment(
                id: requestedID.map { $0.isEmpty ? ids.uuid() : $0 } ?? ids.uuid(),
                name: name,
                filters: filters,
                created: call.now,
                updated: call.now,
                isDefault: false
            )
            record.segments.append(segment)
            record.makesSegments = true
            store(record, of: appID)
            return json(201, ["success": true, "id": .string(segment.id)])
        }
        let segmentID = call.pathParameter("segment_id")
        guard let index = record.segments.firstIndex(where: { $0.id == segmentID }) else {
            if operation == .deleteSegment { return json(404, ["success": false]) }
            throw OneSignalError(404, "Segment not found", confidence: .inferred)
        }
        let segment = record.segments[index]
        if operation == .viewSegment { return json(200, resourceJSON(segment, appID, call)) }
        guard !segment.isDefault else {
            throw OneSignalError(403, "This segment is read only", confidence: .inferred)
        }
        if operation == .deleteSegment {
            record.segments.remove(at: index)
            store(record, of: appID)
            return json(200, ["success": true])
        }
        let name = try text("name", call)
        guard !record.segments.contains(where: { $0.name == name && $0.id != segmentID }) else {
            throw OneSignalError(
                400,
                "Segment with the given name already exists.",
                confidence: .inferred
            )
        }
        record.segments[index].name = name
        if let filters = try filters(call) { record.segments[index].filters = filters }
        record.segments[index].updated = call.now
        store(record, of: appID)
        return json(200, ["success": true, "id": .string(segment.id)])
    }

    /// Returns the filters of a segment from the request body; nil when the body contains no
    /// filters.
    private func filters(_ call: Call) throws(OneSignalError) -> [JSONValue]? {
        guard let value = call.body["filters"] else { return nil }
        guard let filters = value.array, !filters.isEmpty else {
            throw OneSignalError(
                400,
                "filters must be a list that is not empty",
                confidence: .inferred
            )
        }
        try checkFilters(filters)
        return filters
    }

    private func listResponse(
        _ record: OneSignalConsole.AppRecord,
        _ appID: String,
        _ call: Call
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let (limit, offset) = pageBounds(call, max: 300)
        let resourceJSON = record.segments.dropFirst(offset).prefix(limit).map {
            segment -> JSONValue in
            [
                "id": .string(segment.id), "name": .string(segment.name),
                "created_at": .string(segment.created.preciseText),
                "updated_at": .string(segment.updated.preciseText), "app_id": .string(appID),
                "read_only": .bool(segment.isDefault), "is_active": true,
            ]
        }
        // The status is 201, as OneSignal's API description has it.
        return json(
            201,
            [
                "total_count": .integer(Int64(record.segments.count)),
                "offset": .integer(Int64(offset)), "limit": .integer(Int64(limit)),
                "segments": .array(resourceJSON),
            ]
        )
    }

    /// Returns the values of `limit` and `offset` in a list request, within the allowed range.
    func pageBounds(_ call: Call, max defaultLimit: Int) -> (limit: Int, offset: Int) {
        let limit = min(
            max(0, call.query("limit").flatMap { Int($0) } ?? defaultLimit),
            defaultLimit
        )
        return (limit, max(0, call.query("offset").flatMap { Int($0) } ?? 0))
    }

    private func resourceJSON(
        _ segment: OneSignalConsole.Segment,
        _ appID: String,
        _ call: Call
    ) -> JSONObject {
        let app = apps[appID] ?? OneSignalApp(appID: appID)
        let count =
            segment.filters.isEmpty
            ? app.reachable.values.reduce(0, +)
            : Int64(
                Self.audience(segment.filters, app).flatMap { app.subscriptions(of: $0) }
                    .count(where: \.isReachable)
            )
        var resourceJSON: JSONObject = ["subscriber_count": .integer(count)]
        if call.query("include-segment-detail") == "true" {
            resourceJSON["payload"] = [
                "id": .string(segment.id), "name": .string(segment.name),
                "created_at": .integer(segment.created.seconds),
                "source": segment.isDefault ? "default" : "custom",
                "filters": .array(segment.filters),
            ]
        }
        return resourceJSON
    }
}
