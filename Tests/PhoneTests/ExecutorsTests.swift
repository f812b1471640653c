import ContractFiles
import Contracts
import Grammar
import Judging
import Phone
import Providers
import Testing
import Values

/// Whatever a contract asks for is either carried out or refused; nothing is skipped.
@Suite("Executors")
struct ExecutorsTests {
    private static let place = SourceLocation(path: "c.yaml", line: 7, column: 5)
    private static let executorSets: [Executors] = [
        .backendAndApps, .scripted, .page(hasOwnBackend: false), .page(hasOwnBackend: true),
    ]

    private static func contract(
        _ steps: [Step],
        _ expectation: Contracts.Expectation? = nil
    ) -> Contract {
        var contract = Contract(
            id: "cast/one",
            variant: "",
            title: "",
            clause: "C-01",
            level: .must,
            source: "",
            needs: [],
            given: [],
            steps: steps,
            expectation: expectation ?? app(),
            location: SourceLocation(path: "c.yaml", line: 1, column: 1)
        )
        contract.sourceLocations = StepLocations(
            steps.indices.map { SourceLocation(path: "c.yaml", line: 7 + $0, column: 5) }
        )
        return contract
    }

    /// Something is expected of the app, and nothing of a backend.
    private static func app(_ edit: (inout AppExpectation) -> Void = { _ in })
        -> Contracts.Expectation
    {
        var expectation = Contracts.Expectation(responses: .anyOutcome)
        var app = AppExpectation(location: SourceLocation(path: "c.yaml", line: 90, column: 3))
        edit(&app)
        expectation.app = app
        return expectation
    }

    private static func app(_ name: AppAction.Name, _ app: AppAction.App = .despia) -> Step {
        var action = AppAction(name)
        if name == .launch { action.app = app }
        if name == .login || name.needsAccounts && name != .deleteAccount { action.account = "acc" }
        if name == .wait { action.time = .seconds(1) }
        return .phone(.app(action))
    }

    private static func run(_ steps: [Step]) async -> RunRecord {
        await Simulation.run(
            CasePlan(contract(steps)).subject,
            name: "cast",
            profile: Profile(),
            base: Instant(milliseconds: 1_790_000_000_000)
        )
    }

    /// What a cast says it plays, it plays: the journal holds the act.
    ///
    /// What it refuses, nobody could have played: the run says so itself.
    @Test("an action is recorded in the journal, or refused", arguments: AppAction.Name.allCases)
    func acts(name: AppAction.Name) async {
        let steps = [Self.app(.launch), Self.app(name)]
        let unsupportedElements = Executors.scripted.unsupportedElements(of: Self.contract(steps))
        let record = await Self.run(steps)
        #expect(unsupportedElements.isEmpty == (record.runProblem == nil), "\(unsupportedElements)")
        let acts = ClientTimeline(record, profile: Profile()).userActions.map(\.name)
        let written =
            switch name {
            case .launchTwice: ["launch", "launch", "launch"]
            case .upgradeTwice: ["launch", "upgrade", "upgrade"]
            case .purchase: ["launch", "upgrade", "complete"]
            default: ["launch", name.rawValue]
            }
        #expect(acts == (unsupportedElements.isEmpty ? written : ["launch"]))
        for unsupportedElement in unsupportedElements {
            #expect(unsupportedElement.location.line == 8)
            #expect(unsupportedElement.problem.contains("'app: \(name.rawValue)'"))
            #expect(!unsupportedElement.remedy.isEmpty)
        }
    }

    /// One step of every kind.
    private static let steps: [Step] = [
        .register(user: "ada"), .name(user: "ada", id: "i"), .createAccount("acc"),
        .deliver(
            Delivery(name: "d", subject: .event(EventSpec(type: .documented(.test), user: "ada")))
        ),
        .deliver(Delivery(name: "t", subject: .storeEvent("RENEWAL"))),
        .probe(user: "ada"), .waitForEnd(delivery: "d"), .call([Call(name: "c", route: .register)]),
        .request(AppRequest(name: "r", method: "GET", target: "/")),
        .provider(ProviderPlan(provider: .oneSignal, responses: [.reset])),
        .restart(Restart(signal: .kill)), .rotateKeys,
        .killAtCall(party: .oneSignal, position: 1), .account(user: "ada", .revoke),
    ]

