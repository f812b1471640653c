internal import Grammar
package import Values

/// The expected user ID in the response to a call, at the location that the profile defines.
package struct CallExpectation: Hashable, Codable, Sendable {
    package var call: String
    /// The name of the user whose ID the response must contain.
    package var user: String
    package var location: SourceLocation

    package init(call: String, user: String, location: SourceLocation) {
        self.call = call
        self.user = user
        self.location = location
    }
}

extension Field where Owner == Expectation {
    /// The field for the key `ids`: for each call, the user whose ID the response must contain.
    static var idsInResponses: Field {
        Field(
            KeyShape(
                "ids",
                .map(
                    key: .name(.call, .refers),
                    value: .name(.user, .refers),
                    countRange: 1...100
                ),
                "For each call, the user whose ID the response must contain. The profile defines "
                    + "the location of the ID."
            ),
            read: { node, expectation, reader in
                let knownCallNames = reader.names.introducedNames(.call)
                for entry in reader.entries(node) ?? [] {
                    guard knownCallNames.contains(entry.key) else {
                        reader.fail(
                            .unknownKey(entry.key, allowed: knownCallNames),
                            at: entry.keyLocation
                        )
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

    static var callsWithSameResponse: Field {
        .list(
            "alike",
            \.callsWithSameResponse,
            Call.knownCallName,
            countMin: 2,
            "Calls whose responses must be indistinguishable from each other."
        )
    }
}
