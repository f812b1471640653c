package import Providers
package import Values

/// One test case from a contract file (YAML): its initial steps, tested steps and expected outcome.
///
/// A contract file with the key `variants` yields several test cases.
package struct Contract: Hashable, Codable, Sendable {
    package enum Level: String, Hashable, Codable, Sendable, CaseIterable, Comparable {
        case must, should, may

        package static func < (left: Level, right: Level) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The path of the contract file below `contracts/`, without the extension `.yaml`.
    ///
    /// The ID of a deleted contract is never reused for another contract.
    package var id: String
    /// The chosen values of the contract file's `variants`, for example `copies:2`; empty for a
    /// file without variants.
    package var variant: String
    package var title: String
    /// The ID of the clause (requirement) that the contract tests, for example `S-03`; see the
    /// clause catalogue.
    package var clause: String
    package var level: Level
    /// The document that the tested clause comes from, for human readers.
    package var source: String
    /// The features that the contract file lists, because they do not follow from its steps and
    /// expectations.
    package var needs: [Feature]
    package var given: [Step]
    package var steps: [Step]
    package var expectation: Expectation
    /// The rule that expands the contract to many runs, such as every order of its events; nil for
    /// a contract that is one run.
    package var search: Search?
    /// The recorded session from which the contract was generated (distilled); nil for a
    /// hand-written contract.
    package var provenance: Provenance?
    /// The fixed values that the contract sets for `{{some.NAME}}` templates, by `NAME`.
    package var values: [String: JSONValue] = [:]
    /// The names of users and accounts that intentionally no step registers or creates; nil when
    /// there are none.
    ///
    /// The check for misspelled names accepts these names.
    package var unknownUsers: [String]?
    /// The values that the run draws for the parts that the contract leaves open; nil when it draws
    /// none.
    package var drawnValues: DrawnValues?
    package var location: SourceLocation
    package var sourceLocations = StepLocations()

    package init(
        id: String,
        variant: String,
        title: String,
        clause: String,
        level: Level,
        source: String,
        needs: [Feature],
        given: [Step],
        steps: [Step],
        expectation: Expectation,
        search: Search? = nil,
        location: SourceLocation
    ) {
        self.id = id
        self.variant = variant
        self.title = title
        self.clause = clause
        self.level = level
        self.source = source
        self.needs = needs
        self.given = given
        self.steps = steps
        self.expectation = expectation
        self.search = search
        self.location = location
    }

    /// The ID of this test case in reports, lists and the option `--only`: the contract's ID, and
    /// its variant if there is one.
    package var caseID: String { variant.isEmpty ? id : "\(id)/\(variant)" }

    /// All steps of `given` and `steps` that happen on a simulated phone, in order.
    package var phoneSteps: [PhoneStep] {
        (given + steps).compactMap { if case .phone(let step) = $0 { step } else { nil } }
    }

    /// The names of all users in the contract's steps and expectations, in order of appearance.
    package var users: [String] {
        var userNames: [String] = []
        func addUser(_ name: String) {
            if !userNames.contains(name) { userNames.append(name) }
        }
        for step in given + steps { for user in step.traits.users { addUser(user) } }
        for identity in expectation.app?.identities ?? [] {
            switch identity.expectedValue {
            case .user(let user), .notUser(let user): addUser(user)
            case .sameAsPhone, .differentFromPhone, .changed: break
            }
        }
        for user in expectation.deletedUserNames { addUser(user) }
        for state in expectation.states { for user in state.users { addUser(user) } }
        for effect in expectation.effects {
            if let user = effect.user { addUser(user) }
            if let user = effect.userWithOtherContent { addUser(user) }
            if let user = effect.userWithSameAddedCount { addUser(user) }
            if let user = effect.userWithHangingCall { addUser(user) }
        }
        for expected in expectation.calls { addUser(expected.user) }
        return userNames
    }
}
