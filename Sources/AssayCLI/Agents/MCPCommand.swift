internal import ArgumentParser
internal import Foundation

struct MCPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp",
        abstract: "Serves tools over the Model Context Protocol.",
        discussion: """
            A client starts this command, and exchanges messages with it over standard input and \
            output. The tools are init, doctor, verify, explain, replay and send, with the options \
            of the commands. A tool writes files only in the working folder, and calls no other \
            machine unless ASSAY_ALLOW_HOST or the profile allows it.

            Configuration for most clients:
              {"mcpServers": {"assay": {"command": "assay", "args": ["mcp"]}}}

            Example:  assay mcp --folder /home/ada/shop
            """
    )

    @Option(
        name: .long,
        help: "The working folder, with the backend's source files (default: the current folder).",
        completion: .directory
    )
    var folder: String?

    mutating func run() async throws {
        if let folder, !FileManager.default.changeCurrentDirectoryPath(folder) {
            throw CommandFailure(.usage, "--folder '\(folder)' is not a folder that can be entered")
        }
        guard let workingFolder = WritableFolder("."), workingFolder.path != "/" else {
            throw CommandFailure(
                .usage,
                "the working folder is '/'; give --folder with the folder of the backend"
            )
        }
        if Terminal.isInteractive(0) {
            Terminal.error("assay: waiting for the messages of a client; Ctrl-D ends\n")
        }
        let server = MCPServer(folder: workingFolder)
        try await Interruption().run { await server.serve() }
    }
}
