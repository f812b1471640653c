import Contracts
import Judging
import Testing
import Values

@Suite("Plans")
struct PlanTests {
    private func contract(
        _ relation: Expectation.BaselineRelation,
        given: [Step] = [],
        steps: [Step]
    ) -> Contract {
        var contract = EvidenceBuilder(
            expectation: EvidenceBuilder.expectation(relation)
        ).contract
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
}

@Suite("Verdicts")
struct VerdictTests {
    private func result(_ verdict: Verdict, unsupported: Bool = false) -> CaseResult {
        CaseResult(
            contract: EvidenceBuilder(expectation: EvidenceBuilder.expectation()).contract,
            verdict: verdict,
            isDeclaredUnsupported: unsupported
        )
    }

    private func exit(_ cases: [CaseResult], isInterrupted: Bool = false) -> Int32 {
        RunReport(of: cases, isInterrupted: isInterrupted).exitCode
    }

    @Test func `only passed and known failures are green`() {
        #expect(exit([result(.passed), result(.knownFailure)]) == 0)
        #expect(exit([result(.passed), result(.notRun, unsupported: true)]) == 0)
        #expect(exit([result(.passed), result(.failed), result(.inconclusive)]) == 1)
        #expect(exit([result(.unexpectedPass)]) == 1)
        #expect(exit([result(.passed), result(.inconclusive)]) == 5)
        #expect(exit([result(.passed), result(.notRun)]) == 5)
        #expect(exit([result(.failed)], isInterrupted: true) == 130)
    }

    @Test func `a known failure must fail, and with its own code`() throws {
        let list = try KnownFailures(
            parsing: "# accepted\ntest/case E204 ticket 12\n",
            path: "known.txt"
        )
        let finding = Finding(.wrongEffectCount, expected: "1", actual: "2")
        let other = Finding(.noResponse, expected: "200", actual: "closed")
        func verdict(_ verdict: Verdict, _ findings: [Finding]) -> Verdict {
            list.verdict(verdict, of: "test/case", findings: findings).verdict
        }
        #expect(verdict(.failed, [finding]) == .knownFailure)
        #expect(verdict(.failed, [finding, other]) == .failed)
        #expect(verdict(.passed, []) == .unexpectedPass)
        #expect(verdict(.inconclusive, []) == .inconclusive)
        #expect(list.verdict(.failed, of: "other", findings: [finding]).verdict == .failed)
    }

    @Test(
        "a broken list names line and remedy",
        arguments: [
            ("a/b\n", "known.txt:1:1", "a finding code is missing"),
            ("\na/b E9 x\n", "known.txt:2:5", "'E9' is not a finding code"),
            ("a E204\na E301\n", "known.txt:2:1", "the case 'a' is listed twice"),
        ]
    )
    func reportsBrokenList(text: String, place: String, problem: String) {
        do throws(KnownFailures.ParseError) {
            _ = try KnownFailures(parsing: text, path: "known.txt")
            Issue.record("it was accepted")
        } catch {
            #expect("\(error)".contains(place))
            #expect("\(error)".contains(problem))
        }
    }

    @Test func `every code explains itself and is unique`() {
        #expect(Set(FindingCode.allCases.map(\.rule)).count == FindingCode.allCases.count)
        for code in FindingCode.allCases {
            let parts = code.facts
            for text in [parts.meaning, parts.cause, parts.remedy] {
                #expect(text.hasSuffix("."), "\(code)")
            }
        }
    }
}
