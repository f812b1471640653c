import Contracts
import Providers
import Redaction
import TestSupport
import Testing
import Values

/// What a contract needs of a backend, whom it names, and what it must not share with others.
@Suite("Required features")
struct NeedsTests {
    private func contract(
        given: [Step] = [],
        steps: [Step] = [],
        _ expect: (inout Expectation) -> Void = { _ in }
    ) -> Contract {
        var expectation = SampleContract.expectation()
        expect(&expectation)
        var contract = SampleContract.contract([], expectation: expectation)
        (contract.given, contract.steps) = (given, steps)
        return contract
    }

    private static func event(_ change: (inout Delivery) -> Void = { _ in }) -> Step {
        var delivery = Delivery(
            name: "a",
            subject: .event(EventSpec(type: .documented(.renewal), user: "ada"))
        )
        change(&delivery)
        return .deliver(delivery)
    }

    private static func call(_ route: Call.Route) -> Step {
        .call([Call(name: "one", route: route)])
    }

    private static func request(_ change: (inout AppRequest) -> Void = { _ in }) -> Step {
        var request = AppRequest(name: "r", method: "GET", target: "/x/{{user.ada}}")
        change(&request)
        return .request(request)
    }

    private static let purchasely = event { $0.provider = .purchasely }
    private static let crash = event { $0.crash = Crash(signal: .kill, phase: .sent) }
    private static let withToken = request {
        $0.fields = [.init("Authorization", "Bearer {{id-token.ada}}")]
    }
    private static let deletion = Step.phone(.app(AppAction(.deleteAccount)))
    private static let launch = Step.phone(.app(AppAction(.launch)))

    private static let steps: [(name: String, Step, Set<Feature>)] = [
        ("an event", event(), []), ("a registration", .register(user: "ada"), []),
        ("a name", .name(user: "ada", id: "x"), []),
        ("an event of Purchasely", purchasely, [.purchasely]), ("a crash", crash, [.restart]),
        ("time", .waitForEnd(delivery: "a"), []), ("a look", .probe(user: "ada"), [.subscription]),
        ("a restart", .restart(Restart(signal: .kill)), [.restart]),
        ("a kill", .killAtCall(party: .oneSignal, position: 1), [.restart]),
        ("an account", .createAccount("home"), [.login]),
        ("a registration by the app", call(.register), [.register]),
        ("a login", call(.login), [.login]), ("a protected route", call(.protected), [.firebase]),
        ("reconciling", call(.reconcile), [.reconcile]), ("a request", request(), []),
        ("a request with a token", withToken, [.firebase]),
        (
            "a failing OneSignal", .provider(ProviderPlan(provider: .oneSignal, responses: [])),
            [.push]
        ),
        (
            "a failing RevenueCat", .provider(ProviderPlan(provider: .revenueCat, responses: [])),
            [.readsSubscriberOnEvent]
        ),
        ("new keys", .rotateKeys, []), ("a revocation", .account(user: "ada", .revoke), []),
        ("a phone", launch, [.accountApp, .register]),
        ("a deletion", deletion, [.accountApp, .register, .deletion]),
    ]

    @Test("a step requires the features that it uses", arguments: steps)
    func needs(name: String, step: Step, features: Set<Feature>) {
        #expect(Set(contract(steps: [step]).allRequiredFeatures) == features)
        #expect(Set(contract(given: [step]).allRequiredFeatures) == features, "given needs it too")
    }

    private static func revenueCat(_ change: (inout EventSpec) -> Void) -> Step {
        var spec = EventSpec(type: .documented(.renewal), user: "ada")
        change(&spec)
        return event { $0.subject = .event(spec) }
    }

    private static func purchasely(_ change: (inout PurchaselySpec) -> Void) -> Step {
        var spec = PurchaselySpec(name: "ACTIVATE", user: "ada")
        change(&spec)
        return event { $0.subject = .event(spec) }
    }

    private static func edited(_ pointer: String, _ value: JSONValue?) -> Step {
        event {
            if let pointer = JSONPointer(pointer) {
                $0.edits = [Delivery.Edit(pointer: pointer, value: value)]
            }
        }
    }

