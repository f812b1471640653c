internal import Conformance

/// What a request says, read once: its times, and the values that an answer before it may have given.
struct RequestTexts: Sendable {
    /// Numbers of milliseconds, and dates with a fraction: one without may have been cut.
    private(set) var moments: [Instant] = []
    /// When an event says that it came about.
    private(set) var eventTimes: [Instant] = []
    /// Those of its texts and numbers that an answer may have given before, of headers and target too.
    private(set) var values: [String] = []

    init(_ exchange: Exchange) {
        let request = exchange.request
        for part in request.target.targetParts { add(part) }
        for field in request.fields {
            for word in field.value.parts(between: " ") where !word.isEmpty { add(word) }
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
            add(text)
            if let date = TemplateNamer.date(text), date.milliseconds % 1000 != 0 {
                moments.append(date)
            }
        case .number(let number):
            if let moment = TemplateNamer.milliseconds(value) {
                moments.append(moment)
            } else {
                add(number.description)
            }
        // Nobody and no time is named by these.
        case .null, .bool: break
        }
    }

    private mutating func add(_ text: String) {
        if TemplateNamer.isNamed(text) { values.append(text) }
    }
}
