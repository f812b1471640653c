import ContractFiles
import Contracts
import Foundation
import Grammar
import Judging
import Testing
import TestSupport
import Values

@Suite("Files generated from the grammar")
struct GeneratedPagesTests {
    @Test(
        "checked-in files match the grammar",
        arguments: [
            (.contract, "contracts/contract.schema.json"),
            (.profile, "contracts/profile.schema.json"),
            (.contract, "Sources/AssayCLI/Assay.docc/ContractLanguage.md"),
            (.profile, "Sources/AssayCLI/Assay.docc/ProfileLanguage.md"),
        ] as [(FileFormat, String)]
    )
    func isUpToDate(language: FileFormat, path: String) throws {
        try Self.check(path, path.hasSuffix(".json") ? language.schema : language.page)
    }

    @Test(
        "checked-in pages match the tables",
        arguments: [
            (.clauses, "Clauses.md"), (.findingCodes, "FindingCodes.md"),
        ] as [(ReferencePage, String)]
    )
    func isPage(page: ReferencePage, name: String) throws {
        let headings = ContractLibrary.shipped.headings
        #expect(headings.count > 300)
        try Self.check("Sources/AssayCLI/Assay.docc/\(name)", page.text(headings))
    }

    @Test func `the checked-in index matches the contracts`() throws {
        try Self.check("contracts/index.txt", ContractIndex.text(of: .shipped))
    }

    private static func check(_ path: String, _ text: String) throws {
        let url = Repository.root.appendingPathComponent(path)
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
            try Data(text.utf8).write(to: url)
            return
        }
        let kept = try? String(contentsOf: url, encoding: .utf8)
        #expect(kept == text, "\(path) is another: run UPDATE_GOLDEN=1 swift test")
    }

    @Test("every property of a schema is described", arguments: FileFormat.allCases)
    func isDescribed(language: FileFormat) throws {
        let schema = try JSONValue(parsing: language.schema)
        let (all, without) = Self.properties(of: schema)
        #expect(all > 100)
        #expect(without.isEmpty, "\(without)")
    }

    /// How many properties there are, and which of them nobody describes.
    private static func properties(of schema: JSONValue) -> (Int, [String]) {
        var (count, without) = (0, [String]())
        for property in schema["properties"]?.object?.members ?? [] {
            count += 1
            if (property.value["description"]?.string ?? "").count < 8 {
                without.append(property.key)
            }
        }
        let children: [JSONValue] =
            switch schema {
            case .object(let object): object.members.map(\.value)
            case .array(let elements): elements
            case .null, .bool, .number, .string: []
            }
        for child in children {
            let (more, missing) = properties(of: child)
            count += more
            without += missing
        }
        return (count, without)
    }

    @Test func `a key is described with its meaning, values and default`() throws {
        let place = try #require(
            FileFormat.contract.reference.keyLocations(named: "lost-responses").first
        )
        #expect(place.text == "steps.deliver.lost-responses")
        let parts = FileFormat.contract.reference.explanation(of: place)
        #expect(parts.map(\.label) == ["meaning", "value", "default", "since"])
        #expect(parts[1].text == "a number from 0 to 5")
        #expect(parts[2].text == "0")
    }

    @Test(
        "a key is found by name or by path",
        arguments: [
            ("steps.deliver.retry", "steps.deliver.retry"),
            ("deliver.retry", "steps.deliver.retry"),
            ("steps.deliver", "steps.deliver"),
            ("deliver.event.reason", "steps.deliver.event.reason"),
            ("forgets", "expect.forgets"),
            ("effects.count.at-most", "expect.effects.count.at-most"),
            ("given", "given"), ("crash-points", "crash-points"),
        ]
    )
    func isFound(subject: String, path: String) {
        #expect(FileFormat.contract.reference.keyLocations(named: subject).map(\.text) == [path])
    }

    @Test func `a key of a profile is found too`() {
        let keyLocations = FileFormat.profile.reference.keyLocations(named: "read.access")
        #expect(keyLocations.map(\.text) == ["probes.read.access"])
        #expect(FileFormat.profile.reference.keyLocations(named: "nonsense").isEmpty)
    }
}
