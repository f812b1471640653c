import ContractFiles
import Contracts
import Grammar
internal import Providers
import Testing
import Values

@Suite("Written contracts")
struct RoundTripTests {
    /// What a tree says, whether anybody plays it or not, and what is wrong with it.
    private struct ParsedContract {
        var contract: Contract?
        var problems: [String]

        init(_ node: LocatedNode) {
            var reader = NodeReader()
            contract = Contract.grammar.read(node, &reader)?.addingCrashes(reader.crashesByDelivery)
            // Whether the answers stand there or are the usual ones is a place, and no value.
            contract?.expectation.responseLocation = nil
            let errors = reader.errors + TemplateChecks(contract: node, lines: []).errors
            problems = errors.map(\.message)
        }
    }

    /// What `ContractParser` makes of it: a contract, or why it is none.
    private static func parsed(_ node: LocatedNode, id: String = "a/b") -> ParsedContract {
        var reading = ParsedContract(node)
        switch ContractParser.parse(node, id: id) {
        case .success(let contracts):
            reading.contract = contracts.first
            reading.contract?.expectation.responseLocation = nil
            reading.problems = []
        case .failure(let errors): reading.problems = errors.errors.map(\.message)
        }
        return reading
    }

    /// The first lines in which two contracts differ.
    private static func difference(_ left: Contract, _ right: Contract?) -> String {
        func lines(_ value: some Any) -> [String] {
            var text = ""
            dump(value, to: &text)
            return text.split(separator: "\n").map(String.init)
        }
        guard let right else { return "it is not read again" }
        let pairs = zip(lines(left), lines(right)).filter { $0 != $1 }
        return pairs.prefix(3).map { "\($0) is \($1)" }.joined(separator: "; ")
    }

    private func read(_ node: LocatedNode, id: String = "a/b") throws -> Contract {
        var contract = try #require(
            try ContractParser.parse(node.withoutLocations, id: id).get().first
        )
        contract.expectation.responseLocation = nil
        return contract
    }

    private func again(_ contract: Contract, id: String = "a/b") throws -> Contract {
        let text = ContractWriter.text(contract, id: id)
        return try read(try LocatedNode(parsing: text, path: "again.yaml"), id: id)
    }

    /// The grammar can say what nobody plays, and that is written and read as well; what somebody
    /// plays goes through the parser that everybody uses.
    @Test(
        "a generated contract round-trips",
        arguments: 0..<20
    )
    func isIdentity(round: Int) throws {
        var playedCount = 0
        for seed in round * 500..<(round + 1) * 500 {
            var generator = GrammarGenerator(seed: UInt64(seed))
            let node = generator.contract()
            let first = ParsedContract(node)
            try #require(first.problems.isEmpty, "seed \(seed): \(first.problems)")
            let contract = try #require(first.contract)
            let text = ContractWriter.text(contract, id: "a/b")
            let tree = try LocatedNode(parsing: text, path: "again.yaml").withoutLocations
            let second = ParsedContract(tree)
            try #require(second.problems.isEmpty, "seed \(seed): \(second.problems)\n\(text)")
            try #require(
                second.contract == contract,
                "seed \(seed): \(Self.difference(contract, second.contract))\n\(text)"
            )
            let (played, again) = (Self.parsed(node), Self.parsed(tree))
            #expect(played.problems == again.problems, "seed \(seed)\n\(text)")
            if played.problems.isEmpty {
                playedCount += 1
                #expect(played.contract == again.contract, "seed \(seed)\n\(text)")
            }
        }
        #expect(playedCount > 50, "\(playedCount)")
    }

    @Test("a mutated document is refused with a message, and no input traps", arguments: 0..<20)
    func isRefused(round: Int) throws {
        var refusedCount = 0
        for seed in 0..<500 {
            var generator = GrammarGenerator(seed: UInt64(round * 500 + seed))
            var mutilation = DocumentMutation(random: generator.random)
            let node = mutilation.mutilated(generator.contract())
            guard case .failure(let errors) = ContractParser.parse(node, id: "a/b") else {
                continue
            }
            refusedCount += 1
            #expect(!errors.errors.isEmpty)
            #expect(errors.errors.allSatisfy { !$0.message.isEmpty && !$0.remedy.isEmpty })
        }
        #expect(refusedCount > 250)
    }

    @Test("damaged text is refused with a message, and no input traps", arguments: 0..<10)
    func isCut(round: Int) throws {
        for seed in 0..<100 {
            var generator = GrammarGenerator(seed: UInt64(round * 100 + seed))
            let contract = try #require(ParsedContract(generator.contract()).contract)
            var bytes = Array(ContractWriter.text(contract, id: "a/b").utf8)
            let cut = Int.random(in: bytes.indices, using: &generator.random)
            if seed % 2 == 0 {
                bytes.removeSubrange(cut...)
            } else {
                bytes[cut] = UInt8.random(in: 0x09...0x7e, using: &generator.random)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if case .failure(let errors) = ContractParser.parse(text, path: "cut.yaml", id: "a/b") {
                #expect(errors.errors.allSatisfy { !"\($0)".isEmpty && !$0.remedy.isEmpty })
            }
        }
    }

    /// What a search finds is written as a file; here every shipped contract is, and read again.
    @Test func `every shipped contract round-trips`() throws {
        for file in ContractLibrary.shipped.files {
            let node = try LocatedNode(parsing: file.text, path: file.path).withoutLocations
            for var contract in try ContractParser.parse(node, id: file.id).get() {
                contract.expectation.responseLocation = nil
                var second = try again(contract, id: file.id)
                // The axes are filled in: what is written is one of the variants.
                second.variant = contract.variant
                #expect(second == contract, "\(contract.caseID)")
            }
        }
    }

    @Test("a contract found by a variation round-trips", arguments: Variation.allCases)
    func writesWhatVariationsFind(variation: Variation) throws {
        let minimal = """
            contract: a/b
            title: T
            clause: S-03
            source: a test
            steps:
              - deliver: purchase
                event: {type: RENEWAL, user: ada}
            expect: {status: 200}
            """
        let plain = try read(try LocatedNode(parsing: minimal, path: "a/b.yaml"))
        var generator = VariationGenerator(
            variation,
            body: ["event": ["type": "RENEWAL", "id": "x", "price": 9]],
            random: SeededGenerator(seed: 1)
        )
        for _ in 0..<40 {
            let (edits, shuffles) = generator.next()
            var contract = plain
            contract.steps = contract.steps.map { step in
                guard case .deliver(var delivery) = step else { return step }
                delivery.edits = edits
                delivery.shufflesKeys = shuffles
                return .deliver(delivery)
            }
            let second = try again(contract)
            #expect(second == contract, "\(Self.difference(contract, second))")
        }
    }

    @Test func `a contract made from a crash point round-trips`() throws {
        let text = """
            contract: a/b
            title: T
            clause: S-03
            source: a test
            given:
              - register: ada
              - onesignal: {responses: [slow 2s, hang, code A B, 500], reads: true, forever: true}
              - revenuecat: {responses: [ok], reads: false}
            steps:
              - deliver: purchase
                event: {type: RENEWAL, user: ada}
                edits: [{remove: /event/id}, {set: /event/id, to: x}]
                keys: reordered
              - restart: {at-call: 3, to: onesignal}
            expect: {like: fault-free}
            """
        let contract = try read(try LocatedNode(parsing: text, path: "a/b.yaml"))
        #expect(contract.steps.last == .killAtCall(party: .oneSignal, position: 3))
        #expect(try again(contract) == contract)
    }
}

