import Foundation
import Testing
import TestSupport

/// Sizes that keep the code easy to enter: of files, of types over all extensions, of functions.
@Suite("Structure")
struct StructureTests {
    /// One declaration, found by the indentation that the formatter gives to it.
    private struct Declaration {
        let keyword: String
        let name: String
        let path: String
        let line: Int
        let indentation: Int
        /// The number of lines up to the closing brace.
        var lineCount = 1
        /// The name of the type that contains the declaration; nil at the top level.
        let owner: String?
    }

    private static let typeKeywords: Set = [
        "struct", "class", "enum", "actor", "protocol", "extension",
    ]

    private static let declarations: [Declaration] = Repository.files(below: "Sources").flatMap {
        declarations(in: $0.text, $0.path)
    }

    private static func declarations(in text: String, _ path: String) -> [Declaration] {
        let pattern =
            /^(?:@\w+(?:\([^)]*\))? )*(?:(?:package|public|private|fileprivate|internal|final|indirect|static|mutating|nonisolated|lazy|weak|override|convenience|required|consuming|borrowing|(?:private|package|fileprivate|internal)\(set\)) )*(struct|class|enum|actor|protocol|extension|func|var|let|init|subscript|case|typealias)\b ?([A-Za-z_`][\w.`]*)?/
        var declarations: [Declaration] = []
        var openTypes: [(indentation: Int, name: String)] = []
        var openFunctions: [(indentation: Int, index: Int)] = []
        var isInString = false
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if line.components(separatedBy: "\"\"\"").count.isMultiple(of: 2) {
                isInString.toggle()
                continue
            }
            let content = line.drop { $0 == " " }
            guard !isInString, !content.isEmpty, !content.hasPrefix("//"), !content.hasPrefix("#")
            else { continue }
            let indentation = line.count - content.count
            let isContinuation = [")", "{", "where", "->"].contains { content.hasPrefix($0) }
            if let function = openFunctions.last, indentation <= function.indentation,
                !isContinuation
            {
                let start = declarations[function.index].line
                declarations[function.index].lineCount = number + 2 - start
                openFunctions.removeLast()
            }
            while let type = openTypes.last, indentation <= type.indentation, !isContinuation,
                content != "}"
            {
                openTypes.removeLast()
            }
            guard let match = content.prefixMatch(of: pattern)?.output else { continue }
            let owner = openTypes.last.flatMap {
                indentation == $0.indentation + 4 ? $0.name : nil
            }
            // Deeper declarations are the locals of a function.
            guard indentation == 0 || owner != nil else { continue }
            let keyword = String(match.1)
            let name = match.2.map(String.init) ?? keyword
            declarations.append(
                Declaration(
                    keyword: keyword,
                    name: name,
                    path: path,
                    line: number + 1,
                    indentation: indentation,
                    owner: owner
                )
            )
            if typeKeywords.contains(keyword) {
                let fullName = keyword == "extension" ? name : owner.map { "\($0).\(name)" } ?? name
                openTypes.append((indentation, fullName))
            } else if ["func", "init", "subscript", "var"].contains(keyword) {
                openFunctions.removeAll { $0.indentation >= indentation }
                openFunctions.append((indentation, declarations.count - 1))
            }
        }
        return declarations
    }

    /// The formatter decides how long a table is, and a reader looks up one row of it.
    private static let tables: Set = ["Sources/Judging/Finding/FindingFacts.swift"]

    @Test func `a file has at most 500 lines`() {
        let files = Repository.files(below: "Sources")
        #expect(files.count > 600)
        for file in files where !Self.tables.contains(file.path) {
            let lineCount = file.text.split(separator: "\n", omittingEmptySubsequences: false).count
            #expect(lineCount <= 501, "\(file.path): divide it by responsibility")
        }
    }

    /// Types that are tables: their members are the rows.
    private static let tableTypes: Set = ["Field", "FindingCode"]

    @Test func `a type has about 60 members at most, over all extensions`() {
        var counts: [String: Int] = [:]
        for declaration in Self.declarations {
            if let owner = declaration.owner { counts[owner, default: 0] += 1 }
        }
        #expect(counts.count > 800)
        #expect((counts["RevenueCatState"] ?? 0) > 20, "extensions are not counted")
        for (name, count) in counts where !Self.tableTypes.contains(name) {
            #expect(count <= 65, "\(name): compose it of smaller types")
        }
    }

    @Test func `a function has at most 60 lines`() {
        let functions = Self.declarations.filter { ["func", "init"].contains($0.keyword) }
        #expect(functions.count > 4000)
        #expect(functions.contains { $0.lineCount > 30 }, "the ends are not found")
        for function in functions where function.lineCount > 62 {
            Issue.record(
                "\(function.path):\(function.line): \(function.name) has \(function.lineCount) lines"
            )
        }
    }
}
