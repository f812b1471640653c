import Conformance
import Testing

/// What a contract needs of a backend, whom it names, and what it must not share with others.
@Suite("Needs")
struct NeedsTests {
    private func contract(
        given: [Step] = [],
        steps: [Step] = [],
        _ expect: (inout Expectation) -> Void = { _ in }
    ) -> Contract {
        var expectation = EvidenceBuilder.expectation()
        expect(&expectation)
        var contract = EvidenceBuilder([], expectation: expectation).contract
        (contract.given, contract.steps) = (given, steps)
        return contract
    }

    private static func event(_ change: (inout Delivery) -> Void = { _ in }) -> Step {
        var delivery = Delivery(
            name: "a",
            subject: .event(EventSpec(type: "RENEWAL", user: "ada"))
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
    private static let crash = event { $0.crash = Crash(signal: .kill, moment: .sent) }
    private static let withToken = request {
        $0.fields = [.init("Authorization", "Bearer {{id-token.ada}}")]
    }
    private static let deletion = Step.phone(.app(AppAction(.deleteAccount)))
    private static let launch = Step.phone(.app(AppAction(.launch)))

    private static let steps: [(name: String, Step, Set<Feature>)] = [
        ("an event", event(), []), ("a registration", .register(user: "ada"), []),
        ("a name", .name(user: "ada", id: "x"), []),
        ("an event of Purchasely", purchasely, [.purchasely]), ("a crash", crash, [.restart]),
        ("time", .pass(delivery: "a"), []), ("a look", .look(user: "ada"), [.subscription]),
        ("a restart", .restart(Restart(signal: .kill)), [.restart]),
        ("a kill", .killAtCall(party: .oneSignal, position: 1), [.restart]),
        ("an account", .createAccount("home"), [.login]),
        ("a registration by the app", call(.register), [.register]),
        ("a login", call(.login), [.login]), ("a protected route", call(.protected), [.firebase]),
        ("reconciling", call(.reconcile), [.reconcile]), ("a request", request(), []),
        ("a request with a token", withToken, [.firebase]),
        (
            "a failing OneSignal", .provider(ProviderPlan(provider: .oneSignal, answers: [])),
            []
        ),
        (
            "a failing RevenueCat", .provider(ProviderPlan(provider: .revenueCat, answers: [])),
            [.subscriberReads]
        ),
        ("new keys", .rotateKeys, []), ("a revocation", .account(user: "ada", .revoke), []),
        ("a phone", launch, [.accountApp, .register]),
        ("a deletion", deletion, [.accountApp, .register, .deletion]),
    ]

    @Test("a step needs what it touches", arguments: steps)
    func needs(name: String, step: Step, features: Set<Feature>) {
        #expect(Set(contract(steps: [step]).allNeeds) == features)
        #expect(Set(contract(given: [step]).allNeeds) == features, "given needs it too")
    }

    private static let location = EvidenceBuilder.location

    private static let expectations: [(Expectation, Set<Feature>)] = [
        (with { $0.states = [EvidenceBuilder.state("exists", true)] }, [.users]),
        (with { $0.states = [EvidenceBuilder.state("access", true)] }, [.subscription]),
        (with { $0.forgotten = ["ada"] }, [.users]),
        (with { ($0.relation, $0.compared) = (.once, [.effects]) }, []),
        (with { ($0.relation, $0.compared) = (.once, [.state]) }, [.subscription]),
        (with { ($0.relation, $0.compared) = (.once, [.fields]) }, [.subscription]),
        (with { ($0.relation, $0.compared) = (.once, [.state, .effects]) }, []),
        (with { $0.effects = [EvidenceBuilder.effect(0...1)] }, []),
    ]

    private static func with(_ change: (inout Expectation) -> Void) -> Expectation {
        var expectation = EvidenceBuilder.expectation()
        change(&expectation)
        return expectation
    }

    @Test("an expectation needs a look at what it judges", arguments: expectations)
    func looks(expectation: Expectation, features: Set<Feature>) {
        #expect(Set(contract { $0 = expectation }.allNeeds) == features)
    }

    @Test func `what a contract says it needs comes first`() {
        var contract = contract(steps: [Self.call(.login)])
        contract.needs = [.push]
        #expect(contract.allNeeds == [.push, .login])
    }

    @Test func `whoever reconciles reads customers, whatever it does with events`() {
        let failing = Step.provider(ProviderPlan(provider: .revenueCat, answers: []))
        var contract = contract(given: [failing], steps: [Self.call(.reconcile)])
        #expect(Set(contract.allNeeds) == [.subscriberReads, .reconcile])
        contract.needs = [.reconcile]
        #expect(Set(contract.allNeeds) == [.reconcile])
    }

    @Test func `whoever guesses passwords leaves a backend that refuses everybody`() {
        func plan(_ count: Int, _ answers: AnswerExpectation?) -> RunPlan {
            let calls = (0..<count).map { number in
                var call = Call(name: "guess-\(number)", route: .login)
                call.answers = answers
                return Step.call([call])
            }
            return CasePlan(contract(steps: calls)).subject
        }
        #expect(plan(10, .denied).wearsOut)
        #expect(!plan(9, .denied).wearsOut)
        #expect(!plan(20, nil).wearsOut)
    }

    @Test("a dozen calls that hang keep a backend from those of others", arguments: [1, 9, 10, 12])
    func hanging(count: Int) {
        let steps = (0..<count).map { _ in Self.event() }
        func plan(_ answer: ProviderPlan.Answer) -> RunPlan {
            let failing = ProviderPlan(provider: .oneSignal, answers: [answer])
            return CasePlan(contract(given: [.provider(failing)], steps: steps)).subject
        }
        #expect(plan(.never).wearsOut == (count >= 10))
        #expect(!plan(.status(500)).wearsOut)
    }

    // MARK: Users

    @Test func `users are named in the order of the file, each once`() {
        var transfer = EventSpec(type: "TRANSFER", user: nil)
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
            $0.forgotten = ["gil"]
            $0.states = [EvidenceBuilder.state("access", true, user: "hal|ada")]
            $0.effects = [EvidenceBuilder.effect(user: "ivy") { $0.unlike = "joe" }]
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
                .init(phone: "phone", wanted: .user("ada"), location: Self.location),
                .init(phone: "phone", wanted: .notUser("bob"), location: Self.location),
                .init(phone: "phone", wanted: .sameAs("second"), location: Self.location),
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
        #expect(EvidenceBuilder.state("access", true, user: text).users == users)
    }

    // MARK: Settling and solitude

    private static let settling: [(Expectation, Bool)] = [
        (with { _ in }, false), (with { $0.relation = .once }, true),
        (with { $0.effects = [EvidenceBuilder.effect(0...1)] }, true),
        (with { $0.states = [EvidenceBuilder.state("access", true)] }, true),
        (with { $0.watch = .seconds(1) }, true), (with { $0.forgotten = ["ada"] }, true),
        (with { $0.overlapMin = 2 }, false), (with { $0.hidesSecrets = true }, false),
    ]

    @Test("what is behind the answers needs settling", arguments: settling)
    func settles(expectation: Expectation, isNeeded: Bool) {
        #expect(expectation.needsSettling == isNeeded)
        #expect(CasePlan(contract { $0 = expectation }).subject.observes == isNeeded)
    }

    private static let solitary: Set<String> = [
        "a crash", "a restart", "a kill", "reconciling", "new keys",
    ]

    @Test("what others share is not touched beside them", arguments: steps)
    func solitude(name: String, step: Step, features: Set<Feature>) {
        let plan = CasePlan(contract(steps: [step])).subject
        #expect(plan.needsSolitude == Self.solitary.contains(name))
        #expect(plan.hasRestart == features.contains(.restart))
    }

    @Test func `a plan for Firebase is everybody's, one for OneSignal is the case's own`() {
        func plan(_ provider: Exchange.Party) -> RunPlan {
            CasePlan(
                contract(steps: [.provider(ProviderPlan(provider: provider, answers: [.reset]))])
            ).subject
        }
        #expect(plan(.firebase).needsSolitude)
        #expect(!plan(.oneSignal).needsSolitude)
        #expect(plan(.oneSignal).hasPlan)
    }

    @Test func `held copies are told apart from copies one after the other`() {
        func plan(_ change: (inout Delivery) -> Void) -> RunPlan {
            CasePlan(contract(steps: [Self.event(change)])).subject
        }
        #expect(!plan { $0.times = 8 }.hasHeldCopies)
        #expect(
            plan {
                $0.times = 8
                $0.isTogether = true
            }.hasHeldCopies
        )
    }

    @Test func `a burst is played alone, a few copies beside others`() {
        func plan(_ count: Int, isTogether: Bool = true) -> RunPlan {
            CasePlan(
                contract(
                    steps: [
                        Self.event {
                            $0.times = count
                            $0.isTogether = isTogether
                        }
                    ]
                )
            ).subject
        }
        #expect(plan(10).isBurst && plan(48).isBurst)
        #expect(!plan(9).isBurst)
        #expect(!plan(48, isTogether: false).isBurst)
    }

    // MARK: Obstacles

    @Test("an endpoint that is not there is an obstacle", arguments: Feature.allCases)
    func endpoints(feature: Feature) {
        var profile = Profile()
        profile.endpoints = [:]
        let needsEndpoint: Set<Feature> = [
            .purchasely, .purchaselySignature, .purchaselyPush, .firebase, .signedTokens,
            .revocation, .realAccounts, .reconcile, .deletion, .register, .login, .signature,
            .accessRoute,
            // No endpoint, and not there either.
            .fault, .clock,
        ]
        #expect((profile.obstacle(to: feature) != nil) == needsEndpoint.contains(feature))
    }

    @Test("what a profile declares unsupported is an obstacle", arguments: Feature.allCases)
    func unsupported(feature: Feature) {
        var profile = Profile()
        profile.unsupported = [feature]
        #expect(profile.obstacle(to: feature)?.contains(feature.rawValue) == true)
    }

    @Test func `a missing secret is an obstacle to what it signs`() {
        var profile = Profile()
        profile.endpoints["purchasely-webhook"] = Profile.Endpoint(method: "POST", path: "/p")
        #expect(profile.obstacle(to: .authorization) == nil)
        profile.secrets[.revenueCatAuthorization] = Secret("")
        #expect(profile.obstacle(to: .authorization) != nil)
        #expect(profile.obstacle(to: .signature) != nil)
        profile.secrets[.revenueCatSigning] = Secret("k")
        #expect(profile.obstacle(to: .signature) == nil)
        #expect(profile.obstacle(to: .purchaselySignature) != nil)
        profile.secrets[.purchaselySigning] = Secret("k")
        #expect(profile.obstacle(to: .purchaselySignature) == nil)
    }

    @Test("ids of a form are an obstacle to what needs another", arguments: Profile.IDForm.allCases)
    func idForms(form: Profile.IDForm) {
        var profile = Profile()
        profile.idForm = form
        #expect((profile.obstacle(to: .textIDs) == nil) == (form == .string))
        #expect(
            (profile.obstacle(to: .accountApp) == nil) == (form == .string || form == .firebase)
        )
    }

    @Test func `a login needs a way to make accounts`() {
        var profile = Profile()
        #expect(profile.obstacle(to: .login) != nil)
        profile.accountCreation = .command(["make"])
        #expect(profile.obstacle(to: .login) == nil)
        profile.unsupported = [.push]
        profile.endpoints["purchasely-webhook"] = Profile.Endpoint(method: "POST", path: "/p")
        #expect(profile.obstacle(to: .purchaselyPush) != nil)
    }

    // MARK: Namespaces

    @Test("nobody shares an id with anybody, in any form", arguments: Profile.IDForm.allCases)
    func noCollisions(form: Profile.IDForm) {
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

    @Test func `an id that the backend chose is the user's, and no other changes`() {
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
