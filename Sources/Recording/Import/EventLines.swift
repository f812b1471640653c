internal import Conformance
internal import Providers

/// Bodies of events, and lines of requests.
extension ImportReader {
    /// Events as services' dashboards, exports and pages show them: one, many in an array or below
    /// `events`, `items` or `data`, or one a line.
    mutating func events(_ bytes: [UInt8]) throws(RecordingError) {
        for (line, value) in try values(bytes) {
            let listed = ["events", "items", "data"].lazy.compactMap { value[$0]?.array }.first
            for event in listed ?? [value] { try add(event: event, line) }
        }
        guard !exchanges.isEmpty else {
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
        add(
            HTTPMessage.Request(
                words[0],
                words[1],
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: shown.body.bytes
            ),
            HTTPMessage.Response(200),
            at: shown.time
        )
    }

    /// One request a line.
    mutating func lines(_ bytes: [UInt8]) throws(RecordingError) {
        for (line, value) in try values(bytes) {
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
            add(
                HTTPMessage.Request(
                    method,
                    target,
                    fields: fields(value["headers"]),
                    body: body(value["body"])
                ),
                value["status"]?.int64.map {
                    HTTPMessage.Response(
                        Int(clamping: $0),
                        fields: fields(value["answer-headers"]),
                        body: body(value["answer"])
                    )
                },
                at: value["at"]?.string.flatMap { Instant(iso8601: $0) }
            )
        }
    }

    /// Every value of a file: one, an array's, or one a line.
    private func values(_ bytes: [UInt8]) throws(RecordingError) -> [(line: Int, JSONValue)] {
        if let whole = try? JSONValue(parsing: bytes, options: Importer.options) {
            return (whole.array ?? [whole]).map { (1, $0) }
        }
        var found: [(line: Int, JSONValue)] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.allSatisfy({ $0 == 32 || $0 == 13 || $0 == 9 }) { continue }
            found.append((number, try Importer.json(Array(line), line: number)))
        }
        guard !found.isEmpty else { throw fail(1, "the file is empty", "Name another file.") }
        return found
    }
}
