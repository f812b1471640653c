internal import Values

/// Operations on segments, which are named audiences (OneSignal's API description, *Segments*).
enum OneSignalSegmentOperations {
    static func list(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let segments = state.console[appID].segments
        let (limit, offset) = call.pageBounds(max: 300)
        let resourceJSON = segments.dropFirst(offset).prefix(limit).map {
            JSONValue.object($0.listJSON(appID))
        }
        // The status is 201, as OneSignal's API description has it.
        return HTTPMessage.Response(
            201,
            json: [
                "total_count": .integer(Int64(segments.count)),
                "offset": .integer(Int64(offset)), "limit": .integer(Int64(limit)),
                "segments": .array(resourceJSON),
            ]
        )
    }

    static func create(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        var record = state.console[appID]
        let name = try call.text("name")
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
            id: requestedID.map { $0.isEmpty ? state.ids.uuid() : $0 } ?? state.ids.uuid(),
            name: name,
            filters: filters,
            created: call.now,
            updated: call.now,
            isDefault: false
        )
        record.segments.append(segment)
        record.makesSegments = true
        state.console[appID] = record
        return HTTPMessage.Response(201, json: ["success": true, "id": .string(segment.id)])
    }

    static func view(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        let record = state.console[appID]
        guard let index = segmentIndex(call, in: record) else { throw segmentNotFound }
        let resourceJSON = record.segments[index].resourceJSON(
            state.apps[appID] ?? OneSignalApp(appID: appID),
            hasDetail: call.query("include-segment-detail") == "true"
        )
        return HTTPMessage.Response(200, json: .object(resourceJSON))
    }

    static func delete(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        var record = state.console[appID]
        guard let index = segmentIndex(call, in: record) else {
            return HTTPMessage.Response(404, json: ["success": false])
        }
        guard !record.segments[index].isDefault else { throw readOnlySegment }
        record.segments.remove(at: index)
        state.console[appID] = record
        return HTTPMessage.Response(200, json: ["success": true])
    }

    static func update(
        _ state: inout OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        let appID = try state.knownAppID(call.pathParameter("app_id"))
        var record = state.console[appID]
        guard let index = segmentIndex(call, in: record) else { throw segmentNotFound }
        let segment = record.segments[index]
        guard !segment.isDefault else { throw readOnlySegment }
        let name = try call.text("name")
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
        state.console[appID] = record
        return HTTPMessage.Response(200, json: ["success": true, "id": .string(segment.id)])
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
    private static func segmentIndex(
        _ call: OneSignalCall,
        in record: OneSignalConsole.AppRecord
    ) -> Int? {
        let segmentID = call.pathParameter("segment_id")
        return record.segments.firstIndex { $0.id == segmentID }
    }

    /// Returns the filters of a segment from the request body; nil when the body contains no
    /// filters.
    private static func filters(_ call: OneSignalCall) throws(OneSignalError) -> [JSONValue]? {
        guard let value = call.body["filters"] else { return nil }
        guard let filters = value.array, !filters.isEmpty else {
            throw OneSignalError(
                400,
                "filters must be a list that is not empty",
                confidence: .inferred
            )
        }
        try OneSignalMessage.checkFilters(filters)
        return filters
    }
}
