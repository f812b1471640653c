internal import ArgumentParser
internal import Grammar
internal import Values

/// A tool of `assay mcp`: a command of Assay with a part of its options.
///
/// The names, types and descriptions of the options are those of `--help`.
struct MCPTool: Sendable {
    let name: String
    /// The description for the client.
    let text: String
    /// The command and the arguments that every call has.
    let commandWords: [String]
    /// The arguments of a call that names no case; empty for every tool but `replay`.
    private let wordsWithoutSelection: [String]
    let options: [MCPOption]
    /// Whether a call starts a backend; such calls run one after the other.
    let startsBackend: Bool

    /// The options of no tool.
    ///
    /// A tool ends by itself, so it neither watches nor keeps a backend running. It calls no other
    /// machine unless the user's environment or profile allows that machine. It changes no golden
    /// contract.
    static let withheldOptions: Set<String> = [
        "allow-host", "help", "keep", "update", "verbose", "version", "watch",
    ]

    /// All tools, in the order in which an agent needs them.
    static let all: [MCPTool] = {
        let commands = CommandTable.commands
        return specifications.compactMap { specification in
            commands[specification.command].map { MCPTool(specification, $0) }
        }
    }()

    private struct Specification {
        let name: String
        let command: String
        /// The description; nil for the description of the command.
        var text: String?
        var fixedWords: [String] = []
        var wordsWithoutSelection: [String] = []
        /// The options of the tool; nil for all options but the withheld ones.
        var options: Set<String>?
        var withheld: Set<String> = []
        var startsBackend = true
    }

    private static let specifications = [
        Specification(name: "init", command: "init", withheld: ["verify"]),
        Specification(name: "doctor", command: "doctor"),
        Specification(
            name: "verify",
            command: "verify",
            fixedWords: ["--report", "agent=-"],
            withheld: ["rerun-failed"]
        ),
        Specification(
            name: "explain",
            command: "explain",
            options: ["subject", "contracts"],
            startsBackend: false
        ),
        Specification(
            name: "replay",
            command: "verify",
            text: """
                Runs failed cases again. Without 'only', it runs the cases that failed in the last \
                run, with the seed of that run. With 'only' and 'seed', it repeats one case as the \
                replay command of a report does.
                """,
            fixedWords: ["--report", "agent=-"],
            wordsWithoutSelection: ["--rerun-failed"],
            options: ["only", "seed", "profile", "target", "start"]
        ),
        Specification(name: "send", command: "send", startsBackend: false),
    ]

    private init(_ specification: Specification, _ command: JSONObject) {
        name = specification.name
        commandWords = [specification.command] + specification.fixedWords
        wordsWithoutSelection = specification.wordsWithoutSelection
        startsBackend = specification.startsBackend
        text =
            specification.text
            ?? [command["abstract"], command["discussion"]].compactMap { $0?.string }
            .joined(separator: "\n\n")
        let withheld = Self.withheldOptions.union(specification.withheld)
        options = (command["arguments"]?.array ?? []).compactMap(MCPOption.init).filter {
            !withheld.contains($0.name) && specification.options?.contains($0.name) != false
        }
    }

    /// The tool as an element of the response to `tools/list`.
    var description: JSONValue {
        let properties = options.map { JSONObject.Member(key: $0.name, value: $0.schema) }
        let required = options.filter(\.isRequired).map(\.name)
        return [
            "name": .string(name),
            "title": .string("assay \(name)"),
            "description": .string(text),
            "inputSchema": [
                "type": "object",
                "properties": .object(JSONObject(members: properties)),
                "required": .strings(required),
                "additionalProperties": false,
            ],
            "annotations": ["readOnlyHint": .bool(name == "explain"), "openWorldHint": false],
        ]
    }

    /// Returns the command line for the arguments of a call.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the call, by the names of the options.
    ///   - folder: The folder in which files may be written.
    /// - Returns: The words after the name of the program.
    /// - Throws: `ArgumentError` for an unknown option, a value of a wrong type or a path outside
    ///   the folder.
    func words(_ arguments: JSONObject, in folder: WritableFolder) throws(ArgumentError) -> [String]
    {
        for key in arguments.keys where !options.contains(where: { $0.name == key }) {
            let nearest = Suggestion.nearest(to: key, among: options.map(\.name))
            throw ArgumentError(
                "'\(name)' has no option '\(key)'"
                    + (nearest.map { "; did you mean '\($0)'?" }
                        ?? "; its options are \(options.map(\.name).joined(separator: ", "))")
            )
        }
        var words = commandWords + (arguments["only"] == nil ? wordsWithoutSelection : [])
        var positionalWords: [String] = []
        for option in options {
            guard let value = arguments[option.name] else {
                guard !option.isRequired else {
                    throw ArgumentError("'\(name)' needs '\(option.name)': \(option.help)")
                }
                continue
            }
            let values = try option.values(value, in: folder)
            if option.kind == .positional {
                positionalWords += values
            } else {
                words += values.map { $0.isEmpty ? "--\(option.name)" : "--\(option.name)=\($0)" }
            }
        }
        return words + (positionalWords.isEmpty ? [] : ["--"] + positionalWords)
    }

    /// The reason why a call has no command line, for the model to correct it.
    struct ArgumentError: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}

/// The commands in the table from which ArgumentParser prints `--help`.
enum CommandTable {
    /// The description of each command by its name.
    static let commands: [String: JSONObject] = {
        let table = JSONValue(ifValid: Assay._dumpHelp())
        let commands = (table?["command"]?["subcommands"]?.array ?? []).compactMap(\.object)
        return Dictionary(
            commands.compactMap { command in
                command["commandName"]?.string.map { ($0, command) }
            },
            uniquingKeysWith: { first, _ in first }
        )
    }()
}
