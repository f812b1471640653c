import Foundation
import TestSupport
import Testing

/// Contracts that say the same but for one value are one contract with variants.
@Suite("Contract families")
struct ContractFamilyTests {
    @Test func `no two contracts differ in one value`() throws {
        let contracts = Self.contracts()
        #expect(contracts.count >= 300)
        for (index, left) in contracts.enumerated() {
            for right in contracts[(index + 1)...] where left.isBaseline(of: right) {
                Issue.record("\(left.id) and \(right.id) differ in one value: use 'variants'")
            }
        }
    }

    @Test func `two contracts that differ in one value are reported`() {
        func contract(_ id: String, _ text: String) -> ContractOutline {
            ContractOutline(id: id, text: text)
        }
        let reset = contract("a", "title: A\nclause: S-30\nsteps:\n  - push: [reset, ok]")
        let hang = contract("b", "title: B\nclause: S-30\nsteps:\n  - push: [hang, ok]")
        #expect(reset.isBaseline(of: hang))
        let axis = contract(
            "c",
            "clause: S-30\nvariants:\n  response: [500]\nsteps:\n  - push: [\"{{response}}\", ok]"
        )
        #expect(axis.isBaseline(of: hang), "another value of an axis that is there")
        let clause = contract("d", "clause: S-05\nsteps:\n  - push: [hang, ok]")
        #expect(!reset.isBaseline(of: clause), "what is judged differs too")
        let key = contract("e", "clause: S-30\nsteps:\n  - pull: [reset, ok]")
        #expect(!reset.isBaseline(of: key), "another key says another thing")
    }

    private static func contracts() -> [ContractOutline] {
        Repository.files(below: "contracts", ending: "yaml").map { file in
            ContractOutline(id: String(file.path.dropFirst("contracts/".count)), text: file.text)
        }
    }

    /// A contract's words without its prose, and its axes apart.
    private struct ContractOutline {
        let id: String
        private(set) var words: [String] = []
        private(set) var axes: [String] = []

        init(id: String, text: String) {
            self.id = id
            var isAxis = false
            for line in text.split(separator: "\n") {
                let isProse = ["contract:", "title:", "source:"].contains { line.hasPrefix($0) }
                if isProse || line.drop(while: { $0 == " " }).hasPrefix("#") { continue }
                if !line.hasPrefix(" ") { isAxis = line.hasPrefix("variants:") }
                // A name in double braces is one word; other braces and brackets are none.
                let words = line.replacing("{{", with: "<<").replacing("}}\"", with: ">>\"")
                    .split { " ,{}[]".contains($0) }.map(String.init)
                if isAxis { axes += words } else { self.words += words + ["\n"] }
            }
        }

        /// Contracts with axes of their own are no twins: their axes are what differs.
        func isBaseline(of other: ContractOutline) -> Bool {
            guard words.count == other.words.count,
                axes.isEmpty || other.axes.isEmpty || axes == other.axes
            else { return false }
            let differing = zip(words, other.words).filter { $0 != $1 }
            guard differing.count == 1, let (left, right) = differing.first else { return false }
            return !left.hasSuffix(":") && !right.hasSuffix(":")
        }
    }
}
