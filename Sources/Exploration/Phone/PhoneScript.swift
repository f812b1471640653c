package import Conformance

/// A phone's life as contracts: what happens, and one contract for each thing that must be so of it.
package struct PhoneScript: Sendable {
    package let life: PhoneLife
    /// All of it in one, to be carried out once.
    package let contract: Contract
    /// Each promise, and whose id the phone ends with, for a judgement of its own.
    package let parts: [Contract]
    package let features: [LifeCoverage.Feature]

    /// - Parameters:
    ///   - life: What happens.
    ///   - id: The contracts'.
    ///
    /// Nil when it cannot happen: what is tapped is not there, or nothing is launched.
    package init?(_ life: PhoneLife, id: String = "life") {
        var model = PhoneModel(ids: life.ids)
        var features: [LifeCoverage.Feature] = []
        var last = "nothing"
        for step in life.steps {
            let state = model.word
            guard model.perform(step) else { return nil }
            let word = step.word
            features += [.phone(state, word), .phone("after \(last)", word)]
            last = word
        }
        guard model.isOpen else { return nil }
        let place = SourceLocation(path: id, line: 1, column: 1)
        func contract(_ clause: String, _ edit: (inout AppExpectation) -> Void) -> Contract {
            var expectation = Expectation(answers: .statuses([200]))
            var app = AppExpectation(location: place)
            edit(&app)
            expectation.app = app
            return Contract(
                id: id,
                variant: "",
                title: life.title,
                clause: clause,
                level: .must,
                source: "a life that 'assay explore' played; identity rules, part B",
                needs: [],
                given: life.ids.sorted { $0.key < $1.key }.map {
                    .name(user: $0.key, id: $0.value)
                },
                steps: life.steps.map { .phone($0) },
                expectation: expectation,
                location: place
            )
        }
        let questions = model.questions(at: place)
        self.life = life
        self.contract = contract("C-11") { app in
            for question in questions { question.ask(&app) }
        }
        parts = questions.map { question in contract(question.clause, question.ask) }
        self.features = features
    }

    /// The life that a contract tells of: what happens, without what is asked.
    package static func life(of contract: Contract) -> PhoneLife {
        var life = PhoneLife(contract.phoneSteps)
        for case .name(let user, let id) in contract.given { life.ids[user] = id }
        return life
    }

    /// The clauses that lives can be asked for.
    package static var clauses: [String] { PhoneModel.clauses }
}

extension PhoneModel {
    /// How the phone stands, as coverage counts it.
    fileprivate var word: String {
        let page = hasSheet ? "paying" : isOpen ? "open" : "closed"
        if isBrowser { return "in a browser " + page }
        let who = hasLoggedIn ? " logged in" : hasLoggedOut ? " logged out" : ""
        return page + who
    }
}

extension PhoneStep {
    /// What it is, as coverage counts it.
    fileprivate var word: String {
        switch self {
        case .app(let action):
            action.name.rawValue + (action.isAtOnce ? " at once" : "")
                + (action.killedAt.map { " killed \($0.rawValue)" } ?? "")
        case .phone(let change):
            change.act?.rawValue
                ?? "phone "
                + ([change.kind?.rawValue, change.history.map { _ in "history" }].compactMap(\.self)
                + change.vault.keys.map(\.rawValue).sorted()
                + (change.installID == nil ? [] : ["install-id"])).joined(separator: " ")
        case .bridge(let plan):
            "bridge "
                + (plan.faults.map { "\($0.kind.rawValue) \($0.scheme)" }
                + plan.switches.keys.sorted()).joined(separator: " ")
        case .backend(let plan):
            "backend "
                + plan.answers.keys.sorted().map { route in
                    route + " " + (plan.answers[route]?.first?.kindWord ?? "")
                }.joined(separator: " ") + (plan.isPermanent ? " for ever" : "")
                + (plan.learnsPurchases ? "" : " deaf")
        case .store: "store"
        }
    }
}

extension AppBackendPlan.Answer {
    fileprivate var kindWord: String {
        switch self {
        case .ok: "ok"
        case .status: "status"
        case .reset: "reset"
        case .never: "never"
        case .slow: "slow"
        case .otherID: "other-id"
        case .noID: "no-id"
        case .nullID: "null-id"
        case .undefinedID: "undefined-id"
        case .claimed: "claimed"
        case .recovered: "recovered"
        }
    }
}
