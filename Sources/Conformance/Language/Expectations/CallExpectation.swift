/// The id in the answer to a call of the backend's own, where the profile says it stands.
package struct CallExpectation: Hashable, Codable, Sendable {
    package var call: String
    /// Whose id the answer names.
    package var user: String
    package var location: SourceLocation

    package init(call: String, user: String, location: SourceLocation) {
        self.call = call
        self.user = user
        self.location = location
    }
}

extension Field where Owner == Expectation {
    /// Whose id each call answers.
    static var ids: Field {
        Field(
            KeyShape(
                "ids",
                .map(
                    key: .name(.call, .refers),
                    value: .name(.user, .refers),
                    countRange: 1...100
                ),
                "Whose id the answer to a call names, where the profile says it stands."
            ),
            read: { node, expectation, reader in
                let known = reader.names.introduced(.call)
                for entry in reader.entries(node) ?? [] {
                    guard known.contains(entry.key) else {
                        reader.fail(.unknownKey(entry.key, allowed: known), at: entry.keyLocation)
                        continue
                    }
                    guard let user = reader.name(entry.value, .user, .refers) else { continue }
                    expectation.calls.append(
                        CallExpectation(
                            call: entry.key,
                            user: user,
                            location: entry.value.location
                        )
                    )
                }
            },
            write: { expectation in
                expectation.calls.isEmpty
                    ? nil
                    : .flow(expectation.calls.map { .init($0.call, .plain($0.user)) })
            }
        )
    }

    static var alike: Field {
        .list(
            "alike",
            \.alike,
            Call.knownName,
            countMin: 2,
            "Calls whose answers must not be told apart."
        )
    }
}
