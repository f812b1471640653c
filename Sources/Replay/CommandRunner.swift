internal import Foundation
internal import Programs

/// Runs a short program of the user's own, such as a `psql` call, and returns what it prints.
enum CommandRunner {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The program's standard output; a status other than 0 is a failure.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - within: How long it may take.
    ///   - folder: Where it runs; nil: where Assay does.
    /// - Returns: What it printed.
    /// - Throws: What to tell of a program that did not do its work.
    static func output(
        of words: [String],
        within: Duration,
        in folder: String? = nil
    ) async throws(Failure) -> [UInt8] {
        guard let program = words.first else { throw Failure(description: "the command is empty") }
        let searchPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let isBeside = program.contains("/") && !program.hasPrefix("/")
        let name = isBeside ? (folder.map { $0 + "/" } ?? "") + program : program
        guard let path = ProgramCommand.find(name, searchPath: searchPath) else {
            throw Failure(description: "cannot run '\(program)': there is no such program")
        }
        // From another folder a path that begins here leads nowhere.
        let whole = URL(fileURLWithPath: path).path
        var command = ProgramCommand(whole, Array(words.dropFirst()))
        command.folder = folder
        command.endsWithUs = true
        let output: ProgramOutput
        do throws(StartedProgram.StartError) {
            output = try await ProgramOutput.of(command, within: within)
        } catch {
            throw Failure(description: "cannot run '\(program)': \(error.reason)")
        }
        switch output.end {
        case .exited(status: 0): return output.bytes
        case .exited(let status): throw Failure(description: "'\(program)' ended with \(status)")
        case .killed where output.isOutOfTime:
            throw Failure(
                description: "'\(program)' did not end within \(within.components.seconds) s"
            )
        case .killed(let signal):
            throw Failure(description: "'\(program)' was ended by signal \(signal)")
        }
    }
}
