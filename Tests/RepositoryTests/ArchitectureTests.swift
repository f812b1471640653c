import Foundation
import Testing
import TestSupport

/// The page about the architecture names only types, members and paths that exist.
@Suite("The architecture page is true")
struct ArchitectureTests {
    private static let page = "Sources/AssayCLI/Assay.docc/Architecture.md"

    /// The words in backticks, without those inside code blocks.
    private static let quotedWords: [String] = {
        let blocks = Repository.text(of: page).components(separatedBy: "```")
        let prose = blocks.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        return prose.joined().matches(of: /`([^`\n]+)`/).map { String($0.1) }
    }()

    private static let sources = Repository.files(below: "Sources").map(\.text).joined()

    private static func isDeclared(_ pattern: String) throws -> Bool {
        sources.contains(try Regex(pattern))
    }

    @Test func `every path exists`() {
        let paths = Self.quotedWords.filter { $0.contains("/") }
        #expect(paths.count > 30)
        for path in paths {
            #expect(
                FileManager.default.fileExists(
                    atPath: Repository.root.appendingPathComponent(path).path
                ),
                "\(path)"
            )
        }
    }

    @Test func `every type and member is declared`() throws {
        let names = Self.quotedWords.filter { !$0.contains("/") }
            .flatMap { $0.split { "<>".contains($0) }.map(String.init) }
            .filter { $0.first?.isUppercase == true }
        #expect(names.count > 60)
        for name in Set(names) {
            let parts = name.split(separator: ".").map(String.init)
            let isType = try Self.isDeclared(
                #"\b(struct|enum|class|actor|protocol|typealias) \#(parts[0])\b"#
            )
            #expect(isType, "\(name): no type of this name exists")
            for member in parts.dropFirst() {
                let isMember = try Self.isDeclared(#"\b(func|var|let|case) \#(member)\b"#)
                #expect(isMember, "\(name): no member of this name exists")
            }
        }
    }

    @Test func `the page is short`() {
        #expect(Repository.text(of: Self.page).split(separator: "\n").count <= 200)
    }
}
