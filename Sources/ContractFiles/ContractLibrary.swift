package import Contracts
internal import Foundation
package import Grammar
internal import Values

/// A set of contract files: the shipped contracts, or those of a folder.
package struct ContractLibrary: Sendable {
    /// A contract file: its ID, its content, and the contracts in it.
    package struct File: Sendable {
        fileprivate enum Content: Sendable {
            case parsed(Result<[Contract], ContractErrors>)
            /// The file is not parsed yet. Its headings come from the index of the shipped
            /// contracts.
            case indexed([ContractHeading])
        }

        package let id: String
        package let path: String
        package let text: String
        fileprivate var content: Content

        fileprivate init(id: String, path: String, text: String, content: Content) {
            (self.id, self.path, self.text, self.content) = (id, path, text, content)
        }

        /// Creates a contract file, and parses its content.
        package init(id: String, path: String, text: String) {
            self.init(
                id: id,
                path: path,
                text: text,
                content: .parsed(ContractParser.parse(text, path: path, id: id))
            )
        }

        package var isParsed: Bool { if case .parsed = content { true } else { false } }

        /// The contracts or the errors of the file.
        ///
        /// The file is parsed now if only its entry in the index was read before.
        package var result: Result<[Contract], ContractErrors> {
            switch content {
            case .parsed(let result): result
            case .indexed: ContractParser.parse(text, path: path, id: id, hasPassedChecks: true)
            }
        }

        fileprivate var headings: [ContractHeading] {
            switch content {
            // The property `errors` has the errors of a file without contracts.
            case .parsed(let result): ((try? result.get()) ?? []).map(\.heading)
            case .indexed(let headings): headings
            }
        }
    }

    package let files: [File]

    package init(files: [File]) {
        self.files = files
    }

    /// The parsed shipped contracts, in the order of their IDs.
    ///
    /// The contracts are parsed once. The checks for typical mistakes are skipped, because the
    /// contracts passed them before they were shipped.
    package static let shipped = indexed.parsed

    /// The shipped contracts from the index; each file is parsed only when its contracts are
    /// needed.
    package static let indexed: ContractLibrary = {
        let files = EmbeddedContracts.files
        let index = ContractIndex(parsing: files.first { $0.path == "index.txt" }?.text ?? "")
        return embedded { id, path, text in
            index.headings(id: id, text: text).map(File.Content.indexed)
                ?? .parsed(ContractParser.parse(text, path: path, id: id, hasPassedChecks: true))
        }
    }()

    /// Returns the shipped contracts, parsed with all checks for typical mistakes.
    package static func fullyChecked() -> ContractLibrary {
        embedded { id, path, text in .parsed(ContractParser.parse(text, path: path, id: id)) }
    }

    private static func embedded(
        _ content: @Sendable (_ id: String, _ path: String, _ text: String) -> File.Content
    ) -> ContractLibrary {
        let files = EmbeddedContracts.files.filter { $0.path.hasSuffix(".yaml") }
            .concurrentMap(chunkMin: 16) { file in
                let (id, path) = (String(file.path.dropLast(5)), "contracts/\(file.path)")
                return File(
                    id: id,
                    path: path,
                    text: file.text,
                    content: content(id, path, file.text)
                )
            }
        return ContractLibrary(files: files.sorted { $0.id < $1.id })
    }

    /// Reads the contracts in all `.yaml` files below a folder, or in the single file that the path
    /// names.
    ///
    /// Files that define clauses are not contracts, and are left out of a folder.
    package static func folder(_ path: String) throws(ContractErrors) -> ContractLibrary {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw ContractErrors([
                ContractError(
                    .unreadable("the file or folder '\(path)' does not exist"),
                    at: SourceLocation(path: path, line: 1, column: 1)
                )
            ])
        }
        let root = URL(fileURLWithPath: path)
        var urls = [root]
        if isFolder.boolValue {
            guard let paths = FolderTree.paths(in: path, withSuffix: ".yaml") else {
                throw ContractErrors([
                    ContractError(
                        .unreadable(FolderTree.tooLargeText(path)),
                        at: SourceLocation(path: path, line: 1, column: 1)
                    )
                ])
            }
            urls = paths.map { root.appendingPathComponent($0) }
        }
        let isInFolder = isFolder.boolValue
        let rootPath = isInFolder ? root.path + "/" : ""
        let files = urls.sorted { $0.path < $1.path }.concurrentMap(chunkMin: 16) { url -> File? in
            let relativePath =
                isInFolder && url.path.hasPrefix(rootPath)
                ? String(url.path.dropFirst(rootPath.count)) : nil
            let displayPath =
                relativePath.map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" } ?? path
            guard let data = FileManager.default.contents(atPath: url.path),
                let text = String(data: data, encoding: .utf8)
            else {
                let error = ContractError(
                    .unreadable("'\(displayPath)' cannot be read as UTF-8 text"),
                    at: SourceLocation(path: displayPath, line: 1, column: 1)
                )
                return File(
                    id: displayPath,
                    path: displayPath,
                    text: "",
                    content: .parsed(.failure(.init([error])))
                )
            }
            if isInFolder, definesClauses(text) { return nil }
            let idInFolder = relativePath.map { String($0.dropLast(5)) }
            // The files of a subfolder of a contracts folder have IDs that begin with the names of
            // its parent folders. Only the line `contract:` of a file contains these names.
            let idInFile = declaredID(text)
            let isDeclaredIDInFolder =
                idInFolder.map { idInFile?.hasSuffix("/" + $0) ?? false } ?? true
            let id = (isDeclaredIDInFolder ? idInFile : idInFolder) ?? idInFolder ?? displayPath
            return File(id: id, path: displayPath, text: text)
        }
        return ContractLibrary(files: files.compactMap(\.self))
    }

    /// Returns whether a file defines clauses: its first line that is not a comment is `clauses:`.
    private static func definesClauses(_ text: String) -> Bool {
        let lines = text.split(separator: "\n", maxSplits: 20)
        return lines.first { !$0.hasPrefix("#") } == "clauses:"
    }

    /// Returns this library with the files of another library added.
    ///
    /// A file of the other library replaces a file of this library with the same ID.
    package func replacing(with other: ContractLibrary) -> ContractLibrary {
        let ids = Set(other.files.map(\.id))
        return ContractLibrary(
            files: (files.filter { !ids.contains($0.id) } + other.files).sorted { $0.id < $1.id }
        )
    }

    /// The headings of all cases.
    ///
    /// Files whose headings come from the index are not parsed.
    package var headings: [ContractHeading] { files.flatMap(\.headings) }

    /// Returns the contracts of the chosen cases, and parses only the files of these contracts.
    ///
    /// - Parameter selectedHeadings: Headings of cases in this library, from `headings`.
    /// - Returns: One contract for each case, in the order of the files.
    /// - Throws: The errors in the files of these cases.
    package func contracts(of selectedHeadings: [ContractHeading]) throws(ContractErrors)
        -> [Contract]
    {
        let (ids, cases) = (Set(selectedHeadings.map(\.id)), Set(selectedHeadings.map(\.caseID)))
        let library = ContractLibrary(files: files.filter { ids.contains($0.id) }).parsed
        guard library.errors.isEmpty else { throw ContractErrors(library.errors) }
        return library.contracts.filter { cases.contains($0.caseID) }
    }

    /// A library with the same files, all of them parsed.
    private var parsed: ContractLibrary {
        ContractLibrary(
            files: files.concurrentMap(chunkMin: 16) { file in
                var file = file
                file.content = .parsed(file.result)
                return file
            }
        )
    }

    /// All contracts of the library.
    ///
    /// Files of which only the headings are known are parsed for this.
    package var contracts: [Contract] {
        // The property `errors` has the errors of a file without contracts. An indexed file has
        // passed all checks.
        files.flatMap { (try? $0.result.get()) ?? [] }
    }

    /// The errors in the files that were parsed.
    package var errors: [ContractError] {
        files.flatMap { file -> [ContractError] in
            if case .parsed(.failure(let errors)) = file.content { errors.errors } else { [] }
        }
    }

    /// Returns the ID in the line `contract:` of a file, for a file that is read without its
    /// contracts folder; nil without that line.
    private static func declaredID(_ text: String) -> String? {
        var rest = text[...]
        while !rest.isEmpty {
            let line = rest.prefix { !$0.isNewline }
            if line.hasPrefix("contract:") {
                return line.dropFirst("contract:".count).prefix { $0 != "#" }
                    .trimmingCharacters(in: .whitespaces)
            }
            rest = rest[line.endIndex...].dropFirst()
        }
        return nil
    }
}
