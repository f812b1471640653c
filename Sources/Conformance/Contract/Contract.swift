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
        }
        for expected in expectation.calls { add(expected.user) }
        return names
    }
}

/// What a backend may or may not have; a profile says so under `features`.
package enum Feature: String, Hashable, Codable, Sendable, CaseIterable {
    /// It sends pushes through OneSignal.
    case push
    /// It demands RevenueCat's Authorization value.
    case authorization
    /// It demands RevenueCat's HMAC signature.
    case signature
    /// Assay started it and can stop it and start it again.
    case restart
    /// Its store can be made to fail, and mended.
    case fault
    /// A probe tells whether a user exists.
    case users
    /// A probe tells the state of a subscription.
    case subscription
    /// It creates users that only a webhook has named.
    case safetyNet = "safety-net"
    /// It finds a user by the other ids that an event names.
    case aliases
    /// Purchases in the sandbox give nothing that production ones give.
    case sandboxApart = "sandbox-apart"
    /// It takes purchases of every store, those to come included.
    case everyStore = "every-store"
    /// A route of its own accepts Firebase ID tokens.
    case firebase
    /// It verifies the tokens' signatures, so it does not run against the emulator.
    case signedTokens = "signed-tokens"
    /// It asks Firebase whether a session was revoked.
    case revocation
    /// The protected route is for people with an account, not for anonymous sessions.
    case realAccounts = "real-accounts"
    /// Its users register as the guide's app does, with ids of any form, so that an app with
    /// accounts can stand before it.
    case accountApp = "account-app"
    /// A route of its own deletes an account.
    case deletion
    /// An app can ask it whether its user has access.
    case accessRoute = "access-route"
    /// It takes Purchasely's webhook.
    case purchasely
    /// It sends pushes when Purchasely's events come.
    case purchaselyPush = "purchasely-push"
    /// It demands Purchasely's signature.
    case purchaselySignature = "purchasely-signature"
    /// Its user ids may be any text.
    case textIDs = "text-ids"
    /// It has a route by which an app announces its user.
    case register
    /// It has accounts that claim and recover ids.
    case login
    /// It reads RevenueCat's REST API when an event comes.
    case subscriberReads = "subscriber-reads"
    /// It can be told to compare its state with RevenueCat's.
    case reconcile
}

extension Feature {
    /// Whether a backend may do without it on purpose, though the catalogue asks for it.
    package var isPolicy: Bool {
        switch self {
        case .safetyNet, .aliases, .sandboxApart, .everyStore, .revocation, .realAccounts,
            .textIDs, .purchaselyPush:
            true
        case .push, .authorization, .signature, .restart, .fault, .users, .subscription, .firebase,
            .signedTokens, .accountApp, .deletion, .accessRoute, .purchasely,
            .purchaselySignature, .register, .login, .subscriberReads, .reconcile:
            false
        }
    }
}
