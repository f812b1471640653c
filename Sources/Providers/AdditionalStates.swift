internal import Redaction
internal import Values

/// A name for the state of a provider without a property in `Services`, for key paths.
package struct AdditionalState<Kind: Provider>: Hashable, Sendable {
    package init() {}
}

/// The states of the providers that have no property in `Services`.
///
/// The states of the providers that Assay imitates have properties there, because the fakes read
/// them many times in each call.
struct AdditionalStates: Hashable, Codable, Sendable {
    private var states: [Exchange.Party: any Provider] = [:]

    init() {}

    /// Creates the initial states; nil when each provider of the table has a property in
    /// `Services`.
    init?(_ table: ProviderTable, seed: UInt64, keys: [Exchange.Party: Secret]) {
        for provider in table.entries {
            states[provider.party] = provider.makeAdditionalState?(seed, keys[provider.party])
        }
        if states.isEmpty { return nil }
    }

    subscript<Kind: Provider>(_: Kind.Type) -> Kind? {
        get { states[Kind.party] as? Kind }
        set { states[Kind.party] = newValue }
    }

    static func == (left: AdditionalStates, right: AdditionalStates) -> Bool {
        func isEqual<Kind: Provider>(_ state: Kind) -> Bool {
            right.states[Kind.party] as? Kind == state
        }
        return left.states.count == right.states.count
            && left.states.values.allSatisfy { isEqual($0) }
    }

    func hash(into hasher: inout Hasher) {
        for state in states.sorted(by: { $0.key.name < $1.key.name }).map(\.value) {
            state.hash(into: &hasher)
        }
    }

    /// Decodes the states of the providers in the table of the current task.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: EventCodingKey.self)
        for key in container.allKeys {
            guard let provider = ProviderTable.all.named(key.stringValue) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key,
                    in: container,
                    debugDescription: "there is no provider '\(key.stringValue)'"
                )
            }
            states[provider.party] = try provider.decodeAdditionalState(
                container.superDecoder(forKey: key)
            )
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: EventCodingKey.self)
        for (party, state) in states {
            try container.encode(state, forKey: EventCodingKey(party.name))
        }
    }
}
