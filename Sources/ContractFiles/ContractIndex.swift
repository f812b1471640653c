package import Contracts
internal import Providers

/// The headings of the shipped contracts, such as IDs and titles.
///
/// With them, contracts can be listed and selected without parsing their files. The file
/// `contracts/index.txt` is generated from the contracts. An entry is valid for a file whose
/// content has the digest in the entry. A file that was changed after the index was generated is
/// parsed.
///
/// The index has a line for each contract file, with its ID and the digest of its content. A line
/// for each case of that file follows. It begins with a tab and contains: variant, clause, level,
/// needs, kind, title, source. A value that equals that of the previous line is written as `"`.
package struct ContractIndex: Sendable {
    private struct Entry {
        let digest: String
        var headings: [ContractHeading]
    }

    private var entries: [String: Entry] = [:]

    /// Returns the headings of the cases in a contract file; nil when the index has no entry for
    /// the file with this content.
    package func headings(id: String, text: String) -> [ContractHeading]? {
        guard let entry = entries[id], entry.digest == Self.digest(text) else { return nil }
        return entry.headings
    }

    /// Parses an index.
    ///
    /// A contract file is left out if one of its lines in the index cannot be parsed.
    ///
    /// - Parameter text: An index from `text(of:)`.
    package init(parsing text: String) {
        var text = text
        text.withUTF8 { bytes in
            var id = ""
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                let columns = line.split(
                    separator: UInt8(ascii: "\t"),
                    omittingEmptySubsequences: false
                )
                if columns.count == 2 {
                    id = String(decoding: columns[0], as: UTF8.self)
                    let digest = String(decoding: columns[1], as: UTF8.self)
                    entries[id] = Entry(digest: digest, headings: [])
                } else if let heading = Self.heading(columns, id, entries[id]?.headings.last) {
                    entries[id]?.headings.append(heading)
                } else {
                    entries[id] = nil
                }
            }
        }
    }

    private static func heading(
        _ columns: [Slice<UnsafeBufferPointer<UInt8>>],
        _ id: String,
        _ last: ContractHeading?
    ) -> ContractHeading? {
        guard columns.count == 8 else { return nil }
        func isSameAsPrevious(_ index: Int) -> Bool {
            last != nil && columns[index].count == 1 && columns[index].first == sameAsPreviousMark
        }
        func text(_ index: Int, _ field: (ContractHeading) -> String) -> String {
            if let last, isSameAsPrevious(index) { return field(last) }
            return String(decoding: columns[index], as: UTF8.self)
        }
        guard let level = Contract.Level(rawValue: text(3, \.level.rawValue)) else { return nil }
        var needs = last?.needs ?? []
        if !isSameAsPrevious(4) {
            let names = columns[4].split(separator: UInt8(ascii: ","))
            needs = names.compactMap { Feature(rawValue: String(decoding: $0, as: UTF8.self)) }
            guard needs.count == names.count else { return nil }
        }
        let kindColumn = text(5, Self.kindColumn)
        let search = Search.Kind(rawValue: kindColumn)
        guard search != nil || ["backend", "app"].contains(kindColumn) else { return nil }
        return ContractHeading(
            id: id,
            variant: text(1, \.variant),
            title: text(6, \.title),
            clause: text(2, \.clause),
            level: level,
            source: text(7, \.source),
            needs: needs,
            isDeviceScenario: kindColumn == "app",
            search: search
        )
    }

    /// Returns the index of a library as text.
    ///
    /// Files with errors, or with a heading that has several lines, are left out.
    package static func text(of library: ContractLibrary) -> String {
        var text = ""
        for file in library.files {
            guard case .success(let contracts) = file.result else { continue }
            let isIndexable = contracts.allSatisfy { contract in
                !(contract.caseID + contract.title + contract.source).utf8
                    .contains { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\n") }
            }
            guard isIndexable else { continue }
            text += "\(file.id)\t\(digest(file.text))\n"
            var last: [String] = []
            for heading in contracts.map(\.heading) {
                let columns = [
                    heading.variant, heading.clause, heading.level.rawValue,
                    heading.needs.map(\.rawValue).joined(separator: ","), kindColumn(heading),
                    heading.title, heading.source,
                ]
                let shortenedColumns = columns.enumerated().map { index, word in
                    last.isEmpty || last[index] != word ? word : "\""
                }
                text += "\t" + shortenedColumns.joined(separator: "\t") + "\n"
                last = columns
            }
        }
        return text
    }

    private static let sameAsPreviousMark = UInt8(ascii: "\"")

    private static func kindColumn(_ heading: ContractHeading) -> String {
        heading.search?.rawValue ?? (heading.isDeviceScenario ? "app" : "backend")
    }

    /// Returns the 64-bit FNV-1a digest of a string, which detects accidental changes but not
    /// attacks.
    private static func digest(_ text: String) -> String {
        var text = text
        let hash = text.withUTF8 { bytes in
            bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
        }
        return String(hash, radix: 16)
    }
}
