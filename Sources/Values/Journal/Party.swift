extension Exchange {
    /// A participant of a run that sends or receives requests, such as the backend or a provider.
    ///
    /// The set of parties is open: each provider defines its own party in its folder.
    package struct Party: Hashable, Sendable, CustomStringConvertible {
        /// The name of the party in lower case, as flags, URLs and files spell it.
        package let name: String

        /// - Parameter name: A name of lowercase letters, digits and hyphens.
        package init(_ name: String) {
            self.name = name
        }

        /// Creates the party with a name from a file or a flag.
        ///
        /// The result is nil when no party can have the name. Whether a provider has the name is a
        /// question to the table of providers.
        package init?(named name: String) {
            guard (1...Self.nameLengthMax).contains(name.utf8.count),
                name.utf8.allSatisfy({ Self.nameCharacters.contains($0) })
            else { return nil }
            self.init(name)
        }

        private static let nameLengthMax = 40
        private static let nameCharacters = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)

        package var description: String { name }

        /// The backend under test.
        package static let backend = Party("backend")
        /// The app of the backend's users.
        package static let app = Party("app")
        /// Assay itself, which reads probes and performs user actions.
        package static let assay = Party("assay")

        /// The native side of the bridge between an app's page and the phone.
        package static let bridge = Party("despia")

        /// The parties that are not providers.
        package static let nonProviders = [backend, app, assay]
    }
}

/// Stores the party as its name.
extension Exchange.Party: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let party = Self(named: name) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "no party can have that name"
            )
        }
        self = party
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension Exchange.Party: CodingKeyRepresentable {
    private struct TextCodingKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The name of the party, which becomes the key when a dictionary keyed by party is encoded.
    package var codingKey: any CodingKey { TextCodingKey(stringValue: name) }

    package init?(codingKey: some CodingKey) { self.init(named: codingKey.stringValue) }
}
