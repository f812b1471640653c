internal import Foundation

/// A fact sheet: a page about a service or about user identity, which contracts and clauses cite.
///
/// The sheets are in `contracts/sources` and are part of the binary, so that a finding can show its
/// source from any folder.
package struct FactSheet: Sendable {
    /// A section of a fact sheet: a heading and the lines below it, up to the next heading of the
    /// same or a higher level.
    package struct Section: Sendable {
        /// The number of the section, as citations contain it, such as `7`, `1.4`, `A3` or `C.1`;
        /// empty for a heading without a number.
        package let number: String
        package let title: String
        /// The level of the section's heading: the number of `#` characters.
        package let depth: Int
        /// The lines of the section below its heading.
        package let lines: [Substring]
        /// The rows of the section's tables, and its list entries that begin with a bold name (`-
        /// **T1** …`).
        package let rows: [Row]

        init(title: String, depth: Int, lines: [Substring]) {
            number = FactSheet.number(of: title)
            self.title = title
            self.depth = depth
            self.lines = lines
            rows = FactSheet.rows(of: lines)
        }
    }

    /// A row of a table in a fact sheet.
    ///
    /// Each cell has the name of its column.
    package struct Row: Sendable {
        package let name: String
        package let cells: [(column: String, text: String)]
    }

    /// The name of the fact sheet's file without its extension.
    package let name: String
    package let title: String
    package let sections: [Section]

    /// All fact sheets, in the order of their names.
    package static let all: [FactSheet] = EmbeddedContracts.files.compactMap { path, text in
        guard path.hasPrefix("sources/"), path.hasSuffix(".md") else { return nil }
        return FactSheet(name: String(path.dropFirst("sources/".count).dropLast(3)), text: text)
    }

    package static func named(_ name: String) -> FactSheet? {
        all.first { $0.name == name }
    }

    /// Returns the table rows with this name from all fact sheets.
    package static func rows(named name: String) -> [(sheet: FactSheet, row: Row)] {
        all.flatMap { sheet in
            sheet.sections.filter { $0.depth == 2 }.flatMap(\.rows)
                .filter { $0.name == name }.map { (sheet, $0) }
        }
    }

    /// Returns the fact sheet to which a word in a citation, or the name of a contracts folder,
    /// refers.
    ///
    /// The sheet's name is that word or begins with it.
    package static func referenced(by word: some StringProtocol) -> FactSheet? {
        let word = word.lowercased()
        return all.first { $0.name == word || $0.name.hasPrefix(word + "-") }
    }

    init(name: String, text: String) {
        self.name = name
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let headings = Self.headings(of: lines)
        title = headings.first.map(\.title) ?? name
        sections = headings.dropFirst().map { heading in
            let sectionEnd =
                headings.first { $0.line > heading.line && $0.depth <= heading.depth }?.line
                ?? lines.count
            return Section(
                title: heading.title,
                depth: heading.depth,
                lines: Array(lines[(heading.line + 1)..<sectionEnd])
            )
        }
    }

    package func section(_ number: String) -> Section? {
        sections.first { $0.number == number }
    }

    /// Returns whether the sheet has a section with a number and, if a name follows the number, the
    /// row with that name.
    package func contains(_ words: [String]) -> Bool {
        guard let number = words.first, let section = section(number) else { return false }
        let name = words.dropFirst().joined(separator: " ")
        return name.isEmpty || section.row(name) != nil
    }

    /// The section with numbered typical mistakes, to which citations such as `trap 14` refer.
    package var traps: Section? {
        sections.first { $0.title.contains("Traps") }
    }

    private static func headings(
        of lines: [Substring]
    ) -> [(line: Int, depth: Int, title: String)] {
        var isInCodeBlock = false
        return lines.indices.compactMap { index in
            let line = lines[index]
            if line.hasPrefix("```") { isInCodeBlock.toggle() }
            let depth = line.prefix { $0 == "#" }.count
            guard !isInCodeBlock, depth > 0, line.dropFirst(depth).hasPrefix(" ") else {
                return nil
            }
            return (index, depth, String(line.dropFirst(depth + 1)))
        }
    }

    /// Returns the number of a section from its heading: `1.4` of `1.4 Retry schedule`, `A3` of
    /// `A3. Cold start`, `C` of `Part C - …`.
    fileprivate static func number(of title: String) -> String {
        let words = title.split(separator: " ")
        let word = words.first == "Part" ? words.dropFirst().first : words.first
        guard let word else { return "" }
        let isNumbered = word.last == "." || word.last == ":" || words.first == "Part"
        let number = isNumbered && words.first != "Part" ? word.dropLast() : word
        let digits = number.drop { $0.isUppercase && $0.isASCII }
        guard number.count - digits.count <= 1, digits.allSatisfy({ $0.isNumber || $0 == "." }),
            isNumbered || digits.contains(".")
        else { return "" }
        return String(number)
    }
}

extension FactSheet {
    fileprivate static func rows(of lines: [Substring]) -> [Row] {
        var rows: [Row] = []
        var columns: [String]?
        for (index, line) in lines.enumerated() {
            if let cells = Section.cells(of: line) {
                guard let names = columns else {
                    columns = cells
                    continue
                }
                if cells.allSatisfy({ $0.allSatisfy { "-: ".contains($0) } }) { continue }
                rows.append(Row(name: cells.first ?? "", cells: Array(zip(names, cells))))
            } else {
                columns = nil
                if let entry = entry(at: index, of: lines) { rows.append(entry) }
            }
        }
        return rows
    }

    private static func entry(at index: Int, of lines: [Substring]) -> Row? {
        let listItemStart = "- **"
        guard lines[index].hasPrefix(listItemStart) else { return nil }
        let line = lines[index].dropFirst(listItemStart.count)
        let name = line.prefix { $0 != "*" }
        let continuationLines = lines[(index + 1)...].prefix { $0.hasPrefix("  ") }
        let text = [line.dropFirst(name.count + 2)] + continuationLines
        let words = text.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
        return Row(name: String(name), cells: [("", String(name)), ("", words)])
    }
}

extension FactSheet.Section {
    /// Returns the first row of this section whose name equals a given name.
    ///
    /// If there is none, returns the first row whose name contains all words of the given name.
    package func row(_ name: String) -> FactSheet.Row? {
        let words = name.split(separator: " ")
        return rows.first { $0.name == name }
            ?? rows.first { row in
                let parts = row.name.split { " ,/".contains($0) }
                return words.allSatisfy(parts.contains)
            }
    }

    /// Returns the cells of a line in a Markdown table; nil for any other line.
    ///
    /// A `|` after a backslash is part of a cell.
    package static func cells(of line: some StringProtocol) -> [String]? {
        guard line.hasPrefix("|") else { return nil }
        var cells: [String] = []
        var cell = ""
        var previousCharacter: Character = " "
        for character in line.dropFirst() {
            if character == "|", previousCharacter != "\\" {
                cells.append(cell.trimmingCharacters(in: .whitespaces))
                cell = ""
            } else {
                if character == "|" { cell.removeLast() }
                cell.append(character)
            }
            previousCharacter = character
        }
        return cells
    }
}
