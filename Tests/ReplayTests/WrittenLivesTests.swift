import Conformance
import ContractFiles
import Exploration
import Replay
import Testing

/// What was found is kept as a file: it has to say what was played.
struct WrittenLivesTests {
    private static let means = Means(
        features: Set(Feature.allCases),
        showsState: true,
        choosesIDs: false
    )

    @Test("every life can be written, and means the same when it is read", arguments: 0..<5)
    func isWritten(round: UInt64) throws {
        var options = LifeGenerator.Options(means: Self.means)
        // What is drawn seldom is written as well.
        let stops = round == 4
        if stops { options.disturbances = [.restart, .crash] }
        var generator = LifeGenerator(seed: round, options: options)
        var steps: Set<Demand.BackendStep> = []
        for _ in 0..<150 {
            let drawn = generator.next().script.contract
            let text = ContractWriter.text(drawn, id: drawn.id)
            let parsed = ContractParser.parse(text, path: drawn.id + ".yaml", id: drawn.id)
            let read = try #require(try parsed.get().first, "\(text)")
            let (mine, its) = (CasePlan(drawn), CasePlan(read))
            try #require(its.subject == mine.subject, "\(text)")
            try #require(its.twin == mine.twin, "\(text)")
            #expect(
                read.expectation.states.map(Self.words) == drawn.expectation.states.map(Self.words)
            )
            #expect([read.clause, read.title] == [drawn.clause, drawn.title])
            steps.formUnion(drawn.steps.compactMap(\.traits.kind))
        }
        #expect(steps.isSuperset(of: [.deliver, .register, .look, .call, .createAccount]))
        #expect(!stops || steps.contains(.restart))
    }

    @Test("so can every life of a phone, with each of its promises", arguments: 0..<2)
    func isWrittenOfPhones(round: UInt64) throws {
        var generator = PhoneGenerator(seed: round)
        for _ in 0..<100 {
            let script = try #require(generator.next { _ in true }).script
            for drawn in script.parts {
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
