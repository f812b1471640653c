import Contracts
import Foundation
import Testing

@testable import ContractFiles

/// The facts that contracts cite are there, and a citation leads to them.
@Suite("Fact sheets")
struct FactSheetTests {
    @Test func `every contract and clause cites what can be read`() {
        let contracts = Dictionary(grouping: ContractLibrary.shipped.contracts, by: \.id)
        let sources =
            contracts.mapValues { $0[0].source }
            .merging(Clause.all.map { ($0.name, $0.source) }) { $1 }
        for (id, source) in sources {
            let citations = Citation.all(in: source, by: id)
            #expect(!citations.isEmpty, "\(id) cites no place: \(source)")
            for citation in citations {
                #expect(citation.isKnown, "\(id): there is no \(citation) for '\(source)'")
            }
        }
    }

    /// The last words of a citation, without the name of its sheet, are enough to find it.
    @Test func `every cited place can be found without the name of its sheet`() {
        let contracts = ContractLibrary.shipped.contracts.map { ($0.id, $0.source) }
        let sources = contracts + Clause.all.map { ($0.name, $0.source) }
        let citations = Set(sources.flatMap { Citation.all(in: $0.1, by: $0.0) })
        #expect(citations.count > 100)
        for citation in citations {
            let words = citation.sourceWords
            guard let sheet = FactSheet.named(words[0]) else {
                #expect(!FactSheet.rows(named: words[0]).isEmpty, "\(citation)")
                continue
            }
            let rest = Array(words.dropFirst())
            #expect(sheet.contains(rest), "\(citation)")
            #expect(FactSheet.all.contains { $0.contains(rest) }, "\(citation)")
        }
        #expect(FactSheet.all.filter { $0.contains(["C.1"]) }.map(\.name) == ["identity-rules"])
    }

    @Test(
        "a source's words become places",
        arguments: [
            (
                "S-08; RevenueCat fact sheet 1.5 and 7, traps 21, 22",
                "revenuecat/x",
                [
                    "source S-08", "source revenuecat 1.5", "source revenuecat 7 21",
                    "source revenuecat 7 22",
                ]
            ),
            (
                "RevenueCat docs, five retries after 5, 10 and 20 minutes (fact sheet 1.4)",
                "revenuecat/x", ["source revenuecat 1.4"]
            ),
            (
                "fact sheet 4 and 10, traps 8 to 10", "purchasely/x",
                [
                    "source purchasely 4", "source purchasely 10 8", "source purchasely 10 9",
                    "source purchasely 10 10",
                ]
            ),
            (
                "Firebase fact sheet 6 and 7", "firebase/x",
                [
                    "source firebase-auth 6", "source firebase-auth 7",
                ]
            ),
            (
                "effect table C.1, row CANCELLATION CUSTOMER_SUPPORT; fact sheet 3, flow 13, and 7, trap 2",
                "revenuecat/x",
                [
                    "source identity-rules C.1 CANCELLATION CUSTOMER_SUPPORT",
                    "source revenuecat 3 13", "source revenuecat 7 2",
                ]
            ),
            (
                "identity rules, A3, A6 and A10; clause catalogue, A-01", "despia/x",
                [
                    "source identity-rules A3", "source identity-rules A6",
                    "source identity-rules A10", "source A-01",
                ]
            ),
            ("my own notebook, page 7", "own/x", []),
        ]
    )
    func readsCitations(text: String, id: String, words: [String]) {
        #expect(
            Citation.all(in: text, by: id).map { $0.words.joined(separator: " ") } == words
        )
    }

    @Test func `sections end where the next of their depth begins`() throws {
        let sheet = FactSheet(
            name: "x",
            text: """
                # Title
                ## 1. One
                a
                ### 1.1 Inner
                | # | Trap | So |
                |---|---|---|
                | 1 | a \\| b | c |
                - **T1** listed
                  over two lines
                ```
                # no heading
                ```
                ## Part C - Two
                d
                """
        )
        #expect(sheet.title == "Title")
        #expect(sheet.sections.map(\.number) == ["1", "1.1", "C"])
        #expect(sheet.section("1")?.lines.last == "```")
        let row = try #require(sheet.section("1")?.row("1"))
        #expect(row.cells.map(\.text) == ["1", "a | b", "c"])
        #expect(row.cells.map(\.column) == ["#", "Trap", "So"])
        #expect(sheet.section("1.1")?.row("T1")?.cells.last?.text == "listed over two lines")
        #expect(sheet.section("1")?.row("2") == nil)
    }

    /// They are the ones that the project keeps beside it, where it keeps them.
    @Test func `no sheet differs from its original`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../shared/protocols")
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        for sheet in FactSheet.all {
            let original = folder.appendingPathComponent("\(sheet.name).md")
            let copy = EmbeddedContracts.files.first { $0.path == "sources/\(sheet.name).md" }
            #expect(try String(contentsOf: original, encoding: .utf8) == copy?.text)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.filter { $0.hasSuffix(".md") }.count == FactSheet.all.count)
    }
}
