internal import Providers
internal import Values

/// Saved runs contain the subject of a delivery under the key that the contract uses for it, with
/// its value under `_0`.
extension Delivery.Subject: Codable {
    private static let value = EventCodingKey("_0")

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: EventCodingKey.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: container.codingPath,
                    debugDescription: "a delivery has exactly one subject"
                )
            )
        }
        let values = try container.nestedContainer(keyedBy: EventCodingKey.self, forKey: key)
        switch key.stringValue {
        case "body": self = .body(try values.decode(JSONValue.self, forKey: Self.value))
        case "raw": self = .raw(try values.decode(Delivery.RawBody.self, forKey: Self.value))
        case "repeats": self = .repeats(try values.decode(String.self, forKey: Self.value))
        case "storeEvent": self = .storeEvent(try values.decode(String.self, forKey: Self.value))
        default:
            self = .event(
                try AnyProviderEvent(of: key.stringValue, from: values, at: Self.value)
            )
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: EventCodingKey.self)
        var values = container.nestedContainer(
            keyedBy: EventCodingKey.self,
            forKey: EventCodingKey(codingName)
        )
        switch self {
        case .event(let event): try event.encode(to: &values, at: Self.value)
        case .body(let body): try values.encode(body, forKey: Self.value)
        case .raw(let body): try values.encode(body, forKey: Self.value)
        case .repeats(let name): try values.encode(name, forKey: Self.value)
        case .storeEvent(let type): try values.encode(type, forKey: Self.value)
        }
    }

    private var codingName: String {
        switch self {
        case .event(let event): event.key
        case .body: "body"
        case .raw: "raw"
        case .repeats: "repeats"
        case .storeEvent: "storeEvent"
        }
    }
}

/// A raw body is saved as its text, or as the event whose body is cut off.
///
/// The key of the event is saved too, unless it is the key of the first sender's events.
extension Delivery.RawBody: Codable {
    private static let value = EventCodingKey("_0")
    private static let text = EventCodingKey("text")
    private static let truncated = EventCodingKey("truncated")
    private static let percent = EventCodingKey("percent")
    private static let event = EventCodingKey("event")

    private static var defaultEventKey: String {
        ProviderTable.all.eventNotations.first?.key ?? ""
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: EventCodingKey.self)
        if container.contains(Self.text) {
            let values = try container.nestedContainer(
                keyedBy: EventCodingKey.self,
                forKey: Self.text
            )
            self = .text(try values.decode(String.self, forKey: Self.value))
            return
        }
        let values = try container.nestedContainer(
            keyedBy: EventCodingKey.self,
            forKey: Self.truncated
        )
        let key = try values.decodeIfPresent(String.self, forKey: Self.event)
        self = .truncated(
            try AnyProviderEvent(of: key ?? Self.defaultEventKey, from: values, at: Self.value),
            percent: try values.decode(Int.self, forKey: Self.percent)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: EventCodingKey.self)
        switch self {
        case .text(let text):
            var values = container.nestedContainer(
                keyedBy: EventCodingKey.self,
                forKey: Self.text
            )
            try values.encode(text, forKey: Self.value)
        case .truncated(let event, let percent):
            var values = container.nestedContainer(
                keyedBy: EventCodingKey.self,
                forKey: Self.truncated
            )
            try event.encode(to: &values, at: Self.value)
            try values.encode(percent, forKey: Self.percent)
            if event.key != Self.defaultEventKey {
                try values.encode(event.key, forKey: Self.event)
            }
        }
    }
}