    private static let stores: [(Step, Set<Feature>)] = EventSpec.stores.map { store in
        let features: Set<Feature> = store == EventSpec.defaultStore ? [] : [.acceptsEveryStore]
        return (revenueCat { $0.store = store }, features)
    }

    private static let purchaselyStores: [(Step, Set<Feature>)] = PurchaselySpec.stores.map {
        store in
        let features: Set<Feature> = store == PurchaselySpec.usualStore ? [] : [.acceptsEveryStore]
        return (purchasely { $0.store = store }, features)
    }

    private static let otherEvents: [(Step, Set<Feature>)] = [
        (revenueCat { $0.environment = "SANDBOX" }, [.separatesSandbox]),
        (purchasely { $0.environment = "SANDBOX" }, [.separatesSandbox]),
        (revenueCat { $0.userIDLocation = .aliases }, [.aliases]),
        (revenueCat { $0.userIDLocation = .originalAppUserID }, [.aliases]),
        (revenueCat { $0.userIDLocation = .anonymous }, []),
        (edited("/event/store", "FUTURE_STORE"), [.acceptsEveryStore]),
        (edited("/event/store", "APP_STORE"), []), (edited("/event/store", nil), []),
        (edited("/event/environment", "SANDBOX"), [.separatesSandbox]),
        (edited("/event/price", 1), []),
    ]

    @Test(
        "an event requires the features without which it is not processed",
        arguments: stores + purchaselyStores + otherEvents
    )
    func needs(step: Step, features: Set<Feature>) {
        #expect(Set(contract(steps: [step]).allRequiredFeatures) == features)
    }

    @Test("a search that kills the backend requires restarts", arguments: CrashFault.allCases)
    func needs(fault: CrashFault) {
        var contract = contract(steps: [Self.event()])
        contract.search = .crashPoints([fault])
        #expect(contract.allRequiredFeatures == (fault.isKill ? [.restart] : []))
    }

    private static let location = SampleContract.location

    private static let expectations: [(Expectation, Set<Feature>)] = [
        (with { $0.states = [SampleContract.state("exists", true)] }, [.users]),
        (with { $0.states = [SampleContract.state("access", true)] }, [.subscription]),
        (with { $0.deletedUserNames = ["ada"] }, [.users]),
        (with { ($0.relation, $0.compared) = (.once, [.effects]) }, [.push]),
        (with { ($0.relation, $0.compared) = (.before, []) }, []),
        (with { ($0.relation, $0.compared) = (.once, [.state]) }, [.subscription]),
        (with { ($0.relation, $0.compared) = (.once, [.fields]) }, [.subscription]),
        (with { ($0.relation, $0.compared) = (.once, [.state, .effects]) }, []),
        (with { $0.effects = [SampleContract.effect(0...1)] }, [.push]),
        (
            with {
                $0.effects = [SampleContract.effect(0...1)]
                $0.states = [SampleContract.state("access", true)]
            }, [.subscription]
        ),
        (
            with {
                $0.effects = [SampleContract.effect(1...1)]
                $0.states = [SampleContract.state("access", true)]
            }, [.push, .subscription]
        ),
    ]

    private static func with(_ change: (inout Expectation) -> Void) -> Expectation {
        var expectation = SampleContract.expectation()
        change(&expectation)
        return expectation
    }

    @Test("an expectation requires a probe of what it judges", arguments: expectations)
    func looks(expectation: Expectation, features: Set<Feature>) {
        #expect(Set(contract { $0 = expectation }.allRequiredFeatures) == features)
    }

    @Test func `explicit requirements of a contract come first`() {
        var contract = contract(steps: [Self.call(.login)])
        contract.needs = [.push]
        #expect(contract.allRequiredFeatures == [.push, .login])
    }

