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

    /// `ada|bob` is satisfied by either of them.
    package var users: [String] { user.split(separator: "|").map(String.init) }

    package init(user: String, fields: [Field]) {
        self.user = user
        self.fields = fields
    }
}

extension StateExpectation {
    /// What a probe can be asked for: whether the user exists, and every field that a profile maps.
    package static let fieldNames = ["exists"] + Profile.Reading.names

    static func doc(_ name: String) -> String {
        switch name {
        case "exists": "Whether the probe of users knows the user."
        case "access": "Whether the user has access."
        case "product": "Which product the access comes from."
        case "expires": "When the access ends."
        case "billing-issue": "Whether the last payment failed."
        case "will-renew": "Whether the subscription goes on after this period."
        case "refunded": "Whether the money was given back."
        case "pending-product": "Which product comes with the next period."
        case "environment": "Whether it was bought for money."
        case "anonymous": "Whether the user has no account."
        case "account": "Which account the user belongs to."
        default: "Where the user comes from."
        }
    }

    static let shape = ConstructShape(
        name: "state",
        owner: "a state",
        doc: "What the probes must show of a user, by the names that the profile maps.",
        keys: fieldNames.map { KeyShape($0, .templated(.json, .contract(.state)), doc($0)) }
    )

    /// Of one user, in the order of the file.
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
    /// By user; `ada|bob` is satisfied by either.
    static var state: Field {
        let fields = StateExpectation.fields
        return Field(
            KeyShape(
                "state",
                .map(key: .anyOf(.user), value: fields.shape, countRange: 0...100),
                "What the probes must show of a user; `ada|bob` is satisfied by either of them."
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
