package import Conformance
internal import Foundation

/// The contracts that ship inside the binary, and those of a folder.
package struct ContractLibrary: Sendable {
    /// One file that was read: its id, text and outcome.
    package struct File: Sendable {
        package let id: String
        package let path: String
        package let text: String
        package let result: Result<[Contract], ContractErrors>
    }

    package let files: [File]

    package init(files: [File]) {
        self.files = files
    }

    /// The shipped contracts, in the order of their ids; they are read once.
    ///
    /// What only tells people of mistakes is not looked for: these were examined before they were
    /// shipped.
    package static let shipped = embedded(isExamined: true)

    /// The shipped contracts, with every mistake that there is in them.
    package static func examined() -> ContractLibrary { embedded(isExamined: false) }

    private static func embedded(isExamined: Bool) -> ContractLibrary {
        let files = EmbeddedContracts.files.filter { $0.path.hasSuffix(".yaml") }
            .concurrentMap(least: 16) { file in
                read(
                    file.text,
                    path: "contracts/\(file.path)",
                    id: String(file.path.dropLast(5)),
                    isExamined: isExamined
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
                return File(id: shown, path: shown, text: "", result: .failure(.init([error])))
            }
            let below = relative.map { String($0.dropLast(5)) }
            // A folder inside a library of contracts: their ids begin above it.
            let declared = declaredID(text)
            let isInside = below.map { declared?.hasSuffix("/" + $0) ?? false } ?? true
            let id = (isInside ? declared : below) ?? below ?? shown
            return read(text, path: shown, id: id)
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

    package var contracts: [Contract] {
        files.flatMap { (try? $0.result.get()) ?? [] }
    }

    package var errors: [ContractError] {
        files.flatMap { file -> [ContractError] in
            if case .failure(let errors) = file.result { errors.errors } else { [] }
        }
    }

    private static func read(
        _ text: String,
        path: String,
        id: String,
        isExamined: Bool = false
    ) -> File {
        File(
            id: id,
            path: path,
            text: text,
            result: ContractParser.parse(text, path: path, id: id, isExamined: isExamined)
        )
    }

    /// A single file may live anywhere; then it is called what it calls itself.
    private static func declaredID(_ text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("contract:") {
            let value = line.dropFirst("contract:".count).prefix { $0 != "#" }
            return value.trimmingCharacters(in: .whitespaces)
        }
        return nil
    }
}
