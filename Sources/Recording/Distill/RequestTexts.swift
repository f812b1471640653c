internal import Values

/// The content of a request: its times, and the values that an earlier response may have provided.
struct RequestTexts: Sendable {
    /// The times in the request body: numbers of milliseconds, and dates with a fraction of a
    /// second.
    ///
    /// Dates without a fraction are left out, because they may have been truncated.
    private(set) var requestTimes: [Instant] = []
    /// The times at which the event of a webhook request happened, according to its body.
    private(set) var eventTimes: [Instant] = []
    /// The strings and numbers in the target, the headers and the body that an earlier response may
    /// have provided.
    private(set) var values: [String] = []

    init(_ exchange: Exchange) {
        let request = exchange.request
        for part in request.target.targetParts { add(part) }
        for field in request.fields {
            for word in field.value.parts(between: " ") where !word.isEmpty { add(word) }
        }
        guard let body = request.bodyJSON else { return }
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
                requestTimes.append(date)
            }
        case .number(let number):
            if let instant = TemplateNamer.milliseconds(value) {
                requestTimes.append(instant)
            } else {
                add(number.description)
            }
        // These values contain no user ID and no time.
        case .null, .bool: break
        }
    }

    private mutating func add(_ text: String) {
        if TemplateNamer.isCapturable(text) { values.append(text) }
    }
}