    @Test(
        "a step without a phone runs at the backend, or is refused",
        arguments: ExecutorsTests.steps
    )
    func backendSteps(step: Step) async {
        let contract = Self.contract([Self.app(.launch), step])
        #expect(Executors.backendAndApps.unsupportedElements(of: contract).isEmpty)
        let unsupportedElements = Executors.scripted.unsupportedElements(of: contract)
        let isName = step.traits.kind == .name
        #expect(unsupportedElements.isEmpty == isName)
        #expect(unsupportedElements.allSatisfy { $0.location.line == 8 })
        let record = await Self.run([Self.app(.launch), step])
        #expect((record.runProblem == nil) == isName)
    }

    @Test func `every kind of step is tested`() {
        let kinds = Set(Self.steps.compactMap(\.traits.kind))
        #expect(kinds == Set(RequiredCapability.BackendStep.allCases))
    }

    private static func change(_ edit: (inout PhoneChange) -> Void) -> Step {
        var change = PhoneChange()
        edit(&change)
        return .phone(.phone(change))
    }

    /// What a phone is like is nothing to an app that does not talk to it.
    @Test func `a phone change requires an app that supports it`() {
        var changes: [Step] = PhoneChange.Kind.allCases.map { kind in
            Self.change { $0.kind = kind }
        }
        changes += [
            Self.change { $0.vault = [.id: "x"] }, Self.change { $0.history = [] },
            Self.change { $0.installID = .missing }, .phone(.bridge(BridgePlan())),
            .phone(.backend(Self.plan(.reset))),
        ]
        let acts: [PhoneChange.OwnerAction] = [.cloned, .loseID, .complete, .cancel, .fail]
        changes += acts.map { act in Self.change { $0.ownerAction = act } }
        for step in changes {
            for executorSet in Self.executorSets {
                let native = Self.contract([Self.app(.launch, .despia), step])
                #expect(
                    executorSet.unsupportedElements(of: native).isEmpty,
                    "\(executorSet.name): \(step)"
                )
            }
            let accounts = Self.contract([Self.app(.launch, .accounts), step])
            let unsupportedElements = Executors.backendAndApps.unsupportedElements(of: accounts)
            #expect(unsupportedElements.contains { $0.location.line == 8 }, "\(step)")
        }
        for act in [PhoneChange.OwnerAction.reinstall, .secondPhone] {
            for app in AppAction.App.allCases {
                let step = Self.change { $0.ownerAction = act }
                let contract = Self.contract([Self.app(.launch, app), step])
                #expect(
                    Executors.backendAndApps.unsupportedElements(of: contract).filter {
                        $0.location.line == 8
                    }.isEmpty
                )
            }
        }
    }

    private static func plan(_ answer: AppBackendPlan.PlannedResponse) -> AppBackendPlan {
        var plan = AppBackendPlan()
        plan.responses["register"] = [answer]
        return plan
    }

    /// A real backend's words cannot be put into its mouth.
    @Test func `a model gives planned responses, a backend its own`() {
        let responses: [(AppBackendPlan.PlannedResponse, isLive: Bool)] = [
            (.ok, true), (.status(500), true), (.reset, true), (.never, true),
            (.slow(.seconds(1)), true), (.otherID, false), (.claimed, false),
            (.recovered(user: "ada"), false),
        ]
        for (answer, isLive) in responses {
            let steps: [Step] = [.phone(.backend(Self.plan(answer))), Self.app(.launch)]
            #expect(
                Executors.backendAndApps.unsupportedElements(of: Self.contract(steps)).isEmpty
                    == isLive,
                "\(answer)"
            )
            #expect(Executors.scripted.unsupportedElements(of: Self.contract(steps)).isEmpty)
        }
        var deaf = AppBackendPlan()
        deaf.isNotifiedOfPurchases = false
        let contract = Self.contract([.phone(.backend(deaf)), Self.app(.launch)])
        #expect(Executors.page(hasOwnBackend: false).unsupportedElements(of: contract).isEmpty)
        #expect(!Executors.page(hasOwnBackend: true).unsupportedElements(of: contract).isEmpty)
        #expect(!Executors.backendAndApps.unsupportedElements(of: contract).isEmpty)
        #expect(Executors.unsupportedElements(ofAny: contract).isEmpty)
    }

    @Test func `a key that an action does not use is refused everywhere`() {
        for executorSet in Self.executorSets {
            var action = AppAction(.launch)
            action.app = .despia
            action.callbackArgument = true
            let unsupportedElements = executorSet.unsupportedElements(
                of: Self.contract([.phone(.app(action))])
            )
            #expect(
                unsupportedElements.map(\.problem) == ["'with' has no meaning for 'app: launch'"]
            )
        }
    }

    @Test func `store actions need a store`() {
        let steps: [Step] = [
            Self.app(.launch), .phone(.store(FakeStoreAction(name: "renew", user: "ada"))),
        ]
        #expect(Executors.backendAndApps.unsupportedElements(of: Self.contract(steps)).isEmpty)
        #expect(!Executors.scripted.unsupportedElements(of: Self.contract(steps)).isEmpty)
    }

    /// Every performer decides on every demand, and every demand has somebody who can meet it.
    @Test func `every required capability has an executor`() {
        let executors: [Executor] = [
            .backend, .accountApp, .liveApp, .scriptedApp, .page(hasOwnBackend: false),
            .page(hasOwnBackend: true), .store,
        ]
        for demand in RequiredCapability.all {
            let able = executors.filter { $0.supports(demand) }
            if case .modifier(let modifier, let act) = demand, !modifier.modifies(act) {
                #expect(able.isEmpty, "\(demand)")
            } else {
                #expect(!able.isEmpty, "nobody plays \(demand)")
            }
            #expect(!demand.description.isEmpty)
        }
    }

    // MARK: Files

    private static func errors(_ steps: String, _ expect: String) -> [ContractError] {
        let text = """
            contract: mine/one
            title: t
            clause: S-03
            source: s

            steps:
            \(steps)

            expect:
            \(expect)
            """
        switch ContractParser.parse(text, path: "one.yaml", id: "mine/one") {
        case .success: return []
        case .failure(let errors): return errors.errors
        }
    }

    private static let delivery = """
          - deliver: purchase
            event: {type: INITIAL_PURCHASE, user: ada}
        """

    private static let unsupportedContracts: [(steps: String, line: Int, remedy: String)] = [
        ("  - phone: {kind: browser}\n  - app: launch\n", 7, "runs: despia"),
        ("  - app: launch\n  - app: kill\n", 8, "runs: despia"),
        ("  - app: launch\n  - app: reload\n", 8, "runs: despia"),
        ("  - app: launch\n  - app: wait\n    for: 1s\n", 8, "runs: despia"),
        ("  - phone: {vault: {id: x}}\n  - app: launch\n", 7, "runs: despia"),
        ("  - app: purchase\n", 7, "app: launch"),
        (
            "  - backend: {register: other-id}\n  - app: launch\n    runs: despia\n", 7,
            "without a backend"
        ),
    ]

    @Test(
        "a contract without executors is an error at the step",
        arguments: ExecutorsTests.unsupportedContracts
    )
    func files(steps: String, line: Int, remedy: String) throws {
        let error = try #require(Self.errors(steps + Self.delivery, "  status: 200").first)
        #expect(error.location.line == line)
        #expect("\(error)".contains(remedy), "\(error)")
        #expect("\(error)".contains("^"), "\(error)")
    }

    @Test func `steps that the scripted app supports against a backend are valid`() {
        let steps = """
              - phone: {kind: browser}
              - app: launch
                runs: despia
              - app: reload
              - app: wait
                for: 1s
              - app: kill
            """
        let errors = Self.errors(
            steps + "\n" + Self.delivery,
            "  status: 200\n  app:\n    invariants: [silent]"
        )
        #expect(errors.isEmpty, "\(errors)")
    }
}