/// Damages a contract's values in one to three places.
private struct DocumentMutation {
    var random: SeededGenerator

    mutating func mutilated(_ node: LocatedNode) -> LocatedNode {
        var result = node
        for _ in 0..<Int.random(in: 1...3, using: &random) { result = damaged(result) }
        return result
    }

    /// Goes down at random and damages what it meets at the end.
    private mutating func damaged(_ node: LocatedNode) -> LocatedNode {
        switch node.content {
        case .scalar: return wrong(node)
        case .sequence(var nodes):
            guard let index = nodes.indices.randomElement(using: &random) else {
                return wrong(node)
            }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: nodes.remove(at: index)
            case 1: nodes.append(nodes[index])
            default: nodes[index] = damaged(nodes[index])
            }
            return LocatedNode(.sequence(nodes), node.location)
        case .mapping(var entries):
            guard let index = entries.indices.randomElement(using: &random) else {
                return wrong(node)
            }
            let entry = entries[index]
            switch Int.random(in: 0..<8, using: &random) {
            case 0: entries.remove(at: index)
            case 1: entries.append(entry)
            case 2, 3:
                let key = entry.key.dropLast() + "q"
                entries[index] = .init(
                    key: String(key),
                    keyLocation: entry.keyLocation,
                    value: entry.value
                )
            default: entries[index].value = damaged(entry.value)
            }
            return LocatedNode(.mapping(entries), node.location)
        }
    }

    private mutating func wrong(_ node: LocatedNode) -> LocatedNode {
        let contents: [LocatedNode.Content] = [
            .scalar("", isPlain: true), .scalar("nonsense", isPlain: true),
            .scalar("-1", isPlain: true), .scalar("99999999999999999999", isPlain: true),
            .scalar("{{", isPlain: false), .scalar("🦊", isPlain: true), .sequence([]),
            .mapping([]), .sequence([node]),
            .mapping([.init(key: "nonsense", keyLocation: node.location, value: node)]),
        ]
        return LocatedNode(contents.randomElement(using: &random) ?? node.content, node.location)
    }
}
