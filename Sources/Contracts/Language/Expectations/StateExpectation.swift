internal import Grammar
package import Values

/// The expected state of a user, as shown by the probes.
package struct StateExpectation: Hashable, Codable, Sendable {
    package struct Field: Hashable, Codable, Sendable {
        package var name: String
        package var value: JSONValue
        package var location: SourceLocation

        package init(name: String, value: JSONValue, location: SourceLocation) {
            self.name = name
            self.value = value
            self.location = location
        }
    }

    package var user: String
    package var fields: [Field]

    /// The names in `user`, which may be several: `ada|bob`.
    ///
    /// One of these users must satisfy the expectation.
    package var users: [String] { user.split(separator: "|").map(String.init) }

    package init(user: String, fields: [Field]) {
        self.user = user
        self.fields = fields
    }
}

extension StateExpectation {
    /// The names of the state fields that a contract can expect: `exists`, and every field that a
    /// profile may map.
    package static let fieldNames = ["exists"] + Profile.FieldReading.names

    static func doc(_ name: String) -> String {
        switch name {
        case "exists": "Whether the user exists."
        case "access": "Whether the user has access."
        case "product": "The product that grants access."
        case "expires": "The time at which access ends."
        case "billing-issue": "Whether the last payment failed."
        case "will-renew": "Whether the subscription renews after the current period."
        case "refunded": "Whether the purchase was refunded."
        case "pending-product": "The product of the next period."
        case "environment": "The store environment of the purchase, such as production or sandbox."
        case "anonymous": "Whether the user has no account."
        case "account": "The account that the user belongs to."
        default: "The value of `source` that the app sent when it registered the user."
        }
    }

    static let shape = ConstructShape(
        name: "state",
        owner: "a state",
        doc: "The state that the probes must show for a user, by the field names of the profile.",
        keys: fieldNames.map { KeyShape($0, .templated(.json, .contract(.state)), doc($0)) }
    )

    /// The syntax of the expected state fields of one user, in the order of the file.
    static let fields = Syntax<[StateExpectation.Field]>(
        .construct(shape),
        read: { node, reader in
            (reader.entries(node) ?? []).compactMap { entry in
                guard fieldNames.contains(entry.key) else {
                    reader.fail(
                        .unknownKey(entry.key, allowed: fieldNames),
                        at: entry.keyLocation
                    )
                    return nil
                }
                return StateExpectation.Field(
                    name: entry.key,
                    value: entry.value.json,
                    location: entry.value.location
                )
            }
        },
        write: { fields in .flow(fields.map { .init($0.name, .json($0.value)) }) }
    )
}

extension Field where Owner == Expectation {
    /// The field for the key `state`, the expected state fields by user.
    ///
    /// Under `ada|bob`, either user may satisfy the expectation.
    static var state: Field {
        let fields = StateExpectation.fields
        return Field(
            KeyShape(
                "state",
                .map(key: .nameAlternatives(.user), value: fields.shape, countRange: 0...100),
                "The state that the probes must show for a user. Under `ada|bob`, either user may "
                    + "satisfy the expectation."
            ),
            read: { node, expectation, reader in
                expectation.states = (reader.entries(node) ?? []).map { entry in
                    reader.names(entry, .user, .refers)
                    return StateExpectation(
                        user: entry.key,
                        fields: fields.read(entry.value, &reader) ?? []
                    )
                }
            },
            write: { expectation in
                expectation.states.isEmpty
                    ? nil
                    : .block(expectation.states.map { .init($0.user, fields.write($0.fields)) })
            }
        )
    }
}
