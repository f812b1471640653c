import Contracts
import Providers
import TestSupport
import Testing
import Values

@Suite("Plans")
struct PlanTests {
    private func contract(
        _ relation: Expectation.BaselineRelation,
        given: [Step] = [],
        steps: [Step]
    ) -> Contract {
        var contract = SampleContract.contract(relation: relation)
        contract.given = given
        contract.steps = steps
        return contract
    }

    private func event(
        _ name: String,
        at time: Duration = .zero,
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> Step {
        var spec = EventSpec(type: .documented(.renewal), user: "ada")
        spec.time = time
        var delivery = Delivery(name: name, subject: .event(spec))
        change(&delivery)
        return .deliver(delivery)
    }

    @Test func `a user who calls the protected route is registered first`() {
        func call(_ user: String, _ route: Call.Route) -> Step {
            var call = Call(name: "call-\(user)", route: route)
            call.user = user
            return .call([call])
        }
        let calls =
            [call("bob", .register)]
            + ["ada", "bob", "carl", "ada"].map {
                call($0, .protected)
            }
        var contract = contract(.faultFree, given: [event("a")], steps: calls)
        contract.unknownUsers = ["carl"]
        let plan = CasePlan(contract)
        for run in [plan.subject, plan.baseline].compactMap(\.self) {
            #expect(run.steps.first == .register(user: "ada"))
            #expect(run.steps.count { $0 == .register(user: "ada") } == 1)
            #expect(!run.steps.contains(.register(user: "bob")), "the contract registers Bob")
            #expect(!run.steps.contains(.register(user: "carl")), "Carl is unknown on purpose")
            #expect(run.preparationStepCount == 2)
        }
        #expect(plan.contract.given.count == 1, "the contract keeps its own steps")
    }

    @Test func `the once relation drops repeats, copies and faults`() {
        let plan = CasePlan(
            contract(
                .once,
                steps: [
                    .provider(ProviderPlan(provider: .oneSignal, responses: [.reset])),
                    event("a") {
                        $0.times = 8
                        $0.sendsCopiesConcurrently = true
                    },
                    .restart(Restart(signal: .kill)),
                    .deliver(Delivery(name: "again", subject: .repeats("a"))),
                ]
            )
        )
        #expect(plan.baseline?.steps == [event("a")])
        #expect(plan.subject.hasRestart)
    }

    @Test func `the undisturbed relation keeps copies and drops faults`() {
        let plan = CasePlan(
            contract(
                .faultFree,
                steps: [
                    event("a") {
                        $0.followsRetrySchedule = true
                        $0.lostResponses = 3
                    },
                    .deliver(Delivery(name: "again", subject: .repeats("a"))),
                ]
            )
        )
        #expect(plan.baseline?.steps.count == 2)
        #expect(plan.baseline?.steps.first == event("a"))
    }

    @Test func `in order registers first and sorts by time`() {
        let plan = CasePlan(
            contract(
                .inOrder,
                steps: [event("late", at: .seconds(20)), event("early"), .register(user: "ada")]
            )
        )
        #expect(
            plan.baseline?.steps == [
                .register(user: "ada"), event("early"), event("late", at: .seconds(20)),
            ]
        )
    }

    @Test func `templates in the baseline have the values of the case`() {
        var contract = contract(.once, steps: [event("a")])
        contract.values = ["x": 1]
        #expect(CasePlan(contract).baseline?.values == ["x": 1])
    }

    @Test func `the before relation keeps only given steps`() {
        let plan = CasePlan(contract(.before, given: [event("a")], steps: [event("b")]))
        #expect(plan.baseline?.steps == [event("a")])
        #expect(plan.baseline?.users == ["ada"])
    }

    @Test func `the direct relation uses the registered ID, plain drops edits`() {
        var spec = EventSpec(type: .documented(.renewal), user: "ada")
        spec.userIDLocation = .aliases
        var delivery = Delivery(name: "a", subject: .event(spec))
        delivery.edits = [.init(pointer: JSONPointer(tokens: ["x"]), value: 1)]
        delivery.addedNestingDepth = 9
        let direct = CasePlan(contract(.direct, steps: [.deliver(delivery)])).baseline
        let plain = CasePlan(contract(.plain, steps: [.deliver(delivery)])).baseline
        #expect(direct?.deliveries.first?.edits.count == 1)
        #expect(
            direct?.deliveries.first?.subject
                == .event(EventSpec(type: .documented(.renewal), user: "ada"))
        )
        #expect(plain?.deliveries.first?.edits.isEmpty == true)
        #expect(plain?.deliveries.first?.addedNestingDepth == 0)
        #expect(plain?.deliveries.first?.subject == .event(spec))
    }

    @Test("ids have the form that the profile names", arguments: UserIDForm.allCases)
    func makesIDs(form: UserIDForm) {
        let namespace = Namespace(name: "run-1", idForm: form)
        let id = namespace.id(of: "ada")
        #expect(id == Namespace(name: "run-1", idForm: form).id(of: "ada"))
        #expect(id != namespace.id(of: "bob"))
        #expect(id != Namespace(name: "run-2", idForm: form).id(of: "ada"))
        #expect(id.count <= 100)
        switch form {
        case .integer: #expect(Int32(id) != nil)
        case .uuid:
            #expect(id.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
            #expect(id == id.lowercased())
        case .firebase: #expect(id.count == 28)
        case .string: #expect(id.contains("run-1"))
        }
    }

    /// Contracts that differ in where their steps stand say the same.
    @Test func `source locations are not part of a contract's value`() throws {
        var contract = SampleContract.contract([])
        let bare = contract
        contract.sourceLocations = StepLocations([SampleContract.location])
        #expect(contract == bare && contract.hashValue == bare.hashValue)
        let text = try JSONValue(encoding: contract)
        var saved = try #require(text.object)
        saved["places"] = nil
        #expect(try JSONValue.object(saved).decoded(as: Contract.self) == bare)
    }
}