    @Test func `reconciling backends read customers after any event`() {
        let failing = Step.provider(ProviderPlan(provider: .revenueCat, responses: []))
        var contract = contract(given: [failing], steps: [Self.call(.reconcile)])
        #expect(contract.allRequiredFeatures == [.reconcile])
        contract.needs = [.readsSubscriberOnEvent]
        #expect(contract.allRequiredFeatures == [.readsSubscriberOnEvent, .reconcile])
    }

    @Test func `password guessing leaves a backend that refuses all logins`() {
        func plan(_ count: Int, _ responses: ResponseExpectation?) -> RunPlan {
            let calls = (0..<count).map { number in
                var call = Call(name: "guess-\(number)", route: .login)
                call.responses = responses
                return Step.call([call])
            }
            return CasePlan(contract(steps: calls)).subject
        }
        #expect(plan(10, .nonSuccess).degradesBackend)
        #expect(!plan(9, .nonSuccess).degradesBackend)
        #expect(!plan(20, nil).degradesBackend)
    }

    @Test("a dozen hanging calls block the backend for other cases", arguments: [1, 9, 10, 12])
    func hanging(count: Int) {
        let steps = (0..<count).map { _ in Self.event() }
        func plan(_ answer: ProviderPlan.PlannedResponse) -> RunPlan {
            let failing = ProviderPlan(provider: .oneSignal, responses: [answer])
            return CasePlan(contract(given: [.provider(failing)], steps: steps)).subject
        }
        #expect(plan(.never).degradesBackend == (count >= 10))
        #expect(!plan(.status(500)).degradesBackend)
    }

    // MARK: Users

