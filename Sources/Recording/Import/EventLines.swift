internal import Conformance
internal import Providers

/// Bodies of events, and lines of requests.
extension ImportReader {
    /// Events as services' dashboards, exports and pages show them: one, many in an array or below
    /// `events`, `items` or `data`, or one a line.
    mutating func events(_ bytes: [UInt8]) throws(RecordingError) {
        var count = 0
        for (line, value) in try values(bytes) {
            guard case .success(let value) = value else {
                entry(count) { _ throws(RecordingError) in _ = try value.get() }
                count += 1
                continue
            }
            let listed = ["events", "items", "data"].lazy.compactMap { value[$0]?.array }.first
            for event in listed ?? [value] {
                entry(count) { reader throws(RecordingError) in
                    try reader.add(event: event, line)
                }
                count += 1
            }
        }
        guard count > 0 else {
            throw fail(1, "there is no event in it", "Name another file.")
        }
    }

    private mutating func add(event: JSONValue, _ line: Int) throws(RecordingError) {
        let senders = Services.providers.filter { $0.webhookEndpoint != nil }
        guard
            let (sender, shown) = senders.lazy.compactMap({ sender in
                sender.event(event).map { (sender, $0) }
            }).first
        else {
            let names = senders.map(\.title).joined(separator: " or ")
            throw fail(
                line,
                "this is no event of \(names): it has no type or no id",
                "Take the whole body that was sent."
            )
        }
        guard let hook = context.webhooks[sender.party] else {
            throw fail(
                line,
                "nobody says where the events of \(sender.title) go",
                "Name '\(sender.webhookEndpoint ?? "")' under 'endpoints' in assay.yaml."
            )
        }
        let words = hook.split(separator: " ").map(String.init)
        // What a backend has to answer is fixed by the sender.
        try add(
            HTTPMessage.Request(
                words[0],
                words[1],
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: shown.body.bytes
            ),
            RecordedResponse(.ok),
            at: shown.time,
            line: line
        )
    }

    /// One request a line.
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
            throw fail(
                line,
                "the line has no method or no url",
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
        if let written = value["status"], !written.isNull {
            response = RecordedResponse(
                try status(written, "'status'", line: line),
                fields: fields(value["answer-headers"]),
                body: body(value["answer"])
            )
        }
        var moment: Instant?
        if let written = value["at"], !written.isNull {
            guard let instant = written.string.flatMap({ Instant(iso8601: $0) }) else {
                throw fail(
                    line,
                    "'at' is \(written.text.prefix(40)), not a date and a time",
                    "Write it as 2026-11-21T10:00:00Z."
                )
            }
            moment = instant
        }
        try add(
            HTTPMessage.Request(
                method,
                target,
                fields: fields(value["headers"]),
                body: body(value["body"])
            ),
            response,
            at: moment,
            line: line
        )
    }

    /// Every value of a file: one, an array's, or one a line; a line that is not JSON is its error.
    private func values(
        _ bytes: [UInt8]
    ) throws(RecordingError) -> [(line: Int, Result<JSONValue, RecordingError>)] {
        // A file of several lines is no value as a whole.
        if let whole = try? JSONValue(parsing: bytes, options: Importer.options) {
            return (whole.array ?? [whole]).map { (1, .success($0)) }
        }
        var found: [(line: Int, Result<JSONValue, RecordingError>)] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.allSatisfy({ $0 == 32 || $0 == 13 || $0 == 9 }) { continue }
            do throws(RecordingError) {
                found.append((number, .success(try Importer.json(Array(line), line: number))))
            } catch {
                found.append((number, .failure(error)))
            }
        }
        guard !found.isEmpty else { throw fail(1, "the file is empty", "Name another file.") }
        return found
    }
}
