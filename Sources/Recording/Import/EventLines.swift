internal import Providers
internal import Values

/// Reads files of webhook events and files of requests in NDJSON.
extension ImportReader {
    /// Reads webhook events in the formats of the services' dashboards, exports and documentation:
    /// one event, an array, an array under `events`, `items` or `data`, or one event per line.
    mutating func events(_ bytes: [UInt8]) throws(RecordingError) {
        var entryCount = 0
        for (line, value) in try values(bytes) {
            guard case .success(let value) = value else {
                entry(entryCount) { _ throws(RecordingError) in _ = try value.get() }
                entryCount += 1
                continue
            }
            let eventList = ["events", "items", "data"].lazy.compactMap { value[$0]?.array }.first
            for event in eventList ?? [value] {
                entry(entryCount) { reader throws(RecordingError) in
                    try reader.add(event: event, line)
                }
                entryCount += 1
            }
        }
        guard entryCount > 0 else {
            throw makeError(1, "the file has no events", "Pass a file with webhook events as JSON.")
        }
    }

    private mutating func add(event: JSONValue, _ line: Int) throws(RecordingError) {
        let webhookProviders = Services.providers.filter { $0.sender != nil }
        guard
            let (provider, sender, webhookEvent) = webhookProviders.lazy.compactMap({ provider in
                provider.sender.flatMap { sender in
                    sender.event(event).map { (provider, sender, $0) }
                }
            }).first
        else {
            let providerTitles = webhookProviders.map(\.title).joined(separator: " or ")
            throw makeError(
                line,
                "this is not an event of \(providerTitles): it has no type or no ID",
                "Pass the whole body of the webhook request."
            )
        }
        guard let webhookMethodAndPath = context.webhooks[provider.party] else {
            throw makeError(
                line,
                "the profile has no webhook path for events of \(provider.title)",
                "Set '\(sender.webhookEndpoint)' under 'endpoints' in assay.yaml."
            )
        }
        let methodAndPath = webhookMethodAndPath.split(separator: " ").map(String.init)
        // The file contains only the event; its response is assumed to have the status 200 that the
        // provider expects.
        try add(
            HTTPMessage.Request(
                methodAndPath[0],
                methodAndPath[1],
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: webhookEvent.body.bytes
            ),
            RecordedResponse(.ok),
            at: webhookEvent.time,
            line: line
        )
    }

    /// Reads a file with one request per line, as JSON.
    mutating func lines(_ bytes: [UInt8]) throws(RecordingError) {
        for (index, (line, value)) in try values(bytes).enumerated() {
            entry(index) { reader throws(RecordingError) in
                try reader.add(request: try value.get(), line)
            }
        }
    }

    private mutating func add(request value: JSONValue, _ line: Int) throws(RecordingError) {
        guard let method = value["method"]?.string, Self.isMethod(method),
            let url = value["url"]?.string ?? value["path"]?.string,
            let target = Self.target(url)
        else {
            throw makeError(
                line,
                "the line has no 'method' or no 'url'",
                "Write {\"method\": \"POST\", \"url\": \"/path\", \"body\": {}, \"status\": 200}."
            )
        }
        func fields(_ value: JSONValue?) -> [HTTPMessage.Field] {
            (value?.object?.members ?? []).map {
                HTTPMessage.Field($0.key, $0.value.string ?? $0.value.text)
            }
        }
        func body(_ value: JSONValue?) -> [UInt8] {
            guard let value, !value.isNull else { return [] }
            return value.string.map { Array($0.utf8) } ?? value.bytes
        }
        var response: RecordedResponse?
        if let givenValue = value["status"], !givenValue.isNull {
            response = RecordedResponse(
                try status(givenValue, "'status'", line: line),
                fields: fields(value["response-headers"]),
                body: body(value["response"])
            )
        }
        var requestTime: Instant?
        if let givenValue = value["at"], !givenValue.isNull {
            guard let instant = givenValue.string.flatMap({ Instant(iso8601: $0) }) else {
                throw makeError(
                    line,
                    "'at' is \(givenValue.text.prefix(40)), not a date and a time",
                    "Write the time as 2026-11-21T10:00:00Z."
                )
            }
            requestTime = instant
        }
        try add(
            HTTPMessage.Request(
                method,
                target,
                fields: fields(value["headers"]),
                body: body(value["body"])
            ),
            response,
            at: requestTime,
            line: line
        )
    }

    /// Returns the JSON values of a file: a single value, the elements of an array, or one value
    /// per line.
    ///
    /// A line that is not JSON gives an error in the result; the other lines are still read.
    private func values(
        _ bytes: [UInt8]
    ) throws(RecordingError) -> [(line: Int, Result<JSONValue, RecordingError>)] {
        // A file of several lines is not a single JSON value.
        if let parsedDocument = JSONValue(ifValid: bytes, options: Importer.options) {
            return (parsedDocument.array ?? [parsedDocument]).map { (1, .success($0)) }
        }
        var parsedLines: [(line: Int, Result<JSONValue, RecordingError>)] = []
        var lineNumber = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            lineNumber += 1
            if line.allSatisfy({ $0 == 32 || $0 == 13 || $0 == 9 }) { continue }
            do throws(RecordingError) {
                parsedLines.append(
                    (lineNumber, .success(try Importer.json(Array(line), line: lineNumber)))
                )
            } catch {
                parsedLines.append((lineNumber, .failure(error)))
            }
        }
        guard !parsedLines.isEmpty else {
            throw makeError(1, "the file is empty", "Pass another file.")
        }
        return parsedLines
    }
}
