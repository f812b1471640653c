import Contracts
import Exploration
import Judging
import Providers
import Testing

/// Lives as files, and what makes two of them one cause.
struct HistoryTextTests {
    private static let text = """
        history 1
        person ada registered
        person bob unknown
        baseline
        operation 0 -3d ada purchase product=premium_monthly store=APP_STORE period=TRIAL quiet
        operation 1 -2d ada change-product product=premium_monthly to=premium_yearly deferred
        operation 2 -1d bob transfer from=ada known-by=aliases
        fault 1.0 delayed 2
        fault 2.0 onesignal-error slow 3s
        fault 2.0 crash KILL early

        """

    @Test func `a handwritten history file round-trips`() throws {
        let history = try HistoryText.history(Self.text)
        #expect(HistoryText.text(history) == Self.text)
        #expect(history.users.map(\.arrival) == [.registered, .unknown])
        #expect(history.steps[0].readsStateAfterStep)
        #expect(history.steps[1].operation.isDeferred)
        #expect(history.steps[2].operation.from == "ada")
        #expect(history.placedFaults[0].fault == .delayed(by: 2))
    }

    @Test(
        "an invalid line is named",
        arguments: [
            ("person ada", "write 'person"), ("operation 0 -3d ada", "write 'operation"),
            ("operation 0 soon ada purchase", "write 'operation"),
            ("operation 0 -3d ada eat", "'eat' is not an operation"),
            ("operation 0 -3d ada cancel colour=red", "'colour=red' is not a valid detail"),
            ("operation 0 -3d ada cancel span=long", "'span=long' is not a valid detail"),
            ("fault 0 delayed 2", "write 'fault"), ("fault 0.0 delayed", "write 'fault"),
            ("fault 0.0 delayed 0", "write 'fault"), ("fault 0.0 crash KILL", "write 'fault"),
            ("fault 0.0 reordered-keys twice", "write 'fault"),
            ("wish peace", "cannot begin with 'wish'"),
        ]
    )
    func isRefused(line: String, problem: String) {
        let error = #expect(throws: HistoryText.ParseError.self) {
            try HistoryText.history("history 1\nperson ada registered\n" + line)
        }
        #expect(error?.line == 3)
        #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
        #expect(error?.isVersionMismatch == false)
    }

    @Test func `another format version is reported`() {
        for (text, isOlder) in [
            ("history 2\nperson ada registered\n", true), ("", false), ("{}", false),
        ] {
            let error = #expect(throws: HistoryText.ParseError.self) {
                try HistoryText.history(text)
            }
            #expect(error?.isVersionMismatch == isOlder)
        }
    }

    @Test(
        "a history needs at least one person and one operation",
        arguments: [
            ("", "the history has no operation"),
            ("operation 0 -1d bob purchase\n", "'bob' has an operation but no person line"),
            ("operation 0 -1d ada transfer from=bob\n", "'bob' has an operation but no person"),
            ("person ada unknown\n", "is already used"),
            ("person a|b unknown\n", "has characters other than"),
            ("operation 0 -1d ada purchase product={{x}}\n", "is not a valid detail"),
            (
                String(repeating: "operation 0 -1d ada register\n", count: 1001),
                "more than 1000 operations"
            ),
        ]
    )
    func isNoHistory(lines: String, problem: String) {
        let error = #expect(throws: HistoryText.ParseError.self) {
            try HistoryText.history("history 1\nperson ada registered\n" + lines)
        }
        #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
    }

    // MARK: Causes

    private static func history(
        _ acts: [(HistoryOperation.Kind, String)],
        _ placedFaults: [HistoryFault] = []
    ) -> CustomerHistory {
        CustomerHistory(
            users: [CustomerHistory.HistoryUser("ada", .registered)],
            steps: acts.enumerated().map { index, operation in
                var made = HistoryOperation(operation.0, "ada", at: .seconds(-1000 + index))
                made.product = operation.1
                return CustomerHistory.Step(id: index, operation: made, readsStateAfterStep: false)
            },
            placedFaults: placedFaults.map {
                CustomerHistory.PlacedFault(operation: 0, event: 0, $0)
            }
        )
    }

    @Test func `a smaller history explains one that contains it, and no other`() {
        let monthly = "premium_monthly"
        let small = Self.history([(.purchase, monthly), (.refund, monthly)], [.delayed(by: 1)])
        let large = Self.history(
            [(.purchase, monthly), (.cancel, monthly), (.refund, monthly)],
            [.reorderedKeys, .delayed(by: 3)]
        )
        #expect(large.contains(small))
        #expect(!small.contains(large))
        // Undisturbed, the other way round, or of something that is kept, it is another story.
        #expect(!Self.history([(.purchase, monthly), (.refund, monthly)]).contains(small))
        #expect(
            !Self.history([(.refund, monthly), (.purchase, monthly)], [.delayed(by: 1)]).contains(
                small
            )
        )
        let kept = "premium_lifetime"
        #expect(
            !Self.history([(.purchase, kept), (.refund, kept)], [.delayed(by: 1)]).contains(small)
        )
    }

    @Test func `a failure at one store does not explain a failure at another`() {
        var small = Self.history([(.purchase, "premium_monthly")])
        let large = Self.history([(.purchase, "premium_monthly"), (.cancel, "premium_monthly")])
        small.steps[0].operation.store = "APP_STORE"
        #expect(large.contains(small))
        small.steps[0].operation.store = "PLAY_STORE"
        #expect(!large.contains(small))
    }

    @Test func `unpaid access and missing access have different signatures`() {
        let causes = ["true", "false"].map {
            FailureSignature(
                Finding(.wrongStateValue, expected: "access of ada is \($0)", actual: "")
            )
        }
        #expect(causes.map(\.findingSubject) == ["access true", "access false"])
        let end = FailureSignature(
            Finding(
                .wrongStateValue,
                expected: "expires of ada is 2027-01-01T00:00:00Z",
                actual: ""
            )
        )
        #expect(end.findingSubject == "expires")
        let history = Self.history([(.purchase, "premium_monthly")])
        #expect(history.failureID(causes[0]) != history.failureID(causes[1]))
        var later = history
        later.steps[0].operation.time += .seconds(7)
        #expect(history.failureID(end) == later.failureID(end))
    }

    private static let all = Capabilities(
        features: Set(Feature.allCases),
        canReadState: true,
        backendChoosesIDs: false
    )

    @Test func `a delay without a later event is not a fault`() throws {
        let acts: [(HistoryOperation.Kind, String)] = [
            (.purchase, "premium_monthly"), (.cancel, "premium_monthly"),
        ]
        for (operation, isLate) in [(0, true), (1, false), (5, false)] {
            var history = Self.history(acts)
            history.placedFaults = [
                CustomerHistory.PlacedFault(operation: operation, event: 0, .delayed(by: 1))
            ]
            let script = try HistoryScript(history, Self.all)
            #expect(script.contract.clause == (isLate ? "S-09" : "S-11"))
            #expect(script.history.placedFaults.isEmpty == !isLate)
            #expect(script.features.contains { $0.text.hasPrefix("disturbed delayed") } == isLate)
        }
    }

    @Test func `adjacent events may overlap`() throws {
        let acts: [(HistoryOperation.Kind, String)] = [
            (.purchase, "premium_monthly"), (.cancel, "premium_monthly"),
            (.uncancel, "premium_monthly"),
        ]
        var history = Self.history(acts)
        history.steps[0].readsStateAfterStep = true
        history.placedFaults = [CustomerHistory.PlacedFault(operation: 0, event: 0, .overlap)]
        let script = try HistoryScript(history, Self.all)
        let deliveries = CasePlan(script.contract).subject.deliveries
        #expect(deliveries.map(\.isConcurrentWithNext) == [true, false, false])
        #expect(deliveries.map(\.followsRetrySchedule) == [true, true, false])
        #expect(script.contract.clause == "S-09")
        #expect(script.stateReadPoints.isEmpty, "nobody can say what shows in between")
        // Nobody waits for who never comes, or comes behind something else.
        for other in [HistoryFault.crash(Crash(signal: .kill, phase: .sent)), .register] {
            var alone = history
            alone.placedFaults.append(CustomerHistory.PlacedFault(operation: 1, event: 0, other))
            let script = try HistoryScript(alone, Self.all)
            #expect(script.history.placedFaults.map(\.fault) == [other])
            #expect(script.stateReadPoints.count == 1)
        }
        history.placedFaults = [CustomerHistory.PlacedFault(operation: 2, event: 0, .overlap)]
        #expect(try HistoryScript(history, Self.all).history.placedFaults.isEmpty)
    }

    @Test func `a registration may overlap an event`() throws {
        var history = Self.history([(.purchase, "premium_monthly"), (.cancel, "premium_monthly")])
        history.placedFaults = [
            CustomerHistory.PlacedFault(operation: 1, event: 0, .registrationOverlap)
        ]
        let script = try HistoryScript(history, Self.all)
        let plan = CasePlan(script.contract).subject
        #expect(plan.deliveries.map(\.isConcurrentWithNext) == [false, true])
        #expect(
            plan.concurrentRequests == [.init(deliveries: ["cancellation"], calls: ["register"])]
        )
        #expect(plan.calls.map(\.route) == [.register])
        #expect(script.contract.clause == "S-22")
    }

    @Test func `all operations of a product are removed together`() {
        let (monthly, yearly) = ("premium_monthly", "premium_yearly")
        let history = Self.history([
            (.purchase, monthly), (.refund, monthly), (.purchase, yearly), (.cancel, yearly),
        ])
        // Neither of the first two can be left out alone.
        let wanted = [history.steps[2], history.steps[3]]
        #expect(history.shorterVariants.contains { $0.steps == wanted })
        // So are two that are about no product, such as a grant and its end.
        let others = [history.steps[0], history.steps[2]]
        #expect(history.shorterVariants.contains { $0.steps == others })
    }

    @Test func `a fault on a due event stays if its operation is removed`() throws {
        let text = """
            history 1
            person ada registered
            person bob registered
            operation 0 -40000m bob purchase product=premium_monthly store=APP_STORE period=TRIAL
            operation 1 -61m ada purchase product=PLUS_MONTHLY store=PURCHASELY
            operation 2 -1h bob cancel product=premium_monthly
            fault 1.0 delayed 2

            """
        let history = try HistoryText.history(text)
        _ = try HistoryScript(history, Self.all)
        let alone = history.shorterVariants.filter { $0.users.map(\.name) == ["bob"] }
        #expect(
            alone.contains {
                $0.placedFaults == [
                    CustomerHistory.PlacedFault(operation: 2, event: 0, .delayed(by: 2))
                ]
            }
        )
    }

    @Test func `an operation without payment may be removed`()
        throws
    {
        let text = """
            history 1
            person ada unknown
            person bob registered
            operation 0 -50d bob purchase product=premium_monthly store=APP_STORE
            operation 1 -2d ada purchase product=premium_monthly store=APP_STORE environment=SANDBOX
            operation 2 -1d ada irrelevant-event product=premium_monthly type=TEST known-by=aliases

            """
        let script = try HistoryScript(try HistoryText.history(text), Self.all)
        let contract = script.contract
        #expect(contract.expectation.states.map(\.user) == ["bob"])
        let names = CasePlan(contract).subject.deliveries.compactMap { delivery -> String? in
            guard let spec = delivery.event?.content as? EventSpec, spec.user == "bob" else {
                return nil
            }
            return spec.userIDLocation.rawValue
        }
        #expect(names.count > 1)
        #expect(Set(names) == [EventSpec.UserIDLocation.appUserID.rawValue])
    }

    @Test func `effects alone do not prove a state clause`() throws {
        let capabilities = Capabilities(
            features: [.push],
            canReadState: false,
            backendChoosesIDs: false
        )
        var history = Self.history([(.purchase, "premium_monthly"), (.cancel, "premium_monthly")])
        history.hasBaseline = true
        #expect(try HistoryScript(history, capabilities).contract.clause == "S-31")
        var generator = HistoryGenerator(seed: 3, options: .init(capabilities: capabilities))
        for _ in 0..<100 {
            let clause = generator.next().script.contract.clause
            #expect(["S-03", "S-07", "S-08", "S-22", "S-30", "S-31"].contains(clause), "\(clause)")
        }
    }

    @Test func `the title names the operations, the clause the expectation`() throws {
        let history = Self.history(
            [(.purchase, "premium_monthly"), (.refund, "premium_monthly")],
            [.delayed(by: 1)]
        )
        #expect(history.title == "Ada buys, gets a refund; delivered after later events")
        #expect(history.clause == "S-09")
        var faultFree = history
        faultFree.placedFaults = []
        #expect(faultFree.clause == "S-11")
        #expect(history.slug == "purchase-refund-delayed")
    }

    @Test func `a history impossible in every store is invalid`() {
        let capabilities = Capabilities(
            features: [.subscription],
            canReadState: true,
            backendChoosesIDs: false
        )
        func refused(_ acts: [(HistoryOperation.Kind, String)]) -> Bool {
            (try? HistoryScript(Self.history(acts), capabilities)) == nil
        }
        #expect(!refused([(.purchase, "premium_monthly")]))
        #expect(refused([(.cancel, "premium_monthly")]))
        #expect(refused([(.purchase, "premium_monthly"), (.resume, "premium_monthly")]))
        #expect(refused([(.purchase, "premium_lifetime"), (.cancel, "premium_lifetime")]))
        #expect(refused([(.purchase, "premium_monthly"), (.purchase, "premium_monthly")]))
    }
}
