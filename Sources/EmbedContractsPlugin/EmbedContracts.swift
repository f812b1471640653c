import Foundation
import PackagePlugin

/// A build plugin that embeds the shipped contracts, their index, the schemas and the cited fact
/// sheets in the binary.
///
/// With the embedded files, the binary works in any folder.
@main
struct EmbedContracts: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let root = context.package.directoryURL.appending(path: "contracts")
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedContracts.swift")
        var files: [URL] = []
        let enumerator = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        while let file = enumerator?.nextObject() as? URL {
            if ["yaml", "json", "md", "txt"].contains(file.pathExtension) { files.append(file) }
        }
        files.sort { $0.path < $1.path }
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) contract files",
                executable: try context.tool(named: "EmbedContractsTool").url,
                arguments: [output.path, root.path] + files.map(\.path),
                inputFiles: files,
                outputFiles: [output]
            )
        ]
    }
}
