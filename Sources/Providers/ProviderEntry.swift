package import Conformance

/// A provider's line in the table of all: the same questions for every one of them, without its
/// type.
package struct ProviderEntry: Sendable {
    package let party: Exchange.Party
    package let title: String
    package let defaultPort: Int
    package let secrets: ProviderSecrets
    package let setsOffOthers: Bool

    /// Answers one request.
    let respond:
        @Sendable (inout Services, HTTPMessage.Request, Instant, ProviderPlan.Answer) -> Reply
    let failure: @Sendable (Services, Int, HTTPMessage.Request) -> HTTPMessage.Response
    let refusal: @Sendable (Services, String) -> HTTPMessage.Response?
    let prepare: @Sendable (inout Services, Instant) -> Void
    let settle: @Sendable (inout Services, Instant) -> [Services.InternalCall]
    let nextMoment: @Sendable (Services) -> Instant?
    let attempt: @Sendable (Services, WebhookDelivery, Instant) -> WebhookAttempt?
    let schedule: @Sendable (Services, WebhookDelivery) -> RetrySchedule
    let call: @Sendable (Exchange) -> ProviderCall?
    let keep: @Sendable (inout Services, Services) -> Void
    let take: @Sendable (inout Services, Secret?) -> Void
    /// The switches as JSON, those without a value included.
    package let settings: @Sendable (Services) throws -> JSONValue
    /// Takes all switches from JSON.
    package let change: @Sendable (inout Services, JSONValue) throws -> Void

    init<Kind: Provider>(_ place: any WritableKeyPath<Services, Kind> & Sendable) {
        party = Kind.party
        title = Kind.title
        defaultPort = Kind.defaultPort
        secrets = Kind.secrets
        setsOffOthers = Kind.setsOffOthers
        respond = { $0[keyPath: place].respond(to: $1, at: $2, planned: $3) }
        failure = { $0[keyPath: place].failure($1, of: $2) }
        refusal = { $0[keyPath: place].failure(code: $1) }
        prepare = { Kind.prepare(&$0, at: $1) }
        settle = { Kind.settle(&$0, at: $1) }
        nextMoment = { $0[keyPath: place].nextMoment }
        attempt = { $0[keyPath: place].attempt(at: $1, now: $2) }
        schedule = { $0[keyPath: place].schedule(of: $1) }
        call = { Kind.call(in: $0) }
        keep = { $0[keyPath: place].keep(from: $1[keyPath: place]) }
        take = { $0[keyPath: place].take(key: $1) }
        settings = { services in
            let settings = services[keyPath: place].settings
            var object = try JSONValue(encoding: settings).object ?? JSONObject()
            for name in Mirror(reflecting: settings).children.compactMap(\.label)
            where object[name] == nil {
                object[name] = .null
            }
            return .object(object)
        }
        change = { $0[keyPath: place].settings = try $1.decoded(as: Kind.Settings.self) }
    }
}

extension Services {
    /// Every provider, in the order in which they settle.
    package static let providers: [ProviderEntry] = [
        ProviderEntry(\.despia), ProviderEntry(\.revenueCat), ProviderEntry(\.purchasely),
        ProviderEntry(\.oneSignal), ProviderEntry(\.firebase),
    ]

    /// The provider that is that party; nil for parties that are none.
    package static func provider(_ party: Exchange.Party) -> ProviderEntry? {
        byParty[party]
    }

    /// The provider of that name, as flags and the control API write it; nil when there is none.
    package static func provider(named name: String) -> ProviderEntry? {
        Exchange.Party(named: name).flatMap { byParty[$0] }
    }

    private static let byParty = Dictionary(
        uniqueKeysWithValues: providers.map { ($0.party, $0) }
    )

    /// The exchange with what the provider that it went to was asked for.
    package static func understood(_ exchange: Exchange) -> Exchange {
        var exchange = exchange
        exchange.call = byParty[exchange.to]?.call(exchange)
        return exchange
    }
}
