import Contracts
import Testing

/// The catalogue that `assay explain S-05` tells.
@Suite("Clauses")
struct ClauseTests {
    @Test func `each clause is listed once and is complete`() {
        let names = Clause.all.map(\.name)
        #expect(Set(names).count == names.count)
        for clause in Clause.all {
            #expect(
                !clause.requirement.isEmpty && !clause.rationale.isEmpty
                    && !clause.correctDesign.isEmpty
            )
            #expect(!clause.faults.isEmpty, "\(clause.name) has no fault model")
            #expect(clause.source.contains("catalogue") || clause.source.contains("rules"))
            for text in [clause.requirement, clause.rationale, clause.correctDesign] {
                #expect(text.hasSuffix("."), "\(clause.name): \(text)")
            }
        }
    }

    @Test func `clause lookup ignores case`() {
        #expect(Clause.named("s-05")?.name == "S-05")
        #expect(Clause.named("S-99") == nil)
    }

    @Test func `clause families are complete`() {
        func count(_ family: String) -> Int { Clause.all.count { $0.name.hasPrefix(family) } }
        #expect(["S-", "P-", "F-", "O-", "A-"].map(count) == [34, 10, 10, 5, 12])
    }
}