    @Test func `users are listed once, in file order`() {
        var transfer = EventSpec(type: .documented(.transfer), user: nil)
        (transfer.from, transfer.to) = (["bob"], ["carol", "ada"])
        var login = Call(name: "one", route: .login)
        login.user = "dora"
        let contract = contract(
            given: [.register(user: "ada")],
            steps: [
                .deliver(Delivery(name: "a", subject: .event(transfer))), .call([login]),
                .account(user: "eve", .disable),
                .deliver(Delivery(name: "b", subject: .body(["id": "{{user.fay}}"]))),
                .deliver(Delivery(name: "c", subject: .repeats("a"))),
            ]
        ) {
            $0.deletedUserNames = ["gil"]
            $0.states = [SampleContract.state("access", true, user: "hal|ada")]
            $0.effects = [SampleContract.effect(user: "ivy") { $0.userWithOtherContent = "joe" }]
            $0.calls = [CallExpectation(call: "one", user: "kim", location: Self.location)]
        }
        #expect(
            contract.users == [
                "ada", "bob", "carol", "dora", "eve", "fay", "gil", "hal", "ivy", "joe", "kim",
            ]
        )
    }

    @Test func `an app's identities name users, other phones do not`() {
        let contract = contract(steps: [Self.launch]) {
            var app = AppExpectation(location: Self.location)
            app.identities = [
                .init(phone: "phone", expectedValue: .user("ada"), location: Self.location),
                .init(phone: "phone", expectedValue: .notUser("bob"), location: Self.location),
                .init(
                    phone: "phone",
                    expectedValue: .sameAsPhone("second"),
                    location: Self.location
                ),
            ]
            $0.app = app
        }
        #expect(contract.users == ["ada", "bob"])
        #expect(contract.phoneSteps.count == 1)
    }

    @Test(
        "two users may share a field",
        arguments: [("ada", ["ada"]), ("ada|bob", ["ada", "bob"])]
    )
    func either(text: String, users: [String]) {
        #expect(SampleContract.state("access", true, user: text).users == users)
    }

    // MARK: Settling and solitude

    private static let settling: [(Expectation, Bool)] = [
        (with { _ in }, false), (with { $0.relation = .once }, true),
        (with { $0.effects = [SampleContract.effect(0...1)] }, true),
        (with { $0.states = [SampleContract.state("access", true)] }, true),
        (with { $0.extraObservationTime = .seconds(1) }, true),
        (with { $0.deletedUserNames = ["ada"] }, true),
        (with { $0.concurrentRequestCountMin = 2 }, false),
        (with { $0.hidesSecrets = true }, false),
    ]

    @Test("effects after the response require settling", arguments: settling)
    func settles(expectation: Expectation, isNeeded: Bool) {
        #expect(expectation.requiresSettling == isNeeded)
        #expect(CasePlan(contract { $0 = expectation }).subject.observesFinalState == isNeeded)
    }

    private static let exclusiveSteps: Set<String> = [
        "a crash", "a restart", "a kill", "reconciling", "new keys",
    ]

    @Test("steps that affect shared state require an exclusive run", arguments: steps)
    func requiresExclusiveRun(name: String, step: Step, features: Set<Feature>) {
        let plan = CasePlan(contract(steps: [step])).subject
        #expect(plan.mustRunExclusively == Self.exclusiveSteps.contains(name))
        #expect(plan.hasRestart == features.contains(.restart))
    }

    @Test func `a plan for Firebase affects all cases, one for OneSignal only its own`() {
        func plan(_ provider: Exchange.Party) -> RunPlan {
            CasePlan(
                contract(steps: [.provider(ProviderPlan(provider: provider, responses: [.reset]))])
            ).subject
        }
        #expect(plan(.firebase).mustRunExclusively)
        #expect(!plan(.oneSignal).mustRunExclusively)
        #expect(plan(.oneSignal).hasPlannedResponses)
    }

    private static let plannedResponses: [(ProviderPlan.PlannedResponse, Bool)] =
        ProviderPlan.PlannedResponse.words.map { word, response in
            (response, ["no-response", "slow", "hang"].contains(word))
        } + [
            (.status(503), false), (.code("QUOTA_EXCEEDED"), false),
            (.tooManyRequests(3000), false),
            (.slow(10), true), (.hangThenReset(10), true),
        ]

    @Test("a provider that keeps its caller waiting blocks other runs", arguments: plannedResponses)
    func waitingCalls(response: ProviderPlan.PlannedResponse, mayBlock: Bool) {
        for responses in [[response], [.asUsual, response], [response, .reset]] {
            let failing = ProviderPlan(provider: .oneSignal, responses: responses)
            let plan = CasePlan(contract(steps: [.provider(failing)])).subject
            #expect(plan.mayBlockBackend == mayBlock)
            #expect(plan.needsBackendForItself == mayBlock)
        }
    }

    @Test func `held copies are distinguished from sequential copies`() {
        func plan(_ change: (inout Delivery) -> Void) -> RunPlan {
            CasePlan(contract(steps: [Self.event(change)])).subject
        }
        #expect(!plan { $0.times = 8 }.sendsConcurrentCopies)
        #expect(
            plan {
                $0.times = 8
                $0.sendsCopiesConcurrently = true
            }.sendsConcurrentCopies
        )
    }

    @Test func `a burst runs exclusively, a few copies run concurrently`() {
        func plan(_ count: Int, sendsCopiesConcurrently: Bool = true) -> RunPlan {
            CasePlan(
                contract(
                    steps: [
                        Self.event {
                            $0.times = count
                            $0.sendsCopiesConcurrently = sendsCopiesConcurrently
                        }
                    ]
                )
            ).subject
        }
        #expect(plan(10).sendsRequestBurst && plan(48).sendsRequestBurst)
        #expect(!plan(9).sendsRequestBurst)
        #expect(!plan(48, sendsCopiesConcurrently: false).sendsRequestBurst)
    }

    // MARK: Obstacles

    @Test("a missing endpoint is a skip reason", arguments: Feature.allCases)
    func endpoints(feature: Feature) {
        var profile = Profile()
        profile.endpoints = [:]
        let needsEndpoint: Set<Feature> = [
            .purchasely, .purchaselySignature, .purchaselyPush, .firebase, .signedTokens,
            .revocation, .realAccounts, .reconcile, .deletion, .register, .login, .signature,
            .accessRoute, .passwords, .tokenLogins, .purchasesFollowLogins,
            // No endpoint, and not there either.
            .fault, .clock,
        ]
        #expect((profile.skipReason(to: feature) != nil) == needsEndpoint.contains(feature))
    }

    @Test("a feature declared unsupported is a skip reason", arguments: Feature.allCases)
    func unsupportedFeatures(feature: Feature) {
        var profile = Profile()
        profile.unsupportedFeatures = [feature]
        #expect(profile.skipReason(to: feature)?.contains(feature.rawValue) == true)
    }

    @Test func `a missing secret is a skip reason for signed requests`() {
        var profile = Profile()
        profile.endpoints["purchasely-webhook"] = Profile.Endpoint(method: "POST", path: "/p")
        #expect(profile.skipReason(to: .authorization) == nil)
        profile.secrets[.revenueCatAuthorization] = Secret("")
        #expect(profile.skipReason(to: .authorization) != nil)
        #expect(profile.skipReason(to: .signature) != nil)
        profile.secrets[.revenueCatSigning] = Secret("k")
        #expect(profile.skipReason(to: .signature) == nil)
        #expect(profile.skipReason(to: .purchaselySignature) != nil)
        profile.secrets[.purchaselySigning] = Secret("k")
        #expect(profile.skipReason(to: .purchaselySignature) == nil)
    }

    @Test("an unsuitable ID form is a skip reason", arguments: UserIDForm.allCases)
    func idForms(form: UserIDForm) {
        var profile = Profile()
        profile.idForm = form
        #expect((profile.skipReason(to: .stringIDs) == nil) == (form == .string))
        #expect(
            (profile.skipReason(to: .accountApp) == nil) == (form == .string || form == .firebase)
        )
    }

    @Test func `a login requires a way to create accounts`() {
        var profile = Profile()
        #expect(profile.skipReason(to: .login) != nil)
        profile.accountCreation = .command(["make"])
        #expect(profile.skipReason(to: .login) == nil)
        profile.unsupportedFeatures = [.push]
        profile.endpoints["purchasely-webhook"] = Profile.Endpoint(method: "POST", path: "/p")
        #expect(profile.skipReason(to: .purchaselyPush) != nil)
    }

    // MARK: Namespaces

    @Test("IDs of all forms are unique", arguments: UserIDForm.allCases)
    func noCollisions(form: UserIDForm) {
        var seen: Set<String> = []
        for run in 0..<50 {
            let namespace = Namespace(name: "run-\(run)", idForm: form)
            for user in ["ada", "bob", "carol"] {
                let ids = [
                    namespace.id(of: user), namespace.anonymousID(of: user),
                    namespace.installID(of: user), namespace.eventID(of: user),
                    namespace.accountID(of: user), namespace.password(of: user),
                    namespace.transactionID(of: user, "p"), namespace.transactionID(of: user, "q"),
                ]
                for id in ids { #expect(seen.insert(id).inserted, "\(id) of \(user) in \(run)") }
            }
        }
    }

    @Test func `an ID assigned by the backend replaces only that user's ID`() {
        var namespace = Namespace(name: "n", idForm: .uuid)
        let (bob, device) = (namespace.id(of: "bob"), namespace.installID(of: "ada"))
        namespace.assign("1001", to: "ada")
        #expect(namespace.id(of: "ada") == "1001")
        #expect(namespace.id(of: "bob") == bob && namespace.installID(of: "ada") == device)
        let tokens = namespace.tokens(users: ["ada"], deliveries: ["d"])
        #expect(tokens.contains { $0.id == "1001" && $0.token == "‹ada›" })
        let lengths = tokens.map(\.id.utf8.count)
        #expect(lengths == lengths.sorted(by: >), "longest first")
    }

    @Test func `ids have the forms of the fact sheet`() {
        let namespace = Namespace(name: "n", idForm: .string)
        let anonymous = namespace.anonymousID(of: "ada")
        #expect(anonymous.hasPrefix("$RCAnonymousID:") && anonymous.count == 15 + 32)
        let event = namespace.eventID(of: "e")
        #expect(event == event.uppercased())
        #expect(event.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        let transaction = namespace.transactionID(of: "ada", "p")
        #expect(transaction.hasPrefix("2000") && transaction.count == 16)
    }
}
