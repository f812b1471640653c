import Conformance
import Recording
import TestSupport
import Testing

/// What a golden contract does not need to say.
@Suite("Golden contracts, made smaller")
struct MinimiserTests {
    private static func contract(
        _ steps: [Step],
        effects: [EffectExpectation] = [],
        values: [String: JSONValue] = [:]
    ) -> Contract {
        SmallContracts.contract(steps, effects: effects) { $0.values = values }
    }

    private static let whole = contract(
        [
            SmallContracts.request("a"),
            SmallContracts.request("b") { $0.answer?.fields = [.init("location", "/x")] },
            SmallContracts.event("e"), SmallContracts.event("again", .repeats("e")),
        ],
        effects: [SmallContracts.effect(1), SmallContracts.effect(0)],
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
        #expect(
            left.steps == [SmallContracts.event("e"), SmallContracts.event("again", .repeats("e"))]
        )
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
