internal import Contracts
internal import Foundation
internal import Grammar
internal import Programs
internal import Values

/// Runs short programs of the user, such as a `psql` call, and returns their output.
enum CommandRunner {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program and returns its standard output.
    ///
    /// - Parameters:
    ///   - commandWords: The program and its arguments.
    ///   - within: The longest time that the program may run.
    ///   - folder: The working directory of the program; nil for that of Assay.
    /// - Returns: The standard output.
    /// - Throws: An error with a message for the user if the program cannot run, takes too long, or
    ///   exits with a status other than 0.
    static func output(
        of commandWords: [String],
        within: Duration,
        in folder: String? = nil
    ) async throws(Failure) -> [UInt8] {
        guard let program = commandWords.first else {
            throw Failure(description: "the command is empty")
        }
        let searchPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let isRelativePath = program.contains("/") && !program.hasPrefix("/")
        let name = isRelativePath ? (folder.map { $0 + "/" } ?? "") + program : program
        guard let path = ProgramCommand.findExecutable(name, searchPath: searchPath) else {
            throw Failure(description: "cannot run '\(program)': there is no such program")
        }
        // The path has to be absolute, because the program runs in another working directory.
        let absolutePath = URL(fileURLWithPath: path).path
        var command = ProgramCommand(absolutePath, Array(commandWords.dropFirst()))
        command.folder = folder
        command.endsWithParent = true
        let output: ProgramOutput
        do throws(StartedProgram.StartError) {
            output = try await ProgramOutput.of(command, within: within)
        } catch {
            throw Failure(description: "cannot run '\(program)': \(error.reason)")
        }
        switch output.end {
        case .exited(status: 0): return output.bytes
        case .exited(let status):
            throw Failure(
                description: "'\(program)' exited with status \(status)"
                    + (lastErrorLine(of: output).map { ": \($0)" } ?? "")
            )
        case .killed where output.hasTimedOut:
            throw Failure(
                description: "'\(program)' did not end within \(within.components.seconds) s"
            )
        case .killed(let signal):
            throw Failure(description: "'\(program)' was ended by signal \(signal)")
        }
    }

    /// The greatest length of an error line in a message, in characters.
    private static let errorLineLengthMax = 200

    /// Returns the last line that a program wrote to its standard error; nil if there is none.
    private static func lastErrorLine(of output: ProgramOutput) -> String? {
        let text = TerminalCodes.textWithoutCodes(
            from: String(decoding: output.errorBytes, as: UTF8.self)
        )
        return text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .last { !$0.isEmpty }
            .map { String($0.prefix(errorLineLengthMax)) }
    }
}

extension RunExecutor {
    /// Returns a command of the profile with its templates filled.
    ///
    /// The port and the data folder are those of the backend that the run tests.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - values: The values of the templates of the command's place.
    /// - Returns: The program and its arguments, or a failure for a template without a value.
    func filledCommand(
        _ words: [String],
        _ values: NamedValues
    ) -> Result<[String], CommandRunner.Failure> {
        var values = values
        for name in TemplateScope.ProfileSlot.instanceNames {
            let value = backend.instanceValues[name]
            if value == nil, words.contains(where: { Template($0).names.contains(name) }) {
                return .failure(
                    CommandRunner.Failure(
                        description: "'{{\(name)}}' in a command is known only for a backend that "
                            + "Assay starts; use --start"
                    )
                )
            }
            values.values[name] = value.map(JSONValue.string)
        }
        do {
            return .success(try words.map { try values.filled($0) })
        } catch {
            return .failure(CommandRunner.Failure(description: "\(error)"))
        }
    }

    /// Runs a filled command of the profile in the profile's folder, and returns its standard output.
    func output(
        of command: Result<[String], CommandRunner.Failure>
    ) async throws(CommandRunner.Failure) -> [UInt8] {
        try await CommandRunner.output(
            of: command.get(),
            within: .seconds(30),
            in: profile.folder
        )
    }
}
