import Conformance
import Recording
import Testing

/// What a golden contract does not need to say.
@Suite("Golden contracts, made smaller")
struct MinimiserTests {
    private static let place = SourceLocation(path: "r", line: 1, column: 1)

    private static func request(
        _ name: String,
        _ change: (inout AppRequest) -> Void = { _ in }
    ) -> Step {
        var request = AppRequest(name: name, method: "GET", target: "/" + name)
        var pattern = AnswerPattern(status: 200, location: place)
        pattern.body = .json(["a": 1, "b": ["c": 2]])
        request.answer = pattern
        change(&request)
        return .request(request)
    }

    private static func event(
        _ name: String,
        _ subject: Delivery.Subject = .body(["event": ["type": "RENEWAL"]])
    ) -> Step {
        .deliver(Delivery(name: name, subject: subject))
    }

    private static func contract(
        _ steps: [Step],
        effects: [EffectExpectation] = [],
        values: [String: JSONValue] = [:]
    ) -> Contract {
        var expectation = Conformance.Expectation(answers: .statuses([200]))
        expectation.effects = effects
        var contract = Contract(
            id: "s",
            variant: "",
            title: "A session",
            clause: "G-01",
            level: .must,
            source: "r",
            needs: [],
            given: [],
            steps: steps,
            expectation: expectation,
            location: place
        )
        contract.values = values
        return contract
    }

    private static func effect(_ count: Int, says: JSONValue? = nil) -> EffectExpectation {
        var effect = EffectExpectation(
            kind: "onesignal.notification",
            user: "ada",
            countMin: count,
            countMax: count,
            hasSteadyKey: false,
            location: place
        )
        effect.says = says
        return effect
    }

    private static let whole = contract(
        [
            request("a"),
            request("b") { $0.answer?.fields = [.init("location", "/x")] },
            event("e"), event("again", .repeats("e")),
        ],
        effects: [effect(1), effect(0)],
        values: ["unused": 1]
    )

    /// What a contract says, so that a search for less can be followed.
    private static func size(_ contract: Contract) -> Int {
        contract.steps.count + contract.expectation.effects.count
    }

    @Test func `where everything may go, one step is left`() async {
        let (left, removed) = await Minimiser.minimised(Self.whole) { _ in true }
        #expect(left.steps.count == 1 && left.expectation.effects.isEmpty)
        #expect(left.values.isEmpty)
        #expect(removed > 0)
    }

    @Test func `where nothing may go, nothing goes`() async {
        let (left, removed) = await Minimiser.minimised(Self.whole) { _ in false }
        #expect(removed == 0)
        #expect(left.steps == Self.whole.steps)
        #expect(left.expectation.effects == Self.whole.expectation.effects)
    }

    @Test func `what the verdict hangs on stays, and all else goes`() async throws {
        let (left, _) = await Minimiser.minimised(Self.whole) { candidate in
            candidate.steps.contains { step in
                guard case .request(let request) = step, request.name == "b",
                    case .json(let body)? = request.answer?.body
                else { return false }
                return body[JSONPointer(tokens: ["b", "c"])] == 2
            }
        }
        #expect(left.steps.count == 1)
        guard case .request(let request)? = left.steps.first else { return #expect(Bool(false)) }
        #expect(request.answer?.body == .json(["b": ["c": 2]]))
        #expect(request.answer?.fields.isEmpty == true)
    }

    @Test func `an event that is repeated stays as long as its repeat`() async {
        let (left, _) = await Minimiser.minimised(Self.whole) { candidate in
            candidate.steps.contains { step in
                if case .deliver(let delivery) = step { delivery.name == "again" } else { false }
            }
        }
        #expect(left.steps == [Self.event("e"), Self.event("again", .repeats("e"))])
    }

    @Test func `a contract only gets smaller on the way, and each candidate is asked for once`()
        async
    {
        var asked: [Int] = []
        let (left, removed) = await Minimiser.minimised(Self.whole) { candidate in
            asked.append(Self.size(candidate))
            return Self.size(candidate) % 2 == 0
        }
        #expect(asked.allSatisfy { $0 <= Self.size(Self.whole) })
        #expect(Self.size(left) <= Self.size(Self.whole) && removed <= asked.count)
    }
}
