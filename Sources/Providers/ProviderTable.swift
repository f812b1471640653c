package import Conformance

/// All providers of a program: a value, so that a test can add one that there is not.
package struct ProviderTable: Sendable {
    /// In the order in which they settle.
    package let entries: [ProviderEntry]
    private let byParty: [Exchange.Party: ProviderEntry]

    /// - Parameter entries: At most one for a party.
    package init(_ entries: [ProviderEntry]) {
        self.entries = entries
        byParty = Dictionary(entries.map { ($0.party, $0) }) { first, _ in first }
    }

    /// Every provider that there is: who adds one adds a line here.
    package static let all = ProviderTable([
        ProviderEntry(\.despia), ProviderEntry(\.revenueCat), ProviderEntry(\.purchasely),
        ProviderEntry(\.oneSignal), ProviderEntry(\.firebase),
    ])

    /// In the order in which people are told of them.
    package var listed: [ProviderEntry] {
        entries.sorted { $0.party.rawValue < $1.party.rawValue }
    }

    /// The provider that is that party; nil for parties that are none.
    package subscript(party: Exchange.Party) -> ProviderEntry? { byParty[party] }

    /// The provider of that name, as flags and the control API write it; nil when there is none.
    package func named(_ name: String) -> ProviderEntry? {
        Exchange.Party(named: name).flatMap { byParty[$0] }
    }

    /// What they are called in prose.
    package var titles: String { listed.map(\.title).joined(separator: ", ") }

    /// What they are called in flags and addresses.
    package var names: [String] { listed.map(\.party.description) }

    /// The exchange with what the provider that it went to was asked for.
    package func understood(_ exchange: Exchange) -> Exchange {
        var exchange = exchange
        exchange.call = byParty[exchange.to]?.call(exchange)
        return exchange
    }

    package var switches: [SwitchGroup] { listed.flatMap(\.switches) + [Self.pages] }

    /// The switches about web pages, which are the same for all fakes.
    private static let pages = SwitchGroup("pages") {
        $0.pages ?? PageSettings()
    } write: {
        $0.pages = $1
    }
}

/// A table is no state: it says how states are asked, and is not saved with them.
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

    package static func understood(_ exchange: Exchange) -> Exchange {
        ProviderTable.all.understood(exchange)
    }
}
