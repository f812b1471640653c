import ContractFiles
import Contracts
import Grammar
import Testing

@Suite("The index of the contracts")
struct ContractIndexTests {
    private static let text = """
        contract: a/b
        title: A {{kind}} delivery is answered
        clause: S-07
        level: should
        source: "RevenueCat docs, \\"Webhooks\\""
        needs: [push, subscription]
        variants: {kind: [first, second, third]}
        steps:
          - deliver: "{{kind}}"
            event: {type: RENEWAL, user: ada}
        expect: {status: 200}
        """

    private func library(_ text: String) -> ContractLibrary {
        let file = ContractLibrary.File(id: "a/b", path: "a/b.yaml", text: text)
        return ContractLibrary(files: [file])
    }

    @Test func `the index matches the contracts`() throws {
        let library = library(Self.text)
        let index = ContractIndex(parsing: ContractIndex.text(of: library))
        let headings = try #require(index.headings(id: "a/b", text: Self.text))
        #expect(headings == library.contracts.map(\.heading))
        #expect(headings.map(\.variant) == ["kind:first", "kind:second", "kind:third"])
    }

    @Test func `every shipped contract is indexed and none is parsed for it`() {
        let index = ContractIndex(parsing: ContractIndex.text(of: .shipped))
        for file in ContractLibrary.shipped.files {
            let headings = try? file.result.get().map(\.heading)
            #expect(headings != nil && index.headings(id: file.id, text: file.text) == headings)
        }
        #expect(
            ContractLibrary.indexed.headings == ContractLibrary.shipped.contracts.map(\.heading)
        )
        #expect(ContractLibrary.indexed.files.allSatisfy { !$0.isParsed })
    }

    @Test func `an edited contract is not taken from the index`() {
        let index = ContractIndex(parsing: ContractIndex.text(of: library(Self.text)))
        let edited = Self.text.replacing("S-07", with: "S-08")
        #expect(index.headings(id: "a/b", text: edited) == nil)
        #expect(index.headings(id: "a/c", text: Self.text) == nil)
    }

    @Test(
        "a file with an unrecognized line is not indexed",
        arguments: [
            ("\tS-07\t", "\t"), ("\tshould\t", "\tshall\t"), ("push,", "pull,"),
            ("\tbackend\t", "\tservant\t"), ("\tkind:second", "kind:second"),
        ]
    )
    func isNotUnderstood(old: String, new: String) {
        let text = ContractIndex.text(of: library(Self.text))
        let broken = text.replacing(old, with: new)
        #expect(broken != text)
        #expect(ContractIndex(parsing: broken).headings(id: "a/b", text: Self.text) == nil)
    }

    @Test func `a multi-line string is not indexed`() {
        let long = Self.text.replacing("title: A", with: "title: \"A\\nB\" #")
        #expect(library(long).contracts.count == 3)
        #expect(ContractIndex.text(of: library(long)).isEmpty)
    }

    @Test func `only selected contracts are parsed`() throws {
        let indexed = ContractLibrary.indexed
        let some = indexed.headings.enumerated().filter { $0.offset % 7 == 0 }.map(\.element)
        #expect(try indexed.contracts(of: some).map(\.heading) == some)
        #expect(throws: ContractErrors.self) {
            try library("contract: a/b\n").contracts(
                of: indexed.headings.prefix(1).map {
                    var heading = $0
                    heading.id = "a/b"
                    return heading
                }
            )
        }
    }
}
