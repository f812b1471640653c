internal import ContractFiles
internal import Grammar
internal import Reports

/// The output of `assay explain source …`: the list of all fact sheets, one section of a sheet, or
/// one row of a table.
///
/// The words may also be a citation as contracts write it, such as `C.1` or `RevenueCat fact sheet
/// 7, trap 21`.
struct ExplainSource {
    /// The words after `source` on the command line: a fact sheet, a section and a row.
    let words: [String]

    private static let width = 78

    func run() throws {
        guard let first = words.first else { return printFactSheets() }
        if let sheet = FactSheet.named(first) {
            return try show(sheet, Array(words.dropFirst()))
        }
        let sheets = FactSheet.all.filter { $0.contains(words) }
        if let sheet = sheets.first, sheets.count == 1 { return try show(sheet, words) }
        if !sheets.isEmpty { return printSections(of: sheets, first) }
        let text = words.joined(separator: " ")
        let cited = Citation.all(in: text, by: "").filter(\.isKnown)
        if cited.count > 1 || cited.first.map({ $0 != .name(text) }) ?? false {
            for citation in cited { try ExplainSource(words: citation.sourceWords).run() }
        } else if let sheet = FactSheet.referenced(by: first) {
            try show(sheet, Array(words.dropFirst()))
        } else {
            try showRows(named: text)
        }
    }

    /// Prints the commands that show a section, because several fact sheets have one with its
    /// number.
    private func printSections(of sheets: [FactSheet], _ number: String) {
        for sheet in sheets {
            let command = Terminal.next(["explain", "source", sheet.name] + words)
            Terminal.output("\(command)\n")
            for line in (sheet.section(number)?.title ?? "").wrapped(Self.width - 4) {
                Terminal.output("    \(line)\n")
            }
        }
    }

    private func printFactSheets() {
        for sheet in FactSheet.all {
            Terminal.output("\(sheet.name)\n")
            for line in sheet.title.wrapped(Self.width - 4) { Terminal.output("    \(line)\n") }
        }
        guard let last = FactSheet.all.last else { return }
        Terminal.output(
            "\nTo list the sections of a sheet:  \(Terminal.next(["explain", "source", last.name]))\n"
        )
    }

    private func show(_ sheet: FactSheet, _ words: [String]) throws {
        guard let number = words.first else {
            Terminal.output("\(sheet.title)\n\n")
            for section in sheet.sections where !section.number.isEmpty {
                let indent = String(repeating: "  ", count: section.depth - 1)
                Terminal.output("\(indent)\(section.title)\n")
            }
            return
        }
        guard let section = sheet.section(number) else {
            throw unknownNameFailure(
                number,
                "section of \(sheet.name)",
                among: sheet.sections.map(\.number).filter { !$0.isEmpty },
                see: ["explain", "source", sheet.name]
            )
        }
        let name = words.dropFirst().joined(separator: " ")
        guard !name.isEmpty else { return show(section) }
        guard let row = section.row(name) else {
            throw unknownNameFailure(
                name,
                "row of \(sheet.name) \(number)",
                among: section.rows.map(\.name),
                see: ["explain", "source", sheet.name, number]
            )
        }
        Terminal.output("\(section.title)\n")
        show(row)
    }

    private func showRows(named name: String) throws {
        let foundRows = FactSheet.rows(named: name.uppercased())
        guard !foundRows.isEmpty else {
            throw unknownNameFailure(
                name,
                "fact sheet or row",
                among: FactSheet.all.map(\.name)
                    + FactSheet.all.flatMap(\.sections).flatMap(\.rows).map(\.name),
                see: ["explain", "source"]
            )
        }
        for (sheet, row) in foundRows {
            Terminal.output("\(sheet.name)\n")
            show(row)
        }
    }

    private func unknownNameFailure(
        _ text: String,
        _ kind: String,
        among knownNames: [String],
        see command: [String]
    ) -> CommandFailure {
        let nearestName = Suggestion.nearest(to: text, among: knownNames)
        return CommandFailure(
            .nothingSelected,
            "unknown \(kind) '\(text)'"
                + (nearestName.map { "; did you mean '\($0)'?" }
                    ?? "; see '\(Terminal.next(command))'")
        )
    }

    /// Prints a section of a fact sheet: its text wrapped to 96 columns, and its tables row by row.
    private func show(_ section: FactSheet.Section) {
        Terminal.output("\(section.title)\n")
        var rows = section.rows[...]
        var isHeader = true
        for line in section.lines {
            guard FactSheet.Section.cells(of: line) != nil else {
                isHeader = true
                if line.hasPrefix("- **") { rows = rows.dropFirst() }
                show(line)
                continue
            }
            if line.contains("---") || isHeader {
                isHeader = false
            } else if let row = rows.popFirst() {
                show(row)
            }
        }
    }

    private func show(_ line: Substring) {
        let indent = line.prefix { $0 == " " || $0 == "-" }.count
        let text = String(line.dropFirst(indent))
        let indentation = String(line.prefix(indent))
        let continuationIndentation = String(repeating: " ", count: indent)
        guard !text.isEmpty else { return Terminal.output("\n") }
        for (index, part) in text.wrapped(Self.width - indent).enumerated() {
            Terminal.output((index == 0 ? indentation : continuationIndentation) + part + "\n")
        }
    }

    private func show(_ row: FactSheet.Row) {
        Terminal.output("  \(row.name)\n")
        for (column, text) in row.cells.dropFirst() where !text.isEmpty {
            let label = column.isEmpty ? "" : column + ": "
            for line in (label + text).wrapped(Self.width - 6) {
                Terminal.output("      \(line)\n")
            }
        }
    }
}
