internal import ContractFiles
internal import Foundation
internal import Programs
internal import Replay
internal import Values

/// The work of `assay init --add KEY`: adds one block to an existing profile.
struct ProfileAdditionRun {
    /// The key to add, or the end of its path, such as `login`.
    let key: String
    /// The path of the profile.
    let path: String
    let survey: SourceSurvey

    /// Writes the block to the profile, and prints it.
    ///
    /// If the profile cannot take the block, prints the block for the user to insert.
    func run() throws {
        guard let addition = ProfileAddition(key: key, survey) else {
            throw CommandFailure(
                .usage,
                "--add '\(key)' is not a key of profiles; '\(Terminal.next(["explain", "profile"]))' "
                    + "lists the keys"
            )
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                .usage,
                "the profile '\(path)' does not exist; write it first with 'assay init'"
            )
        }
        let name = addition.path.joined(separator: ".")
        let block = addition.lines.map { "  \($0)\n" }.joined()
        switch addition.added(to: String(decoding: data, as: UTF8.self)) {
        case .alreadyPresent:
            throw CommandFailure(.usage, "'\(path)' has '\(name)' already; nothing was changed")
        case .needsBlockStyle:
            throw CommandFailure(
                .usage,
                "'\(path)' writes '\(addition.path[0])' on one line; insert this block yourself:\n"
                    + block
            )
        case .text(let text):
            try check(text, block)
            try OutputFile(path).write(text)
        }
        let source =
            addition.route.map { "from \($0.method) \($0.path) (\($0.location))" }
            ?? "as an example, because your files show no such route"
        Terminal.output(
            "added \(name) to \(path), \(source):\n\n\(block)\nCheck the block, then run:  "
                + "\(Terminal.next(["doctor"]))\n"
        )
    }

    /// Checks that the profile with the block can be parsed.
    private func check(_ text: String, _ block: String) throws {
        let variables = DotEnv.mergedVariables(nextTo: path, Setting.environment)
        if case .failure(let errors) = ProfileParser.parse(
            text,
            path: path,
            environment: variables
        ) {
            throw CommandFailure(
                .unparsable,
                "'\(path)' was not changed, because it would not be valid:\n\(errors)\n"
                    + "The block is:\n\(block)"
            )
        }
    }
}
