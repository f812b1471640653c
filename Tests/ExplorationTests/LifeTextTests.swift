import Conformance
import Exploration
import Testing

/// Lives as files, and what makes two of them one cause.
struct LifeTextTests {
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

    @Test func `a file that somebody wrote is read and written as the same`() throws {
        let life = try LifeText.life(Self.text)
        #expect(LifeText.text(life) == Self.text)
        #expect(life.people.map(\.arrival) == [.registered, .unknown])
        #expect(life.steps[0].isQuietPoint)
        #expect(life.steps[1].act.isDeferred)
        #expect(life.steps[2].act.from == "ada")
        #expect(life.mishaps[0].disturbance == .late(by: 2))
    }

    @Test(
        "a line that says nothing is named",
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
        let error = #expect(throws: LifeText.ParseError.self) {
            try LifeText.life("history 1\nperson ada registered\n" + line)
        }
        #expect(error?.line == 3)
        #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
        #expect(error?.isOfAnotherVersion == false)
    }

    @Test func `another version is told as that`() {
        for (text, isOlder) in [
            ("history 2\nperson ada registered\n", true), ("", false), ("{}", false),
        ] {
            let error = #expect(throws: LifeText.ParseError.self) { try LifeText.life(text) }
            #expect(error?.isOfAnotherVersion == isOlder)
        }
    }

    @Test(
        "who does something is there, and something happens",
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
    func isNoLife(lines: String, problem: String) {
        let error = #expect(throws: LifeText.ParseError.self) {
            try LifeText.life("history 1\nperson ada registered\n" + lines)
        }
        #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
    }

    // MARK: Causes

    private static func life(_ acts: [(Act.Kind, String)], _ mishaps: [Disturbance] = []) -> Life {
        Life(
            people: [Life.Person("ada", .registered)],
            steps: acts.enumerated().map { index, act in
                var made = Act(act.0, "ada", at: .seconds(-1000 + index))
                made.product = act.1
                return Life.Step(id: index, act: made, isQuietPoint: false)
            },
            mishaps: mishaps.map { Life.Mishap(act: 0, event: 0, $0) }
        )
    }

    @Test func `a smaller life explains one in which all of it happens, and no other`() {
        let monthly = "premium_monthly"
        let small = Self.life([(.purchase, monthly), (.refund, monthly)], [.late(by: 1)])
        let large = Self.life(
            [(.purchase, monthly), (.cancel, monthly), (.refund, monthly)],
            [.shuffled, .late(by: 3)]
        )
        #expect(large.contains(small))
        #expect(!small.contains(large))
        // Undisturbed, the other way round, or of something that is kept, it is another story.
        #expect(!Self.life([(.purchase, monthly), (.refund, monthly)]).contains(small))
        #expect(
            !Self.life([(.refund, monthly), (.purchase, monthly)], [.late(by: 1)]).contains(small)
        )
        let kept = "premium_lifetime"
        #expect(!Self.life([(.purchase, kept), (.refund, kept)], [.late(by: 1)]).contains(small))
    }

    @Test func `what fails at one store alone explains nothing at another`() {
        var small = Self.life([(.purchase, "premium_monthly")])
        let large = Self.life([(.purchase, "premium_monthly"), (.cancel, "premium_monthly")])
        small.steps[0].act.store = "APP_STORE"
        #expect(large.contains(small))
        small.steps[0].act.store = "PLAY_STORE"
        #expect(!large.contains(small))
    }

    @Test func `access that nobody paid for is another cause than access that is missing`() {
        let causes = ["true", "false"].map {
            LifeCause(Finding(.stateValue, expected: "access of ada is \($0)", actual: ""))
        }
        #expect(causes.map(\.what) == ["access true", "access false"])
        let end = LifeCause(
            Finding(.stateValue, expected: "expires of ada is 2027-01-01T00:00:00Z", actual: "")
        )
        #expect(end.what == "expires")
        let life = Self.life([(.purchase, "premium_monthly")])
        #expect(life.storyID(causes[0]) != life.storyID(causes[1]))
        var later = life
        later.steps[0].act.time += .seconds(7)
        #expect(life.storyID(end) == later.storyID(end))
    }

    private static let all = Means(
        features: Set(Feature.allCases),
        showsState: true,
        choosesIDs: false
    )

    @Test func `what is late behind nothing is no disturbance`() throws {
        let acts: [(Act.Kind, String)] = [
            (.purchase, "premium_monthly"), (.cancel, "premium_monthly"),
        ]
        for (act, isLate) in [(0, true), (1, false), (5, false)] {
            var life = Self.life(acts)
            life.mishaps = [Life.Mishap(act: act, event: 0, .late(by: 1))]
            let script = try LifeScript(life, Self.all)
            #expect(script.contract.clause == (isLate ? "S-09" : "S-11"))
            #expect(script.life.mishaps.isEmpty == !isLate)
            #expect(script.features.contains { $0.text.hasPrefix("disturbed delayed") } == isLate)
        }
    }

    @Test func `two events are under way at one moment where nothing stands between them`() throws {
        let acts: [(Act.Kind, String)] = [
            (.purchase, "premium_monthly"), (.cancel, "premium_monthly"),
            (.uncancel, "premium_monthly"),
        ]
        var life = Self.life(acts)
        life.steps[0].isQuietPoint = true
        life.mishaps = [Life.Mishap(act: 0, event: 0, .overlap)]
        let script = try LifeScript(life, Self.all)
        let deliveries = CasePlan(script.contract).subject.deliveries
        #expect(deliveries.map(\.isWithNext) == [true, false, false])
        #expect(deliveries.map(\.isAlongLadder) == [true, true, false])
        #expect(script.contract.clause == "S-09")
        #expect(script.quietPoints.isEmpty, "nobody can say what shows in between")
        // Nobody waits for who never comes, or comes behind something else.
        for other in [Disturbance.crash(Crash(signal: .kill, moment: .sent)), .register] {
            var alone = life
            alone.mishaps.append(Life.Mishap(act: 1, event: 0, other))
            let script = try LifeScript(alone, Self.all)
            #expect(script.life.mishaps.map(\.disturbance) == [other])
            #expect(script.quietPoints.count == 1)
        }
        life.mishaps = [Life.Mishap(act: 2, event: 0, .overlap)]
        #expect(try LifeScript(life, Self.all).life.mishaps.isEmpty)
    }

    @Test func `a registration may be under way at the same moment as an event`() throws {
        var life = Self.life([(.purchase, "premium_monthly"), (.cancel, "premium_monthly")])
        life.mishaps = [Life.Mishap(act: 1, event: 0, .meanwhile)]
        let script = try LifeScript(life, Self.all)
        let plan = CasePlan(script.contract).subject
        #expect(plan.deliveries.map(\.isWithNext) == [false, true])
        #expect(plan.moments == [.init(deliveries: ["cancellation"], calls: ["register"])])
        #expect(plan.calls.map(\.route) == [.register])
        #expect(script.contract.clause == "S-22")
    }

    @Test func `all that happened to a product is left out at once`() {
        let (monthly, yearly) = ("premium_monthly", "premium_yearly")
        let life = Self.life([
            (.purchase, monthly), (.refund, monthly), (.purchase, yearly), (.cancel, yearly),
        ])
        // Neither of the first two can be left out alone.
        let wanted = [life.steps[2], life.steps[3]]
        #expect(life.shorter.contains { $0.steps == wanted })
        // So are two that are about no product, such as a grant and its end.
        let others = [life.steps[0], life.steps[2]]
        #expect(life.shorter.contains { $0.steps == others })
    }

    @Test func `what fell due goes on being disturbed when the act behind it is left out`() throws {
        let text = """
            history 1
            person ada registered
            person bob registered
            operation 0 -40000m bob purchase product=premium_monthly store=APP_STORE period=TRIAL
            operation 1 -61m ada purchase product=PLUS_MONTHLY store=PURCHASELY
            operation 2 -1h bob cancel product=premium_monthly
            fault 1.0 delayed 2

            """
        let life = try LifeText.life(text)
        _ = try LifeScript(life, Self.all)
        let alone = life.shorter.filter { $0.people.map(\.name) == ["bob"] }
        #expect(alone.contains { $0.mishaps == [Life.Mishap(act: 2, event: 0, .late(by: 2))] })
    }

    @Test func `whoever spends no money need not be there; what was due has its usual name`()
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
        let script = try LifeScript(try LifeText.life(text), Self.all)
        let contract = script.contract
        #expect(contract.expectation.states.map(\.user) == ["bob"])
        let names = CasePlan(contract).subject.deliveries.compactMap { delivery -> String? in
            guard case .event(let spec) = delivery.subject, spec.user == "bob" else { return nil }
            return spec.knownBy.rawValue
        }
        #expect(names.count > 1)
        #expect(Set(names) == [EventSpec.KnownBy.appUserID.rawValue])
    }

    @Test func `effects alone prove no clause about state`() throws {
        let means = Means(features: [.push], showsState: false, choosesIDs: false)
        var life = Self.life([(.purchase, "premium_monthly"), (.cancel, "premium_monthly")])
        life.hasTwin = true
        #expect(try LifeScript(life, means).contract.clause == "S-31")
        var generator = LifeGenerator(seed: 3, options: .init(means: means))
        for _ in 0..<100 {
            let clause = generator.next().script.contract.clause
            #expect(["S-03", "S-07", "S-08", "S-22", "S-30", "S-31"].contains(clause), "\(clause)")
        }
    }

    @Test func `the title says what happens, and the clause what is asked`() throws {
        let life = Self.life(
            [(.purchase, "premium_monthly"), (.refund, "premium_monthly")],
            [.late(by: 1)]
        )
        #expect(life.title == "Ada buys, gets a refund; delivered after later events")
        #expect(life.clause == "S-09")
        var calm = life
        calm.mishaps = []
        #expect(calm.clause == "S-11")
        #expect(life.slug == "purchase-refund-delayed")
    }

    @Test func `what no store does is no life`() {
        let means = Means(features: [.subscription], showsState: true, choosesIDs: false)
        func refused(_ acts: [(Act.Kind, String)]) -> Bool {
            (try? LifeScript(Self.life(acts), means)) == nil
        }
        #expect(!refused([(.purchase, "premium_monthly")]))
        #expect(refused([(.cancel, "premium_monthly")]))
        #expect(refused([(.purchase, "premium_monthly"), (.resume, "premium_monthly")]))
        #expect(refused([(.purchase, "premium_lifetime"), (.cancel, "premium_lifetime")]))
        #expect(refused([(.purchase, "premium_monthly"), (.purchase, "premium_monthly")]))
    }
}
