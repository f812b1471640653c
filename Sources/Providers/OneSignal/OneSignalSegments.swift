internal import Contracts
internal import Values

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

    // MARK: Operations

    func listSegments(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let record = record(of: appID)
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

    mutating func createSegment(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        let name = try text("name", call)
        guard let filters = try filters(call) else {
            throw OneSignalError(400, "filters is required", confidence: .inferred)
        }
        let requestedID = call.body["id"]?.string
        guard !record.segments.contains(where: { $0.name == name || $0.id == requestedID }) else {
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

    func viewSegment(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        let record = record(of: appID)
        guard let index = segmentIndex(call, in: record) else { throw Self.segmentNotFound }
        return json(200, resourceJSON(record.segments[index], appID, call))
    }

    mutating func deleteSegment(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        guard let index = segmentIndex(call, in: record) else {
            return json(404, ["success": false])
        }
        guard !record.segments[index].isDefault else { throw Self.readOnlySegment }
        record.segments.remove(at: index)
        store(record, of: appID)
        return json(200, ["success": true])
    }

    mutating func updateSegment(_ call: Call) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try knownAppID(call.pathParameter("app_id"))
        var record = record(of: appID)
        guard let index = segmentIndex(call, in: record) else { throw Self.segmentNotFound }
        let segment = record.segments[index]
        guard !segment.isDefault else { throw Self.readOnlySegment }
        let name = try text("name", call)
        guard !record.segments.contains(where: { $0.name == name && $0.id != segment.id }) else {
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

    // MARK: Shared parts

    private static let segmentNotFound = OneSignalError(
        404,
        "Segment not found",
        confidence: .inferred
    )
    private static let readOnlySegment = OneSignalError(
        403,
        "This segment is read only",
        confidence: .inferred
    )

    /// Returns the position of the segment that a call addresses; nil when the segment does not
    /// exist.
    private func segmentIndex(_ call: Call, in record: OneSignalConsole.AppRecord) -> Int? {
        let segmentID = call.pathParameter("segment_id")
        return record.segments.firstIndex { $0.id == segmentID }
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
