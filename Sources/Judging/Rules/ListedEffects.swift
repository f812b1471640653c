package import Contracts
internal import Providers
package import Values

/// The messages in a response of an effect source.
package struct ListedEffects {
    private let source: Profile.EffectSource
    private let items: [JSONValue]
    /// The reason why the response shows no list of messages; nil if it shows one, which may be
    /// empty.
    package let unreadableReason: String?

    package init(_ outcome: Exchange.Outcome, of source: Profile.EffectSource) {
        var exchange = Exchange(
            from: .assay,
            to: .backend,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request("GET", "/")
        )
        exchange.outcome = outcome
        self.init(ObservedState(exchange), of: source)
    }

    package init(_ state: ObservedState, of source: Profile.EffectSource) {
        self.source = source
        switch state {
        case .missing: (items, unreadableReason) = ([], nil)
        case .unreadable(let reason): (items, unreadableReason) = ([], reason)
        case .document(let document):
            guard let list = document[source.listPointer]?.array else {
                let place = source.listPointer.tokens.isEmpty ? "" : " at \(source.listPointer)"
                (items, unreadableReason) = ([], "the response has no list\(place)")
                return
            }
            guard list.allSatisfy({ $0[source.keyPointer]?.isNull == false }) else {
                (items, unreadableReason) = ([], "a message has no key at \(source.keyPointer)")
                return
            }
            (items, unreadableReason) = (list, nil)
        }
    }

    /// Returns the messages as effects, whose kind is that of a push.
    package func effects(recipient: String) -> [Effect] {
        guard let kind = ProviderTable.all.kindOfPush else { return [] }
        return items.map { item in
            let content = JSONObject.present([
                ("title", source.titlePointer.map { item[$0] ?? .null }),
                ("text", source.textPointer.map { item[$0] ?? .null }),
            ])
            let key = item[source.keyPointer]
            return Effect(
                kind: kind,
                recipients: [recipient],
                content: .object(content),
                idempotencyKey: key?.string ?? key?.text
            )
        }
    }
}
