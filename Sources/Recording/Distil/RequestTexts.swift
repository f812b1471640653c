internal import Conformance

/// What a request says, read once: its times, and the values that an answer before it may have given.
struct RequestTexts {
    /// Numbers of milliseconds, and dates with a fraction: one without may have been cut.
    private(set) var moments: [Instant] = []
    /// When an event says that it came about.
    private(set) var eventTimes: [Instant] = []
    /// Every text and number of it, headers and target included.
    private(set) var values: [String] = []

    init(_ exchange: Exchange) {
        let request = exchange.request
        for part in request.target.split(whereSeparator: { "/?&=".contains($0) }) {
            values.append(String(part).percentDecoded)
        }
        for field in request.fields {
            for word in field.value.split(separator: " ") { values.append(String(word)) }
        }
        guard let body = try? JSONValue(parsing: request.body) else { return }
        collect(body)
        let event = body["event"] ?? body
        eventTimes = ["event_timestamp_ms", "purchased_at_ms", "event_created_at_ms"]
            .compactMap { event[$0].flatMap(TemplateNamer.milliseconds) }
    }

    private mutating func collect(_ value: JSONValue) {
        switch value {
        case .object(let object): for member in object.members { collect(member.value) }
        case .array(let elements): for element in elements { collect(element) }
        case .string(let text):
            values.append(text)
            if let date = TemplateNamer.date(text), date.milliseconds % 1000 != 0 {
                moments.append(date)
            }
        case .number(let number):
            values.append(number.description)
            if let moment = TemplateNamer.milliseconds(value) { moments.append(moment) }
        // Nobody and no time is named by these.
        case .null, .bool: break
        }
    }
}
