import Foundation
import PackagePlugin

/// A build plugin that embeds the folder `contracts` in the binary, which therefore works in any
/// folder.
///
/// The module `Contracts` gets the clauses. The module `ContractFiles` gets the shipped contracts,
/// their index, the schemas and the cited fact sheets.
@main
struct EmbedContracts: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let root = context.package.directoryURL.appending(path: "contracts")
        let clauseFolder = root.appending(path: "clauses").path + "/"
        let embedsClauses = target.name == "Contracts"
        let name = embedsClauses ? "EmbeddedClauses.swift" : "EmbeddedContracts.swift"
        let output = context.pluginWorkDirectoryURL.appending(path: name)
        var files: [URL] = []
        let enumerator = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        while let file = enumerator?.nextObject() as? URL {
            let isEmbedded = ["yaml", "json", "md", "txt"].contains(file.pathExtension)
            if isEmbedded, file.path.hasPrefix(clauseFolder) == embedsClauses { files.append(file) }
        }
        files.sort { $0.path < $1.path }
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) files of the folder 'contracts'",
                executable: try context.tool(named: "EmbedContractsTool").url,
                arguments: [embedsClauses ? "clauses" : "files", output.path, root.path]
                    + files.map(\.path),
                inputFiles: files,
                outputFiles: [output]
            )
        ]
    }
}
