/// What is given, what is sent and what must follow: one variant of one contract file.
package struct Contract: Hashable, Sendable {
    package enum Level: String, Hashable, Sendable, CaseIterable, Comparable {
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
    package var location: SourceLocation

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
        self.location = location
    }

    /// How reports, lists and `--only` name this variant.
    package var caseID: String { variant.isEmpty ? id : "\(id)/\(variant)" }

    /// What it says it needs, and what its expectations cannot do without.
    package var allNeeds: [Feature] {
        let fields = expectation.states.flatMap(\.fields).map(\.name)
        var all = needs
        if fields.contains("exists") { all.append(.users) }
        let comparesState =
            expectation.relation != nil && !expectation.compared.contains(.effects)
        if comparesState || fields.contains(where: { $0 != "exists" }) { all.append(.subscription) }
        return all
    }

    /// Every user that the contract names, in order of appearance.
    package var users: [String] {
        var names: [String] = []
        func add(_ name: String) {
            if !names.contains(name) { names.append(name) }
        }
        for step in given + steps {
            switch step {
            case .register(let user): add(user)
            case .deliver(let delivery):
                if case .event(let spec) = delivery.subject {
                    for user in spec.users { add(user) }
                }
            case .provider, .restart: break
            }
        }
        for state in expectation.states { add(state.user) }
        for effect in expectation.effects {
            if let user = effect.user { add(user) }
        }
        return names
    }
}

/// What a backend may or may not have; a profile says so under `features`.
package enum Feature: String, Hashable, Sendable, CaseIterable {
    /// It sends pushes through OneSignal.
    case push
    /// It demands RevenueCat's Authorization value.
    case authorization
    /// It demands RevenueCat's HMAC signature.
    case signature
    /// Assay started it and can stop it and start it again.
    case restart
    /// A probe tells whether a user exists.
    case users
    /// A probe tells the state of a subscription.
    case subscription
    /// It creates users that only a webhook has named.
    case safetyNet = "safety-net"
    case firebase
    case purchasely
}
