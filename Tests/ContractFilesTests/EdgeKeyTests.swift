import ContractFiles
import Contracts
import Grammar
import Testing
import TestSupport
import Values

/// Edge values for every key of a contract and of a profile: each file is read or refused.
@Suite("Contracts and profiles with values at the edge of their types", .serialized)
struct EdgeKeyTests {
    private static let place = SourceLocation(path: "edge.yaml", line: 1, column: 1)

    /// The tree with one to three of its values replaced, among them keys.
    private static func changed(_ root: LocatedNode, _ edges: inout EdgeValues) -> LocatedNode {
        let count = partCount(root)
        var places: Set<Int> = []
        for _ in 0..<edges.pick([1, 1, 2, 3]) { places.insert(edges.pick(Array(1..<count))) }
        var index = 0
        return changed(root, places, &index, &edges)
    }

    private static func partCount(_ node: LocatedNode) -> Int {
        switch node.content {
        case .scalar: 1
        case .sequence(let nodes): nodes.reduce(1) { $0 + partCount($1) }
        case .mapping(let entries): entries.reduce(1) { $0 + partCount($1.value) }
        }
    }

    private static func changed(
        _ node: LocatedNode,
        _ places: Set<Int>,
        _ index: inout Int,
        _ edges: inout EdgeValues
    ) -> LocatedNode {
        let isChosen = places.contains(index)
        if isChosen {
            index += partCount(node)
            return edge(&edges)
        }
        index += 1
        switch node.content {
        case .scalar: return node
        case .sequence(let nodes):
            var all: [LocatedNode] = []
            for node in nodes { all.append(changed(node, places, &index, &edges)) }
            return LocatedNode(.sequence(all), place)
        case .mapping(let entries):
            var all: [LocatedNode.Entry] = []
            for entry in entries {
                let isRenamed = places.contains(index) && edges.isOnce(in: 12)
                all.append(
                    LocatedNode.Entry(
                        key: isRenamed ? edges.string() : entry.key,
                        keyLocation: place,
                        value: changed(entry.value, places, &index, &edges)
                    )
                )
            }
            return LocatedNode(.mapping(all), place)
        }
    }

    private static func edge(_ edges: inout EdgeValues) -> LocatedNode {
        switch edges.pick(Array(0..<8)) {
        case 0...2: return LocatedNode(.scalar(edges.number(), isPlain: true), place)
        case 3...5:
            return LocatedNode(.scalar(edges.string(), isPlain: edges.isOnce(in: 2)), place)
        case 6: return LocatedNode(.sequence([]), place)
        default:
            return (0..<edges.pick([1, 40, 250])).reduce(LocatedNode(.mapping([]), place)) {
                inner,
                _ in LocatedNode(.sequence([inner]), place)
            }
        }
    }

    @Test(
        "a changed contract is read, planned and written, or refused",
        arguments: EdgeValues.seeds
    )
    func contracts(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "contracts")
        let shipped = Repository.files(below: "contracts", ending: "yaml")
            .filter { !$0.path.hasPrefix("contracts/clauses/") }
        #expect(shipped.count > 100)
        var readCount = 0
        for number in 0..<EdgeValues.inputCount(300) {
            let file = edges.pick(shipped)
            let id = String(file.path.dropFirst("contracts/".count).dropLast(".yaml".count))
            var generator = GrammarGenerator(seed: seed &+ UInt64(number))
            let isText = edges.isOnce(in: 4)
            let text = isText ? edges.changed(text: Array(file.text.utf8)) : []
            let node =
                edges.isOnce(in: 2)
                ? generator.contract() : try LocatedNode(parsing: file.text, path: file.path)
            let tree = Self.changed(node, &edges)
            let isInTime = await EdgeValues.run(isText ? text : Array("\(tree)".utf8)) {
                let result =
                    isText
                    ? ContractParser.parse(
                        String(decoding: text, as: UTF8.self),
                        path: file.path,
                        id: id
                    ) : ContractParser.parse(tree, id: id)
                guard case .success(let contracts) = result else { return }
                readCount += 1
                for contract in contracts {
                    _ = CasePlan(contract)
                    #expect(!ContractWriter.text(contract, id: id).isEmpty)
                }
            }
            #expect(isInTime, "\(isText ? String(decoding: text, as: UTF8.self) : "\(tree)")")
        }
        #expect(readCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }

    @Test("a changed profile is read or refused", arguments: EdgeValues.seeds)
    func profiles(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "profiles")
        var readCount = 0
        for number in 0..<EdgeValues.inputCount(300) {
            var generator = GrammarGenerator(seed: seed &+ UInt64(number))
            let isText = edges.isOnce(in: 3)
            let full = try LocatedNode(parsing: ProfileParserTests.full, path: "assay.yaml")
            let node = Self.changed(edges.isOnce(in: 2) ? generator.profile() : full, &edges)
            let text = edges.changed(text: Array(ProfileParserTests.full.utf8))
            let isInTime = await EdgeValues.run(isText ? text : Array("\(node)".utf8)) {
                if isText {
                    let text = String(decoding: text, as: UTF8.self)
                    let result = ProfileParser.parse(text, path: "assay.yaml", environment: [:])
                    if case .success = result { readCount += 1 }
                } else {
                    var reader = NodeReader()
                    let profile = Profile.grammar.read(node, &reader)
                    if profile != nil, reader.errors.isEmpty { readCount += 1 }
                }
            }
            #expect(isInTime, "\(isText ? String(decoding: text, as: UTF8.self) : "\(node)")")
        }
        #expect(readCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }
}
