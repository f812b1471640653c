/// What is given, what is sent and what must follow: one variant of one contract file.
package struct Contract: Hashable, Codable, Sendable {
    package enum Level: String, Hashable, Codable, Sendable, CaseIterable, Comparable {
        case must, should, may

        package static func < (left: Level, right: Level) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The path below `contracts/` without its ending; never reused.
    package var id: String
    /// The values along the axes, `copies:2`; empty for a contract without axes.
    package var variant: String
    package var title: String
    /// The rule it proves, as the clause catalogue names it: `S-03`.
    package var clause: String
    package var level: Level
    /// Where the rule comes from, for people.
    package var source: String
    package var needs: [Feature]
    package var given: [Step]
    package var steps: [Step]
    package var expectation: Expectation
    /// The contract stands for many runs.
    package var search: Search?
    /// The recording that it was distilled from; nil for a contract that a person wrote.
    package var provenance: Provenance?
    /// What `{{some.NAME}}` stands for, where the contract says so.
    package var values: [String: JSONValue] = [:]
    /// Users and accounts that nothing introduces, and that are meant; nil where there are none.
    package var strangers: [String]?
    package var location: SourceLocation
    package var places = StepPlaces()

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

    /// How reports, lists and `--only` name this variant.
    package var caseID: String { variant.isEmpty ? id : "\(id)/\(variant)" }

    /// What it says it needs, and what its expectations cannot do without.
    package var allNeeds: [Feature] {
        let fields = expectation.states.flatMap(\.fields).map(\.name)
        var all = needs
        for step in given + steps {
            // A scenario of an app alone asks nothing of a backend.
            if case .phone = step, isDeviceScenario { continue }
            all += step.traits.needs
        }
        // Whoever reconciles reads customers, whatever it does with events.
        if needs.contains(.reconcile) { all.removeAll { $0 == .subscriberReads } }
        if fields.contains("exists") || !expectation.forgotten.isEmpty { all.append(.users) }
        let comparesState =
            expectation.relation != nil && !expectation.compared.contains(.effects)
        if comparesState || fields.contains(where: { $0 != "exists" }) { all.append(.subscription) }
        return all
    }

    /// What happens on phones, in order.
    package var phoneSteps: [PhoneStep] {
        (given + steps).compactMap { if case .phone(let step) = $0 { step } else { nil } }
    }

    /// Every user that the contract names, in order of appearance.
    package var users: [String] {
        var names: [String] = []
        func add(_ name: String) {
            if !names.contains(name) { names.append(name) }
        }
        for step in given + steps { for user in step.traits.users { add(user) } }
        for identity in expectation.app?.identities ?? [] {
            switch identity.wanted {
            case .user(let user), .notUser(let user): add(user)
            case .sameAs, .otherThan, .changed: break
            }
        }
        for user in expectation.forgotten { add(user) }
        for state in expectation.states { for user in state.users { add(user) } }
        for effect in expectation.effects {
            if let user = effect.user { add(user) }
            if let user = effect.unlike { add(user) }
            if let user = effect.addedLike { add(user) }
        }
        for expected in expectation.calls { add(expected.user) }
        return names
    }
}
