package import Values

/// The table of all providers that a program knows.
///
/// The table is a value, so that a test can add a provider that exists only in the test.
package struct ProviderTable: Sendable {
    /// The entries of the table.
    ///
    /// The order of the entries is the order in which their fakes pass on pending events.
    package let entries: [ProviderEntry]
    private let entriesByParty: [Exchange.Party: ProviderEntry]

    /// - Parameter entries: The entries of the table, with at most one entry for each party.
    package init(_ entries: [ProviderEntry]) {
        self.entries = entries
        entriesByParty = Dictionary(entries.map { ($0.party, $0) }) { first, _ in first }
    }

    /// The table of all providers that Assay imitates.
    ///
    /// A new provider needs a line here. All grammars and formats that depend on the providers use
    /// this table. A test replaces it for a task and its child tasks.
    @TaskLocal package static var all = ProviderTable([
        ProviderEntry(\.despia), ProviderEntry(\.revenueCat), ProviderEntry(\.purchasely),
        ProviderEntry(\.oneSignal), ProviderEntry(\.firebase),
    ])

    /// The providers at the top of lists for users; the other providers follow by name.
    private static let firstInLists: [Exchange.Party] = [
        .revenueCat, .oneSignal, .firebase, .purchasely, .despia,
    ]

    /// The entries of the table in the order in which users see the providers.
    package var sortedEntries: [ProviderEntry] {
        func position(_ entry: ProviderEntry) -> (Int, String) {
            let index = Self.firstInLists.firstIndex(of: entry.party)
            return (index ?? Self.firstInLists.count, entry.party.name)
        }
        return entries.sorted { position($0) < position($1) }
    }

    /// All parties of a run: the parties that are not providers, and the table's providers.
    package var parties: [Exchange.Party] {
        Exchange.Party.nonProviders + sortedEntries.map(\.party)
    }

    /// Returns the party with this name in the spelling of recordings and of the control API; nil
    /// when no party of a run has this name.
    package func party(named name: String) -> Exchange.Party? {
        Exchange.Party(named: name).flatMap { party in
            Exchange.Party.nonProviders.contains(party) || entriesByParty[party] != nil
                ? party : nil
        }
    }

    /// Returns the table's entry for a party; nil when the party is not a provider.
    package subscript(party: Exchange.Party) -> ProviderEntry? { entriesByParty[party] }

    /// Returns the provider with this name in the spelling of flags and of the control API; nil
    /// when no provider has this name.
    package func named(_ name: String) -> ProviderEntry? {
        Exchange.Party(named: name).flatMap { entriesByParty[$0] }
    }

    /// The issuer of the ID tokens with which users authenticate to the backend; nil without one.
    package var tokenIssuer: (any TokenIssuer.Type)? {
        sortedEntries.lazy.compactMap(\.tokenIssuer).first
    }

    /// The services through which a backend may send messages.
    package var pushServices: [any PushService.Type] { sortedEntries.compactMap(\.pushService) }

    /// Returns the provider with whose events Assay checks a backend; nil when no provider is
    /// suited.
    ///
    /// It is the first suited provider with an endpoint in the backend's profile, or the first
    /// suited provider when the profile has no endpoint for any of them.
    package func purchaseSender(
        hasEndpoint: (_ name: String) -> Bool
    ) -> (any PurchaseSender.Type)? {
        let senders = sortedEntries.compactMap(\.purchaseSender)
        return senders.first { hasEndpoint($0.webhookEndpoint) } ?? senders.first
    }

    /// The names of all providers as prose writes them, separated by commas.
    package var titles: String { sortedEntries.map(\.title).joined(separator: ", ") }

    /// The names of all providers as flags and URLs spell them.
    package var names: [String] { sortedEntries.map(\.party.description) }

    /// Returns the exchange (request and response) with its member `call` set.
    ///
    /// This member describes the request as a call to the provider that received it.
    package func recognizingCall(_ exchange: Exchange) -> Exchange {
        var exchange = exchange
        exchange.call = entriesByParty[exchange.to]?.call(exchange)
        return exchange
    }

    /// The entries of the providers that send events, in the order of the table.
    package var senders: [(party: Exchange.Party, sender: WebhookSenderEntry)] {
        entries.compactMap { entry in entry.sender.map { (entry.party, $0) } }
    }

    /// The provider whose event a delivery sends when the contract names no provider: the first
    /// sender of the table.
    package var defaultSender: Exchange.Party { senders.first?.party ?? .assay }

    /// The notations of all senders' events.
    package var eventNotations: [EventNotation] { senders.map(\.sender.notation) }

    /// Returns the notation of the events with this key in deliveries; nil when no sender has such
    /// events.
    package func eventNotation(_ key: String) -> EventNotation? {
        eventNotations.first { $0.key == key }
    }

    /// The types of the events that the fake store reports.
    ///
    /// The fake store is that of the first sender.
    package var storeEventTypes: [String] { senders.first?.sender.format.eventTypes ?? [] }

    /// The entries of the providers that a backend uses: all that send events or that have a plan
    /// of responses.
    package var backendProviders: [ProviderEntry] {
        sortedEntries.filter { $0.plannedCalls != nil || $0.sender != nil }
    }

    /// The entries of the providers at which a backend can cause effects.
    package var providersWithEffects: [ProviderEntry] {
        sortedEntries.filter { !$0.effects.isEmpty }
    }

    /// The name of a push in the journal; nil when no provider sends pushes.
    package var kindOfPush: String? {
        for provider in providersWithEffects {
            guard let push = provider.effects.first(where: { $0.feature == .push }) else {
                continue
            }
            return "\(provider.party).\(push.name)"
        }
        return nil
    }

    /// Returns all IDs under which the services name a product of an event, including the ID in the
    /// event.
    package func productIDs(idInEvent: String) -> Set<String> {
        sortedEntries.compactMap(\.productNaming).reduce(into: [idInEvent]) {
            $0.formUnion($1.productIDs(idInEvent: idInEvent))
        }
    }

    /// Returns the kind of effect with this name in the journal, such as `onesignal.tags`; nil when
    /// no provider has such a kind.
    package func effect(_ kind: String) -> EffectKind? {
        for provider in providersWithEffects {
            let prefix = "\(provider.party)."
            guard kind.hasPrefix(prefix) else { continue }
            return provider.effects.first { $0.name == kind.dropFirst(prefix.count) }
        }
        return nil
    }

    /// The secrets of all providers that a profile may define, in the order in which users see
    /// them.
    package var profileSecrets: [ProfileSecret] { sortedEntries.flatMap(\.profileSecrets) }

    package var switches: [SwitchGroup] { sortedEntries.flatMap(\.switches) + [Self.pages] }

    /// The group of switches for web pages, which apply to all fakes.
    private static let pages = SwitchGroup("pages") {
        $0.pages ?? PageSettings()
    } write: {
        $0.pages = $1
    }
}

/// Compares two tables by the parties of their providers.
///
/// A table is not part of the fakes' state: it defines access to that state, and is not saved with
/// it.
extension ProviderTable: Hashable {
    package static func == (left: ProviderTable, right: ProviderTable) -> Bool {
        left.entries.map(\.party) == right.entries.map(\.party)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(entries.map(\.party)) }
}

extension Services {
    package static var providers: [ProviderEntry] { ProviderTable.all.entries }

    package static func provider(_ party: Exchange.Party) -> ProviderEntry? {
        ProviderTable.all[party]
    }

    package static func provider(named name: String) -> ProviderEntry? {
        ProviderTable.all.named(name)
    }

    package static func recognizingCall(_ exchange: Exchange) -> Exchange {
        ProviderTable.all.recognizingCall(exchange)
    }
}
