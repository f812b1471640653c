/// An optional capability of a backend.
///
/// A profile lists the features that its backend lacks under `features`. A contract lists the
/// features that it requires under `needs`.
package struct Feature: Sendable {
    /// A part of a profile without which a feature cannot be tested.
    package enum Requirement: Sendable {
        case endpoint(String)
        case secret(SecretName)
        /// Another feature, by its name, that the profile must not declare unsupported.
        case feature(String)
    }

    /// The meaning of a feature for whole groups of contracts.
    package struct Role: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Only a backend that uses a certain service can have the feature.
        package static let optionalService = Role(rawValue: 1)
        /// A test of the feature signs users in with ID tokens.
        package static let idTokens = Role(rawValue: 2)
        /// Without the feature, a whole group of contracts cannot run.
        package static let contractGroup = Role(rawValue: 4)
    }

    /// The name of the feature in profiles and contracts.
    package let rawValue: String
    /// A one-sentence description of a backend that has the feature, whose subject is the backend.
    package let meaning: String
    /// The clauses of the catalogue that ask for the feature, although a backend may lack it by
    /// design; empty if a backend may not.
    ///
    /// A failure of another clause does not show that the feature is missing, also in a case
    /// that needs the feature.
    package let optionalClauses: Set<String>
    package let roles: Role
    /// The parts of a profile without which the feature cannot be tested, in the order in which
    /// missing ones are reported.
    package let requirements: [Requirement]

    package init(
        _ name: String,
        _ meaning: String,
        optionalFor optionalClauses: Set<String> = [],
        roles: Role = [],
        requirements: [Requirement] = []
    ) {
        rawValue = name
        self.meaning = meaning
        self.optionalClauses = optionalClauses
        self.roles = roles
        self.requirements = requirements
    }

    /// Whether a backend may lack the feature by design.
    package var isOptionalByDesign: Bool { !optionalClauses.isEmpty }
}

/// The features that concern no single provider.
extension Feature {
    package static let restart = Feature(
        "restart",
        "Is started by Assay, which can also stop and restart it.",
        roles: .contractGroup
    )
    package static let fault = Feature(
        "fault",
        "Has a database that Assay can make fail and repair (profile key 'fault')."
    )
    package static let clock = Feature(
        "clock",
        "Has a clock that Assay can set (profile key 'clock')."
    )
    package static let users = Feature("users", "Has a probe that shows whether a user exists.")
    package static let subscription = Feature(
        "subscription",
        "Has a probe that shows the state of a subscription."
    )
    package static let accountApp = Feature(
        "account-app",
        "Registers users like the app of the identity guide, with IDs of any form, so that an app "
            + "with accounts can be tested against it.",
        roles: [.optionalService, .idTokens]
    )
    package static let deletion = Feature(
        "deletion",
        "Has a route that deletes an account.",
        requirements: [.endpoint("delete-account")]
    )
    package static let accessRoute = Feature(
        "access-route",
        "Has a route by which an app asks whether its user has access."
    )
    package static let stringIDs = Feature(
        "string-ids",
        "Accepts any string as a user ID.",
        optionalFor: ["S-21", "S-23", "P-06", "O-01"]
    )
    package static let register = Feature(
        "register",
        "Has a route by which an app registers its user.",
        roles: .contractGroup,
        requirements: [.endpoint("register")]
    )
    package static let login = Feature(
        "login",
        "Has accounts with which users claim and recover their user IDs.",
        roles: .contractGroup,
        requirements: [.endpoint("login")]
    )

    package static let passwords = Feature(
        "passwords",
        "Has logins with a password.",
        requirements: [.endpoint("login"), .feature("login")]
    )
    package static let tokenLogins = Feature(
        "token-logins",
        "Has logins with the ID token of the account.",
        roles: [.optionalService, .idTokens],
        requirements: [.endpoint("login"), .feature("login")]
    )
    package static let purchasesFollowLogins = Feature(
        "purchases-follow-logins",
        "Gives the purchases of the device's user to the account when a login recovers the account.",
        optionalFor: ["S-28"],
        requirements: [.endpoint("login"), .feature("login")]
    )

    /// The features without which whole groups of contracts cannot run.
    package static var ofContractGroups: [Feature] {
        allCases.filter { $0.roles.contains(.contractGroup) }
    }

    private static let common = [
        restart, fault, clock, users, subscription, accountApp, deletion, accessRoute, stringIDs,
        register, login, passwords, tokenLogins,
        purchasesFollowLogins,
    ]
}

extension Feature: CaseIterable, RawRepresentable {
    /// The features that concern no single provider, followed by those of the current table's
    /// providers.
    package static var allCases: [Feature] {
        common + ProviderTable.all.sortedEntries.flatMap(\.features)
    }

    /// Finds the feature of that name; nil when neither Assay nor a provider has such a feature.
    package init?(rawValue: String) {
        guard let feature = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
            return nil
        }
        self = feature
    }
}

/// Compares two features by their names.
extension Feature: Hashable, Codable {
    package static func == (left: Feature, right: Feature) -> Bool {
        left.rawValue == right.rawValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
