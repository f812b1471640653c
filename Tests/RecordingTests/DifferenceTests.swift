import Conformance
import Recording
import Testing

/// What changed between two golden contracts, in the words of the contract; and what a contract does
/// not need to say.
@Suite("Golden contracts, changed")
struct DifferenceTests {
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

    private static let changes: [(String, Contract, Contract, [String])] = [
        ("nothing", contract([request("a")]), contract([request("a")]), []),
        (
            "a step more", contract([request("a")]), contract([request("a"), request("b")]),
            ["step 'b' is new"]
        ),
        (
            "a step less", contract([request("a"), request("b")]), contract([request("b")]),
            ["step 'a' is gone"]
        ),
        (
            "another order", contract([request("a"), request("b")]),
            contract([request("b"), request("a")]), ["the steps' order changed"]
        ),
        (
            "another target", contract([request("a")]),
            contract([request("a") { $0.target = "/z" }]),
            ["request 'a': GET /a → GET /z"]
        ),
        (
            "a header", contract([request("a")]),
            contract([request("a") { $0.fields = [.init("x", "1")] }]),
            ["request 'a' header gained /x (\"1\")"]
        ),
        (
            "a body", contract([request("a")]),
            contract([request("a") { $0.body = .json(["k": 1]) }]),
            ["request 'a' gained a body"]
        ),
        (
            "a body less", contract([request("a") { $0.body = .text("t") }]),
            contract([request("a")]),
            ["request 'a' lost its body"]
        ),
        (
            "another text", contract([request("a") { $0.body = .text("t") }]),
            contract([request("a") { $0.body = .text("u") }]), ["request 'a' has another body"]
        ),
        (
            "a member of a body", contract([request("a") { $0.body = .json(["k": 1]) }]),
            contract([request("a") { $0.body = .json(["k": 2, "l": true]) }]),
            ["request 'a' /k: 1 → 2", "request 'a' gained /l (true)"]
        ),
        (
            "another status", contract([request("a")]),
            contract([request("a") { $0.answer?.status = 404 }]), ["answer to 'a' status 200 → 404"]
        ),
        (
            "no status", contract([request("a") { $0.answer = nil }]), contract([request("a")]),
            ["answer to 'a' status any → 200", "answer to 'a' gained a body"]
        ),
        (
            "a member of an answer", contract([request("a")]),
            contract([request("a") { $0.answer?.body = .json(["a": 1, "b": [:]]) }]),
            ["answer to 'a' lost /b/c (2)"]
        ),
        (
            "an answer of another kind", contract([request("a")]),
            contract([request("a") { $0.answer?.body = .json([]) }]),
            ["answer to 'a' the whole: {\"a\":1,\"b\":{\"c\":2}} → []"]
        ),
        (
            "an event's body", contract([event("e")]),
            contract([event("e", .body(["event": ["type": "EXPIRATION"]]))]),
            ["event 'e' /event/type: \"RENEWAL\" → \"EXPIRATION\""]
        ),
        (
            "another kind of event", contract([event("e")]), contract([event("e", .repeats("d"))]),
            ["event 'e' is another one"]
        ),
        (
            "a message more", contract([], effects: [effect(1)]),
            contract([], effects: [effect(2)]),
            ["effect count 1 → 2: onesignal.notification to ada"]
        ),
        (
            "another message", contract([], effects: [effect(1, says: ["en": "Hi"])]),
            contract([], effects: [effect(1, says: ["en": "Bye"])]),
            [
                "effect gone: onesignal.notification to ada saying {\"en\":\"Hi\"}",
                "effect new: onesignal.notification to ada saying {\"en\":\"Bye\"}",
            ]
        ),
        (
            "values", contract([], values: ["a": 1, "b": 2]),
            contract([], values: ["b": 3, "c": 4]),
            ["value a: 1 → none", "value b: 2 → 3", "value c: none → 4"]
        ),
    ]

    @Test("a change is told", arguments: changes.indices)
    func change(index: Int) {
        let (name, old, new, sentences) = Self.changes[index]
        #expect(ContractDifference.sentences(from: old, to: new) == sentences, "\(name)")
        #expect(ContractDifference.sentences(from: old, to: old).isEmpty)
        #expect(
            ContractDifference.sentences(from: new, to: old).isEmpty == sentences.isEmpty,
            "a change has a way back"
        )
    }

    @Test func `a long value is cut`() {
        let long = String(repeating: "x", count: 200)
        let sentences = ContractDifference.sentences(
            from: Self.contract([], values: ["a": .string(long)]),
            to: Self.contract([])
        )
        #expect(sentences == ["value a: \"\(String(repeating: "x", count: 58))… → none"])
    }

    // MARK: Minimiser

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
