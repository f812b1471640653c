import Contracts
import FakeServers
import Recording
import Testing
import TestSupport
import Values

/// What a golden contract does not need to say.
@Suite("Minimizing golden contracts")
struct MinimizerTests {
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

    @Test func `if everything is removable, one step is left`() async {
        let (left, removed) = await ContractMinimizer.minimized(Self.whole) { _ in true }
        #expect(left.steps.count == 1 && left.expectation.effects.isEmpty)
        #expect(left.values.isEmpty)
        #expect(removed > 0)
    }

    @Test func `if nothing is removable, nothing is removed`() async {
        let (left, removed) = await ContractMinimizer.minimized(Self.whole) { _ in false }
        #expect(removed == 0)
        #expect(left.steps == Self.whole.steps)
        #expect(left.expectation.effects == Self.whole.expectation.effects)
    }

    @Test func `steps that decide the verdict stay, and all others go`() async throws {
        let (left, _) = await ContractMinimizer.minimized(Self.whole) { candidate in
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
        let (left, _) = await ContractMinimizer.minimized(Self.whole) { candidate in
            candidate.steps.contains { step in
                if case .deliver(let delivery) = step { delivery.name == "again" } else { false }
            }
        }
        #expect(
            left.steps == [SmallContracts.event("e"), SmallContracts.event("again", .repeats("e"))]
        )
    }

    @Test func `a contract never grows during minimization, and each candidate is tested once`()
        async
    {
        let asked = Locked<[Contract]>([])
        let (left, _) = await ContractMinimizer.minimized(Self.whole) { candidate in
            asked.withLock { $0.append(candidate) }
            return Self.size(candidate) % 2 == 0
        }
        let all = asked.withLock { $0 }
        #expect(all.allSatisfy { Self.size($0) <= Self.size(Self.whole) })
        #expect(Self.size(left) <= Self.size(Self.whole))
        #expect(Set(all).count == all.count)
    }

    /// Verdicts that hang on several steps at once, on one or another, and on how many there are.
    @Test("the result is minimal for any number of concurrent searches", arguments: 0..<40)
    func oneMinimal(round: UInt64) async {
        var generator = SeededGenerator(seed: round)
        let names = (0..<24).map { "s\($0)" }
        let whole = Self.contract(names.map { SmallContracts.request($0) })
        let groups = (0..<4).map { _ in
            Set((0..<3).map { _ in names[Int(generator.next() % 24)] })
        }
        let isOdd = round % 3 == 0
        @Sendable func left(in contract: Contract) -> Set<String> {
            Set(
                contract.steps.compactMap { if case .request(let it) = $0 { it.name } else { nil } }
            )
        }
        @Sendable func keeps(_ contract: Contract) -> Bool {
            let names = left(in: contract)
            guard names.isSuperset(of: groups[0]) else { return false }
            // One of two is enough, and an odd number where that matters.
            guard names.isSuperset(of: groups[1]) || names.isSuperset(of: groups[2]) else {
                return false
            }
            return !isOdd || names.count % 2 == whole.steps.count % 2
                || names.isDisjoint(with: groups[3])
        }
        let (rest, removed) = await ContractMinimizer.minimized(whole) { keeps($0) }
        #expect(keeps(rest))
        for index in rest.steps.indices where rest.steps.count > 1 {
            var smaller = rest
            smaller.steps.remove(at: index)
            #expect(!keeps(smaller), "\(left(in: rest)) without \(index)")
        }
        #expect(removed > 0)
        for jobs in [2, 8] {
            let other = await ContractMinimizer.minimized(whole, jobs: jobs) { keeps($0) }
            #expect(other.contract == rest && other.removedPartCount == removed)
        }
    }

    /// Seen: three deliveries that only made up for each other could be taken out by hand.
    @Test func `deliveries that hang together go together`() async {
        let whole = Self.contract([
            SmallContracts.request("a"), SmallContracts.event("x"), SmallContracts.request("b"),
            SmallContracts.event("y", .repeats("x")), SmallContracts.event("z", .repeats("x")),
        ])
        let (left, _) = await ContractMinimizer.minimized(whole) { candidate in
            let count = candidate.steps.count {
                if case .deliver = $0 { true } else { false }
            }
            return count == 3 || count == 0
        }
        #expect(left.steps.count == 1)
        guard case .request? = left.steps.first else { return #expect(Bool(false)) }
    }
}
