internal import Values

/// Operations on custom events and journeys (OneSignal's API description).
enum OneSignalEventOperations {
    /// The largest size of the payload of a custom event, in bytes (*inferred*).
    private static let payloadBytesMax = 2024

    static func record(
        _ state: inout OneSignalState,
        _ call: OneSignalCall,
        _ effects: inout [Effect]
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try state.knownAppID(call.pathParameter("app_id"))
        guard let events = call.body["events"]?.array, !events.isEmpty else {
            throw OneSignalError(400, "events is required", confidence: .inferred)
        }
        var eventEffects: [Effect] = []
        for event in events {
            let userIDs = [event["external_id"], event["onesignal_id"]].compactMap { $0?.string }
                .filter { !$0.isEmpty }
            guard let name = event["name"]?.string, !name.isEmpty, let id = userIDs.first else {
                throw OneSignalError(
                    400,
                    "Every event needs a name, and external_id or onesignal_id",
                    confidence: .inferred
                )
            }
            let payload = event["payload"] ?? [:]
            guard payload.object != nil, payload.bytes.count <= payloadBytesMax else {
                throw OneSignalError(
                    400,
                    "payload must be an object of at most \(payloadBytesMax) bytes",
                    confidence: .inferred
                )
            }
            if let time = event["timestamp"], !time.isNull,
                time.string.flatMap({ Instant(iso8601: $0) }).flatMap({ RequestDate($0) }) == nil
            {
                throw OneSignalError(
                    400,
                    "timestamp must be a date of ISO 8601 within \(RequestDate.acceptedRangeText)",
                    confidence: .inferred
                )
            }
            eventEffects.append(
                Effect(
                    kind: "onesignal.event",
                    recipients: [id],
                    content: ["name": .string(name), "payload": payload]
                )
            )
        }
        effects += eventEffects
        return HTTPMessage.Response(200, json: [:])
    }

    static func listJourneys(
        _ state: OneSignalState,
        _ call: OneSignalCall
    ) throws(OneSignalError) -> HTTPMessage.Response {
        _ = try state.knownAppID(call.pathParameter("app_id"))
        return HTTPMessage.Response(200, json: ["journeys": [], "has_more": false])
    }
}
