package import Conformance
internal import Foundation

/// The contracts that ship inside the binary, and those of a folder.
package struct ContractLibrary: Sendable {
    /// One file: its id, its text and what is known of it.
    package struct File: Sendable {
        fileprivate enum Content: Sendable {
            case read(Result<[Contract], ContractErrors>)
            /// Nobody has read it yet; the index says what it holds.
            case listed([ContractHeading])
        }

        package let id: String
        package let path: String
        package let text: String
        fileprivate var content: Content

        fileprivate init(id: String, path: String, text: String, content: Content) {
            (self.id, self.path, self.text, self.content) = (id, path, text, content)
        }

        /// Reads a text.
        package init(id: String, path: String, text: String) {
            self.init(
                id: id,
                path: path,
                text: text,
                content: .read(ContractParser.parse(text, path: path, id: id))
            )
        }

        package var isRead: Bool { if case .read = content { true } else { false } }

        /// Its contracts or its errors; a file that is only listed is read now.
        package var result: Result<[Contract], ContractErrors> {
            switch content {
            case .read(let result): result
            case .listed: ContractParser.parse(text, path: path, id: id, isExamined: true)
            }
        }

        fileprivate var headings: [ContractHeading] {
            switch content {
            case .read(let result): ((try? result.get()) ?? []).map(\.heading)
            case .listed(let headings): headings
            }
        }
    }

    package let files: [File]

    package init(files: [File]) {
        self.files = files
    }

    /// The shipped contracts, in the order of their ids; they are read once.
    ///
    /// What only tells people of mistakes is not looked for: these were examined before they were
    /// shipped.
    package static let shipped = listed.read

    /// The shipped contracts as the index lists them: none is read before somebody asks for it.
    package static let listed: ContractLibrary = {
        let files = EmbeddedContracts.files
        let index = ContractIndex(parsing: files.first { $0.path == "index.txt" }?.text ?? "")
        return embedded { id, path, text in
            index.headings(id: id, text: text).map(File.Content.listed)
                ?? .read(ContractParser.parse(text, path: path, id: id, isExamined: true))
        }
    }()

    /// The shipped contracts, with every mistake that there is in them.
    package static func examined() -> ContractLibrary {
        embedded { id, path, text in .read(ContractParser.parse(text, path: path, id: id)) }
    }

    private static func embedded(
        _ content: @Sendable (_ id: String, _ path: String, _ text: String) -> File.Content
    ) -> ContractLibrary {
        let files = EmbeddedContracts.files.filter { $0.path.hasSuffix(".yaml") }
            .concurrentMap(least: 16) { file in
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

    /// Every `.yaml` file below a folder, or the one file that the path names.
    package static func folder(_ path: String) throws(ContractErrors) -> ContractLibrary {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw ContractErrors([
                ContractError(
                    .unreadable("there is no file or folder '\(path)'"),
                    at: SourceLocation(path: path, line: 1, column: 1)
                )
            ])
        }
        let root = URL(fileURLWithPath: path)
        var urls: [URL] = []
        if isFolder.boolValue {
            let enumerator = FileManager.default.enumerator(
                at: root,
                includingPropertiesForKeys: nil
            )
            while let url = enumerator?.nextObject() as? URL {
                if url.pathExtension == "yaml" { urls.append(url) }
            }
        } else {
            urls = [root]
        }
        let isInFolder = isFolder.boolValue
        let rootPath = isInFolder ? root.path + "/" : ""
        let files = urls.sorted { $0.path < $1.path }.concurrentMap(least: 16) { url -> File in
            let relative =
                isInFolder && url.path.hasPrefix(rootPath)
                ? String(url.path.dropFirst(rootPath.count)) : nil
            let shown = relative.map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" } ?? path
            guard let data = FileManager.default.contents(atPath: url.path),
                let text = String(data: data, encoding: .utf8)
            else {
                let error = ContractError(
                    .unreadable("'\(shown)' cannot be read as UTF-8 text"),
                    at: SourceLocation(path: shown, line: 1, column: 1)
                )
                return File(
                    id: shown,
                    path: shown,
                    text: "",
                    content: .read(.failure(.init([error])))
                )
            }
            let below = relative.map { String($0.dropLast(5)) }
            // A folder inside a library of contracts: their ids begin above it.
            let declared = declaredID(text)
            let isInside = below.map { declared?.hasSuffix("/" + $0) ?? false } ?? true
            let id = (isInside ? declared : below) ?? below ?? shown
            return File(id: id, path: shown, text: text)
        }
        return ContractLibrary(files: files)
    }

    /// These files, with those of the other library added; the same id replaces.
    package func replacing(with other: ContractLibrary) -> ContractLibrary {
        let ids = Set(other.files.map(\.id))
        return ContractLibrary(
            files: (files.filter { !ids.contains($0.id) } + other.files).sorted { $0.id < $1.id }
        )
    }

    /// The cases of all files, of which none is read for it.
    package var headings: [ContractHeading] { files.flatMap(\.headings) }

    /// The contracts of these cases; what is only listed and is none of them is not read.
    ///
    /// - Parameter chosen: Cases out of `headings`.
    /// - Returns: As many contracts, in the order of the files.
    /// - Throws: What is wrong with a file that the index lists.
    package func contracts(of chosen: [ContractHeading]) throws(ContractErrors) -> [Contract] {
        let (ids, cases) = (Set(chosen.map(\.id)), Set(chosen.map(\.caseID)))
        let library = ContractLibrary(files: files.filter { ids.contains($0.id) }).read
        guard library.errors.isEmpty else { throw ContractErrors(library.errors) }
        return library.contracts.filter { cases.contains($0.caseID) }
    }

    /// The same files, all of them read.
    private var read: ContractLibrary {
        ContractLibrary(
            files: files.concurrentMap(least: 16) { file in
                var file = file
                file.content = .read(file.result)
                return file
            }
        )
    }

    /// All contracts; what is only listed is read for it.
    package var contracts: [Contract] {
        files.flatMap { (try? $0.result.get()) ?? [] }
    }

    /// What is wrong with the files that were read.
    package var errors: [ContractError] {
        files.flatMap { file -> [ContractError] in
            if case .read(.failure(let errors)) = file.content { errors.errors } else { [] }
        }
    }

    /// A single file may live anywhere; then it is called what it calls itself.
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
