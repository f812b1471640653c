package import Grammar
package import Redaction
package import Values

/// A webhook event of any provider in the table.
package struct AnyProviderEvent: Sendable {
    package let content: any ProviderEvent

    package init(_ content: any ProviderEvent) { self.content = content }

    /// The key of the event in a delivery of a contract.
    package var key: String { type(of: content).key }

    package var typeName: String { content.typeName }
    package var users: [String] { content.users }
    package var time: Duration { content.time }
    package var summary: String { content.summary }
    package var products: [String] { content.products }
    package var isTransfer: Bool { content.isTransfer }

    package var hasPeriodEndingSoon: Bool { periodEvent?.hasPeriodEndingSoon ?? false }
    package var purchaseEnd: Duration? { periodEvent?.purchaseEnd }

    private var periodEvent: (any SubscriptionPeriodEvent)? {
        content as? any SubscriptionPeriodEvent
    }

    package func requiredFeatures(editedValues: [JSONPointer: JSONValue] = [:]) -> [Feature] {
        content.requiredFeatures(editedValues: editedValues)
    }

    package func redacted(by redaction: Redaction) -> AnyProviderEvent {
        AnyProviderEvent(content.redacted(by: redaction))
    }

    package func withUsualUserID() -> AnyProviderEvent {
        AnyProviderEvent(content.withUsualUserID())
    }

    package func body(in context: EventContext, name: String) -> JSONValue {
        content.body(in: context, name: name)
    }

    package func endingPeriod(at end: Duration) -> AnyProviderEvent {
        periodEvent.map { AnyProviderEvent($0.endingPeriod(at: end)) } ?? self
    }

    /// Returns the event with drawn values in place of those that the contract leaves open.
    package func drawing(_ values: DrawnValues) -> AnyProviderEvent {
        AnyProviderEvent(content.drawing(values))
    }

    /// Returns the products and stores that a run may draw for the events of one contract.
    ///
    /// There are none for events of several providers, which have no names in common.
    package static func openChoices(
        of events: [AnyProviderEvent],
        within limits: DrawLimits
    ) -> EventChoices {
        func choices<Event: ProviderEvent>(_: Event) -> EventChoices {
            let contents = events.compactMap { $0.content as? Event }
            return contents.count == events.count
                ? Event.openChoices(of: contents, within: limits) : EventChoices()
        }
        return events.first.map { choices($0.content) } ?? EventChoices()
    }

    package func fillingDates(from events: [AnyProviderEvent]) -> AnyProviderEvent {
        func filled<Event: SubscriptionPeriodEvent>(_ event: Event) -> AnyProviderEvent {
            AnyProviderEvent(event.fillingDates(from: events.compactMap { $0.content as? Event }))
        }
        return periodEvent.map { filled($0) } ?? self
    }
}

extension AnyProviderEvent: Hashable {
    package static func == (left: AnyProviderEvent, right: AnyProviderEvent) -> Bool {
        func isEqual<Event: ProviderEvent>(_ event: Event) -> Bool {
            right.content as? Event == event
        }
        return isEqual(left.content)
    }

    package func hash(into hasher: inout Hasher) { content.hash(into: &hasher) }
}

/// The key of an event in a saved run, which is not known in advance.
package struct EventCodingKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { nil }

    package init(_ text: String) { stringValue = text }
    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue _: Int) { nil }
}

extension AnyProviderEvent {
    /// Decodes the event of the provider whose events have this key in deliveries.
    package init(
        of key: String,
        from container: KeyedDecodingContainer<EventCodingKey>,
        at location: EventCodingKey
    ) throws {
        guard let notation = ProviderTable.all.eventNotation(key) else {
            throw DecodingError.dataCorruptedError(
                forKey: location,
                in: container,
                debugDescription: "no provider has events with the key '\(key)'"
            )
        }
        self = try notation.decode(container, location)
    }

    package func encode(
        to container: inout KeyedEncodingContainer<EventCodingKey>,
        at location: EventCodingKey
    ) throws {
        try container.encode(content, forKey: location)
    }
}

/// The notation of one provider's events in contracts and in saved runs.
package struct EventNotation: Sendable {
    /// The key of the event in a delivery.
    package let key: String
    /// The documentation of the key.
    package let doc: String
    /// The provider that sends the events.
    package let provider: Exchange.Party
    package let shape: Shape
    package let read: @Sendable (LocatedNode, inout NodeReader) -> AnyProviderEvent?
    /// Returns the event in the notation; nil for an event of another provider.
    package let write: @Sendable (AnyProviderEvent) -> YAMLNode?
    fileprivate let decode:
        @Sendable (KeyedDecodingContainer<EventCodingKey>, EventCodingKey) throws ->
            AnyProviderEvent

    init<Event: ProviderEvent>(_: Event.Type, of provider: Exchange.Party) {
        let grammar = Event.grammar
        key = Event.key
        doc = grammar.shape.doc
        self.provider = provider
        shape = grammar.flow.shape
        read = { node, reader in grammar.read(node, &reader).map { AnyProviderEvent($0) } }
        write = { ($0.content as? Event).map(grammar.flow.write) }
        decode = { AnyProviderEvent(try $0.decode(Event.self, forKey: $1)) }
    }
}
