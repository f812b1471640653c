import ContractFiles
import Contracts
import Exploration
import Providers
import Replay
import Testing
import Values

/// What was found is kept as a file: it has to say what was played.
struct HistoryRoundTripTests {
    private static let capabilities = Capabilities(
        features: Set(Feature.allCases),
        canReadState: true,
        backendChoosesIDs: false
    )

    @Test("every history round-trips through a contract file", arguments: 0..<5)
    func isWritten(round: UInt64) throws {
        var options = HistoryGenerator.Options(capabilities: Self.capabilities)
        // What is drawn seldom is written as well.
        let stops = round == 4
        if stops { options.faults = [.restart, .crash] }
        var generator = HistoryGenerator(seed: round, options: options)
        var steps: Set<RequiredCapability.BackendStep> = []
        for _ in 0..<150 {
            let drawn = generator.next().script.contract
            let text = ContractWriter.text(drawn, id: drawn.id)
            let parsed = ContractParser.parse(text, path: drawn.id + ".yaml", id: drawn.id)
            let read = try #require(try parsed.get().first, "\(text)")
            let (mine, its) = (CasePlan(drawn), CasePlan(read))
            try #require(its.subject == mine.subject, "\(text)")
            try #require(its.baseline == mine.baseline, "\(text)")
            #expect(
                read.expectation.states.map(Self.words) == drawn.expectation.states.map(Self.words)
            )
            #expect([read.clause, read.title] == [drawn.clause, drawn.title])
            steps.formUnion(drawn.steps.compactMap(\.traits.kind))
        }
        #expect(steps.isSuperset(of: [.deliver, .register, .probe, .call, .createAccount]))
        #expect(!stops || steps.contains(.restart))
    }

    @Test(
        "every phone history with its invariants round-trips through a contract file",
        arguments: 0..<2
    )
    func phoneHistoryRoundTrips(round: UInt64) throws {
        var generator = PhoneGenerator(seed: round)
        for _ in 0..<100 {
            let script = try #require(generator.next { _ in true }).script
            for drawn in script.singleExpectationContracts {
                let text = ContractWriter.text(drawn, id: drawn.id)
                let parsed = ContractParser.parse(text, path: drawn.id + ".yaml", id: drawn.id)
                let read = try #require(try parsed.get().first, "\(text)")
                try #require(CasePlan(read).subject == CasePlan(drawn).subject, "\(text)")
                #expect([read.clause, read.title] == [drawn.clause, drawn.title])
            }
        }
    }

    private static func words(_ state: StateExpectation) -> [String] {
        [state.user] + state.fields.map { "\($0.name) \($0.value.text)" }
    }
}
